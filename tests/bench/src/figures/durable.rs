//! Whole sessions over the embedded store, every start and end on the disk: tool calls of one session and of many,
//! and steps.

use std::time::Instant;

use crate::bed::{Bed, Component, Plan, Session};
use crate::bench::Bench;
use crate::report::{Row, Target, Unit};
use crate::stats::Rounds;
use crate::{Failed, Result};

/// Sessions side by side.
const SESSIONS: usize = 64;

pub(super) async fn calls(bench: &mut Bench) -> Result<Vec<Row>> {
    let calls = bench.pick(1_500, 500);
    let plan = Plan::calls(calls);
    let row = alone(bench, "tool calls of one step, one after another", &plan, calls).await?;
    Ok(vec![row.target(Target::at_least(2_500.0).stretch(4_000.0))])
}

pub(super) async fn steps(bench: &mut Bench) -> Result<Vec<Row>> {
    let steps = bench.pick(600, 200);
    let plan = Plan { steps, state: 400, ..Plan::calls(1) };
    let row = alone(bench, "steps with one tool call and a saved state", &plan, steps).await?;
    Ok(vec![row.target(Target::at_least(1_200.0).stretch(2_200.0))])
}

/// A plan that does so many of something, again and again in one session.
async fn alone(bench: &mut Bench, figure: &str, plan: &Plan, many: u32) -> Result<Row> {
    let bed = Bed::durable(&bench.places).await?;
    let mut session = bed.session(&[Component::tools()]).await?;
    session.turn(plan).await?;
    let rounds =
        bench.rounds(async || Ok(vec![f64::from(many) / session.turn(plan).await?.as_secs_f64()])).await?;
    bed.close().await;
    Ok(rate(bench, figure, &rounds))
}

pub(super) async fn sessions(bench: &mut Bench) -> Result<Vec<Row>> {
    let calls = bench.pick(250, 80);
    let plan = Plan::calls(calls);
    let bed = Bed::durable(&bench.places).await?;
    let bundle = bed.bundle(&[Component::tools()])?;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let id = bed.create(&bundle, None).await?;
        sessions.push(Session::load(&bed.host, &id).await?);
    }
    sessions = together(sessions, &plan).await?.0;
    let mut sessions = Some(sessions);
    let rounds = bench
        .rounds(async || {
            let (back, took_s) = together(sessions.take().unwrap_or_default(), &plan).await?;
            sessions = Some(back);
            Ok(vec![f64::from(calls) * SESSIONS as f64 / took_s])
        })
        .await?;
    bed.close().await;
    let row = rate(bench, "tool calls of 64 sessions side by side", &rounds);
    Ok(vec![row.target(Target::at_least(15_000.0).stretch(30_000.0))])
}

/// Has all sessions do a plan at once; how long that took, in seconds.
async fn together(sessions: Vec<Session>, plan: &Plan) -> Result<(Vec<Session>, f64)> {
    let since = Instant::now();
    let mut tasks = Vec::new();
    for mut session in sessions {
        let plan = plan.clone();
        tasks.push(tokio::spawn(async move {
            session.turn(&plan).await?;
            Ok::<Session, Failed>(session)
        }));
    }
    let mut back = Vec::new();
    for task in tasks {
        back.push(task.await??);
    }
    Ok((back, since.elapsed().as_secs_f64()))
}

fn rate(bench: &Bench, figure: &str, rounds: &Rounds) -> Row {
    let ratio = rounds.spread_of(|round| round.value() * round.floor_us() / 1e6);
    Row::of(figure, Unit::PerSecond, rounds, bench.least(), rounds.spread()).ratio(ratio.median)
}
