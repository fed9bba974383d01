//! What both runtimes hold a machine to, and how they cut its lists into steps.

use mpi::rma::ticket_lock::Number;
use mpi::rma::update::Effect;
use protocols::contract::{Action, Counter, Process, ProtocolError, Region, Thread};

/// Why a run was stopped: a defect of a protocol, reported as a result.
#[derive(Clone, Debug, Eq, Hash, PartialEq, thiserror::Error)]
#[error("process {}, thread {}{}: {defect}", process.0, thread.0, in_line(*position))]
pub struct Fault {
    /// Process whose library is at fault.
    pub process: Process,
    /// Which of its threads was inside.
    pub thread: Thread,
    /// Where that thread's call stands in the scenario.
    pub position: Option<u32>,
    /// The defect.
    pub defect: Defect,
}

/// Defect of a library: a refused input, or a broken rule.
#[derive(Clone, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum Defect {
    /// The machine refused an input.
    #[error(transparent)]
    Refused(#[from] ProtocolError),
    /// The machine broke a rule of the contract.
    #[error("the library broke a rule: {0}")]
    Broke(String),
}

/// The line of a call, in words; nothing where it has none.
pub fn in_line(position: Option<u32>) -> String {
    position.map_or_else(String::new, |position| format!(" in line {position}"))
}

/// The rule that a list breaks, if it breaks one.
pub fn breach<P, R>(list: &[Action<P, R>]) -> Option<&'static str> {
    let mut released = false;
    for (index, action) in list.iter().enumerate() {
        let ends = index + 1 == list.len();
        let may_follow_release = match action {
            Action::Poll(_) if !ends => return Some("`Poll` ends its list"),
            Action::Resume(_) if !ends => return Some("`Resume` ends its list"),
            Action::Consult { .. } if !ends => return Some("`Consult` ends its list"),
            Action::PeerCopy { own, remote, .. } if own.len != remote.len => {
                return Some("the two sides of a copy are of one length");
            }
            Action::Copy { from, to } if from.len != to.len => {
                return Some("the two sides of a copy are of one length");
            }
            Action::Combine { from, into, .. } if from.len != into.len => {
                return Some("the two operands of a reduction are of one length");
            }
            Action::Update { target, update, operand, old, .. }
                if lengths_differ(*target, *update, *operand, *old) =>
            {
                return Some("an update has an operand and a result of the length of its elements");
            }
            Action::RdmaAtomic { target, update, operand, into, .. }
                if lengths_differ(*target, *update, *operand, Some(*into)) =>
            {
                return Some("an atomic has an operand and a result of the length of its element");
            }
            Action::Send { .. }
            | Action::RdmaWrite { .. }
            | Action::RdmaRead { .. }
            | Action::RdmaAtomic { .. }
            | Action::Device { .. }
            | Action::PeerCopy { .. }
            | Action::Count { .. }
            | Action::Consult { .. }
            | Action::Watch { .. }
            | Action::Repost { .. }
            | Action::Poll(_) => false,
            Action::Release if released => return Some("the guard is left once"),
            Action::Work(_)
            | Action::Walk { .. }
            | Action::Copy { .. }
            | Action::Pack(_)
            | Action::Combine { .. }
            | Action::Update { .. }
            | Action::Register { .. }
            | Action::Expose { .. }
            | Action::Release
            | Action::Resume(_)
            | Action::Complete { .. }
            | Action::Observe(_)
            | Action::Return { .. } => true,
        };
        if released && !may_follow_release {
            return Some("after `Release` only core work, markers, `Return` and `Resume` follow");
        }
        released |= matches!(action, Action::Release);
    }
    None
}

fn lengths_differ(
    target: Region,
    update: Effect,
    operand: Option<Region>,
    old: Option<Region>,
) -> bool {
    operand.map_or(0, |operand| operand.len) != update.operand(target.len)
        || old.is_some_and(|old| old.len != target.len)
}

