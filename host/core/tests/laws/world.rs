//! What survives a crash of the simulated host: the journal, the newest snapshot, the inbox, the outside
//! world with all that was done to it, and the people. Decides nothing about the session.

use std::collections::{BTreeMap, VecDeque};

use rewake_core::codec::{Record, open};
use rewake_core::command::{Command, Row, Target};
use rewake_core::entry::Entry;
use rewake_core::fact::{Fact, WaitOn};
use rewake_core::ids::{Digest, Head, SessionId, Timestamp};
use rewake_core::{Session, fold};
use rewake_wire::{Part, Sender};

use crate::pins;
use crate::plan::{Change, Mischief, Plan};

/// The host is dead.
#[derive(Debug)]
pub(crate) struct Crash;

/// What a moment in which nothing is due is used for.
pub(crate) enum Idle {
    /// Something was sent, or time passed.
    GoOn,
    /// The session is unloaded.
    Unload,
    /// Nothing will come any more.
    Settled,
}

/// What the harness saves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Saved {
    pub(crate) steps: u32,
    pub(crate) memory: Digest,
}

pub(crate) struct World {
    pub(crate) id: SessionId,
    pub(crate) plan: Plan,
    pub(crate) journal: Vec<Entry>,
    records: Vec<Record>,
    /// The last seq of every transaction.
    pub(crate) commits: Vec<u64>,
    snapshot: Option<Vec<u8>>,
    pub(crate) rows: Vec<Row>,
    /// The fold of what is committed.
    pub(crate) view: Session,
    pub(crate) states: BTreeMap<Digest, Saved>,
    /// How often each effect was performed, by its key.
    pub(crate) performed: BTreeMap<Digest, u32>,
    pub(crate) now: Timestamp,
    readings: u64,
    crashes_left: VecDeque<u8>,
    mischief_left: VecDeque<(u8, Mischief)>,
    sneaks_left: VecDeque<Option<Change>>,
    /// Commands about messages that were refused, as those were accepted or canceled.
    pub(crate) refused: u32,
    /// Appends that were refused, as somebody had changed a message that they took in.
    pub(crate) overtaken: u32,
    messages_left: u32,
    idles: u8,
    pub(crate) crashes: u32,
    /// A call of class `once` was in flight when the host died.
    pub(crate) lost_once: bool,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
        World {
            id: pins::session(),
            journal: Vec::new(),
            records: Vec::new(),
            commits: Vec::new(),
            snapshot: None,
            rows: Vec::new(),
            view: Session::new(pins::session()),
            states: BTreeMap::new(),
            performed: BTreeMap::new(),
            now: Timestamp(1_764_417_600_000),
            readings: 0,
            crashes_left: plan.crashes.iter().copied().collect(),
            mischief_left: plan.mischief.iter().copied().collect(),
            sneaks_left: plan.sneaks.iter().copied().collect(),
            refused: 0,
            overtaken: 0,
            messages_left: plan.messages,
            idles: 0,
            crashes: 0,
            lost_once: false,
            plan,
        }
    }

    /// One transaction. False, and nothing is written: it takes a message in, and not what is about it.
    pub(crate) fn commit(&mut self, staged: Vec<(Entry, Record)>) -> bool {
        let Some((last, _)) = staged.last() else { return true };
        let taken: Vec<u64> = staged.iter().flat_map(|(entry, _)| entry.fact.rows()).collect();
        let is_left = |row: &&Row| !self.view.taken.contains(row.n) && !taken.contains(&row.n);
        let mut about = self.rows.iter().filter(is_left).filter_map(|row| row.command.target());
        if about.any(|target| taken.contains(&target)) {
            self.overtaken += 1;
            return false;
        }
        self.commits.push(last.seq);
        for (entry, record) in staged {
            self.view.apply(&entry).expect("what was decided applies");
            self.journal.push(entry);
            self.records.push(record);
        }
        let every = usize::from(self.plan.snapshot_every);
        if every > 0 && self.commits.len().is_multiple_of(every) {
            self.snapshot = Some(serde_json::to_vec(&self.view).expect("a session is plain data"));
        }
        true
    }

    /// Somebody changes a message after it was decided to take it in, and before that is committed.
    pub(crate) fn sneak(&mut self, staged: &[(Entry, Record)]) {
        let taken = staged.iter().find_map(|(entry, _)| match &entry.fact {
            Fact::UserMessage(body) => Some(body.n),
            _ => None,
        });
        if let Some(n) = taken
            && let Some(change) = self.sneaks_left.pop_front().flatten()
        {
            self.change(n, change);
        }
    }

    /// What a host finds: the newest snapshot, and the entries after it folded into it.
    pub(crate) fn fold(&self) -> (Session, Option<u64>, u64) {
        let mut head = Head::default();
        let mut stored = Vec::new();
        for record in &self.records {
            let entry = open(&self.id, head, record).expect("what was sealed opens");
            head = Head { seq: entry.seq, hash: entry.hash };
            stored.push(entry);
        }
        assert_eq!(stored, self.journal, "entries are read as they were written");
        let from_start = fold(self.id.clone(), &stored).expect("what was committed folds");
        let Some(snapshot) = &self.snapshot else { return (from_start, None, stored.len() as u64) };
        let mut session: Session =
            serde_json::from_slice(snapshot).expect("a snapshot is read as it was written");
        let at = session.head.seq;
        let tail = &stored[at as usize..];
        for entry in tail {
            session.apply(entry).expect("what was committed folds");
        }
        assert_eq!(session, from_start, "a snapshot and its tail are the fold from the start");
        (session, Some(at), tail.len() as u64)
    }

    /// An effect on the outside world.
    pub(crate) fn perform(&mut self, start: &Entry) {
        let announced = self.journal.get(start.seq as usize - 1);
        assert_eq!(announced, Some(start), "an effect is performed after its entry is durable");
        let call = self.view.calls.get(&start.seq);
        let call = call.unwrap_or_else(|| panic!("{} is performed after its end", start.fact.kind()));
        let times = self.performed.entry(start.hash).or_default();
        *times += 1;
        assert!(*times == 1 || call.effect.is_repeatable(), "a `once` call is performed {times} times");
    }

    /// A moment passes: people do something, or the host dies.
    pub(crate) fn tick(&mut self) -> Result<(), Crash> {
        match self.mischief_left.front_mut() {
            Some((0, _)) => self.mischief(),
            Some((gap, _)) => *gap -= 1,
            None => {}
        }
        match self.crashes_left.front_mut() {
            Some(0) => {
                self.crashes_left.pop_front();
                self.die();
                Err(Crash)
            }
            Some(gap) => {
                *gap -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(crate) fn die(&mut self) {
        self.crashes += 1;
        self.lost_once |= self.view.calls.values().any(|call| !call.effect.is_repeatable());
    }

    /// A clock's next reading.
    pub(crate) fn reading(&mut self) -> u64 {
        self.readings += u64::from(!self.plan.calm);
        self.now.0 as u64 + self.readings
    }

    /// Puts a command into the inbox; one to an ended session, or about a message that does not wait, is refused,
    /// as the store would.
    pub(crate) fn insert(&mut self, command: Command) {
        command.check().expect("people send what is within its bounds");
        let sender = Sender::Operator("ada".into());
        if self.view.ended.is_some() {
            return;
        }
        if let Some(n) = command.target() {
            let row = &self.rows[n as usize - 1];
            let target = Target {
                n,
                sender: row.sender.clone(),
                is_message: matches!(row.command, Command::Message { .. }),
                is_canceled: self.rows.iter().any(|row| row.command == Command::Cancel { target: n }),
                is_taken: self.view.taken.contains(n),
            };
            if target.admit(&sender).is_err() {
                self.refused += 1;
                return;
            }
        }
        let n = self.rows.len() as u64 + 1;
        self.rows.push(Row { n, sender, command });
    }

    /// Does something about a message.
    fn change(&mut self, target: u64, change: Change) {
        let parts = vec![Part::text(format!("edited by {}", self.rows.len() + 1))];
        let turn = self.view.turn.as_ref().map(|turn| turn.number);
        self.insert(match change {
            Change::Edit => Command::Edit { target, parts },
            Change::Cancel => Command::Cancel { target },
            Change::Promote => Command::Promote { target, turn },
            Change::PromoteLate => Command::Promote { target, turn: Some(self.view.turns.saturating_sub(1)) },
        });
    }

    /// The message that was sent last, whatever became of it; or else a new one.
    fn newest_message(&mut self) -> u64 {
        // Now and then one that does not wait any more.
        let is_any = self.rows.len().is_multiple_of(4);
        let waits = |row: &&Row| {
            matches!(row.command, Command::Message { .. }) && (is_any || !self.view.taken.contains(row.n))
        };
        let newest = self.rows.iter().rev().find(waits).map(|row| row.n);
        newest.unwrap_or_else(|| {
            self.message();
            self.rows.len() as u64
        })
    }

    fn mischief(&mut self) {
        let Some((_, what)) = self.mischief_left.pop_front() else { return };
        let open = self.view.turn.as_ref().map(|turn| turn.number);
        let question = self.view.questions.first().cloned().unwrap_or_else(|| "q0".into());
        match what {
            Mischief::Message => self.message(),
            Mischief::Answer => self.insert(Command::Answer { question, value: "\"yes\"".into() }),
            Mischief::AnswerUnknown => {
                self.insert(Command::Answer { question: "never".into(), value: "1".into() });
            }
            Mischief::Interrupt => self.insert(Command::Interrupt { turn: open.unwrap_or(1) }),
            Mischief::InterruptEarlier => {
                self.insert(Command::Interrupt { turn: self.view.turns.saturating_sub(1) });
            }
            Mischief::Stop => self.insert(Command::Stop { reason: "enough".into() }),
            Mischief::Change(_) if self.view.ended.is_some() => {}
            Mischief::Change(change) => {
                let target = self.newest_message();
                self.change(target, change);
            }
        }
    }

    fn message(&mut self) {
        let text = format!("message {}", self.rows.len() + 1);
        self.insert(Command::Message { parts: vec![Part::text(text)] });
    }

    /// Nothing is due: something is made to come, if anything is left to come.
    pub(crate) fn idle(&mut self, until: Option<Timestamp>) -> Idle {
        self.idles = self.idles.wrapping_add(1);
        if !self.mischief_left.is_empty() {
            self.mischief();
            return Idle::GoOn;
        }
        let every = self.plan.unload_every;
        if every > 0 && self.idles.is_multiple_of(every + 1) {
            return Idle::Unload;
        }
        let listens = match self.view.turn.as_ref().map(|turn| &turn.waiting) {
            None => true,
            Some(Some(WaitOn::Time { on_message, .. })) => *on_message,
            Some(_) => false,
        };
        if let Some(question) = self.view.questions.first().cloned() {
            self.insert(Command::Answer { question, value: "\"yes\"".into() });
        } else if self.messages_left > 0 && listens {
            self.messages_left -= 1;
            self.message();
        } else if let Some(until) = until {
            self.now = until;
        } else if let Some(turn) = &self.view.turn {
            self.insert(Command::Interrupt { turn: turn.number });
        } else {
            return Idle::Settled;
        }
        Idle::GoOn
    }

    /// The entries of some facts, in order.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.journal.iter().map(|entry| &entry.fact)
    }
}
