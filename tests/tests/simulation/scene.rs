//! One session of a seed, as it outlives every host: its people, what is still to go wrong with it, who had its lease,
//! and what its tools did outside of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rewake_core::codec::{self, Record};
use rewake_core::entry::Entry;
use rewake_core::ids::{Head, HostId, SessionId};
use rewake_runtime::Host;
use rewake_store::Append;

use crate::faults::{Faults, Which};
use crate::people::{Crowd, View};
use crate::plan::{Purpose, Talk, Walls, choices};
use crate::stage::{Template, log_path};

/// Longer than any tool lasts: what a host has written to begin has shown outside by then, or never will.
const BEGINS_MS: u64 = 400_000;

/// An append that the store took.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// Which host's it is.
    pub(crate) host: u32,
    /// Whose lease it was then.
    pub(crate) holder: Option<HostId>,
    pub(crate) epoch: u64,
    pub(crate) last_seq: u64,
}

/// A use of a tool, as it showed outside of the store.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    /// What it wrote.
    pub(crate) line: String,
    /// Where: every host has a place of its own.
    pub(crate) host: u32,
    /// When, in milliseconds since the beginning.
    pub(crate) at_ms: u64,
    /// How long its host stood still between its last look at its lease, and this.
    pub(crate) excused_ms: u64,
    /// When its host had asked for the lease that it was given.
    pub(crate) asked_ms: u64,
    /// Which lease of the session that was.
    pub(crate) epoch: u64,
}

/// A session was taken over from a host that lived, without its doing.
#[derive(Clone, Debug)]
pub(crate) struct Takeover {
    pub(crate) from: u32,
    /// The lease of anyone who took it.
    pub(crate) epoch: u64,
    /// When, in milliseconds since the beginning.
    pub(crate) at_ms: u64,
}

/// What a host has of a session.
#[derive(Debug)]
pub(crate) struct Hold {
    /// When it had asked for the lease that it was given last.
    pub(crate) asked_ms: u64,
    /// Which lease of the session that is.
    epoch: u64,
    /// How long all had stood still by then, when it last looked at its lease.
    pub(crate) checked_leapt_ms: u64,
    log: PathBuf,
    read_bytes: usize,
    /// Until when it is likely to begin something, by the time in which hosts are awake.
    hot_until_ms: u64,
}

/// One session of a seed.
pub(crate) struct Scene {
    pub(crate) id: SessionId,
    pub(crate) walls: Walls,
    pub(crate) faults: Faults,
    pub(crate) crowd: Crowd,
    pub(crate) view: View,
    /// Its journal, as the store took it.
    pub(crate) entries: Vec<Entry>,
    /// The host that people send by.
    pub(crate) newest: Option<Host>,
    /// Hosts that others believe to be dead, and that live.
    pub(crate) believed_dead: BTreeSet<HostId>,
    pub(crate) zombie: Option<(u32, Append)>,
    /// Nothing is left to be done.
    pub(crate) is_settled: bool,
    /// What the people were told that cannot be.
    pub(crate) broken_promises: Vec<String>,
    pub(crate) accepted: Vec<Accepted>,
    pub(crate) takeovers: Vec<Takeover>,
    pub(crate) begun: Vec<Begun>,
    /// What went wrong that may have it loaded again.
    pub(crate) disturbances: u64,
    pub(crate) holds: BTreeMap<u32, Hold>,
    /// Until when its lease is not renewed, by the time in which hosts are awake.
    pub(crate) no_renewals_until_ms: u64,
}

