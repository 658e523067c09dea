//! What goes wrong, and when: drawn at every operation of the store, so that the same seed meets the same fault at
//! the same place. Knows no session; each has its own.

use rewake_runtime::lease::{LEASE_MS, MARGIN_MS};
use rewake_tests::chooser::Chooser;

use crate::plan::Walls;
use crate::sim::{LOOKS, LOOKS_MAX};

/// Longer than a lease lasts.
pub(crate) const LEASE_GONE_MS: u64 = 60_000;
/// How long a process stands still, or its machine sleeps: before a renewal is due, until it is, until no effect may
/// begin, until the host has no lease by its own clock, until another may take it, and long after that.
const STANDSTILLS_MS: [u64; 6] =
    [100, 4_500, LEASE_MS - 2 * MARGIN_MS, LEASE_MS - MARGIN_MS, LEASE_MS, LEASE_GONE_MS];
const SECOND_MS: i64 = 1_000;
const DAY_MS: i64 = 24 * 60 * 60 * SECOND_MS;
/// By how much a wall clock is set.
const SETTINGS_MS: [i64; 7] =
    [-3 * DAY_MS, -20 * SECOND_MS, -SECOND_MS, 0, SECOND_MS, 20 * SECOND_MS, 3 * DAY_MS];

/// What becomes of a transaction whose commit failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was written.
    Applied,
    /// It was not.
    Gone,
    /// It was not, and is there when the store is opened again.
    Later,
}

/// What goes wrong at an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process is killed before it.
    KillBefore,
    /// The process is killed after it, before anybody is told.
    KillAfter,
    /// The process is killed so many milliseconds after it.
    KillSoon(u64),
    /// It is not known what was written.
    Unknown(Fate),
    /// It fails, and nothing was written.
    Io,
    /// Others keep the store busy for so many milliseconds.
    Busy(u64),
    /// The process stands still before it, for so many milliseconds and then until another has taken the session
    /// over.
    Frozen(u64),
    /// The process stands still after it, likewise.
    TakenOver(u64),
    /// The machine sleeps for so many milliseconds before it.
    Asleep(u64),
    /// Another process takes the session over after it, since it believes that this one is dead.
    Stolen,
    /// The same, and the process stands still meanwhile.
    Seized,
    /// The session is unloaded in good order after it.
    LetGo,
    /// The wall clock of the host's machine is set by so many milliseconds.
    Set(i64),
}

impl Fault {
    /// Whether it is of one session alone, and not of the process that has others too.
    fn is_of_session(self) -> bool {
        matches!(self, Fault::Unknown(_) | Fault::Io | Fault::Stolen | Fault::LetGo)
    }
}

/// What goes wrong at the renewal of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// It fails, and so does every other for so many milliseconds.
    Fails(u64),
    /// The machine sleeps for so long before it reaches the store.
    LateThere(u64),
    /// The machine sleeps for so long before its answer comes back.
    LateBack(u64),
    /// Another process takes the session over before it, since it believes that this one is dead.
    Refused,
}

/// One fault at one place: at the `nth` append (from 1) that holds an entry of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) kind: &'static str,
    pub(crate) nth: u32,
    pub(crate) fault: Fault,
}

/// What goes wrong in a run.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// Nothing.
    Nothing,
    /// What the seed draws.
    Drawn,
    /// Exactly these, in its first session: faults of appends, and of the `nth` renewal of its lease (from 1). Whoever
    /// stands still goes on when nothing else moves.
    Listed(Vec<Listed>, Vec<(u32, Renewal)>),
}

/// What is still to go wrong with a session.
#[derive(Debug)]
pub(crate) struct Faults {
    chooser: Chooser,
    left: u64,
    odds: u64,
    listed: Option<Vec<Listed>>,
    /// Faults of renewals, and how many renewals of each are left until then.
    renewals: Vec<(u32, Renewal)>,
    /// Only what is of this session alone.
    is_confined: bool,
    walls: Walls,
}

impl Faults {
    pub(crate) fn new(mut chooser: Chooser, which: &Which, walls: Walls) -> Self {
        let left = if matches!(which, Which::Drawn) { 1 + chooser.below(6) } else { 0 };
        let odds = *chooser.pick(&[4, 8, 16]);
        let (listed, renewals) = match which {
            Which::Listed(listed, renewals) => (Some(listed.clone()), renewals.clone()),
            Which::Nothing | Which::Drawn => (None, Vec::new()),
        };
        Faults { chooser, left, odds, listed, renewals, is_confined: false, walls }
    }

    /// Nothing happens to the process that other sessions live in; and if this session is one of those, nothing at all.
    pub(crate) fn confine(&mut self, is_struck: bool) {
        self.is_confined = true;
        self.left = if is_struck { self.left } else { 0 };
    }