/// Cuts a list into steps: what is done at once, as far as others can tell.
///
/// A step ends before every action whose moment others can see: `Release`, `Return`, `Resume`,
/// and a `Copy`, `Pack` or `Combine` after something has left in the same step (a peer that knows may look at the
/// bytes before they are copied). A copy between two processes is a step of its own, since the
/// neighbour could look at it, and so are changes of counters, but for those that a reading of
/// counters leads to: they are of one piece with it. Of a lock's numbers only a ticket is taken with
/// the reading. It also ends before every action that reads or writes a window: a peer's HCA may do so
/// at any time. Sends and RDMA posts go out with what precedes them: the
/// ordered channel, or the HCA, hides when.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Cut {
    left: bool,
    /// Whether anything but changes of counters was done in this step.
    begun: bool,
}

impl Cut {
    /// The cut at the start of a step: after `handle`, or at a step's first action.
    pub const fn new() -> Self {
        Self { left: false, begun: false }
    }

    /// Whether `action`, the next of the list, begins a new step; called for every action of the
    /// list in order. It stays false for the first action of a step that was started for it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "where an action is emitted its kind is known")]
    pub fn before<P, R>(&mut self, action: &Action<P, R>) -> bool {
        // Most actions belong to the step that is started.
        if never_cuts(action) {
            self.begun = true;
            return false;
        }
        self.before_others(action)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "where an action is emitted its kind is known")]
    fn before_others<P, R>(&mut self, action: &Action<P, R>) -> bool {
        let stops = match action {
            Action::Release
            | Action::Return { .. }
            | Action::Resume(_)
            | Action::PeerCopy { .. }
            | Action::Consult { .. } => true,
            // A ticket is taken in one piece with the reading of its number.
            Action::Count { counter, .. } => self.begun || is_seen_alone(*counter),
            Action::Copy { from, to } => self.left || [from, to].into_iter().any(is_exposed),
            Action::Pack(_) | Action::Combine { .. } | Action::Update { .. } => {
                self.left || touches_window(action)
            }
            Action::Send { payload, .. } => {
                self.left = true;
                if payload.as_ref().is_some_and(is_exposed) {
                    // What this step has sent besides begins with it.
                    return true;
                }
                false
            }
            Action::RdmaWrite { .. }
            | Action::RdmaRead { .. }
            | Action::RdmaAtomic { .. }
            | Action::Device { .. } => {
                self.left = true;
                false
            }
            Action::Work(_)
            | Action::Walk { .. }
            | Action::Register { .. }
            | Action::Expose { .. }
            | Action::Repost { .. }
            | Action::Watch { .. }
            | Action::Poll(_)
            | Action::Complete { .. }
            | Action::Observe(_) => unreachable!("asked for actions that may cut only"),
        };
        if stops {
            self.left = false;
        }
        self.begun |= !matches!(action, Action::Count { .. });
        stops
    }
}

/// Whether an action belongs to the step before it, whatever that has done.
#[inline]
const fn never_cuts<P, R>(action: &Action<P, R>) -> bool {
    matches!(
        action,
        Action::Work(_)
            | Action::Walk { .. }
            | Action::Register { .. }
            | Action::Expose { .. }
            | Action::Repost { .. }
            | Action::Watch { .. }
            | Action::Poll(_)
            | Action::Complete { .. }
            | Action::Observe(_)
    )
}

/// Whether each change of a counter is a step: others may come between two of a lock's.
const fn is_seen_alone(counter: Counter) -> bool {
    matches!(counter, Counter::Lock(_, Number::Readers | Number::Writers))
}

/// Whether bytes lie in memory that a window exposes.
const fn is_exposed(region: &Region) -> bool {
    region.is_in_a_window() && region.len > 0
}

