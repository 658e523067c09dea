//! Appends of hosts, alone or together with those of other sessions, and everything that goes wrong with them.

use std::future::pending;
use std::time::Duration;

use rewake_store::{Append, StoreError};
use tokio::sync::oneshot;

use crate::faults::{Fate, Fault};
use crate::sim::{Lie, QUIET, Signal};
use crate::store::FaultStore;

type Done = Result<(), StoreError>;

/// An append that waits to be written, with others of its host.
pub(crate) struct Member {
    session: usize,
    append: Append,
    answer: oneshot::Sender<Done>,
}

impl FaultStore {
    pub(crate) async fn appended(&self, append: Append) -> Done {
        let FaultStore { sim, host } = self;
        sim.enter(*host).await;
        sim.count_down(*host);
        let session = sim.session(&append.session);
        sim.interfere(session, 8).await;
        if self.is_swallowed(&append) {
            return Ok(());
        }
        // A step's own start begins nothing that shows outside.
        let is_start = |kind: &str| kind.ends_with(".started") && kind != "step.started";
        let begins = append
            .records
            .iter()
            .any(|record| record.kind == "call.retried" || is_start(&record.kind) && record.place.step > 0);
        let (answer, answered) = oneshot::channel();
        self.join(Member { session, append, answer }).await;
        // Who answers was killed, if nobody does.
        let Ok(done) = answered.await else { return pending().await };
        if begins && done.is_ok() {
            sim.will_check(session, *host);
        }
        done
    }

    /// Writes an append, together with all that come before nothing is left to be done but to wait for them: so the
    /// order in which sessions come to write does not matter.
    async fn join(&self, member: Member) {
        let FaultStore { sim, host } = self;
        if sim.lock().scenes.len() == 1 {
            return self.write(vec![member]).await;
        }
        let is_first = {
            let mut state = sim.lock();
            let group = state.groups.entry(*host).or_default();
            group.push(member);
            group.len() == 1
        };
        if is_first {
            tokio::time::sleep(QUIET).await;
            let mut members = sim.lock().groups.remove(host).unwrap_or_default();
            members.sort_by_key(|member| member.session);
            self.write(members).await;
        }
    }

    /// Writes a group. What goes wrong with one session alone goes wrong with that one; the rest is everybody's.
    async fn write(&self, members: Vec<Member>) {
        let FaultStore { sim, host } = self;
        let mut all = Vec::new();
        let mut fault: Option<Fault> = None;
        for member in members {
            let (session, records) = (member.session, &member.append.records);
            let kinds: Vec<&str> = records.iter().map(|record| record.kind.as_str()).collect();
            let drawn = sim.lock().scenes[session].faults.at_append(&kinds);
            let is_confined = sim.lock().scenes[session].faults.is_confined();
            let [first, last] = [records.first(), records.last()].map(|at| at.map_or(0, |at| at.seq));
            sim.note(format!("host {host} appends {session}: {first}-{last} {}", kinds.join(" ")));
            if let Some(fault) = drawn {
                sim.note(format!("  {fault:?}"));
                sim.count(&format!("{fault:?}"));
            }
            match drawn {
                Some(fault) if is_confined => self.fail(vec![member], fault).await,
                drawn => {
                    fault = fault.or(drawn);
                    all.push(member);
                }
            }
        }
        match fault {
            Some(fault) if !all.is_empty() => self.fail(all, fault).await,
            _ => self.commit(all),
        }
    }

    /// Each is written or refused for itself: who lost its lease is left out, and the others are not.
    fn commit(&self, members: Vec<Member>) {
        for (answer, done) in self.commit_untold(members) {
            let _ = answer.send(done);
        }
    }