    /// Whether nothing happens to the process that other sessions live in.
    pub(crate) fn is_confined(&self) -> bool {
        self.is_confined
    }

    /// Whether of several sessions only the first is taken over.
    pub(crate) fn only_first(&mut self) -> bool {
        self.chooser.one_in(2)
    }

    fn listed(&mut self, kinds: &[&str]) -> Option<Fault> {
        let mut due = None;
        for one in self.listed.as_mut()?.iter_mut().filter(|one| one.nth > 0 && kinds.contains(&one.kind)) {
            one.nth -= 1;
            if one.nth == 0 {
                due = Some(one.fault);
            }
        }
        due
    }

    fn strikes(&mut self, odds: u64) -> bool {
        let strikes = self.left > 0 && self.chooser.one_in(odds);
        self.left -= u64::from(strikes);
        strikes
    }

    /// How long something stands still.
    fn standstill_ms(&mut self) -> u64 {
        *self.chooser.pick(&STANDSTILLS_MS)
    }

    /// What goes wrong at this append.
    pub(crate) fn at_append(&mut self, kinds: &[&str]) -> Option<Fault> {
        if !self.strikes(self.odds) {
            return self.listed(kinds);
        }
        let fault = match self.chooser.below(25) {
            0..=3 => Fault::KillBefore,
            4..=6 => Fault::KillAfter,
            7 | 8 => Fault::KillSoon(*self.chooser.pick(&[1, 10, 50, 600])),
            9 => Fault::Unknown(Fate::Applied),
            10 => Fault::Unknown(Fate::Gone),
            11 | 12 => Fault::Unknown(Fate::Later),
            13 => Fault::Io,
            14 => Fault::Busy(*self.chooser.pick(&[1, 30, 2_500])),
            15 | 16 => Fault::Frozen(self.standstill_ms()),
            17 | 18 => Fault::TakenOver(self.standstill_ms()),
            19 => Fault::Asleep(self.standstill_ms()),
            20 => Fault::Stolen,
            21 => Fault::Seized,
            22 | 23 if self.walls == Walls::Unruly => Fault::Set(*self.chooser.pick(&SETTINGS_MS)),
            _ => Fault::LetGo,
        };
        (!self.is_confined || fault.is_of_session()).then_some(fault)
    }

    /// Whether the process is killed at another operation of the store: before it (false) or after it (true).
    pub(crate) fn at_acquire(&mut self) -> Option<bool> {
        (!self.is_confined && self.strikes(24)).then(|| self.chooser.one_in(2))
    }

    /// What goes wrong when a lease is renewed.
    pub(crate) fn at_renewal(&mut self) -> Option<Renewal> {
        if !self.strikes(6) {
            self.renewals.iter_mut().for_each(|(left, _)| *left = left.wrapping_sub(1));
            return self.renewals.iter().find(|(left, _)| *left == 0).map(|(_, renewal)| *renewal);
        }
        Some(match self.chooser.below(6) {
            _ if self.is_confined => Renewal::Fails(self.standstill_ms()),
            0 => Renewal::LateThere(self.standstill_ms()),
            1 => Renewal::LateBack(self.standstill_ms()),
            2 => Renewal::Refused,
            _ => Renewal::Fails(self.standstill_ms()),
        })
    }

    /// At which of the looks at the clock that follow an append the process then stands still, and for how long: between
    /// the check of the lease and the act.
    pub(crate) fn at_check(&mut self) -> Option<(u32, u64)> {
        (!self.is_confined && self.strikes(20)).then(|| {
            let most = if self.chooser.one_in(3) { LOOKS_MAX } else { LOOKS };
            let nth = 1 + u32::try_from(self.chooser.below(most.into())).unwrap_or(0);
            (nth, self.standstill_ms())
        })
    }

    /// By how much the wall clock of another host is set wrong.
    pub(crate) fn wall_ms(&mut self) -> i64 {
        if self.walls == Walls::Unruly { *self.chooser.pick(&SETTINGS_MS) } else { 0 }
    }

    /// Whether it is not known what was written of something sent, and whether it was.
    pub(crate) fn at_send(&mut self) -> Option<bool> {
        self.strikes(12).then(|| self.chooser.one_in(2))
    }

    /// Whether a snapshot is not kept, or comes back with other bytes.
    pub(crate) fn at_snapshot(&mut self) -> bool {
        self.strikes(5)
    }

    /// After how many further operations of others a frozen process goes on.
    pub(crate) fn thaw(&mut self) -> u64 {
        if self.listed.is_some() { u64::MAX } else { 2 + self.chooser.below(20) }
    }
}
