//! Which addresses are the internet's and which are somebody's own: this machine's, its network's, its
//! provider's. Knows numbers only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of this machine's own addresses.
pub(crate) const LOOPBACK: &str = "loopback";

/// What an address is, if it is none of the internet's; a guest reaches it only by a grant of that very
/// address.
pub(crate) fn own_kind(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => own_v4(address),
        IpAddr::V6(address) => own_v6(address),
    }
}

/// Blocks of IPv4 that are nobody's on the internet (IANA's registry of special purposes), and the
/// addresses at which providers of machines tell them their secrets.
const OWN_V4: [([u8; 4], u32, &str); 19] = [
    ([0, 0, 0, 0], 8, "unspecified"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "a carrier's own (CGNAT)"),
    ([127, 0, 0, 0], 8, LOOPBACK),
    ([168, 63, 129, 16], 32, "a provider's metadata"),
    ([169, 254, 0, 0], 16, "link-local"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "of a protocol"),
    ([192, 0, 2, 0], 24, "for documentation"),
    ([192, 31, 196, 0], 24, "of a protocol"),
    ([192, 52, 193, 0], 24, "of a protocol"),
    ([192, 88, 99, 0], 24, "a 6to4 relay"),
    ([192, 168, 0, 0], 16, "private"),
    ([192, 175, 48, 0], 24, "of a protocol"),
    ([198, 18, 0, 0], 15, "for benchmarks"),
    ([198, 51, 100, 0], 24, "for documentation"),
    ([203, 0, 113, 0], 24, "for documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
];

fn own_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let is_in = |block: [u8; 4], length: u32| (bits ^ u32::from_be_bytes(block)) >> (32 - length) == 0;
    OWN_V4.iter().find(|(block, length, _)| is_in(*block, *length)).map(|(.., kind)| *kind)
}

/// Blocks within the one that the internet's addresses are given from (2000::/3) which are something else.
const OWN_V6: [([u16; 3], u32, &str); 4] = [
    ([0x2001, 0, 0], 23, "of a protocol (Teredo, ORCHID)"),
    ([0x2001, 0xdb8, 0], 32, "for documentation"),
    ([0x2002, 0, 0], 16, "6to4, which can mean any IPv4 address"),
    ([0x3fff, 0, 0], 20, "for documentation"),
];

fn own_v6(address: Ipv6Addr) -> Option<&'static str> {
    let segments = address.segments();
    let bits = u128::from(address);
    if bits >> 125 != 1 {
        return Some(match segments {
            [0, 0, 0, 0, 0, 0, 0, 0] => "unspecified",
            [0, 0, 0, 0, 0, 0, 0, 1] => LOOPBACK,
            [0, 0, 0, 0, 0, 0xffff, ..] => "a mapped IPv4 address",
            [0, 0, 0, 0, 0, 0, ..] => "a compatible IPv4 address",
            [0x64, 0xff9b, ..] => "NAT64, which can mean any IPv4 address",
            [first, ..] if first & 0xfe00 == 0xfc00 => "private",
            [first, ..] if first & 0xffc0 == 0xfe80 => "link-local",
            [first, ..] if first & 0xff00 == 0xff00 => "multicast",
            _ => "reserved",
        });
    }
    // ISATAP: the last half says which IPv4 address is meant, in whatever network.
    if matches!(segments, [_, _, _, _, 0 | 0x0200, 0x5efe, ..]) {
        return Some("ISATAP, which can mean any IPv4 address");
    }
    let first = (bits >> 80) as u64;
    let is_in = |block: [u16; 3], length: u32| {
        let block = block.iter().fold(0, |bits: u64, segment| bits << 16 | u64::from(*segment));
        (first ^ block) >> (48 - length) == 0
    };
    OWN_V6.iter().find(|(block, length, _)| is_in(*block, *length)).map(|(.., kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_somebody_s_own_is_told_from_the_internet_s() {
        for (own, kind) in [
            ("0.0.0.0", "unspecified"),
            ("10.1.2.3", "private"),
            ("100.64.0.1", "a carrier's own (CGNAT)"),
            ("100.100.100.200", "a carrier's own (CGNAT)"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.254", "loopback"),
            ("169.254.169.254", "link-local"),
            ("168.63.129.16", "a provider's metadata"),
            ("172.31.255.255", "private"),
            ("192.0.0.192", "of a protocol"),
            ("192.0.2.1", "for documentation"),
            ("192.168.0.1", "private"),
            ("198.19.0.1", "for benchmarks"),
            ("224.0.0.1", "multicast"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::ffff:8.8.8.8", "a mapped IPv4 address"),
            ("::127.0.0.1", "a compatible IPv4 address"),
            ("64:ff9b::7f00:1", "NAT64, which can mean any IPv4 address"),
            ("64:ff9b:1::1", "NAT64, which can mean any IPv4 address"),
            ("100::1", "reserved"),
            ("fc00::1", "private"),
            ("fd00:ec2::254", "private"),
            ("fe80::1", "link-local"),
            ("fec0::1", "reserved"),
            ("ff02::1", "multicast"),
            ("2001::1", "of a protocol (Teredo, ORCHID)"),
            ("2001:db8::1", "for documentation"),
            ("2002:7f00:1::", "6to4, which can mean any IPv4 address"),
            ("3fff::1", "for documentation"),
            ("2606:4700::5efe:7f00:1", "ISATAP, which can mean any IPv4 address"),
        ] {
            assert_eq!(own_kind(own.parse().unwrap()), Some(kind), "{own}");
        }
        for public in [
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450::1",
        ] {
            assert_eq!(own_kind(public.parse().unwrap()), None, "{public}");
        }
    }
}
