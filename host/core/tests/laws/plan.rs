//! What a simulated run does: the harness's program, when the host crashes, what people send meanwhile.
//! Random, but fixed before the run; executes nothing.

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The harness's program; steps take them in turns.
    pub(crate) steps: Vec<StepPlan>,
    /// A turn is done after so many steps, whatever its program says.
    pub(crate) turn_steps: u32,
    /// Messages that are sent when nothing else goes on.
    pub(crate) messages: u32,
    /// Moments between one crash and the next.
    pub(crate) crashes: Vec<u8>,
    /// Moments between one thing that people do at a bad time and the next.
    pub(crate) mischief: Vec<(u8, Mischief)>,
    /// What happens to a message between deciding to take it in and the commit, one after the other.
    pub(crate) sneaks: Vec<Option<Change>>,
    /// Commits between two snapshots; 0: none.
    pub(crate) snapshot_every: u8,
    /// Every so many idle moments the session is unloaded; 0: never.
    pub(crate) unload_every: u8,
    /// The most that models may cost, in nano-USD.
    pub(crate) cap_nanos: Option<u64>,
    /// Clocks stand still, so that an undisturbed run sees the same as a disturbed one.
    pub(crate) calm: bool,
}

/// One step of the harness.
#[derive(Clone, Debug)]
pub(crate) struct StepPlan {
    pub(crate) ops: Vec<Op>,
    pub(crate) ending: EndPlan,
}

/// One thing a harness does.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Wall,
    Monotonic,
    Say,
    Emit,
    Title,
    Log,
    /// Asks a model whose provider will not answer for now so many times before it does.
    Model(u32),
    Tools(Vec<Use>),
    /// Takes the host with it.
    Kill,
    /// Takes the host with it, if the step has got further in this run of it.
    Stumble,
}

/// One use of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// Index in `pins::TOOLS`.
    pub(crate) tool: usize,
    /// What the guard does, if the use concerns it.
    pub(crate) guard: Option<Gate>,
    /// What the adviser does, if the use concerns it.
    pub(crate) adviser: Option<Gate>,
}

/// What a hook does with a use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gate {
    Allow,
    Deny,
    Nothing,
    /// It fails, and its `on_error` decides.
    Fail,
}

/// How a step ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndPlan {
    More,
    Done,
    Ask,
    Wait,
    Listen,
    Fail,
    Trap,
    /// The session fails with it.
    Ruin,
}

/// What people do at a bad time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mischief {
    Message,
    Answer,
    AnswerUnknown,
    Interrupt,
    InterruptEarlier,
    Stop,
    Change(Change),
}

/// What can be done about a message that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Edit,
    Cancel,
    Promote,
    PromoteLate,
}

/// Deterministic: the same cases in every run; a failing one becomes a named test.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        rng_seed: RngSeed::Fixed(0x5e55_1035),
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    }
}

/// A run without any disturbance.
pub(crate) fn quiet() -> impl Strategy<Value = Plan> {
    let steps = prop::collection::vec(step(), 1..5);
    (steps, 1..4u32, 1..4u32, 0..12u8, 0..4u8).prop_map(
        |(steps, turn_steps, messages, snapshot_every, unload_every)| Plan {
            steps,
            turn_steps,
            messages,
            crashes: vec![],
            mischief: vec![],
            sneaks: vec![],
            snapshot_every,
            unload_every,
            cap_nanos: None,
            calm: true,
        },
    )
}

/// A run with crashes, and people who send what they like when they like.
pub(crate) fn wild() -> impl Strategy<Value = Plan> {
    let crashes = prop::collection::vec(0..40u8, 0..10);
    let mischief = prop::collection::vec((0..25u8, mischief()), 0..14);
    let sneaks = prop::collection::vec(prop::option::of(change()), 0..6);
    let cap = prop::option::of(0..4_000u64);
    (quiet(), crashes, mischief, sneaks, cap).prop_map(|(plan, crashes, mischief, sneaks, cap_nanos)| Plan {
        crashes,
        mischief,
        sneaks,
        cap_nanos,
        calm: false,
        ..plan
    })
}

fn step() -> impl Strategy<Value = StepPlan> {
    let ending = prop_oneof![
        6 => Just(EndPlan::More),
        4 => Just(EndPlan::Done),
        2 => Just(EndPlan::Ask),
        2 => Just(EndPlan::Wait),
        2 => Just(EndPlan::Listen),
        1 => Just(EndPlan::Fail),
        1 => Just(EndPlan::Trap),
        1 => Just(EndPlan::Ruin),
    ];
    (prop::collection::vec(op(), 0..5), ending).prop_map(|(ops, ending)| StepPlan { ops, ending })
}

/// Anything but what takes the host with it.
pub(crate) fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => Just(Op::Wall),
        1 => Just(Op::Monotonic),
        2 => Just(Op::Say),
        1 => Just(Op::Emit),
        1 => Just(Op::Title),
        1 => Just(Op::Log),
        2 => prop_oneof![3 => Just(0), 1 => 1..4u32].prop_map(Op::Model),
        4 => prop::collection::vec(tool_use(), 1..4).prop_map(Op::Tools),
    ]
}

fn tool_use() -> impl Strategy<Value = Use> {
    (0..3usize, prop::option::of(gate()), prop::option::of(gate())).prop_map(|(tool, guard, adviser)| Use {
        tool,
        guard,
        adviser,
    })
}

fn gate() -> impl Strategy<Value = Gate> {
    prop_oneof![4 => Just(Gate::Allow), 1 => Just(Gate::Deny), 2 => Just(Gate::Nothing), 1 => Just(Gate::Fail)]
}

fn mischief() -> impl Strategy<Value = Mischief> {
    prop_oneof![
        8 => Just(Mischief::Message),
        4 => Just(Mischief::Answer),
        2 => Just(Mischief::AnswerUnknown),
        6 => Just(Mischief::Interrupt),
        3 => Just(Mischief::InterruptEarlier),
        1 => Just(Mischief::Stop),
        10 => change().prop_map(Mischief::Change),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Edit),
        2 => Just(Change::Cancel),
        2 => Just(Change::Promote),
        1 => Just(Change::PromoteLate),
    ]
}
