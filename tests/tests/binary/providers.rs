//! Sessions with a provider's model: a server on this machine that speaks OpenAI's protocol.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rewake_tests::bundles::Draft;
use rewake_tests::program::Program;
use rewake_tests::server;
use serde_json::{Value, json};

/// The key that the server is asked with, and that nothing else may show.
const KEY: &str = "sk-canary-51bd07";

/// What the server does with a request.
#[derive(Clone)]
enum Answer {
    /// Says this, and closes.
    Says(String),
    /// Says this, and then nothing for a long time.
    Hangs(String),
}

/// A server that gives its answers in turn, the last one again and again.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answers: Vec<Answer>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, answers) = (kept.clone(), answers.clone());
                std::thread::spawn(move || serve(stream, &kept, &answers));
            }
        });
        Server { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn serve(mut stream: TcpStream, asked: &Mutex<Vec<String>>, answers: &[Answer]) {
    let Some(text) = server::request(&mut stream) else { return };
    let nth = {
        let mut asked = asked.lock().expect("no panic");
        asked.push(text);
        asked.len() - 1
    };
    // Anyone who asked may be gone: killed.
    match &answers[nth.min(answers.len() - 1)] {
        Answer::Says(text) => drop(stream.write_all(text.as_bytes())),
        Answer::Hangs(text) => {
            drop(stream.write_all(text.as_bytes()));
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let data =
        json!({ "model": "m-1-0", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    format!("data: {data}\n\n")
}

fn head() -> String {
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned()
}

/// A whole answer, which repeats the key as an unfriendly server can.
fn whole() -> Answer {
    let counts = json!({ "choices": [], "usage": { "prompt_tokens": 1000, "completion_tokens": 100 } });
    let said = chunk(&json!({ "content": format!("Yes. {KEY}") }), Some("stop"));
    Answer::Says(format!("{}{said}data: {counts}\n\ndata: [DONE]\n\n", head()))
}

/// A session whose model is the server's, and its id.
fn create(server: &Server) -> (Program, String) {
    let program = Program::new().with_env("REWAKE_TEST_MODEL_KEY", KEY);
    let rules = format!(
        "[models.real]\nprovider = \"openai\"\nmodel = \"m-1\"\nbase_url = \"http://{}/v1\"\nkey_env = \"REWAKE_TEST_MODEL_KEY\"\nmax_tokens = 500\nprice = {{ input = 3, output = 15 }}\n",
        server.address
    );
    program.rule(&rules);
    let bundle = program.bundle(&Draft::scripted());
    let args = ["run", "--grant-asked", "--model", "real", "--max-usd", "5", bundle.as_str()];
    let made = program.run(&args).expect(0);
    (program, made.stdout.trim().to_owned())
}

fn ask() -> String {
    json!([{ "op": "model", "text": "May I?" }]).to_string()
}

/// Whether a key stands in any file of a folder.
fn holds_key(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).any(|path| {
        match path.is_dir() {
            true => holds_key(&path),
            false => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes())
            }
        }
    })
}

#[test]
fn a_provider_is_asked_again_and_its_key_is_nowhere() {
    let busy = format!("{{\"error\":{{\"message\":\"busy, {KEY}\"}}}}");
    let length = busy.len();
    let head = "HTTP/1.1 503 Service Unavailable\r\nretry-after-ms: 10";
    let busy = Answer::Says(format!("{head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{busy}"));
    let server = Server::start(vec![busy, whole()]);
    let (program, id) = create(&server);
    let told = program.run(&["run", "-vvvv", "--session", &id, &ask()]).expect(0);
    assert!(told.stdout.contains("Yes. [secret]"), "{}", told.stdout);
    assert!(!told.stdout.contains(KEY), "it is shown");
    assert!(!told.stderr.contains(KEY), "it is logged");
    assert!(!holds_key(&program.data()), "it is kept");
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[1].contains(&format!("authorization: Bearer {KEY}")), "{}", asked[1]);
    let events = program.check(&id);
    let retried = &events.first("call.retried").data;
    assert!(retried["why"].as_str().is_some_and(|why| why.contains("busy, [secret]")), "{retried}");
    let completed = &events.last("model.completed").data;
    // 1000 tokens at $3 and 100 at $15 a million: $0.0045.
    assert_eq!(completed["cost"], 4_500_000, "{completed}");
    assert_eq!(events.first("model.started").data["provider"], "openai/m-1");
}

/// What was streamed is not what was said: the answer is asked for again, and the first attempt may have cost what
/// it could cost at most.
#[test]
fn an_answer_that_a_kill_cut_short_is_asked_for_again() {
    let begun = Answer::Hangs(head() + &chunk(&json!({ "content": "No, nev" }), None));
    let server = Server::start(vec![begun, whole()]);
    let (program, id) = create(&server);
    let mut running = program.start(&["run", "--session", &id, &ask()]);
    running.until("the model is asked", || server.asked().len() == 1);
    running.kill();
    let told = program.resume(&id).expect(0);
    assert!(told.stdout.contains("Yes. [secret]") && !told.stdout.contains("No, nev"), "{}", told.stdout);
    let events = program.check(&id);
    assert_eq!(events.count("model.started"), 1);
    let started = &events.first("model.started").data;
    let retried = &events.first("call.retried").data;
    assert_eq!((&retried["cost"], retried.get("why")), (&started["reserved"], None), "{retried}");
    assert!(retried["cost"].as_u64().is_some_and(|cost| cost > 4_500_000), "{retried}");
    assert_eq!(server.asked().len(), 2);
}
