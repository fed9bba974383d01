//! The families `rma_misuse` and `rma_misuse_two`: what one-sided calls return, in and out of order.
//!
//! Each process is a [`Synchronisation`] under [`Rules::Mpich`]. Between processes only that is
//! modelled which these calls wait for: a start waits for the post of its target, a wait for the
//! complete of its origin, and fence, free and barrier for all processes. No operation moves bytes, and no
//! lock is waited for: no recorded case has two processes lock one window.
//!
//! A case ends at the first call that does not return. Where the recorded library hangs in an unlock
//! of a target that is not locked while another one is, a refusal passes too.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::error::VectorError;
use super::family::Recorded;
use super::verdict::{Mismatch, Wrong};
use mpi::envelope::Rank;
use mpi::rma::synchronisation::{Event, LockKind, RankSet, Rules, Synchronisation};

/// One recorded case: the calls of each process and what they returned.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    /// The calls, by rank.
    calls: Vec<Vec<Call>>,
    /// The answers of the calls, by rank, up to the first that did not return.
    returns: Vec<Vec<Answer>>,
}

/// A call.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Call {
    /// On the window.
    Window(Event),
    /// On the communicator.
    Barrier,
}

/// The answer of a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    Done,
    /// Of a test.
    Tested(bool),
    Refused,
    Hangs,
}

/// Operations of MPI on a window, and those of them that give a request.
const OPERATIONS: [&str; 6] =
    ["put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"];
const REQUEST_OPERATIONS: [&str; 4] = ["rput", "rget", "raccumulate", "rget_accumulate"];

/// A case of one process as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOne {
    id: u64,
    calls: Vec<String>,
    returns: Vec<String>,
}

/// A case of two processes as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "some fields are there to be allowed only")]
pub(super) struct RawTwo {
    id: u64,
    name: String,
    calls: [Vec<String>; 2],
    returns: [Vec<String>; 2],
}

/// The target of every call is the caller.
impl Recorded for RawOne {
    type Case = Case;
    type Head = ();

    fn checked(self, (): &()) -> Result<Case, VectorError> {
        Case::checked(self.id, &[self.calls], &[self.returns])
    }
}

/// The target of a call is the other process.
impl Recorded for RawTwo {
    type Case = Case;
    type Head = ();

    fn checked(self, (): &()) -> Result<Case, VectorError> {
        Case::checked(self.id, &self.calls, &self.returns)
    }
}

impl Case {
    fn checked(
        id: u64,
        calls: &[Vec<String>],
        returns: &[Vec<String>],
    ) -> Result<Self, VectorError> {
        if calls.iter().all(Vec::is_empty) {
            return Err(VectorError::nothing(id));
        }
        let last = Rank(u32::from(calls.len() > 1));
        let mut case = Self { id, calls: Vec::new(), returns: Vec::new() };
        for ((calls, returns), rank) in calls.iter().zip(returns).zip((0..).map(Rank)) {
            let other = Rank(last.0 - rank.0);
            let at = |(op, problem)| VectorError::Op {
                case: id,
                rank: rank.0 as usize,
                op,
                key: String::new(),
                problem,
            };
            case.calls.push(each(calls, |name| Call::read(name, rank, other)).map_err(at)?);
            case.returns.push(each(returns, Answer::read).map_err(at)?);
            let hangs = case.returns.iter().any(|returns| returns.contains(&Answer::Hangs));
            let fits = |returned: usize| returned == calls.len() || hangs && returned < calls.len();
            if !fits(returns.len()) {
                let problem = "`returns` needs an answer to each call up to the first hang";
                return Err(VectorError::Case { case: id, problem: problem.to_owned() });
            }
        }
        Ok(case)
    }

    /// The first mismatch of the case under these rules.
    pub(super) fn mismatch(&self, rules: Rules) -> Option<Mismatch> {
        let mut world = World::new(&self.calls);
        world.run(rules);
        let wrong = (0..self.calls.len()).find_map(|rank| self.difference(rank, &world));
        wrong.map(|wrong| Mismatch { case: self.id, schedule: None, wrong })
    }

