//! S3 to S6: time, conservation, utilisation, digests.

use super::law::{Monitor, Violation};
use mpi::envelope::Envelope;
use mpi::observation::Observation;
use protocols::contract::{Process, Thread};
use units::{Time, TimeDelta};

const S3: &str = "time never goes back, and no effect comes before its cause and its delay";
const S4: &str = "what was begun is finished, and nothing is left over at the end";
/// S4, where a process ends before its sends and receives.
const LEFT_BEGUN: &str = "each send and each receive that is begun ends";
/// S4, where the library keeps buffers of them.
const LEFT_LANDED: &str = "each landing buffer is given back";
/// V3, at the end of a run.
pub(super) const LEFT_MOVED: &str = "what is moved of a message is received";
/// V5, at the end of a run.
pub const LEFT_COUNTED: &str = "a shared counter is 0 when all is done";
/// Statements broken at the end of a run by operations that a program leaves open.
pub const UNFINISHED: [&str; 4] = [LEFT_BEGUN, LEFT_LANDED, LEFT_MOVED, LEFT_COUNTED];
/// S4, where a program leaves something open at its end. MPI libraries go on without.
pub const LEFT_OPEN: &str = "a program completes, closes and frees what it has begun";
/// S4, where a program does not receive a message. MPI libraries go on without.
pub const NEVER_RECEIVED: &str = "a message that is sent is received";
const S5: &str = "no resource is busy for longer than the time that passed";
const S5_THREADS: &str = "busy and idle time of a thread are its whole life";
const S6: &str = "equal runs have equal digests";

/// S4: every process's sends and receives, started and finished.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Conservation {
    processes: Vec<Counts>,
}

#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
struct Counts {
    sent: u64,
    sends_complete: u64,
    posted: u64,
    received: u64,
    cancelled: u64,
}

impl Conservation {
    /// The monitor of a run of `processes` processes.
    pub fn new(processes: usize) -> Self {
        Self { processes: vec![Counts::default(); processes] }
    }

    /// Sends that were started and are not complete.
    pub fn open_sends(&self, process: Process) -> u64 {
        let counts = &self.processes[process.0 as usize];
        counts.sent.saturating_sub(counts.sends_complete)
    }
}

impl Counts {
    fn in_words(&self) -> String {
        let Self { sent, sends_complete, posted, received, cancelled } = self;
        format!(
            "{sent} sends begun and {sends_complete} complete, {posted} receives posted, {received} \
             complete and {cancelled} cancelled"
        )
    }
}

impl Conservation {
    /// A process has begun or finished something: one more of what `count` names.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the caller knows the fact: it is one count")]
    fn counts(
        &mut self,
        process: Process,
        count: impl FnOnce(&mut Counts) -> &mut u64,
        found: &mut Vec<Violation>,
    ) {
        let counts = &mut self.processes[process.0 as usize];
        *count(counts) += 1;
        if counts.sends_complete > counts.sent || counts.received + counts.cancelled > counts.posted
        {
            self.overfinished(process, found);
        }
    }

    #[cold]
    fn overfinished(&self, process: Process, found: &mut Vec<Violation>) {
        let counts = self.processes[process.0 as usize].in_words();
        found.push(left_over(process, format!("more was finished than begun: {counts}")));
    }

    #[inline]
    pub(super) fn sent(&mut self, process: Process, found: &mut Vec<Violation>) {
        self.counts(process, |counts| &mut counts.sent, found);
    }

    #[inline]
    pub(super) fn send_complete(&mut self, process: Process, found: &mut Vec<Violation>) {
        self.counts(process, |counts| &mut counts.sends_complete, found);
    }

    #[inline]
    pub(super) fn posted(&mut self, process: Process, found: &mut Vec<Violation>) {
        self.counts(process, |counts| &mut counts.posted, found);
    }

    #[inline]
    pub(super) fn received(&mut self, process: Process, found: &mut Vec<Violation>) {
        self.counts(process, |counts| &mut counts.received, found);
    }

    #[inline]
    pub(super) fn cancelled(&mut self, process: Process, found: &mut Vec<Violation>) {
        self.counts(process, |counts| &mut counts.cancelled, found);
    }
}

impl Monitor for Conservation {
    fn observe(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        match fact {
            Observation::Sent { .. } => self.sent(process, found),
            Observation::SendComplete { .. } => self.send_complete(process, found),
            Observation::Posted { .. } => self.posted(process, found),
            Observation::Received { .. } => self.received(process, found),
            Observation::Cancelled { .. } => self.cancelled(process, found),
            Observation::Arrived { .. }
            | Observation::Matched { .. }
            | Observation::Moved { .. }
            | Observation::LockQueued { .. }
            | Observation::LockWaits { .. }
            | Observation::LockEntered { .. }
            | Observation::LockLeft { .. }
            | Observation::Group(_)
            | Observation::Failed(_)
            | Observation::Window(..) => {}
        }
    }

    fn end(&mut self, _undelivered: u64, found: &mut Vec<Violation>) {
        for (number, counts) in (0u32..).zip(&self.processes) {
            let ended = counts.received + counts.cancelled;
            if counts.sent != counts.sends_complete || counts.posted != ended {
                let detail = format!("not everything was finished: {}", counts.in_words());
                let statement = LEFT_BEGUN;
                found.push(Violation { statement, ..left_over(Process(number), detail) });
            }
        }
    }
}

