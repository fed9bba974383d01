//! What a target does with a packet: its lock, its memory, its answers.
//!
//! A handler runs only while a thread of the target polls. It changes memory in one piece: no process
//! else of the process is inside the library then.
//!
//! Source: `rma` Sec. 3.2, 4.2, 4.3.

use super::call::{LockKind, Operation};
use super::facts::Facts;
use super::packet::{Body, Closes, Does, Place};
use super::port::Port;
use super::window::{Asker, Queued, Window};
use crate::contract::{Action, CodePath, Region, Route, Space};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use mpi::rma::update::Effect;

impl Window {
    /// Takes one packet about this window; says in words why it does not fit.
    pub(super) fn told(
        &mut self,
        from: Route,
        body: Body,
        landing: Option<Region>,
        port: &mut Port<'_>,
    ) -> Result<(), String> {
        let missing = |what: &str| format!("{what}, but nothing of that name waits for it");
        let sender = self.rank_of(from.peer);
        let sender = sender.ok_or_else(|| "the sender is no rank of the window".to_owned())?;
        match body {
            Body::Lock(kind) => {
                port.work(CodePath::Target);
                self.lock_asked(kind, Asker::Other(from), port);
                Ok(())
            }
            Body::Granted => {
                port.work(CodePath::Control);
                self.granted(sender, port);
                Ok(())
            }
            Body::Operate { locks: None, .. } => {
                port.work(CodePath::Target);
                self.operation(from, body, landing, port)
            }
            Body::Operate { locks: Some(kind), .. } => {
                port.work(CodePath::Target);
                self.lock_asked(kind, Asker::Merged { from, body, landing }, port);
                Ok(())
            }
            Body::Reply { answer, closes } => {
                port.work(CodePath::Control);
                self.replied(answer, closes, landing, port).ok_or_else(|| missing("bytes come"))?;
                port.out.extend(landing.map(|landing| Action::Repost { landing, from }));
                Ok(())
            }
            Body::Close(closes) => {
                port.work(CodePath::Target);
                self.closed(from, closes, false, port);
                Ok(())
            }
            Body::Done => {
                port.work(CodePath::Control);
                self.answered(sender).ok_or_else(|| missing("a flush is done"))
            }
            Body::Post => {
                port.work(CodePath::Control);
                *self.posts.entry(sender).or_default() += 1;
                Ok(())
            }
        }
    }

    fn lock_asked(&mut self, kind: LockKind, asker: Asker, port: &mut Port<'_>) {
        #[cfg(feature = "mutants")]
        if kind == LockKind::Shared && port.has(Mutant::SharedJoins) {
            return self.grant_to(asker, port);
        }
        if let Some(asker) = self.manager.ask(kind, asker) {
            self.grant_to(asker, port);
        }
    }

    /// A process has the lock now.
    fn grant_to(&mut self, asker: Asker, port: &mut Port<'_>) {
        match asker {
            Asker::Own => self.granted(self.rank, port),
            Asker::Other(from) => port.answer(self, from, Body::Granted, None),
            Asker::Merged { from, body, landing } => {
                if let Err(words) = self.operation(from, body, landing, port) {
                    port.refuse(words);
                }
            }
        }
    }

    /// A holder of the lock is gone: the next ones have it.
    pub(super) fn leave(&mut self, port: &mut Port<'_>) {
        let held = self.manager.leave();
        #[cfg(feature = "mutants")]
        let held = held || port.has(Mutant::SharedJoins);
        if !held {
            port.refuse("the lock is given back, but nobody holds it".to_owned());
        }
        #[cfg(feature = "mutants")]
        if port.has(Mutant::GrantsNewest) {
            self.manager.put_newest_first();
        }
        while let Some((_, asker)) = self.manager.grant() {
            self.grant_to(asker, port);
        }
    }

    /// Carries out an operation of another process, and what ends with it.
    fn operation(
        &mut self,
        from: Route,
        body: Body,
        landing: Option<Region>,
        port: &mut Port<'_>,
    ) -> Result<(), String> {
        let Body::Operate { does, place, closes, answer, .. } = body else {
            unreachable!("only operations are carried out")
        };
        self.check_exposed(place)?;
        let reply = Region::new(Space::Staging(port.thread.0), place.bytes());
        let payload = match does {
            Does::Put => {
                Self::put(place, landing, port);
                None
            }
            Does::Get if !place.is_strided() => place.runs().next().map(|(run, _)| run),
            Does::Get => {
                for (run, start) in place.runs() {
                    port.copy(run, reply.part(start, run.len));
                }
                Some(reply)
            }
            Does::Update(update) => {
                let old = answer.map(|_| reply);
                update_runs((place, self.rank), update, landing, old, port);
                Facts(self).applied(from, (place, update), port);
                old
            }
        };
        port.out.extend(landing.map(|landing| Action::Repost { landing, from }));
        if let Some(answer) = answer {
            let closes = matches!(closes, Closes::Flush | Closes::Unlock { answers: true });
            port.answer(self, from, Body::Reply { answer, closes }, payload);
        }
        self.closed(from, closes, answer.is_some(), port);
        Ok(())
    }

    fn put(place: Place, landing: Option<Region>, port: &mut Port<'_>) {
        let Some(landing) = landing else { return };
        for (run, start) in place.runs() {
            port.copy(landing.part(start, run.len), run);
        }
    }

    /// Ends a flush, a lock or an epoch for an operation, or for a packet of its own; `told` says that the bytes sent
    /// back have reported it already.
    fn closed(&mut self, from: Route, closes: Closes, told: bool, port: &mut Port<'_>) {
        match closes {
            Closes::Nothing => {}
            Closes::Counted => self.counted += 1,
            Closes::Flush => {
                if !told {
                    port.answer(self, from, Body::Done, None);
                }
            }
            Closes::Unlock { answers } => {
                if answers && !told {
                    port.answer(self, from, Body::Done, None);
                }
                self.silent_come += u64::from(!answers);
                self.leave(port);
            }
            Closes::Epoch => {
                if let Some(exposure) = &mut self.exposure {
                    exposure.completed += 1;
                }
            }
        }
    }

    /// An operation on a part that this process's core reaches: it does it at once.
    pub(super) fn apply_own(target: u32, queued: Queued, port: &mut Port<'_>) {
        let Queued { does, place, request } = queued;
        match does {
            Operation::Put { origin } => Self::put(place, Some(origin), port),
            Operation::Get { into } => {
                for (run, start) in place.runs() {
                    port.copy(run, into.part(start, run.len));
                }
            }
            Operation::Update { update, origin, result } => {
                update_runs((place, target), update, origin, result, port);
            }
        }
        for region in [does.origin(), does.result()].into_iter().flatten() {
            port.give_back(region);
        }
        port.complete(request);
    }
}

/// Updates every run of a place in the part of a rank.
fn update_runs(
    (place, rank): (Place, u32),
    update: Effect,
    operand: Option<Region>,
    old: Option<Region>,
    port: &mut Port<'_>,
) {
    for (run, start) in place.runs() {
        let of_run = |region: Region| region.part(start, run.len);
        // The two operands of a compare-and-swap belong to its one element.
        let whole = matches!(update, Effect::CompareAndSwap(_));
        let operand = operand.map(|operand| if whole { operand } else { of_run(operand) });
        let operand = operand.filter(|_| update.operand(run.len) > 0);
        if run.len > 0 {
            let old = old.map(of_run);
            port.out.push(Action::Update { target: run, rank, update, operand, old });
        }
    }
}