    /// The first answer to a rank's calls that is not the recorded one.
    fn difference(&self, rank: usize, world: &World<'_>) -> Option<Wrong> {
        let (recorded, found) = (&self.returns[rank], &world.answers[rank]);
        for (entry, expected) in recorded.iter().enumerate() {
            let found = found.get(entry);
            let unlock = matches!(self.calls[rank][entry], Call::Window(Event::Unlock { .. }));
            let in_its_place =
                unlock && *expected == Answer::Hangs && found == Some(&Answer::Refused);
            if in_its_place {
                return None;
            }
            if found != Some(expected) {
                let expected = vec![Some(json!(expected.word()))];
                let why = world.refusals.get(&(rank, entry));
                let found =
                    found.map(|found| why.map_or_else(|| json!(found.word()), |why| json!(why)));
                return Some(Wrong::Returned { rank, entry, expected, found });
            }
        }
        None
    }
}

/// Reads each of some words; an error says which.
fn each<T>(
    words: &[String],
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, (usize, String)> {
    let words = words.iter().enumerate();
    words.map(|(place, word)| read(word).map_err(|problem| (place, problem))).collect()
}

impl Call {
    /// The call of this name by `me`, towards `other` or, with the ending `_self`, the caller.
    fn read(name: &str, me: Rank, other: Rank) -> Result<Self, String> {
        let (plain, target) = match name.strip_suffix("_self") {
            Some(plain) => (plain, me),
            None => (name, other),
        };
        let group = || RankSet::from_iter([target]);
        let fence = |no_precede, no_succeed| Event::Fence { no_precede, no_succeed };
        Ok(Self::Window(match plain {
            "barrier" => return Ok(Self::Barrier),
            "fence" => fence(false, false),
            "fence_noprecede" => fence(true, false),
            "fence_nosucceed" => fence(false, true),
            "post" => Event::Post { group: group() },
            "start" => Event::Start { group: group() },
            "complete" => Event::Complete,
            "wait" => Event::Wait,
            "test" => Event::Test { complete: false },
            "lock" | "lock_shared" => Event::Lock { target, kind: LockKind::Shared },
            "lock_exclusive" => Event::Lock { target, kind: LockKind::Exclusive },
            "unlock" => Event::Unlock { target },
            "lock_all" => Event::LockAll,
            "unlock_all" => Event::UnlockAll,
            "flush" => Event::Flush { target },
            "flush_all" => Event::FlushAll,
            "flush_local" => Event::FlushLocal { target },
            "flush_local_all" => Event::FlushLocalAll,
            "sync" => Event::Sync,
            "free" => Event::Free,
            name if OPERATIONS.contains(&name) => Event::Operation { target, request: false },
            name if REQUEST_OPERATIONS.contains(&name) => {
                Event::Operation { target, request: true }
            }
            _ => return Err(format!("operation `{name}` is not known")),
        }))
    }
}

impl Answer {
    fn read(word: &str) -> Result<Self, String> {
        Ok(match word {
            "ok" => Self::Done,
            "ok:true" => Self::Tested(true),
            "ok:false" => Self::Tested(false),
            "rma_sync" => Self::Refused,
            "hang" | "hang_or_stopped" => Self::Hangs,
            _ => return Err(format!("answer `{word}` is not known")),
        })
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Tested(true) => "ok:true",
            Self::Tested(false) => "ok:false",
            Self::Refused => "rma_sync",
            Self::Hangs => "hang",
        }
    }
}

/// The processes of a case, and what has passed between them.
struct World<'a> {
    calls: &'a [Vec<Call>],
    states: Vec<Synchronisation>,
    answers: Vec<Vec<Answer>>,
    /// Why a call was refused, by rank and entry.
    refusals: BTreeMap<(usize, usize), String>,
    /// Posts by (target, origin) that no start has consumed.
    posts: BTreeMap<(Rank, Rank), u32>,
    /// Completes by (origin, target) that no wait has consumed.
    completes: BTreeMap<(Rank, Rank), u32>,
    /// Which ranks stand in a call that all make together.
    standing: Vec<bool>,
}

