//! Writes the golden store: sessions that between them have every kind of entry that a host can write, of components
//! that are kept with them.

use std::collections::BTreeSet;
use std::sync::Arc;

use rewake_core::command::Command;
use rewake_core::fact::KINDS;
use rewake_core::ids::SessionId;
use rewake_core::limits::RETRIES_MAX;
use rewake_runtime::{Import, host};
use rewake_store::Snapshot;
use rewake_tests::played;
use rewake_tests::world::{ann, send};
use rewake_tests::{CutStore, Outcome, Running, World};
use rewake_wire::Part;

use super::{SCHEMA, files, kept, packed};

/// Places at which a host is killed before it is sure that none of them is the one that is wanted.
const CUTS_MAX: i64 = 16;

/// Kinds that no host writes yet.
const UNWRITTEN: [&str; 2] = ["session.labelled", "budget.changed"];

/// Writes the store of this program's schema.
pub(super) async fn store() {
    let [store, list] = files(SCHEMA);
    let world = World::with_snapshots(4).await;
    let first = everything(&world).await;
    let stopped = stopped(&world).await;
    let failed = failed(&world).await;
    let asked = asked(&world).await;
    let (mut lines, mut seen) = (String::new(), BTreeSet::new());
    for (id, then) in [(&first, "message"), (&stopped, ""), (&failed, ""), (&asked, "answer")] {
        let one = kept(&world, id, then).await;
        seen.extend(one.kinds.keys().cloned());
        lines.push_str(&serde_json::to_string(&one).expect("plain"));
        lines.push('\n');
    }
    let is_lacking = |kind: &&str| !seen.contains(*kind) && !UNWRITTEN.contains(kind);
    let lacks: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).filter(is_lacking).collect();
    assert!(lacks.is_empty(), "no session has {lacks:?}");
    let bytes = packed(&world.close_and_read().await);
    assert!(bytes.len() < 200 << 10, "{} bytes are too many to be kept", bytes.len());
    std::fs::write(store, bytes).expect("written");
    std::fs::write(list, lines).expect("written");
}

/// Runs a turn to its rest.
async fn turn(world: &World, id: &SessionId, letters: &str) {
    assert_eq!(world.run(id, letters).await, Outcome::Idle, "{letters}");
}

/// Sends a command to a session that rests, and waits until it rests again.
async fn then(world: &World, id: &SessionId, command: Command) {
    let mut running = Running::load(world.own(), id).await;
    running.rest().await;
    running.command(command).await.expect("taken");
    running.rest().await;
    running.unload().await;
}

/// Has hosts killed after so many appends, until the journal has this.
async fn until(world: &World, id: &SessionId, letters: &str, kind: &str, kills: u32) {
    for appends in 1..CUTS_MAX {
        send(world.own(), id, letters).await;
        for _ in 0..kills {
            let host = world.host_over(Arc::new(CutStore::new(world.store.clone(), appends)));
            if let Ok(mut running) = Running::try_load(&host, id).await {
                running.rest().await;
            }
        }
        assert_eq!(world.resume(id).await, Outcome::Idle);
        if world.events(id).await.count(kind) > 0 {
            return;
        }
    }
    panic!("no {kind} came of {letters}");
}

/// A session that did everything, and waits for a message.
async fn everything(world: &World) -> SessionId {
    let id = world.create(&played::bundle()).await;
    turn(world, &id, "stegyvilmpoahn").await;
    turn(world, &id, "q").await;
    then(world, &id, Command::Answer { question: "q".into(), value: "\"yes\"".into() }).await;
    turn(world, &id, "ws").await;
    turn(world, &id, "s").await;
    turn(world, &id, "q").await;
    let open = world.events(&id).await.last("turn.started").turn_id.clone().expect("a turn");
    let number: u32 = open.rsplit('_').next().and_then(|number| number.parse().ok()).expect("turn_N");
    for _ in 0..2 {
        then(world, &id, Command::Interrupt { turn: number }).await;
    }
    for letters in ["f", "x"] {
        turn(world, &id, letters).await;
    }
    until(world, &id, "o", "tool.lost", 1).await;
    until(world, &id, "h", "http.lost", 1).await;
    until(world, &id, "m", "model.lost", RETRIES_MAX + 1).await;
    import(world, &id).await;
    narrow(world, &id).await;
    let newest = world.store.newest_snapshot(&id, u64::MAX).await.unwrap().expect("a snapshot");
    world.store.put_snapshot(&id, Snapshot { bytes: b"{".to_vec(), ..newest }).await.unwrap();
    changed(world, &id).await;
    turn(world, &id, "sg").await;
    turn(world, &id, "swg").await;
    id
}

/// Messages that wait are edited, canceled and promoted.
async fn changed(world: &World, id: &SessionId) {
    let host = world.own();
    let (edited, taken_back) = (send(host, id, "s").await, send(host, id, "s").await);
    let promoted = send(host, id, "sg").await;
    for command in [
        Command::Edit { target: edited, parts: vec![Part::text("sv")] },
        Command::Cancel { target: taken_back },
        Command::Promote { target: promoted, turn: None },
    ] {
        host.send(id, ann(), command, None).await.expect("they wait");
    }
    assert_eq!(world.resume(id).await, Outcome::Idle);
}

async fn import(world: &World, id: &SessionId) {
    let from = world.path().join("brought");
    std::fs::create_dir(&from).expect("a folder");
    std::fs::write(from.join("notes"), "brought").expect("a file");
    world.own().import(id, &Import { from, replaces: false, by: ann() }).await.expect("imported");
    turn(world, id, "p").await;
}

async fn narrow(world: &World, id: &SessionId) {
    let pins = host::pins(world.store.as_ref(), id).await.unwrap().expect("pins");
    let bundle = &pins.bundles[0];
    world.rule(&format!(
        "[[allow]]\nbundle = {:?}\ndigest = \"blake3:{}\"\nasks = []\n",
        bundle.name, bundle.digest
    ));
    turn(world, id, "p").await;
    std::fs::remove_file(world.path().join("rewake.toml")).expect("the rules");
    turn(world, id, "p").await;
}

async fn stopped(world: &World) -> SessionId {
    let id = world.create(&played::bundle()).await;
    turn(world, &id, "s").await;
    then(world, &id, Command::Stop { reason: "enough".into() }).await;
    id
}

async fn failed(world: &World) -> SessionId {
    let id = world.create(&played::bundle()).await;
    world.run(&id, "sF").await;
    id
}

/// A session in which a hook has asked a person, in the midst of a step.
async fn asked(world: &World) -> SessionId {
    let id = world.create(&played::bundle()).await;
    turn(world, &id, "slks").await;
    id
}
