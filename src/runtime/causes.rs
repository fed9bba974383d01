//! What the time of a run was spent on, and what its threads waited for.
//!
//! The words here are those of explanations. A tag of the log of causes names a resource (those of the
//! fabric first, then threads) and one of them.

use std::collections::BTreeMap;

use super::account::Part;
use engine::{Causes, Moment, Tag};
use hardware::fabric::{Kind, ResourceSpec, Stage};
use protocols::contract::{Process, Thread};
use units::{Time, TimeDelta};

/// Activity or wait that a stretch of time was spent on.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Spent {
    /// Fixed stretches of library code.
    Library,
    /// Walking matching queues.
    Walk,
    /// A core copies payload.
    Copy,
    /// Posting WQEs and doorbells, receive buffers, flags of shared cells; taking completions.
    Post,
    /// From an arrival until a poll has found it, and passes that a test asks for.
    Poll,
    /// Waiting for a lock of the library, and taking it.
    Lock,
    /// Outside the library: computing, creating threads and waiting for their end.
    Outside,
    /// Outside the library while something lies in a channel that only the library would handle.
    Progress,
    /// Until a thread begins: its start is skewed, or it is being created.
    Start,
    /// Another thread of the process ended the call.
    Handed,
    /// A cache line travels to a neighbour.
    Line,
    /// Waiting for transfers of the same connection.
    Order,
    /// Waiting for a resource that serves others.
    Queue,
    /// A resource moves bytes, or a unit processes an item.
    Transfer,
    /// Bytes move more slowly because others share the resource.
    Sharing,
    /// The fixed time of a way: propagation, round trips of a bus.
    Latency,
    /// The queue pair's rate, or its limit of outstanding reads, holds a WQE back; an adapter that
    /// matches gets to what lies before it.
    Pace,
    /// Crossing links that lose packets, what is sent again included.
    Lossy,
    /// Until a completion is in host memory.
    Completion,
    /// A pause because the receiver had no buffer.
    NotReady,
    /// The atomic unit of an HCA.
    Atomic,
    /// The kernel pins pages, with others or after them.
    Pinning,
    /// A GPU works.
    Gpu,
    /// After the last wait of the path.
    Ending,
    /// Explained by nothing: a gap in this runtime's notes.
    Other,
    /// Buffers are registered with the HCA.
    Registration,
    /// A core gathers payload out of pieces, or scatters it.
    Packing,
    /// The kernel is entered for a copy between processes; memory is declared or mapped for it.
    Kernel,
}

impl Spent {
    /// All of them, in the order of reports: cores first, then wires.
    pub const ALL: [Self; 28] = [
        Self::Outside,
        Self::Progress,
        Self::Library,
        Self::Registration,
        Self::Walk,
        Self::Copy,
        Self::Packing,
        Self::Kernel,
        Self::Pinning,
        Self::Post,
        Self::Poll,
        Self::Lock,
        Self::Handed,
        Self::Start,
        Self::Line,
        Self::Pace,
        Self::Lossy,
        Self::Order,
        Self::Queue,
        Self::Transfer,
        Self::Sharing,
        Self::Latency,
        Self::Atomic,
        Self::Completion,
        Self::NotReady,
        Self::Gpu,
        Self::Ending,
        Self::Other,
    ];

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Library => "library code",
            Self::Registration => "buffer registration",
            Self::Walk => "queue walk",
            Self::Copy => "copy",
            Self::Packing => "packing",
            Self::Kernel => "kernel entry",
            Self::Post => "posting",
            Self::Poll => "channel polling",
            Self::Lock => "lock wait",
            Self::Outside => "outside MPI",
            Self::Progress => "waiting for progress",
            Self::Start => "start",
            Self::Handed => "handed over by a thread",
            Self::Line => "cache line transfer",
            Self::Order => "waiting in order",
            Self::Queue => "queueing",
            Self::Transfer => "transfer",
            Self::Sharing => "sharing",
            Self::Latency => "latency",
            Self::Pace => "queue pair pace",
            Self::Lossy => "crossing lossy links",
            Self::Completion => "completion",
            Self::NotReady => "receiver not ready",
            Self::Atomic => "atomic unit",
            Self::Pinning => "page pinning",
            Self::Gpu => "GPU",
            Self::Ending => "after the last program",
            Self::Other => "other",
        }
    }

    pub(super) const fn tag(self, resource: u32) -> Tag {
        Tag { resource, phase: self as u8 }
    }

    /// Decodes the phase of a tag; an unknown one is [`Self::Other`].
    pub fn of(phase: u8) -> Self {
        let found = Self::ALL.into_iter().find(|spent| *spent as u8 == phase);
        found.unwrap_or(Self::Other)
    }
}

