//! What goes wrong, and when: drawn at every operation of the store, so that the same seed meets the same fault at
//! the same place. Knows no session.

use rewake_tests::chooser::Chooser;

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
    /// The process stands still before it, until another has taken the session over.
    Frozen,
    /// Another process takes the session over after it.
    TakenOver,
    /// The session is let go of in good order after it.
    LetGo,
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
    /// Exactly these. Whoever stands still goes on when nothing else moves.
    Listed(Vec<Listed>),
}

/// What is still to go wrong.
#[derive(Debug)]
pub(crate) struct Faults {
    chooser: Chooser,
    left: u64,
    odds: u64,
    listed: Option<Vec<Listed>>,
}

impl Faults {
    pub(crate) fn new(seed: u64, which: Which) -> Self {
        let mut chooser = Chooser::new(seed, 3);
        let left = if matches!(which, Which::Drawn) { 1 + chooser.below(6) } else { 0 };
        let odds = *chooser.pick(&[4, 8, 16]);
        let listed = if let Which::Listed(listed) = which { Some(listed) } else { None };
        Faults { chooser, left, odds, listed }
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

    /// What goes wrong at this append.
    pub(crate) fn at_append(&mut self, kinds: &[&str]) -> Option<Fault> {
        if !self.strikes(self.odds) {
            return self.listed(kinds);
        }
        Some(match self.chooser.below(20) {
            0..=3 => Fault::KillBefore,
            4..=6 => Fault::KillAfter,
            7 | 8 => Fault::KillSoon(*self.chooser.pick(&[1, 10, 50, 600])),
            9 => Fault::Unknown(Fate::Applied),
            10 => Fault::Unknown(Fate::Gone),
            11 | 12 => Fault::Unknown(Fate::Later),
            13 => Fault::Io,
            14 => Fault::Busy(*self.chooser.pick(&[1, 30, 2_500])),
            15 | 16 => Fault::Frozen,
            17 | 18 => Fault::TakenOver,
            _ => Fault::LetGo,
        })
    }

    /// Whether the process is killed at another operation of the store: before it (false) or after it (true).
    pub(crate) fn at_acquire(&mut self) -> Option<bool> {
        self.strikes(24).then(|| self.chooser.one_in(2))
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
