//! A door for fuzzers: a snapshot that nobody vouches for.

use crate::load;

/// A fold that was kept, with a digest that fits: somebody may have made both.
pub fn snapshot(bytes: &[u8]) {
    let mut whole = rewake_core::ids::Digest::of(bytes).0.to_vec();
    whole.extend(bytes);
    if let Ok(session) = load::open_snapshot(&whole) {
        let sealed = load::seal_snapshot(&session);
        assert_eq!(load::open_snapshot(&sealed), Ok(session), "it is read as it was written");
    }
}

#[cfg(test)]
mod tests {
    use rewake_untrusted::Samples;

    use super::*;

    #[test]
    fn snapshots() {
        Samples::corpus("snapshot").check_json(400, |text| snapshot(text.as_bytes()));
    }
}
