//! Components that cost more to compile than they may: the child that compiles them is ended, and says why;
//! it holds nothing of its host's, and goes with it.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rewake_policy::limits::CompileLimits;
use rewake_runtime::{Config, Host, HostError, NewSession, PlanError};
use rewake_tests::World;
use rewake_tests::hostile::{children, compile_bomb, component, parent_of, with_bytes, with_harness};
use rewake_tests::program::{Program, file};
use rewake_tests::world::HANGS;

/// A component that takes many seconds to compile.
fn bomb() -> Vec<u8> {
    compile_bomb(2_000, 30_000)
}

/// What a host that compiles in a child of its own says of a harness.
async fn made(world: &World, bytes: Vec<u8>, compile: CompileLimits) -> Result<(), String> {
    let cache = world.path().join("components");
    let config = Config { compiler: Some(file()), compile, cache, ..world.config() };
    let host = Host::open(&config, world.store.clone()).expect("a host");
    let bundle = world.bundle(&with_bytes(bytes));
    match host
        .create(&NewSession { bundle: bundle.into(), origin: "test".into(), ..NewSession::default() })
        .await
    {
        Ok(_) => Ok(()),
        Err(HostError::Plan(PlanError::Compile { component, why })) => {
            assert_eq!(component, "test/bytes:harness");
            Err(why)
        }
        Err(other) => Err(other.to_string()),
    }
}

/// An honest harness that is so large, for nothing.
fn padded(bytes: usize) -> Vec<u8> {
    let mut component = component("harness", "none", "");
    // A custom section: its number, its length in five bytes, a name of one letter, and zeros.
    component.push(0);
    let length = u32::try_from(bytes + 2).expect("it is not that large");
    component.extend((0..5).map(|at| ((length >> (7 * at)) & 0x7f) as u8 | if at < 4 { 0x80 } else { 0 }));
    component.extend([1, b'x']);
    component.resize(component.len() + bytes, 0);
    component
}

/// Every key of `[limits.compile]`: what the operator says holds, in both directions.
#[tokio::test(flavor = "multi_thread")]
async fn the_operator_says_what_compiling_may_cost() {
    let world = World::new().await;
    let rules = |text: &str| {
        let text = format!("[limits.compile]\n{text}\n");
        std::fs::write(world.path().join("rewake.toml"), text).expect("the rules");
    };
    let large = || padded(65 << 20);
    let why = made(&world, large(), CompileLimits::default()).await.unwrap_err();
    assert!(why.contains("is larger than 67108864 bytes") && why.contains("[limits.compile]"), "{why}");
    for (rule, words) in [
        ("cpu = \"1s\"", "more than 1 s of processor time (`cpu` in [limits.compile])"),
        ("memory = \"150MiB\"", "more than 157286400 bytes of memory (`memory` in [limits.compile])"),
        ("component = \"1KiB\"", "is larger than 1024 bytes"),
    ] {
        rules(rule);
        let why = made(&world, bomb(), CompileLimits::default()).await.unwrap_err();
        assert!(why.contains(words), "{why}");
    }
    rules("component = \"80MiB\"");
    assert_eq!(made(&world, large(), CompileLimits::default()).await, Ok(()));
}

/// Two programs that share a cache compile one after the other: what one of them is given to compile takes
/// the machine from neither.
#[test]
fn one_process_compiles_at_a_time() {
    let program = Program::new().with_own_cache();
    program.rule("[limits.compile]\ncpu = \"1s\"\n");
    let compiler = |process: u32| children(process).into_iter().any(|(_, words)| words.contains("__compile"));
    let (long, short) = (
        program.bundle(&with_bytes(bomb())),
        program.bundle(&with_harness(component("harness", "none", ""))),
    );
    let first = program.start(&["run", &long, "hello"]);
    until("the first one's compiler", || compiler(first.id()).then_some(()));
    let second = program.start(&["run", &short, "hello"]);
    until("the first one's end", || {
        let both = compiler(second.id()) && compiler(first.id());
        assert!(!both, "two compile at the same time");
        parent_of(first.id()).is_none().then_some(())
    });
    let ended = first.end();
    assert!(ended.stderr.contains("more than 1 s of processor time"), "{}", ended.stderr);
    second.end().expect(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_compiling_may_cost() {
    let world = World::new().await;
    let honest = || component("harness", "none", "");
    assert_eq!(made(&world, honest(), CompileLimits::default()).await, Ok(()));
    // The bomb is a component all the same: it is not refused for what it is.
    for (limits, words) in [
        (CompileLimits { cpu_s_max: 1, ..CompileLimits::default() }, "more than 1 s of processor time"),
        (CompileLimits { time_ms_max: 300, ..CompileLimits::default() }, "longer than 300 ms"),
        (
            CompileLimits { memory_bytes_max: 150 << 20, ..CompileLimits::default() },
            "more than 157286400 bytes of memory",
        ),
        (
            CompileLimits { component_bytes_max: 1_000, ..CompileLimits::default() },
            "is larger than 1000 bytes",
        ),
    ] {
        let why = made(&world, bomb(), limits).await.unwrap_err();
        assert!(why.contains(words), "{why}");
    }
    // After all of that it still compiles.
    assert_eq!(made(&world, component("harness", "step", "nop"), CompileLimits::default()).await, Ok(()));
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(since.elapsed() < HANGS, "{what} never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The child has no environment, three descriptors and its limits, and does not outlive a killed host.
#[test]
fn the_compiler_is_confined_and_dies_with_its_host() {
    let program = Program::new().with_own_cache();
    let bundle = program.bundle(&with_bytes(bomb()));
    let process = program.start(&["run", &bundle, "hello"]);
    let parent = process.id();
    let child = until("a compiler", || {
        children(parent).into_iter().find(|(_, words)| words.contains("__compile")).map(|(pid, _)| pid)
    });
    let proc = |name: &str| PathBuf::from(format!("/proc/{child}/{name}"));
    let limits = until("its limits", || {
        let limits = std::fs::read_to_string(proc("limits")).expect("a living child");
        limits.contains("2147483648").then_some(limits)
    });
    let soft = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).expect("a limit");
        line[name.len()..].split_whitespace().next().unwrap_or_default().to_owned()
    };
    assert_eq!(soft("Max address space"), "2147483648");
    assert_eq!(
        (soft("Max cpu time"), soft("Max core file size"), soft("Max file size")),
        ("60".into(), "0".into(), "0".into())
    );
    let environment = std::fs::read_to_string(proc("environ")).unwrap();
    assert!(
        environment.starts_with("RAYON_NUM_THREADS=") && environment.matches('\0').count() == 1,
        "{environment}"
    );
    let mut open: Vec<String> = std::fs::read_dir(proc("fd"))
        .unwrap()
        .map(|entry| std::fs::read_link(entry.unwrap().path()).unwrap_or_default().display().to_string())
        .collect();
    open.retain(|target| !target.starts_with("pipe:"));
    assert!(open.is_empty(), "it has more than its three pipes: {open:?}");

    process.kill();
    until("the child's end", || (parent_of(child).is_none()).then_some(()));
}

/// One that is honest goes through the same door, from a cold cache.
#[test]
fn a_program_compiles_what_it_runs() {
    let program = Program::new().with_own_cache();
    let bundle = program.bundle(&with_harness(component("harness", "none", "")));
    program.run(&["run", &bundle, "hello"]).expect(0);
    let by_hand = Command::new(file()).arg("__compile").output().unwrap();
    assert_eq!(by_hand.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&by_hand.stderr).contains("nothing to be called by hand"));
}
