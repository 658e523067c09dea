//! What a guest finds when it looks for what it was not given: one line a try, each `(…)` if it is refused.

use std::{
    env, fs,
    net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket},
    process::Command,
    thread,
};

fn told<T, E: std::fmt::Display>(what: &str, result: Result<T, E>) -> String {
    match result {
        Ok(_) => format!("{what}: there"),
        Err(error) => format!("{what}: ({error})"),
    }
}

/// Looks everywhere. `port` is one of the host that listens.
pub fn lines(port: u16) -> Vec<String> {
    let here = ("127.0.0.1", port);
    vec![
        format!("environment: {}", env::vars_os().count()),
        format!("arguments: {}", env::args_os().count()),
        told("connect", TcpStream::connect(here)),
        told("listen", TcpListener::bind(("0.0.0.0", 0))),
        told("datagram", UdpSocket::bind(("0.0.0.0", 0)).and_then(|socket| socket.send_to(b"x", here))),
        told("name", ("localhost", port).to_socket_addrs()),
        told("process", Command::new("/bin/true").spawn()),
        told("thread", thread::Builder::new().spawn(|| ())),
        told("root", fs::read_dir("/")),
        told("passwd", fs::read("/etc/passwd")),
        told("proc", fs::read("/proc/self/environ")),
        told("here", fs::read_dir(".")),
        told("temporary", fs::write("/tmp/x", "x")),
    ]
}
