//! What the processors do, without a disk: whole sessions over the store in memory, with the same driver, guests
//! and records as over the embedded one.

use crate::Result;
use crate::bed::{Bed, Component, Plan, Session};
use crate::bench::Bench;
use crate::report::{Row, Target, Unit};
use crate::stats::Rounds;

pub(super) async fn calls(bench: &mut Bench) -> Result<Vec<Row>> {
    let rust = each_call(bench, &[Component::tools()], bench.pick(2_000, 500)).await?;
    let row = Row::of("tool call without commits, Rust", Unit::Us, &rust, bench.least(), rust.spread());
    let mut rows = vec![row.target(Target::at_most(80.0).stretch(40.0))];
    let figure = "tool call without commits, QuickJS";
    rows.push(match bench.places.js {
        None => Row::skipped(figure, Unit::Us, "no such component was named (--js)"),
        Some(_) => {
            let js = each_call(bench, &[Component::js()], bench.pick(1_000, 300)).await?;
            let row = Row::of(figure, Unit::Us, &js, bench.least(), js.spread());
            row.target(Target::at_most(300.0))
        }
    });
    Ok(rows)
}

pub(super) async fn hook(bench: &mut Bench) -> Result<Vec<Row>> {
    let many = bench.pick(1_500, 500);
    let bed = Bed::in_memory(&bench.places)?;
    let mut plain = bed.session(&[Component::tools()]).await?;
    let other = Bed::in_memory(&bench.places)?;
    let mut hooked = other.session(&[Component::tools(), Component::hook()]).await?;
    let plan = Plan::calls(many);
    plain.turn(&plan).await?;
    hooked.turn(&plan).await?;
    // Of each round, one beside the other: the difference is the hook's.
    let rounds = bench
        .rounds(async || {
            let without = took_us(&mut plain, &plan, many).await?;
            Ok(vec![took_us(&mut hooked, &plan, many).await? - without])
        })
        .await?;
    bed.close().await;
    other.close().await;
    let row =
        Row::of("hook on a tool call, without commits", Unit::Us, &rounds, bench.least(), rounds.spread());
    Ok(vec![row.target(Target::at_most(100.0))])
}

pub(super) async fn step(bench: &mut Bench) -> Result<Vec<Row>> {
    let steps = bench.pick(2_000, 500);
    let plan = Plan { steps, state: 400, ..Plan::default() };
    let bed = Bed::in_memory(&bench.places)?;
    let mut session = bed.session(&[]).await?;
    session.turn(&plan).await?;
    let rounds = bench.rounds(async || Ok(vec![took_us(&mut session, &plan, steps).await?])).await?;
    bed.close().await;
    let row = Row::of("empty step without commits", Unit::Us, &rounds, bench.least(), rounds.spread());
    Ok(vec![row.target(Target::at_most(60.0))])
}

/// A clock that a harness reads is recorded; one that a tool reads is not. Both without the turn around it.
pub(super) async fn observation(bench: &mut Bench) -> Result<Vec<Row>> {
    let many = bench.pick(20_000, 10_000);
    let bed = Bed::in_memory(&bench.places)?;
    let mut session = bed.session(&[Component::tools()]).await?;
    let in_tool = |times: u32| Plan {
        calls: 1,
        tool: "clocks",
        input: format!("{{\"times\":{times}}}"),
        ..Plan::default()
    };
    let recorded = Plan { clocks: many, ..Plan::default() };
    session.turn(&recorded).await?;
    let rounds = bench
        .rounds(async || {
            let mut took = async |plan: &Plan| took_us(&mut session, plan, many).await;
            let recorded = took(&recorded).await? - took(&Plan::default()).await?;
            let unrecorded = took(&in_tool(many)).await? - took(&in_tool(0)).await?;
            Ok(vec![recorded - unrecorded])
        })
        .await?;
    bed.close().await;
    let figure = "observation, above the same call unrecorded";
    let row = Row::of(figure, Unit::Us, &rounds, bench.least(), rounds.spread());
    Ok(vec![row.target(Target::at_most(0.2))])
}

/// Microseconds of each call, of so many one after another.
async fn each_call(bench: &mut Bench, components: &[Component], many: u32) -> Result<Rounds> {
    let bed = Bed::in_memory(&bench.places)?;
    let mut session = bed.session(components).await?;
    let plan = Plan::calls(many);
    session.turn(&plan).await?;
    let rounds = bench.rounds(async || Ok(vec![took_us(&mut session, &plan, many).await?])).await?;
    bed.close().await;
    Ok(rounds)
}

/// A turn's microseconds, by each of so many.
async fn took_us(session: &mut Session, plan: &Plan, many: u32) -> Result<f64> {
    Ok(session.turn(plan).await?.as_secs_f64() * 1e6 / f64::from(many))
}
