//! The values that the rules speak of: names, amounts, grants, digests, bounds. Each at the border where it changes.

use rewake_core::asked::Asked;
use rewake_core::codec::{Seal, seal};
use rewake_core::command::Command;
use rewake_core::effect::Effect;
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{
    Custom, FileAnswer, FileAudit, FileKind, FileObserved, FileOp, FileStat, HookEvent, HookVerdict,
    ModelStarted, PluginKind, Stored,
};
use rewake_core::grant::{Access, FsGrant, FsSource, Grants, HttpGrant, Scheme};
use rewake_core::ids::{Digest, Head, HostId, SessionId, Timestamp};
use rewake_core::limits::*;
use rewake_core::money::{Price, Usd};
use rewake_core::{Refusal, after_binding, binding, canonical};
use rewake_wire::{Base64, Part, Usage};

use crate::bench::{USE, model_started};
use crate::pins;

#[test]
fn ids_are_as_long_as_they_may_be() {
    let id = |length: usize| format!("host_{}", "a".repeat(length));
    let host = HostId::parse(&id(ID_BYTES_MAX)).unwrap();
    assert_eq!((host.as_str(), host.to_string()), (id(ID_BYTES_MAX).as_str(), id(ID_BYTES_MAX)));
    assert!(HostId::parse(&id(ID_BYTES_MAX + 1)).is_err());
    let error = SessionId::parse(&"x".repeat(100)).unwrap_err();
    assert_eq!((error.given.len(), error.prefix), (80, "ses_"));
}

#[test]
fn digests_are_written_in_hexadecimal() {
    let mut digest = Digest([0; 32]);
    (digest.0[0], digest.0[31]) = (0x1f, 0xa0);
    let written = format!("1f{}a0", "0".repeat(60));
    assert_eq!((digest.to_hex(), digest.to_string()), (written.clone(), written.clone()));
    assert_eq!(format!("{digest:?}"), "Digest(1f0000000000)");
    assert_eq!(serde_json::to_string(&digest).unwrap(), format!("{written:?}"));
    assert_eq!(Digest::from_hex(&written), Some(digest));
    let error = serde_json::from_str::<Digest>("\"12\"").unwrap_err();
    assert!(error.to_string().starts_with("no blake3 digest: \"12\""), "{error}");
    assert_eq!(Timestamp(i64::MAX).to_string(), format!("{} ms", i64::MAX));
    assert_eq!(Timestamp::parse("yesterday"), None);
}

#[test]
fn commands_are_bounded_at_their_borders() {
    let limit = |what, max: usize| Err(Refusal::Limit { what, got: max as u64 + 1, max: max as u64 });
    let answer = |question: usize, value: usize| Command::Answer {
        question: "q".repeat(question),
        value: format!("\"{}\"", "v".repeat(value - 2)),
    };
    let stop = |bytes: usize| Command::Stop { reason: "r".repeat(bytes) };
    let said =
        |parts: &[&str]| Command::Message { parts: parts.iter().map(|text| Part::text(*text)).collect() };
    let half = "x".repeat(MESSAGE_BYTES_MAX / 2);
    for (command, expected) in [
        (answer(ID_BYTES_MAX, MESSAGE_BYTES_MAX), Ok(())),
        (answer(ID_BYTES_MAX + 1, 2), limit("bytes of a question's id", ID_BYTES_MAX)),
        (answer(1, MESSAGE_BYTES_MAX + 1), limit("bytes of an answer", MESSAGE_BYTES_MAX)),
        (stop(DETAIL_BYTES_MAX), Ok(())),
        (stop(DETAIL_BYTES_MAX + 1), limit("bytes of a reason", DETAIL_BYTES_MAX)),
        (said(&["", "x"]), Ok(())),
        (said(&[&half, &half]), Ok(())),
        (said(&[&half, &half, "x"]), limit("bytes of a message", MESSAGE_BYTES_MAX)),
        (Command::Interrupt { turn: u32::MAX }, Ok(())),
    ] {
        assert_eq!(command.check(), expected);
    }
    assert!(matches!(said(&["", ""]).check(), Err(Refusal::Conflict(_))));
}

