//! A web server on this machine, for requests that leave a host: it keeps what it was asked, and answers as a
//! test says. Knows as much HTTP as tests need.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// What a request is answered with: all bytes of the response.
type Answer = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// A server that runs until its process ends.
pub struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts one that answers so.
    ///
    /// # Panics
    /// If no port can be had.
    pub fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer): (_, Arc<Answer>) = (asked.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (kept.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, &kept, answer.as_ref()));
            }
        });
        Server { address, asked }
    }

    /// Starts one that says the request's first line.
    pub fn echo() -> Self {
        Server::start(|request| response("200 OK", &[], request.lines().next().unwrap_or_default()))
    }

    /// A URL of it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Its address and port, as grants name them.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Every request so far, as it came.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many requests began like this.
    pub fn count(&self, beginning: &str) -> usize {
        self.asked().iter().filter(|request| request.starts_with(beginning)).count()
    }
}

/// A response with a body of a known length.
pub fn response(status: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn serve(mut stream: TcpStream, asked: &Mutex<Vec<String>>, answer: &Answer) {
    let Some(text) = request(&mut stream) else { return };
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(text.clone());
    // A client that has gone is what some tests are about.
    let _ = stream.write_all(&answer(&text));
}

/// A whole request; none, if who sends it goes away before.
pub fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8 << 10];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                return Some(text);
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