impl Scene {
    pub(crate) fn new(seed: u64, template: &Template, talk: &Talk, walls: Walls, which: &Which) -> Self {
        let faults = Faults::new(choices(seed, talk.nth, Purpose::Faults), which, walls);
        Scene {
            id: template.id.clone(),
            walls,
            faults,
            crowd: Crowd::new(choices(seed, talk.nth, Purpose::People), talk),
            view: View::default(),
            entries: template.entries.clone(),
            newest: None,
            believed_dead: BTreeSet::new(),
            zombie: None,
            is_settled: false,
            broken_promises: Vec::new(),
            accepted: Vec::new(),
            takeovers: Vec::new(),
            begun: Vec::new(),
            disturbances: 0,
            holds: BTreeMap::new(),
            no_renewals_until_ms: 0,
        }
    }

    /// The store took these records; they follow what it has.
    pub(crate) fn written(&mut self, records: &[Record]) {
        for record in records {
            let head =
                self.entries.last().map_or(Head::default(), |last| Head { seq: last.seq, hash: last.hash });
            let entry = codec::open(&self.id, head, record).expect("a record that follows");
            self.view.read(&entry);
            self.entries.push(entry);
        }
        self.is_settled &= self.view.turn.is_none();
    }

    /// A host was given the lease that it had asked for.
    pub(crate) fn held(&mut self, host: u32, epoch: u64, asked_ms: u64, leapt_ms: u64, data: &Path) {
        let hold = self.holds.entry(host).or_insert_with(|| Hold {
            asked_ms,
            epoch,
            checked_leapt_ms: leapt_ms,
            log: log_path(data, host, &self.id),
            read_bytes: 0,
            hot_until_ms: 0,
        });
        (hold.epoch, hold.asked_ms, hold.checked_leapt_ms) = (epoch, asked_ms, leapt_ms);
    }

    /// Whether a host has written that it begins something, a short time ago.
    pub(crate) fn has_begun(&self, host: u32) -> bool {
        self.holds.get(&host).is_some_and(|hold| hold.hot_until_ms > 0)
    }

    /// A host looks at its lease.
    pub(crate) fn checks(&mut self, host: u32, leapt_ms: u64) {
        if let Some(hold) = self.holds.get_mut(&host) {
            hold.checked_leapt_ms = leapt_ms;
        }
    }

    /// A host has written that it begins something.
    pub(crate) fn begins(&mut self, host: u32, awake_ms: u64) {
        if let Some(hold) = self.holds.get_mut(&host) {
            hold.hot_until_ms = awake_ms + BEGINS_MS;
        }
    }

    /// Sees what tools have done since the last time; what is not likely to have been done too, if `all`.
    pub(crate) fn see(&mut self, at_ms: u64, awake_ms: u64, leapt_ms: u64, all: bool) {
        for (host, hold) in &mut self.holds {
            if hold.hot_until_ms == 0 && !all {
                continue;
            }
            if awake_ms > hold.hot_until_ms {
                hold.hot_until_ms = 0;
            }
            let excused_ms = leapt_ms - hold.checked_leapt_ms;
            let (host, asked_ms, epoch) = (*host, hold.asked_ms, hold.epoch);
            let lines = hold.new_lines();
            self.begun.extend(lines.into_iter().map(|line| Begun {
                line,
                host,
                at_ms,
                excused_ms,
                asked_ms,
                epoch,
            }));
        }
    }

    /// Takes away what its tools have written.
    pub(crate) fn wipe(&self) {
        for hold in self.holds.values().filter(|hold| hold.read_bytes > 0) {
            let _ = std::fs::remove_file(&hold.log);
        }
    }

    /// What its tools wrote outside of the store, line by line.
    pub(crate) fn log(&self) -> Vec<String> {
        self.begun.iter().map(|begun| begun.line.clone()).collect()
    }
}

impl Hold {
    fn new_lines(&mut self) -> Vec<String> {
        let bytes = std::fs::metadata(&self.log).map_or(0, |file| usize::try_from(file.len()).unwrap_or(0));
        if bytes <= self.read_bytes {
            return Vec::new();
        }
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let new = text.get(self.read_bytes..).unwrap_or_default();
        self.read_bytes = text.len();
        new.lines().map(str::to_owned).collect()
    }
}