#[test]
fn a_payload_is_as_large_as_it_may_be() {
    let sealed = |bytes: usize| {
        let data = serde_json::Value::String("x".repeat(bytes - 2));
        let draft = Draft::system(USE, Custom { kind: "custom.note".into(), data });
        let terms = Seal { epoch: 1, at: Timestamp(1), salt: [0; 16] };
        seal(&pins::session(), Head::default(), terms, draft).map(|(entry, _)| entry.seq)
    };
    assert_eq!(sealed(PAYLOAD_BYTES_MAX), Ok(1));
    let (got, max) = (PAYLOAD_BYTES_MAX as u64 + 1, PAYLOAD_BYTES_MAX as u64);
    assert_eq!(
        sealed(PAYLOAD_BYTES_MAX + 1),
        Err(Refusal::Limit { what: "bytes of an entry's payload", got, max })
    );
}

/// A part is no more than its whole, and what may be said at once fits into a payload.
#[test]
fn bounds_fit_into_one_another() {
    for (part, whole) in [
        (LOG_LINE_BYTES_MAX, LOG_BYTES_MAX),
        (LOG_BYTES_MAX, LOG_TURN_BYTES_MAX),
        (LOG_LINES_MAX, LOG_TURN_LINES_MAX),
        (TOOL_INPUT_BYTES_MAX, TOOL_INPUTS_BYTES_MAX),
        (MESSAGE_BYTES_MAX, BATCH_BYTES_MAX),
        (CODE_BYTES_MAX, DETAIL_BYTES_MAX),
        (OBSERVED_BYTES_MAX, STEP_OBSERVED_BYTES_MAX),
        (INBOX_CONTROLS_MAX, INBOX_ROWS_MAX),
        (STATE_BYTES_MAX, PAYLOAD_BYTES_MAX),
        (BODY_INLINE_BYTES_MAX, PAYLOAD_BYTES_MAX),
        (TOOL_INPUTS_BYTES_MAX, PAYLOAD_BYTES_MAX),
        (OBSERVED_BYTES_MAX, PAYLOAD_BYTES_MAX),
        (SAID_BYTES_MAX, PAYLOAD_BYTES_MAX),
        (BATCH_BYTES_MAX + CONTEXTS_BYTES_MAX, PAYLOAD_BYTES_MAX),
        (QUESTIONS_MAX * QUESTION_BYTES_MAX, PAYLOAD_BYTES_MAX),
    ] {
        assert!(0 < part && part < whole, "{part} of {whole}");
    }
    assert_eq!(cut(&"x".repeat(6), 5), "xxxxx… (1 bytes cut)");
}

#[test]
fn json_is_told_apart_by_what_it_means() {
    let texts =
        ["null", "true", "false", "0", "1", "-1", "1.5", "\"a\"", "\"\"", "[]", "[[]]", "{}", "{\"a\":1}"];
    for (at, one) in texts.iter().enumerate() {
        assert_eq!(canonical::digest(one), Ok(Digest::of(one.as_bytes())), "{one} is canonical");
        assert!(texts[..at].iter().all(|other| canonical::digest(other) != canonical::digest(one)));
    }
    let levels = |text: &str| canonical::levels(&serde_json::from_str(text).unwrap());
    for (text, expected) in
        [("1", 0), ("[]", 1), ("{}", 1), ("[1,{\"a\":[]},[]]", 3), ("{\"a\":{\"b\":[[]]},\"c\":1}", 4)]
    {
        assert_eq!(levels(text), expected, "{text}");
    }
}