/// S4, as the library, the wires and the memory tell it at the end of a run.
pub fn leftovers(process: Process, words: Vec<String>, landings: u32, found: &mut Vec<Violation>) {
    let open = |words: String| {
        let is_message = words.ends_with(Envelope::NEVER_RECEIVED);
        let statement = if is_message { NEVER_RECEIVED } else { LEFT_OPEN };
        Violation { statement, ..left_over(process, words) }
    };
    found.extend(words.into_iter().map(open));
    if landings > 0 {
        let detail = format!("{landings} landing buffers were never given back");
        found.push(Violation { statement: LEFT_LANDED, ..left_over(process, detail) });
    }
}

/// S5: the parts of a thread's time add up to its life, to the picosecond.
pub fn account(
    process: Process,
    thread: Thread,
    lived: TimeDelta,
    accounted: TimeDelta,
) -> Option<Violation> {
    (lived != accounted).then(|| Violation {
        id: "S5",
        statement: S5_THREADS,
        objects: vec![format!("process {}, thread {}", process.0, thread.0)],
        detail: format!("it lived for {lived}, accounted are {accounted}"),
    })
}

fn left_over(process: Process, detail: String) -> Violation {
    let objects = vec![format!("process {}", process.0)];
    Violation { id: "S4", statement: S4, objects, detail }
}

/// S3: the clock of a timed run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Causality {
    now: Time,
}

impl Causality {
    /// An event takes place at `at`.
    #[inline]
    pub fn advance(&mut self, at: Time) -> Option<Violation> {
        let before = self.now;
        if at < before {
            return Some(late(format!("an event at {at} after one at {before}")));
        }
        self.now = at;
        None
    }

    /// An effect is set for `effect`, by what takes place now; it takes at least `least`.
    pub fn causes(&self, effect: Time, least: TimeDelta) -> Option<Violation> {
        let earliest = self.now + least;
        let detail = || format!("an effect at {effect}, its cause and delay end at {earliest}");
        (effect < earliest).then(|| late(detail()))
    }
}

fn late(detail: String) -> Violation {
    Violation { id: "S3", statement: S3, objects: vec!["the clock".into()], detail }
}

/// S5: one resource over one interval.
pub fn utilisation(resource: &str, busy: TimeDelta, elapsed: TimeDelta) -> Option<Violation> {
    let detail = format!("busy for {busy} within {elapsed}");
    let objects = vec![resource.to_owned()];
    (busy > elapsed).then_some(Violation { id: "S5", statement: S5, objects, detail })
}

/// S6: two runs that must be equal.
pub fn digests(what: &str, first: u128, second: u128) -> Option<Violation> {
    let detail = format!("{first:032x} and {second:032x}");
    let objects = vec![what.to_owned()];
    (first != second).then_some(Violation { id: "S6", statement: S6, objects, detail })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi::envelope::{Context, Rank};
    use mpi::observation::{MessageId, ReceiveId};

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    fn ids(found: &[Violation]) -> Vec<&str> {
        found.iter().map(|violation| violation.id).collect()
    }

    #[test]
    fn time_that_goes_back_is_found() {
        let mut clock = Causality::default();
        assert_eq!(clock.advance(at(5)), None);
        assert_eq!(clock.advance(at(5)), None);
        assert_eq!(clock.advance(at(4)).map(|violation| violation.id), Some("S3"));
        assert_eq!(clock.causes(at(8), TimeDelta::from_ps(3)), None);
        assert_eq!(clock.causes(at(7), TimeDelta::from_ps(3)).map(|found| found.id), Some("S3"));
    }

    #[test]
    fn more_than_all_the_time_is_found() {
        let (ten, eleven) = (TimeDelta::from_ps(10), TimeDelta::from_ps(11));
        assert_eq!(utilisation("link", ten, ten), None);
        assert_eq!(utilisation("link", eleven, ten).map(|found| found.id), Some("S5"));
        assert_eq!(digests("a run", 1, 1), None);
        assert_eq!(digests("a run", 1, 2).map(|found| found.id), Some("S6"));
    }

    #[test]
    fn unfinished_and_overfinished_work_is_found() {
        let (message, receive) = (MessageId::default(), ReceiveId::default());
        let envelope = Envelope { context: Context(0), dest: Rank(0), source: Rank(0), tag: 0 };
        let mut monitor = Conservation::new(1);
        let mut found = Vec::new();
        monitor.observe(
            Process(0),
            &Observation::Sent { message, envelope, to: 0, bytes: 1, ready: false },
            &mut found,
        );
        monitor.end(0, &mut found);
        assert_eq!((ids(&found), monitor.open_sends(Process(0))), (vec!["S4"], 1));
        found.clear();
        monitor.observe(Process(0), &Observation::SendComplete { message }, &mut found);
        monitor.end(0, &mut found);
        assert_eq!(found, []);
        let received = Observation::Received { receive, message, bytes: 1, truncated: false };
        monitor.observe(Process(0), &received, &mut found);
        leftovers(Process(0), vec!["1 request".into()], 2, &mut found);
        assert_eq!(ids(&found), ["S4", "S4", "S4"]);
    }
}
