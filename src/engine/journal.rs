//! The journal: a record of events on demand, and the first event in which two runs differ.

use std::collections::VecDeque;
use std::fmt;

use crate::source::SourceId;
use crate::tag::Tag;
use units::Time;

/// One event as the journal keeps it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Record {
    /// Its place in the run, from 1.
    pub number: u64,
    /// When it happened.
    pub time: Time,
    /// Depth of zero-delay causes at that time.
    pub round: u32,
    /// Source that scheduled it.
    pub source: SourceId,
    /// The number of the event during whose handling it was scheduled; 0 before the first.
    pub cause: u64,
    /// The resource and phase that it is charged to.
    pub tag: Tag,
    /// Kind and content.
    pub fingerprint: u64,
}

impl Record {
    /// Whether the digest would take both for the same event.
    fn same_event(&self, other: &Self) -> bool {
        let key = |record: &Self| (record.time, record.round, record.source, record.fingerprint);
        key(self) == key(other)
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, time, round, source, cause, tag, fingerprint } = self;
        let (source, Tag { resource, phase }) = (source.0, *tag);
        write!(f, "event {number} at {time} round {round} from source {source}: ")?;
        write!(f, "{fingerprint:016x}, caused by {cause}, resource {resource}, phase {phase}")
    }
}

/// Which events a journal keeps.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JournalMode {
    /// Every event.
    All,
    /// The last `n` events before the stop.
    Last(usize),
    /// The events numbered from the first to the last, both included (as [`super::digest::bisect`]
    /// answers).
    Between(u64, u64),
}

/// The events kept, in their order.
#[derive(Clone, Debug)]
pub struct Journal {
    mode: JournalMode,
    records: VecDeque<Record>,
}

impl Journal {
    /// An empty journal.
    pub fn new(mode: JournalMode) -> Self {
        let capacity = if let JournalMode::Last(n) = mode { n } else { 0 };
        Self { mode, records: VecDeque::with_capacity(capacity) }
    }

    /// Adds an event, if the mode wants it.
    pub fn record(&mut self, record: Record) {
        match self.mode {
            JournalMode::Last(0) => return,
            JournalMode::Last(n) if self.records.len() == n => {
                self.records.pop_front();
            }
            JournalMode::Between(first, last) if !(first..=last).contains(&record.number) => return,
            JournalMode::All | JournalMode::Last(_) | JournalMode::Between(..) => {}
        }
        self.records.push_back(record);
    }

    /// The records kept, oldest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &Record> + ExactSizeIterator + '_ {
        self.records.iter()
    }

    /// How many records are kept.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no record is kept.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Up to `reach` records before and after the event `number`, itself included.
    fn around(&self, number: u64, reach: u64) -> Vec<Record> {
        let near = number.saturating_sub(reach)..=number.saturating_add(reach);
        self.records.iter().filter(|record| near.contains(&record.number)).copied().collect()
    }
}

/// Where two runs part.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// The number of the first event that differs.
    pub number: u64,
    /// The events around it in the first run; shorter where that run ended.
    pub left: Vec<Record>,
    /// The events around it in the second run.
    pub right: Vec<Record>,
}

impl Difference {
    /// The first event that differs, in each run; `None` where that run had ended.
    pub fn events(&self) -> (Option<&Record>, Option<&Record>) {
        let find = |side: &'_ [Record]| side.iter().position(|record| record.number == self.number);
        (find(&self.left).map(|at| &self.left[at]), find(&self.right).map(|at| &self.right[at]))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "event {} is the first that differs", self.number)?;
        for (name, side) in [("first", &self.left), ("second", &self.right)] {
            writeln!(f, "{name} run:")?;
            for record in side {
                let mark = if record.number == self.number { '>' } else { ' ' };
                writeln!(f, "{mark} {record}")?;
            }
            if !side.iter().any(|record| record.number == self.number) {
                writeln!(f, "> ended before")?;
            }
        }
        Ok(())
    }
}

/// The first event that differs between two journals of the same mode, with up to `reach` events
/// before and after it from each; `None` when one ends nowhere else than the other.
///
/// Events are paired by their number; causes and tags are shown, but do not count as a difference.
pub fn first_difference(left: &Journal, right: &Journal, reach: u64) -> Option<Difference> {
    let start = |journal: &Journal| journal.records.front().map(|record| record.number);
    let first = start(left).max(start(right))?;
    let from = |journal: &Journal| {
        journal
            .records
            .iter()
            .skip_while(move |record| record.number < first)
            .copied()
            .collect::<Vec<_>>()
    };
    let (lefts, rights) = (from(left), from(right));
    let same = lefts.iter().zip(&rights).take_while(|(left, right)| left.same_event(right)).count();
    if same == lefts.len() && same == rights.len() {
        return None;
    }
    let number = first + same as u64;
    Some(Difference {
        number,
        left: left.around(number, reach),
        right: right.around(number, reach),
    })
}