/// Whether an action of a core reads or writes memory that a window exposes.
pub fn touches_window<P, R>(action: &Action<P, R>) -> bool {
    match action {
        Action::Copy { from, to } => is_exposed(from) || is_exposed(to),
        Action::Combine { from, into, .. } => is_exposed(from) || is_exposed(into),
        Action::Pack(copy) => is_exposed(&copy.packed),
        Action::Update { target, .. } => is_exposed(target),
        Action::Send { payload, .. } => payload.as_ref().is_some_and(is_exposed),
        Action::PeerCopy { own, remote, .. } => is_exposed(own) || is_exposed(remote),
        Action::Work(_)
        | Action::Walk { .. }
        | Action::Register { .. }
        | Action::Expose { .. }
        | Action::Count { .. }
        | Action::Consult { .. }
        | Action::Watch { .. }
        | Action::RdmaWrite { .. }
        | Action::RdmaRead { .. }
        | Action::RdmaAtomic { .. }
        | Action::Device { .. }
        | Action::Repost { .. }
        | Action::Release
        | Action::Poll(_)
        | Action::Resume(_)
        | Action::Complete { .. }
        | Action::Observe(_)
        | Action::Return { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::rma::ticket_lock::TicketLock;
    use protocols::contract::{Change, CodePath, Route, Space, Token, Via};
    use units::Bytes;

    type Act = Action<(), ()>;

    fn send() -> Act {
        let header = Bytes::new(8);
        Action::Send { to: Route::to(Process(1)), via: Via::Hca, header, packet: (), payload: None }
    }

    fn copy(to: u64) -> Act {
        let region = |len| Region::new(Space::User(0), len);
        Action::Copy { from: region(4), to: region(to) }
    }

    fn done() -> Act {
        Action::Return { thread: Thread(0), reply: () }
    }

    #[test]
    fn lists_that_keep_the_rules_pass() {
        let work = Action::Work(CodePath::Send);
        let lists: [&[Act]; 4] = [
            &[],
            &[work.clone(), copy(4), send(), done()],
            &[send(), Action::Poll(Token(1))],
            &[work, Action::Release, copy(4), done(), Action::Resume(Token(1))],
        ];
        for list in lists {
            assert_eq!(breach(list), None, "{list:?}");
        }
    }

    #[test]
    fn each_rule_refuses_its_breach() {
        let breaches: [(&[Act], &str); 6] = [
            (&[Action::Poll(Token(1)), done()], "`Poll` ends"),
            (&[Action::Release, Action::Resume(Token(1)), done()], "`Resume` ends"),
            (&[Action::Release, send()], "after `Release`"),
            (&[Action::Release, Action::Poll(Token(1))], "after `Release`"),
            (&[Action::Release, Action::Release], "left once"),
            (&[copy(5)], "one length"),
        ];
        for (list, words) in breaches {
            assert!(
                breach(list).is_some_and(|rule| rule.starts_with(words) || rule.contains(words))
            );
        }
    }

    #[test]
    fn a_step_ends_where_others_could_look() {
        let list =
            [copy(4), send(), send(), done(), copy(4), send(), copy(4), copy(4), Act::Release];
        let mut cut = Cut::new();
        let cuts: Vec<bool> = list.iter().map(|action| cut.before(action)).collect();
        let expected = [false, false, false, true, false, false, true, false, true];
        assert_eq!(cuts, expected);
    }

    #[test]
    fn numbers_of_a_lock_change_one_by_one_and_a_ticket_with_its_reading() {
        let count = |counter| Act::Count { counter, change: Change::Up };
        let number = |number| count(Counter::Lock(TicketLock { memory: 0, rank: 0 }, number));
        let list = [
            number(Number::Tickets),
            number(Number::Writers),
            number(Number::Readers),
            count(Counter::Offloads(0)),
        ];
        let mut cut = Cut::new();
        let cuts: Vec<bool> = list.iter().map(|action| cut.before(action)).collect();
        assert_eq!(cuts, [false, true, true, false]);
    }

    #[test]
    fn a_step_ends_before_each_access_to_a_window() {
        let window = Region::new(Space::Window(0), 4);
        let put = Act::Copy { from: Region::new(Space::Landing(0), 4), to: window };
        let header = Bytes::new(8);
        let to = Route::to(Process(1));
        let reply = Act::Send { to, via: Via::Hca, header, packet: (), payload: Some(window) };
        let list = [put.clone(), put, copy(4), reply, send(), copy(4)];
        let mut cut = Cut::new();
        let cuts: Vec<bool> = list.iter().map(|action| cut.before(action)).collect();
        assert_eq!(cuts, [true, true, false, true, false, true]);
    }
}
