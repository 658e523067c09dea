//! Providers that never stop sending: an attempt ends by its bounds, in time and memory that grow with the bytes, and
//! other tasks of the same thread run meanwhile (signals, leases).

use std::io::{Read as _, Write as _};
use std::time::Instant;

use super::*;

/// A server on a thread of its own, which is always ready to send more: its head, and then the same bytes for ever.
fn endless(head: String, bytes: Vec<u8>) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 64 << 10]);
        let mut next = head.into_bytes();
        while stream.write_all(&next).is_ok() {
            next.clone_from(&bytes);
        }
    });
    address
}

/// The longest time in which no other task of this thread could run, until it is stopped.
fn watch() -> (tokio::task::JoinHandle<()>, Arc<Mutex<Duration>>) {
    let longest = Arc::new(Mutex::new(Duration::ZERO));
    let kept = longest.clone();
    let task = tokio::spawn(async move {
        let mut since = Instant::now();
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let mut longest = kept.lock().unwrap();
            *longest = (*longest).max(since.elapsed());
            since = Instant::now();
        }
    });
    (task, longest)
}

/// `N-G2`: a line, an event or a comment without an end is bounded, and other tasks of the thread run meanwhile.
#[tokio::test]
async fn what_does_not_end_is_bounded_and_does_not_hold_the_thread() {
    let line = vec![b'x'; 64 << 10];
    let comment = [vec![b':'; 1 << 10], b"\n".to_vec()].concat().repeat(64);
    let data = b"data: x\n".repeat(8 << 10);
    for (first, bytes, says) in [
        ("data: ", line.clone(), "an event of more than 1048576 bytes"),
        ("<html>", line.clone(), "an event of more than 1048576 bytes"),
        ("", data, "an event of more than 4194304 bytes"),
        ("", comment, "answers with more than 67108864 bytes"),
        ("{\"text\": \"", line, "answers with more than 16777216 bytes"),
    ] {
        let address = endless(stream_head() + first, bytes);
        let bench = Bench::new("openai", &format!("http://{address}/v1"));
        let (task, longest) = watch();
        let (attempt, _) = bench.ask(&hello()).await;
        task.abort();
        assert_eq!(rejected(attempt, says), Bill::Unknown);
        let longest = *longest.lock().unwrap();
        assert!(longest < Duration::from_secs(2), "{says}: nothing else ran for {longest:?}");
    }
}

/// An error's body is read to its bound.
#[tokio::test]
async fn an_error_that_does_not_end_is_told() {
    let head = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n".to_owned();
    let bench = Bench::new("openai", &format!("http://{}/v1", endless(head, b"so ".repeat(10_000))));
    assert_eq!(rejected(bench.ask(&hello()).await.0, "refuses the request (400): so so so"), Bill::Nothing);
}