impl<'a> World<'a> {
    fn new(calls: &'a [Vec<Call>]) -> Self {
        let ranks = (0..).map(Rank).take(calls.len());
        Self {
            calls,
            states: ranks.map(Synchronisation::new).collect(),
            answers: vec![Vec::new(); calls.len()],
            refusals: BTreeMap::new(),
            posts: BTreeMap::new(),
            completes: BTreeMap::new(),
            standing: vec![false; calls.len()],
        }
    }

    /// Runs until every call has returned or none can.
    fn run(&mut self, rules: Rules) {
        while (0..self.calls.len()).any(|rank| self.step(rules, rank)) {
            if self.standing.iter().all(|stands| *stands) {
                self.release(rules);
            }
        }
        for (calls, answers) in self.calls.iter().zip(&mut self.answers) {
            if answers.len() < calls.len() {
                answers.push(Answer::Hangs);
            }
        }
    }

    /// Makes the next call of a rank; answers whether anything came of it.
    fn step(&mut self, rules: Rules, rank: usize) -> bool {
        let calls = self.calls;
        let Some(call) = calls[rank].get(self.answers[rank].len()) else { return false };
        if self.standing[rank] {
            return false;
        }
        let Call::Window(event) = call else {
            self.standing[rank] = true;
            return true;
        };
        if let Err(why) = self.states[rank].clone().call(rules, event) {
            let entry = self.answers[rank].len();
            self.refusals.insert((rank, entry), why.to_string());
            self.answers[rank].push(Answer::Refused);
            return true;
        }
        if matches!(event, Event::Fence { .. } | Event::Free) {
            self.standing[rank] = true;
            return true;
        }
        let Some((event, answer)) = self.meet(rank, event) else { return false };
        self.states[rank].call(rules, &event).expect("it was permitted");
        self.answers[rank].push(answer);
        true
    }

    /// All ranks stand in a call that they make together: it returns.
    fn release(&mut self, rules: Rules) {
        for (rank, stands) in self.standing.iter_mut().enumerate() {
            if let Call::Window(event) = &self.calls[rank][self.answers[rank].len()] {
                self.states[rank].call(rules, event).expect("it was permitted");
            }
            self.answers[rank].push(Answer::Done);
            *stands = false;
        }
    }

    /// The event as which a legal call counts, and its answer; `None` as long as it waits.
    fn meet(&mut self, rank: usize, event: &Event) -> Option<(Event, Answer)> {
        let me = Rank(u32::try_from(rank).expect("there are two ranks at most"));
        let mut event = event.clone();
        let mut answer = Answer::Done;
        match &mut event {
            Event::Post { group } => tell(&mut self.posts, me, group),
            Event::Start { group } => take(&mut self.posts, group, me).then_some(())?,
            Event::Complete => {
                if let Some(targets) = self.states[rank].started() {
                    tell(&mut self.completes, me, targets);
                }
            }
            Event::Wait => {
                take(&mut self.completes, self.states[rank].exposure()?, me).then_some(())?;
            }
            Event::Test { complete } => {
                *complete = take(&mut self.completes, self.states[rank].exposure()?, me);
                answer = Answer::Tested(*complete);
            }
            Event::Fence { .. }
            | Event::Lock { .. }
            | Event::Unlock { .. }
            | Event::LockAll
            | Event::UnlockAll
            | Event::Flush { .. }
            | Event::FlushAll
            | Event::FlushLocal { .. }
            | Event::FlushLocalAll
            | Event::Sync
            | Event::Operation { .. }
            | Event::Free => {}
        }
        Some((event, answer))
    }
}

/// Tells each of a group.
fn tell(told: &mut BTreeMap<(Rank, Rank), u32>, me: Rank, group: &RankSet) {
    for other in group.ranks() {
        *told.entry((me, *other)).or_default() += 1;
    }
}

/// Takes the notices of all members of a group, where all are there; answers whether they are.
fn take(told: &mut BTreeMap<(Rank, Rank), u32>, group: &RankSet, me: Rank) -> bool {
    let has = |other: &Rank| told.get(&(*other, me)).is_some_and(|count| *count > 0);
    let all = group.ranks().iter().all(has);
    if all {
        for other in group.ranks() {
            *told.entry((*other, me)).or_default() -= 1;
        }
    }
    all
}

#[cfg(test)]
mod tests;