impl From<Part> for Spent {
    fn from(part: Part) -> Self {
        match part {
            Part::Library => Self::Library,
            Part::Walk => Self::Walk,
            Part::Copy => Self::Copy,
            Part::Kernel => Self::Kernel,
            Part::Post => Self::Post,
            Part::Poll | Part::Wait => Self::Poll,
            Part::Lock => Self::Lock,
            Part::Outside => Self::Outside,
        }
    }
}

impl From<Stage> for Spent {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Order => Self::Order,
            Stage::Queue => Self::Queue,
            Stage::Transfer => Self::Transfer,
            Stage::Sharing => Self::Sharing,
            Stage::Latency => Self::Latency,
        }
    }
}

/// A call that a thread was blocked in; of calls that waited alike, the first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Blocked {
    /// Its process.
    pub process: Process,
    /// The thread.
    pub thread: Thread,
    /// The operation that it waited for, as MPI spells it.
    pub operation: &'static str,
    /// Processes that could have ended the wait; empty: any.
    pub peers: Vec<Process>,
    /// When the call was made.
    pub called: Time,
    /// How long it found nothing to do in the call.
    pub waited: TimeDelta,
    /// Calls like it, itself included: for the same, and as long.
    pub times: u64,
}

/// A message, an RDMA operation or an answer, from its core, or HCA, to its destination.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    /// Sending process.
    pub from: Process,
    /// Receiving process.
    pub to: Process,
    /// Label of its kind, a word or two.
    pub label: String,
    /// Payload and header.
    pub bytes: u64,
    /// When it left.
    pub left: Time,
    /// When it was there.
    pub came: Time,
    /// Whether it moves data by DMA: no core takes part at its end.
    pub dma: bool,
}

/// A resource or a thread that time was spent on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Spender {
    /// A resource of the fabric, by its name.
    Resource(String, Kind),
    /// A device, or a part of one, that is no resource of the fabric.
    Device(String),
    /// A thread, with the core that it runs on.
    Thread(Process, Thread),
}

impl Spender {
    /// A resource of the fabric.
    pub fn resource(spec: &ResourceSpec) -> Self {
        Self::Resource(spec.name.clone(), spec.kind)
    }

    /// A device, or a part of one, that is no resource of the fabric.
    pub fn device(name: &str) -> Self {
        Self::Device(name.to_owned())
    }
}

/// The causes of a run.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The log.
    pub causes: Causes,
    /// By the resource of a tag.
    pub spenders: Vec<Spender>,
    /// The latest mark of each number, and its moment.
    pub marks: BTreeMap<u32, (Time, Moment)>,
    /// The earliest mark of each number.
    pub first_marks: BTreeMap<u32, Time>,
    /// The last moment of all threads.
    pub last: Moment,
    /// Moments of polls that found something which had come while their thread was outside the library,
    /// and since when.
    pub late: BTreeMap<Moment, Time>,
    /// Moments of polls that found what their call had waited for, though it came while the thread handled something
    /// else by the way; and the arrivals of what was waited for.
    pub awaited: BTreeMap<Moment, Moment>,
    /// The longest waits, the longest first.
    pub waits: Vec<Blocked>,
    /// Messages in the order of their arrivals, where they were requested.
    pub messages: Vec<Message>,
}

