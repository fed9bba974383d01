//! One run at a time: by random choices, or by random priorities.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::monitors::Violation;
use crate::monitors::buffers::Lends;
use crate::untimed::{Choice, Outcome, World};
use engine::streams::{Stream, Streams};
use protocols::contract::{Machine, Process, Program, Thread};

/// Record of one run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Walk {
    /// Every choice, in order: [`replay`](super::replay) takes it.
    pub choices: Vec<Choice>,
    /// How it ended; [`Outcome::Running`] where the limit was hit.
    pub outcome: Outcome,
    /// Broken laws, those of the end included.
    pub violations: Vec<Violation>,
}

/// Takes the choices that `pick` names by their index, at most `limit` of them; stops at the end
/// of the run, at a broken law, and where `pick` names none.
pub fn drive<M: Machine, P: Program<M>>(
    world: &mut World<M, P>,
    limit: usize,
    mut pick: impl FnMut(&[Choice]) -> Option<usize>,
) -> Walk
where
    M::Call: Lends,
{
    let (mut taken, mut choices) = (Vec::new(), Vec::new());
    while taken.len() < limit {
        choices.clear();
        world.choices_into(&mut choices);
        if choices.iter().all(|choice| choice.is_fault()) {
            break;
        }
        let Some(&choice) = pick(&choices).and_then(|index| choices.get(index)) else { break };
        let applied = world.apply(choice);
        debug_assert_eq!(applied, Ok(()), "the world offered this choice");
        taken.push(choice);
        if !world.violations().is_empty() {
            break;
        }
    }
    let outcome = world.outcome();
    let mut violations = world.violations().to_vec();
    if outcome == Outcome::Finished && !world.is_struck() {
        violations.extend(world.conclude());
    }
    Walk { choices: taken, outcome, violations }
}

/// Takes one random way through `world`, of at most `limit` choices.
///
/// The choices are drawn from the `ChaCha8` stream `stream` of `seed`: the same ones everywhere.
///
/// # Panics
///
/// Never: what is drawn is below the number of choices.
pub fn walk<M: Machine, P: Program<M>>(
    world: &mut World<M, P>,
    seed: u64,
    stream: u64,
    limit: usize,
) -> Walk
where
    M::Call: Lends,
{
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    drive(world, limit, |choices| {
        draw(choices, |n| {
            // Multiply and shift: the same on every machine, and its bias (n / 2^64) cannot show.
            let wide = u128::from(random.next_u64()) * n as u128;
            usize::try_from(wide >> 64).expect("less than n")
        })
    })
}

/// Steps for each one in which a fault comes, of those in which it may.
/// Method: faults stay rare.
const FAULTS: usize = 16;

/// An index, each equally likely, where `below` draws numbers below its argument.
fn draw(choices: &[Choice], mut below: impl FnMut(usize) -> usize) -> Option<usize> {
    let faults = choices.iter().rev().take_while(|choice| choice.is_fault()).count();
    let others = choices.len() - faults;
    if faults > 0 && below(FAULTS) == 0 {
        return Some(others + below(faults));
    }
    (others > 0).then(|| below(others))
}

/// A thread, or the HCA of a process.
type Actor = (Process, Option<Thread>);

/// Probabilistic concurrency testing: the actor of the highest priority acts, and at `depth - 1`
/// random steps the one that acts falls below all others.
///
/// A bug that needs an order among `depth` steps is found with a chance of at least 1 in
/// (threads x steps^(depth - 1)). A poll is a yield: who ends a pass over its channels falls below
/// all others, so that no thread polls for ever while another one could act.
///
/// Source: Burckhardt, Kothari, Musuvathi, Nagarakatte: A randomized scheduler with probabilistic
/// guarantees of finding bugs, ASPLOS 2010.
#[derive(Clone, Debug)]
pub struct Pct {
    random: Stream,
    /// Priorities of the actors seen so far; high ones act first.
    priorities: Vec<(Actor, u64)>,
    /// Steps at which the actor falls.
    changes: Vec<usize>,
    step: usize,
    /// Below every priority given so far.
    lowest: u64,
}