#[test]
fn bindings_differ_in_everything_that_they_name() {
    let of = |text: &str| Digest::of(text.as_bytes());
    let (session, other) = (pins::session(), SessionId::parse("ses_other").unwrap());
    let places = [
        USE,
        Place { turn: 2, ..USE },
        Place { step: 2, ..USE },
        Place { ordinal: 2, ..USE },
        USE.at_index(1),
    ];
    let mut before: Vec<_> =
        places.iter().map(|place| binding(&session, *place, "b:t", of("d"), of("a"))).collect();
    before.extend([
        binding(&other, USE, "b:t", of("d"), of("a")),
        binding(&session, USE, "b:u", of("d"), of("a")),
        binding(&session, USE, "b:t", of("e"), of("a")),
        binding(&session, USE, "b:t", of("d"), of("b")),
    ]);
    let ok = HookEvent::PostToolUse;
    let mut after: Vec<_> =
        places.iter().map(|place| after_binding(&session, *place, ok, of("a"), of("c"))).collect();
    after.extend([
        after_binding(&other, USE, ok, of("a"), of("c")),
        after_binding(&session, USE, HookEvent::PostToolUseFailure, of("a"), of("c")),
        after_binding(&session, USE, ok, of("b"), of("c")),
        after_binding(&session, USE, ok, of("a"), of("d")),
    ]);
    for mut all in [before, after] {
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}

fn http(scheme: Scheme, methods: &[&str]) -> HttpGrant {
    let methods = methods.iter().map(|method| (*method).to_owned()).collect();
    HttpGrant { scheme, host: "a.example".into(), methods, honours_key: false, secret: None }
}

fn fs(source: FsSource) -> FsGrant {
    FsGrant { mount: "/m".into(), source, access: Access::ReadOnly }
}

#[test]
fn grants_are_described_as_operators_write_them() {
    let sources = [FsSource::Workspace, FsSource::Scratch, FsSource::Bundle, FsSource::Host("docs".into())];
    let grants = Grants {
        fs: sources.iter().chain(&sources[..1]).cloned().map(fs).collect(),
        http: vec![http(Scheme::Http, &["PUT", "GET"]), http(Scheme::Https, &["GET"])],
        models: vec!["fast".into(), "openai/qwen:7b".into()],
    };
    let expected = [
        "fs:bundle:ro",
        "fs:host:docs:ro",
        "fs:scratch:ro",
        "fs:workspace:ro",
        "http:a.example:GET",
        "http:http://a.example:GET",
        "http:http://a.example:PUT",
        "model:fast",
        "model:openai/qwen:7b",
    ];
    assert_eq!(grants.describe(), expected);
    assert_eq!([Access::ReadOnly.as_str(), Access::ReadWrite.as_str()], ["ro", "rw"]);
    let schemes = [Scheme::Https, Scheme::Http].map(|scheme| (scheme.as_str(), scheme.default_port()));
    assert_eq!(schemes, [("https", 443), ("http", 80)]);
    assert!(Grants::default().is_empty());
    let none = Grants::default();
    assert!(!Grants { fs: grants.fs.clone(), ..none.clone() }.is_empty());
    assert!(!Grants { http: grants.http.clone(), ..none.clone() }.is_empty());
    assert!(!Grants { models: grants.models, ..none }.is_empty());
}

/// Every part of a grant counts: what differs in one only is not within.
#[test]
fn a_grant_is_within_what_has_all_of_it() {
    let most = fs(FsSource::Workspace);
    for other in [FsGrant { mount: "/n".into(), ..most.clone() }, fs(FsSource::Scratch)] {
        assert!(!other.is_within(&most) && !most.is_within(&other));
    }
    let all = http(Scheme::Https, &["GET", "PUT"]);
    let keyed = HttpGrant { honours_key: true, ..all.clone() };
    assert!(all.is_within(&keyed) && !keyed.is_within(&all));
    let elsewhere = HttpGrant { host: "b.example".into(), ..all.clone() };
    let (one, two) = (vec![all.clone()], vec![all.clone(), elsewhere]);
    let grants = |http| Grants { fs: vec![most.clone()], http, ..Grants::default() };
    let (one, two) = (grants(one), grants(two));
    assert!(one.is_within(&two) && !two.is_within(&one));
    assert!(one.can_write(), "it may PUT");
    assert!(!grants(vec![http(Scheme::Https, &["GET", "HEAD"])]).can_write());
}

#[test]
fn amounts_add_up_and_never_go_below_nothing() {
    let usd = Usd::from_nanos;
    assert_eq!([usd(5).minus(usd(3)), usd(3).minus(usd(5))], [usd(2), Usd::ZERO]);
    assert_eq!([usd(1), usd(2), usd(4)].into_iter().sum::<Usd>(), usd(7));
    assert!(Usd::ZERO.is_zero() && !usd(1).is_zero());
    let error = format!("{}x", "1".repeat(50)).parse::<Usd>().unwrap_err();
    assert!(error.to_string().starts_with(&format!("\"{}\" is not an amount", "1".repeat(40))), "{error}");
    // Each token costs its own price; the most that a request can cost is by the dearest way to send it.
    let price = Price {
        input: usd(2_000_000),
        output: usd(3_000_000),
        cache_read: usd(5_000_000),
        cache_write: usd(7_000_000),
    };
    let usage =
        Usage { input_tokens: 1, output_tokens: 10, cache_read_tokens: 100, cache_write_tokens: 1_000 };
    assert_eq!(price.of(usage), usd(2 + 30 + 500 + 7_000));
    assert_eq!(price.at_most(1, 10), usd(7 + 30));
    assert_eq!(Price { cache_write: usd(0), ..price }.at_most(1, 10), usd(5 + 30));
}

#[test]
fn a_file_s_use_weighs_about_what_it_takes() {
    let times = [Some((1_764_417_600, 999_999_999)); 3];
    let stat = FileAnswer::Stat(FileStat { kind: FileKind::Directory, links: 2, size: 1 << 40, times });
    let long = "n".repeat(200);
    let names: Vec<_> = (0..50).map(|n| (FileKind::Directory, format!("{long}{n}"))).collect();
    for answer in [
        FileAnswer::Done,
        FileAnswer::Written(7),
        FileAnswer::Text("t".repeat(5_000)),
        FileAnswer::Failed("no-entry".into()),
        FileAnswer::Bytes(Base64(vec![1; 3_000])),
        FileAnswer::Names(names),
        stat,
    ] {
        for (path, to, detail) in [("/a", "", ""), (long.as_str(), long.as_str(), long.as_str())] {
            let [path, to, detail] = [path, to, detail].map(str::to_owned);
            let used = FileObserved { op: FileOp::StatAt, path, to, detail, answer: answer.clone() };
            let takes = serde_json::to_vec(&used).unwrap().len();
            let weighs = used.weight();
            assert!(
                takes <= weighs + 16 && weighs <= 2 * takes + 160,
                "{takes} bytes weigh {weighs}: {used:?}"
            );
        }
    }
    let dropped = FileAudit { uses: vec![], dropped: 1 };
    assert!(FileAudit::default().is_empty() && !dropped.is_empty());
    let written = serde_json::to_value(&dropped).unwrap();
    assert_eq!(written, serde_json::json!({ "dropped": 1 }));
    let silent = serde_json::to_value(HookVerdict::default()).unwrap();
    assert!(silent.get("changes").is_none() && silent.get("audit").is_none(), "{silent}");
    let classes = [Effect::Pure, Effect::Idempotent, Effect::Once].map(Effect::as_str);
    assert_eq!(classes, ["pure", "idempotent", "once"]);
    let functions = [FileOp::Open, FileOp::StatAt, FileOp::Link].map(FileOp::function);
    assert_eq!(functions, ["filesystem.open-at", "filesystem.stat-at", "filesystem.link-at"]);
    let kinds = PluginKind::ALL.map(|kind| kind.to_string());
    assert_eq!(kinds, ["tool", "hook", "harness"]);
}

/// A list of messages that is sent again is kept once, and is the newest.
#[test]
fn what_is_kept_of_requests_is_what_was_sent_last() {
    let of = |text: &str| Digest::of(text.as_bytes());
    let sent = |text: &str, messages| {
        let stored = Stored { system: None, tools: None, options: None, list: of(text), through: of(text) };
        ModelStarted { stored: Some(stored), messages, ..model_started() }
    };
    let mut asked = Asked::default();
    assert_eq!(asked.newest(), None);
    asked.started(&sent("a", 1));
    asked.started(&sent("b", 2));
    assert_eq!(asked.newest().map(|stored| stored.list), Some(of("b")));
    asked.started(&sent("a", 1));
    assert_eq!(asked.newest().map(|stored| stored.list), Some(of("a")));
    let lists = serde_json::to_value(&asked).unwrap()["lists"].as_array().map(Vec::len);
    assert_eq!(lists, Some(2));
}