impl Recorded {
    /// Splits `from .. to` along the critical path to `to`. The parts sum to the whole; a part without
    /// a tag lies before the oldest moment that was kept.
    ///
    /// The path ends with the mark `number`, or with the last moment of all threads where nothing was
    /// marked so.
    pub fn split(&self, from: Time, to: Time, number: u32) -> Vec<(Option<Tag>, TimeDelta)> {
        let mut parts: BTreeMap<Option<Tag>, TimeDelta> = BTreeMap::new();
        let mut add = |tag, time: TimeDelta| {
            if time > TimeDelta::ZERO {
                *parts.entry(tag).or_default() += time;
            }
        };
        let mut reached = to;
        for (tag, begun, ended) in self.path(from, to, number) {
            add(Some(tag), ended.since(begun));
            reached = begun;
        }
        add(None, reached.since(from));
        parts.into_iter().collect()
    }

    /// The critical path to `to`, from its end back as far as `from` or as moments are kept: what each
    /// piece was spent on, its begin and its end.
    pub fn path(&self, from: Time, to: Time, number: u32) -> Vec<(Tag, Time, Time)> {
        let end = self.marks.get(&number).map_or(self.last, |&(_, moment)| moment);
        let mut path = Vec::new();
        let ended = end.at();
        if ended < to {
            path.push((Spent::Ending.tag(self.of_moment(end)), ended.max(from), to));
        }
        let mut late = Time::MAX;
        // Where the path leaves what a thread did by the way for the way of what its call has waited for.
        let mut arrival: Option<Moment> = None;
        let mut way = self.causes.way(end);
        while let Some(stretch) = way.next() {
            if stretch.to <= from {
                break;
            }
            arrival = arrival.or_else(|| self.awaited.get(&stretch.end).copied());
            let since = arrival.map_or(stretch.from, |arrival| stretch.from.max(arrival.at()));
            if let Some(came) = arrival.filter(|came| stretch.from <= came.at()) {
                way = self.causes.way(came);
                arrival = None;
            }
            let (begun, ended) = (since.max(from), stretch.to.min(to));
            if begun >= ended {
                continue;
            }
            if let Some(&came) = self.late.get(&stretch.end) {
                late = late.min(came);
            }
            if stretch.tag.phase == Spent::Outside as u8 && late < ended {
                let split = late.max(begun);
                path.push((Spent::Progress.tag(stretch.tag.resource), split, ended));
                if begun < split {
                    path.push((stretch.tag, begun, split));
                }
            } else {
                path.push((stretch.tag, begun, ended));
            }
            if begun <= late {
                late = Time::MAX;
            }
        }
        path
    }

    fn of_moment(&self, moment: Moment) -> u32 {
        self.causes.way(moment).next().map_or(0, |stretch| stretch.tag.resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_has_a_number_and_a_name_of_its_own() {
        for spent in Spent::ALL {
            assert_eq!(Spent::of(spent as u8), spent);
            let same = Spent::ALL.iter().filter(|other| other.name() == spent.name());
            assert_eq!(same.count(), 1, "{}", spent.name());
        }
    }

    #[test]
    fn computing_while_an_arrival_waits_is_waiting_for_progress() {
        let ns = |ns: u64| Time::ZERO + TimeDelta::from_ns(ns);
        let mut causes = Causes::default();
        let computed = causes.add(ns(100), Causes::BEGINNING, Spent::Outside.tag(3));
        let polled = causes.add(ns(110), computed, Spent::Poll.tag(3));
        let last = causes.add(ns(130), polled, Spent::Copy.tag(3));
        let recorded = Recorded {
            causes,
            spenders: Vec::new(),
            marks: BTreeMap::from([(7, (ns(130), last))]),
            first_marks: BTreeMap::new(),
            last,
            late: BTreeMap::from([(polled, ns(40))]),
            awaited: BTreeMap::new(),
            waits: Vec::new(),
            messages: Vec::new(),
        };
        let parts = recorded.split(ns(10), ns(140), 7);
        let found: Vec<(&str, u64)> = parts
            .iter()
            .map(|(tag, time)| (Spent::of(tag.expect("all is kept").phase).name(), time.as_ps()))
            .collect();
        let wanted = [
            ("copy", 20_000),
            ("channel polling", 10_000),
            ("outside MPI", 30_000),
            ("waiting for progress", 60_000),
            ("after the last program", 10_000),
        ];
        assert_eq!(found, wanted);
    }
}
