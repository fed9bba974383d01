//! Who asks for ever where no order of events ends the programs.

use super::World;
use crate::deadlock::{self, ASKING, Deadlock, Standing};
use crate::monitors::buffers::Lends;
use protocols::contract::{Machine, Program, Wait, WaitSet};

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// Wait-for graph of a livelocked state, where each thread that can go on retries: in words of its program,
    /// or for the process that died, if one has. `None` where every program has ended.
    pub fn asked_for_ever(&self) -> Option<Deadlock> {
        let stuck = self.deadlock();
        let waits_for_good = |standing: &Standing| {
            let named = stuck.iter().flat_map(Deadlock::all);
            named.map(|one| (one.process, one.thread)).any(|one| one == standing.who())
        };
        let mut standings = self.standings();
        for standing in &mut standings {
            if !standing.ended && !waits_for_good(standing) {
                standing.waits = Some(self.asks_of(standing));
            }
        }
        deadlock::diagnose(&standings)
    }

    fn asks_of(&self, standing: &Standing) -> WaitSet {
        if let Some(known) = self.program(standing.process, standing.thread).asks_for() {
            return known;
        }
        let victim = self.crash.victim();
        let mutexes = &self.monitors.mutexes;
        let locks = victim.map(|victim| mutexes.standing_between(victim.0, standing.process.0));
        let now = standing.waits.as_ref().map(|(WaitSet::All(waits) | WaitSet::Any(waits))| waits);
        let now = now.and_then(|waits| waits.first());
        let call = now.map(|wait| format!("now in {}", wait.operation));
        let detail: Vec<String> = call.into_iter().chain(locks.into_iter().flatten()).collect();
        let origin = now.map(|wait| wait.origin).or(standing.position).unwrap_or_default();
        let peers = victim.into_iter().collect();
        let detail = detail.join("; ");
        WaitSet::All(vec![Wait { operation: ASKING, peers, thread: None, detail, origin }])
    }
}