/// The least first priority.
/// Encoding: demotions count down from it.
const HIGH: u64 = 1 << 63;

impl Pct {
    /// Schedule number `schedule` of `seed`, for runs of about `length` steps.
    ///
    /// # Panics
    ///
    /// Never: what is drawn is below `length`.
    pub fn new(seed: u64, schedule: u32, depth: u32, length: usize) -> Self {
        let mut random = Streams::new(seed).stream("schedule by priorities", schedule);
        let length = length.max(1) as u64;
        let step = |random: &mut Stream| usize::try_from(random.below(length)).expect("a length");
        let changes = (1..depth).map(|_| step(&mut random)).collect();
        Self { random, priorities: Vec::new(), changes, step: 0, lowest: HIGH }
    }

    /// The index of the next choice; `None` where there is none.
    pub fn pick(&mut self, choices: &[Choice]) -> Option<usize> {
        let drawn = draw(choices, |n| below(&mut self.random, n))?;
        if choices[drawn].is_fault() {
            return Some(drawn);
        }
        let mut actor = self.highest(choices)?;
        if self.changes.contains(&self.step) {
            self.demote(actor);
            actor = self.highest(choices)?;
        }
        self.step += 1;
        let own = |choice: &Choice| (choice.process(), choice.thread()) == actor;
        let own: Vec<usize> = (0..choices.len()).filter(|&at| own(&choices[at])).collect();
        let picked = own[below(&mut self.random, own.len())];
        if matches!(choices[picked], Choice::EndPass { .. }) {
            self.demote(actor);
        }
        Some(picked)
    }

    fn highest(&mut self, choices: &[Choice]) -> Option<Actor> {
        let acting = choices.iter().filter(|choice| !choice.is_fault());
        let mut best = None;
        for actor in acting.map(|choice| (choice.process(), choice.thread())) {
            best = best.max(Some((self.priority(actor), actor)));
        }
        best.map(|(_, actor)| actor)
    }

    fn priority(&mut self, actor: Actor) -> u64 {
        if let Some(&(_, priority)) = self.priorities.iter().find(|(known, _)| *known == actor) {
            return priority;
        }
        let priority = HIGH | self.random.next_u64();
        self.priorities.push((actor, priority));
        priority
    }

    fn demote(&mut self, actor: Actor) {
        self.lowest -= 1;
        let lowest = self.lowest;
        let known = self.priorities.iter_mut().find(|(known, _)| *known == actor);
        known.expect("it was given a priority before it acted").1 = lowest;
    }
}

fn below(random: &mut Stream, n: usize) -> usize {
    usize::try_from(random.below(n as u64)).expect("less than n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(process: u32) -> Choice {
        Choice::Act { process: Process(process), thread: Thread(0) }
    }

    fn end_pass(process: u32) -> Choice {
        Choice::EndPass { process: Process(process), thread: Thread(0) }
    }

    #[test]
    fn whoever_has_the_highest_priority_acts_until_the_change() {
        for schedule in 0..50 {
            let mut pct = Pct::new(1, schedule, 2, 10);
            let change = pct.changes[0];
            let picks: Vec<usize> = (0..10).filter_map(|_| pct.pick(&[act(0), act(1)])).collect();
            assert!(picks[..change].iter().all(|&pick| pick == picks[0]), "{picks:?}");
            let after = if change == 0 { picks[0] } else { 1 - picks[0] };
            assert!(picks[change..].iter().all(|&pick| pick == after), "{picks:?} {change}");
        }
    }

    #[test]
    fn a_poll_is_a_yield() {
        for schedule in 0..50 {
            let mut pct = Pct::new(1, schedule, 1, 10);
            let picks: Vec<usize> =
                (0..6).filter_map(|_| pct.pick(&[end_pass(0), end_pass(1), end_pass(2)])).collect();
            assert_eq!(picks[..3], picks[3..], "they poll in turn");
            assert_eq!(pct.pick(&[end_pass(0), act(3), end_pass(1)]), Some(1));
        }
    }
}
