//! How the simulated harness's host asks a model: reserves what an attempt can cost, asks again where the provider
//! will not answer for now, and asks nothing that could pass the cap.

use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{
    CallRetried, Fact, Lost, ModelCompleted, ModelContent, ModelFinish, ModelLost, ModelOutcome,
    ModelStarted, Stored,
};
use rewake_core::ids::Digest;
use rewake_core::money::Usd;
use rewake_wire::{Part, Usage};

use super::Guest;
use crate::driver::Stop;

/// What an attempt can cost at most.
const RESERVED: Usd = Usd::from_nanos(1_000);
/// What an answer costs.
const COST: Usd = Usd::from_nanos(600);

impl Guest<'_, '_> {
    pub(super) fn model(&mut self, busy: u32) -> Result<(), Stop> {
        let (place, recorded) = self.call("model.complete");
        let recorded = recorded.unwrap_or_default();
        if recorded.ended(0).is_none() {
            match recorded.started(0).map(|entry| Entry::clone(entry)) {
                Some(start) => {
                    let Fact::ModelStarted(body) = &start.fact else { panic!("{start:?} asks no model") };
                    assert_eq!(body.request, self.memory, "a re-run asks the same");
                    self.ask_again(&start, busy)?;
                }
                None => self.ask(place, busy)?,
            }
        }
        let end = recorded.ended(0).map(|entry| Entry::clone(entry)).or_else(|| self.ended(place));
        match end.map(|entry| entry.fact) {
            Some(Fact::ModelCompleted(body)) => self.learn(&body.outcome),
            Some(Fact::ModelLost(_)) => self.learn(&"lost"),
            other => panic!("a model call goes on without an end: {other:?}"),
        }
        Ok(())
    }

    /// Whether an attempt could pass the cap, if so much is spent or reserved beside it.
    fn is_over(&self, committed: Usd) -> bool {
        let cap = self.driver.session.pins().agent.max_usd;
        cap.is_some_and(|cap| committed.plus(RESERVED) > cap)
    }

    fn ask(&mut self, place: Place, busy: u32) -> Result<(), Stop> {
        let over = self.is_over(self.driver.session.committed());
        let list = Digest::of_parts([b"list".as_slice(), &self.memory.0]);
        let stored = Stored { system: None, tools: None, options: None, list, through: self.memory };
        let body = ModelStarted {
            model: "scripted".into(),
            provider: None,
            request: self.memory,
            messages: 1,
            stored: Some(stored),
            reserved: if over { Usd::ZERO } else { RESERVED },
        };
        let start = self.driver.record(Draft::agent(place, body));
        if over {
            return self.not_sent(&start, Usd::ZERO);
        }
        self.driver.commit();
        self.driver.breathe()?;
        self.attempts(&start, busy)
    }

    /// Its host died: what the attempt before cost is not known.
    fn ask_again(&mut self, start: &Entry, busy: u32) -> Result<(), Stop> {
        let open = self.driver.session.calls[&start.seq];
        let Some(n) = open.next_try() else {
            self.driver.record(Draft::system(start.place, ModelLost::new(start.seq, Lost::Limit)));
            self.driver.commit();
            return self.driver.breathe();
        };
        if self.is_over(self.driver.session.committed()) {
            return self.not_sent(start, open.reserved);
        }
        self.retry(
            start,
            CallRetried { start: start.seq, n, why: None, cost: open.reserved, reserved: RESERVED },
        )?;
        self.attempts(start, busy)
    }

    fn attempts(&mut self, start: &Entry, busy: u32) -> Result<(), Stop> {
        let refused = self.driver.world.journal.iter().filter(|entry| {
            matches!(&entry.fact, Fact::CallRetried(body) if body.start == start.seq && body.why.is_some())
        });
        for before in refused.count() as u32..busy {
            self.driver.world.perform(start);
            self.driver.breathe()?;
            let open = self.driver.session.calls[&start.seq];
            // Some are refused before anything is counted, and of some nobody says what they cost.
            let cost = if before.is_multiple_of(2) { Usd::ZERO } else { open.reserved };
            let others = self.driver.session.committed().minus(open.reserved);
            if self.is_over(others.plus(cost)) {
                return self.not_sent(start, cost);
            }
            let (n, why) = (open.retries + 1, Some("busy".into()));
            self.retry(start, CallRetried { start: start.seq, n, why, cost, reserved: RESERVED })?;
        }
        self.driver.perform(start, self.answer(start))
    }

    fn retry(&mut self, start: &Entry, body: CallRetried) -> Result<(), Stop> {
        self.driver.record(Draft::system(start.place, body));
        self.driver.commit();
        self.driver.breathe()
    }

    fn not_sent(&mut self, start: &Entry, cost: Usd) -> Result<(), Stop> {
        let outcome = ModelOutcome::Budget("the cap is reached".into());
        self.driver
            .record(Draft::system(start.place, ModelCompleted { start: start.seq, outcome, cost, ms: 0 }));
        self.driver.commit();
        self.driver.breathe()
    }

    fn answer(&self, start: &Entry) -> Draft {
        let content = vec![ModelContent::Part(Part::text(format!("answer to {}", self.memory)))];
        let usage = Usage { input_tokens: 10, output_tokens: 3, ..Usage::default() };
        let outcome = ModelOutcome::Completion {
            model: "scripted".into(),
            content,
            finish: ModelFinish::End,
            usage,
            context_tokens: None,
        };
        Draft::system(start.place, ModelCompleted { start: start.seq, outcome, cost: COST, ms: 0 })
    }
}