    fn commit_untold(&self, members: Vec<Member>) -> Vec<(oneshot::Sender<Done>, Done)> {
        let commit = |Member { session, append, answer }| {
            let done = self.sim.commit(session, self.host, append);
            if let Err(error) = &done {
                self.sim.note(format!("  refused: {error}"));
                // Of its own inbox. Anyone who is refused for anything else was wronged by what happened to another one.
                if matches!(
                    error,
                    StoreError::RowChanged { .. }
                        | StoreError::RowTaken { .. }
                        | StoreError::InboxMoved { .. }
                ) {
                    self.sim.disturb(session);
                }
            }
            (answer, done)
        };
        members.into_iter().map(commit).collect()
    }

    async fn fail(&self, members: Vec<Member>, fault: Fault) {
        let (sim, host) = (&self.sim, self.host);
        let sessions: Vec<usize> = members.iter().map(|member| member.session).collect();
        match fault {
            Fault::KillBefore => sim.kill().await,
            Fault::KillAfter => {
                let _untold = self.commit_untold(members);
                sim.kill().await
            }
            Fault::KillSoon(ms) => {
                sim.signal(Signal::KillIn(Duration::from_millis(ms)));
                self.commit(members);
            }
            Fault::Unknown(fate) => self.leave_unknown(members, fate),
            Fault::Io => {
                for Member { session, answer, .. } in members {
                    sim.disturb(session);
                    let source_text = "as the seed has it".to_owned();
                    let _ =
                        answer.send(Err(StoreError::Io { what: "writing to the store".into(), source_text }));
                }
            }
            Fault::Busy(ms) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                sim.enter(host).await;
                self.commit(members);
            }
            Fault::Frozen(ms) => {
                sim.leap(ms);
                sim.freeze(host, self.taken(sessions)).await;
                self.commit(members);
            }
            Fault::TakenOver(ms) => {
                let untold = self.commit_untold(members);
                sim.leap(ms);
                sim.freeze(host, self.taken(sessions)).await;
                untold.into_iter().for_each(|(answer, done)| drop(answer.send(done)));
            }
            Fault::Asleep(ms) => {
                sim.leap(ms);
                self.commit(members);
            }
            Fault::Stolen => {
                self.commit(members);
                sim.believe_dead(sessions[0]);
                sim.signal(Signal::TakeOver(vec![sessions[0]]));
            }
            Fault::Seized => {
                let untold = self.commit_untold(members);
                sim.believe_dead(sessions[0]);
                sim.freeze(host, vec![sessions[0]]).await;
                untold.into_iter().for_each(|(answer, done)| drop(answer.send(done)));
            }
            Fault::LetGo => {
                self.commit(members);
                sim.disturb(sessions[0]);
                sim.signal(Signal::LetGo(sessions[0]));
            }
            Fault::Set(ms) => {
                sim.lock().time.set(host, ms);
                self.commit(members);
            }
        }
    }

    /// The transaction's commit fails, and it is not known what was written.
    fn leave_unknown(&self, members: Vec<Member>, fate: Fate) {
        for Member { session, append, answer } in members {
            match fate {
                Fate::Applied => drop(self.sim.commit(session, self.host, append)),
                Fate::Gone => {}
                Fate::Later => self.sim.lock().scenes[session].zombie = Some((self.host, append)),
            }
            self.sim.disturb(session);
            let _ = answer.send(Err(StoreError::Unknown("as the seed has it".into())));
        }
    }

    /// Which of these sessions another process takes over: the first, or all.
    fn taken(&self, mut sessions: Vec<usize>) -> Vec<usize> {
        if sessions.len() > 1 && self.sim.lock().scenes[sessions[0]].faults.only_first() {
            self.sim.count("a group with one fenced member");
            sessions.truncate(1);
        }
        sessions
    }

    /// The store lies about this append.
    fn is_swallowed(&self, append: &Append) -> bool {
        let mut state = self.sim.lock();
        let starts = append.records.iter().any(|record| record.kind == "tool.started");
        let lies = state.lie == Some(Lie::Start) && starts;
        if lies {
            state.lie = None;
        }
        lies
    }
}
