//! What a run leaves behind: points, metrics, resource use, claims.
//!
//! These types are the only way from `experiment` to `report`. Floating point begins here.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use units::{Time, TimeDelta};

/// The result of a whole scenario: every point of its sweep, in point order.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The scenario's path under `scenarios/` without `.json`, such as `endpoints/fig03_message_rate`.
    pub scenario: String,
    /// The scenario's `title`.
    pub title: String,
    /// Version of the program that made the result.
    pub version: String,
    /// Hash over the points' digests in point order: 32 lower-case hexadecimal digits.
    pub digest: String,
    /// One entry per point of the sweep: as many as the product of the lengths of its axes, the last
    /// axis fastest; one where nothing is swept.
    pub points: Vec<PointResult>,
    /// One verdict per claim of the scenario, in file order.
    pub claims: Vec<ClaimResult>,
    /// The same points with another cost of one resource, where that was requested.
    pub what_if: Vec<Supposed>,
}

/// All points again, where one resource costs more or less.
#[derive(Clone, Debug, PartialEq)]
pub struct Supposed {
    /// Resource and factor, as `pcie=0.5`.
    pub change: String,
    /// The metrics of each point, in point order; none where a point did not finish.
    pub points: Vec<Vec<Metric>>,
}

/// One point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct PointResult {
    /// Index in sweep order, from 0.
    pub index: usize,
    /// Swept path and value as the scenario spells it (`workload.size`, `8 B`), in axis order.
    pub params: Vec<(String, String)>,
    /// Digest of the point's event stream.
    pub digest: String,
    /// Measured values, in a fixed order; empty where the program failed.
    pub metrics: Vec<Metric>,
    /// The use of each resource during the run, warm-up included.
    pub resources: Vec<ResourceUse>,
    /// The time of threads by kind, warm-up included.
    pub spent: Vec<Spent>,
    /// A deadlock, an error or a broken law of the simulated program, or the limit that ended it, explained;
    /// `None` if it ended well.
    pub failure: Option<String>,
    /// Whether what ended it was a limit of the scenario.
    pub limited: bool,
    /// The exit status that a real program requested, where that ended the point: `MPI_Abort`, or the end of a rank
    /// with another status than 0.
    pub exit_status: Option<i32>,
    /// Faults of the plan that did nothing, in the order of the plan.
    pub unfired: Vec<Unfired>,
    /// The part of the measured time that is a start, where that is much of it.
    pub transient: Option<Transient>,
    /// Where the measured time went, where that was requested and the program finished.
    pub explanation: Option<Explanation>,
}

/// A fault of the plan that did nothing.
#[derive(Clone, Debug, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Unfired {
    /// Its place in `faults`, from 0.
    pub fault: usize,
    /// Its `kind`.
    pub kind: String,
    /// Why it did nothing.
    pub why: String,
}

/// The part of the measured time of a point that is a start, and not a steady state.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transient {
    /// Time of the first and of the second half of the measured rounds, where they differ by more than a
    /// twentieth.
    pub halves: Option<[TimeDelta; 2]>,
    /// The time that a thread pays once for its buffers, and its measured time, where the former is
    /// more than a twentieth: of the thread with the greatest share.
    pub once: Option<[TimeDelta; 2]>,
    /// The key that takes the start out, where the workload has one.
    pub mend: Option<String>,
}

/// Where the measured time of a point went, along the critical path to its end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Explanation {
    /// The measured time.
    pub total: TimeDelta,
    /// Parts that sum to it exactly, the greatest first.
    pub parts: Vec<Share>,
    /// The longest waits of its threads, the longest first.
    pub waits: Vec<Waited>,
}

/// A part of the measured time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Share {
    /// The owner of the time: a resource, or a rank with its core.
    pub resource: String,
    /// The kind of the owner.
    pub kind: Spends,
    /// The phase of the time.
    pub phase: &'static str,
    /// How long.
    pub time: TimeDelta,
}

/// The kinds of owners of time, where reports sum up all of a kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Spends {
    /// A core that runs a thread.
    Core,
    /// A core, and the memory that it copies in.
    CoreAndMemory,
    /// A link of the network.
    Link,
    /// Known by its name: those of other nodes are of its kind.
    Other,
}

/// A call in which a rank found nothing to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Waited {
    /// The rank.
    pub rank: String,
    /// The operation, as MPI spells it.
    pub operation: String,
    /// The ranks that could have ended the wait.
    pub peer: String,
    /// When the first such call was made, from the begin of the measured time.
    pub called: TimeDelta,
    /// How long it waited in all.
    pub time: TimeDelta,
    /// Calls that waited so: of one rank, in one operation, for the same ranks and as long.
    pub times: u64,
}

impl PointResult {
    /// A point of which nothing is known yet.
    pub const fn at(index: usize, params: Vec<(String, String)>) -> Self {
        Self {
            index,
            params,
            digest: String::new(),
            metrics: Vec::new(),
            resources: Vec::new(),
            spent: Vec::new(),
            failure: None,
            limited: false,
            exit_status: None,
            unfired: Vec::new(),
            transient: None,
            explanation: None,
        }
    }

    /// The value of metric `name`, if this point has it.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// One measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The scenario's word for it: `message_rate`, `bandwidth`, `latency`, …
    pub name: String,
    /// The value, finite.
    pub value: f64,
    /// The unit of `value`: `msg/s`, `MB/s`, `us`, …
    pub unit: &'static str,
}

/// Time of the mean thread by what it went into.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// Such as `queue walk`, `posting`, `waiting`.
    pub part: String,
    /// The mean over all threads.
    pub time: TimeDelta,
}

/// The use of one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceUse {
    /// Such as `node 0 PCIe to HCA`, `node 1 HCA units sending`, [`Self::CORES`].
    pub name: String,
    /// Time it was busy.
    pub busy: TimeDelta,
    /// Length of the run.
    pub elapsed: TimeDelta,
    /// Bytes that passed, headers included.
    pub bytes: u64,
    /// Packets (TLPs, MTU packets, WQEs) that passed.
    pub packets: u64,
    /// The longest queue that formed.
    pub queue_max: u64,
}

impl ResourceUse {
    /// The line of all cores: their time in calls, in the mean.
    pub const CORES: &'static str = "cores";
    /// The line of their time in passes over channels.
    pub const POLLING: &'static str = "cores polling";

    /// Whether it does something while it is busy: a core that polls waits.
    pub fn serves(&self) -> bool {
        self.name != Self::POLLING
    }

    /// Whether it is a line of the cores.
    pub fn is_of_cores(&self) -> bool {
        [Self::CORES, Self::POLLING].contains(&self.name.as_str())
    }

    /// The part of the run in which the resource was busy, from 0 to 1; 0 where
    /// nothing ran.
    pub fn share(&self) -> f64 {
        let elapsed = self.elapsed.as_s_f64();
        if elapsed > 0.0 { self.busy.as_s_f64() / elapsed } else { 0.0 }
    }
}

/// Slices of time on tracks that each do one thing at a time.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Timeline {
    /// The name of each track.
    pub tracks: Vec<String>,
    /// By track, and by time on each of them.
    pub slices: Vec<Slice>,
    /// The slices of a cause and of its effect on another track, by their places.
    pub flows: Vec<(usize, usize)>,
}

/// Something that took time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Slice {
    /// The place of its track.
    pub track: usize,
    /// The name of the slice.
    pub name: &'static str,
    /// When it began, in picoseconds.
    pub from_ps: u64,
    /// When it ended, in picoseconds.
    pub to_ps: u64,
}

/// Messages between a few ranks, and the copies of their cores and adapters.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sequence {
    /// Heading.
    pub title: String,
    /// How many ranks.
    pub ranks: u32,
    /// Packets and RDMA, by the time at which they left.
    pub arrows: Vec<Arrow>,
    /// Copies and computation of cores, by their begin.
    pub bars: Vec<Lasting>,
}

/// Something that went from one rank to another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Arrow {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// The kind of the packet, in words.
    pub label: String,
    /// Bytes of payload and header.
    pub bytes: u64,
    /// When it left, in picoseconds.
    pub left_ps: u64,
    /// When it was there, in picoseconds.
    pub came_ps: u64,
    /// Whether an adapter moved it into memory by itself.
    pub dma: bool,
}

/// Something that kept a core busy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lasting {
    /// The rank whose core it is.
    pub rank: u32,
    /// The work, in a word.
    pub name: &'static str,
    /// When it began, in picoseconds.
    pub from_ps: u64,
    /// When it ended, in picoseconds.
    pub to_ps: u64,
}

/// The verdict on one claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimResult {
    /// Id from the catalogue of claims.
    pub id: String,
    /// The claim in words.
    pub statement: String,
    /// Whether it holds within its tolerance.
    pub status: ClaimStatus,
    /// Whether the model was calibrated on it.
    pub role: ClaimRole,
    /// The measured value, in words or as a number.
    pub measured: String,
    /// The unit of such a number: `x` for a ratio; empty for a plain number.
    pub unit: &'static str,
    /// The expected value, with tolerance.
    pub expected: String,
    /// Document and figure.
    pub source: String,
    /// Why it could not have failed, where it holds and any model would meet it.
    pub cannot_fail: Option<String>,
    /// The verdict of a trivial model, where there is one for this kind of claim.
    pub null_model: Option<NullModel>,
    /// Assumed numbers whose range holds the other verdict too.
    pub undecided: Vec<Dependence>,
}

/// An assumed number whose range holds both verdicts on a claim.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dependence {
    /// Id of the claim.
    pub claim: String,
    /// The path of the number, as `--set` takes it.
    pub number: String,
    /// The value.
    pub value: String,
    /// Its lowest and its highest plausible value.
    pub range: [String; 2],
    /// The part of that range, around the value, in which the verdict is the same.
    pub same: [String; 2],
}

impl std::fmt::Display for Dependence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { number, value, range: [low, high], same: [from, to], .. } = self;
        let number = number.trim_start_matches("machine.");
        write!(
            f,
            "the verdict stands for {number} from {from} to {to}; {value} is assumed, plausible are {low} to {high}"
        )
    }
}

/// A model that knows nothing of the machine, and its verdict.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NullModel {
    /// `no effect`: both sides of a comparison are equal. `copy`: a value is that of the claim before it
    /// about the same metric.
    pub name: &'static str,
    /// Whether the claim holds in it.
    pub status: ClaimStatus,
}

impl ClaimResult {
    /// Whether it is a prediction that could have failed: only such a one is evidence.
    pub fn is_evidence(&self) -> bool {
        self.role == ClaimRole::Prediction && self.cannot_fail.is_none()
    }

    /// The worth of the verdict on a prediction, in lines; none where there is nothing to say.
    pub fn worth(&self) -> Vec<String> {
        if self.role == ClaimRole::Input {
            return Vec::new();
        }
        let mut lines: Vec<String> =
            self.cannot_fail.iter().map(|why| format!("could not fail: {why}")).collect();
        if let Some(NullModel { name, status: ClaimStatus::Pass }) = self.null_model
            && self.cannot_fail.is_none()
        {
            lines.push(format!("a null model ({name}) meets it"));
        }
        lines.extend(self.undecided.iter().map(|one| format!("undecided: {one}")));
        lines
    }

    /// The measured value; a number with its unit.
    pub fn measured_in_words(&self) -> String {
        let is_number = !self.unit.is_empty() && self.measured.parse::<f64>().is_ok();
        if is_number { format!("{} {}", self.measured, self.unit) } else { self.measured.clone() }
    }
}

/// Holds, or deviates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClaimStatus {
    /// Within the tolerance.
    Pass,
    /// Outside it: reported, never tuned away.
    Deviates,
}

/// Calibrated on, or predicted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClaimRole {
    /// The model was fitted on it: no evidence.
    Input,
    /// It came out of the model.
    Prediction,
}

/// Where two runs part.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Parting {
    /// The number of the first event that differs, from 1.
    pub number: u64,
    /// The events around it in the first run; shorter where that run ended.
    pub left: Vec<Happened>,
    /// The events around it in the second run.
    pub right: Vec<Happened>,
}

impl Parting {
    /// The events of both sides by their number.
    pub fn pairs(&self) -> Vec<(u64, [Option<&Happened>; 2])> {
        let mut pairs: BTreeMap<u64, [Option<&Happened>; 2]> = BTreeMap::new();
        for (side, events) in [&self.left, &self.right].into_iter().enumerate() {
            for event in events {
                pairs.entry(event.number).or_default()[side] = Some(event);
            }
        }
        pairs.into_iter().collect()
    }
}

/// An event in words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Happened {
    /// Its place in the run, from 1.
    pub number: u64,
    /// When.
    pub at: Time,
    /// The rank or the resource that it happened at.
    pub place: String,
    /// The event, in words.
    pub what: String,
    /// The number of the event that it follows from; 0 where it was planned from the beginning.
    pub cause: u64,
}

/// The unit that a file names, as a text that lives as long as the program; each is kept once.
///
/// Files have the units of our own metrics: there are a handful.
///
/// # Panics
///
/// Never: no thread panics while it holds the units.
pub fn unit(name: &str) -> &'static str {
    static UNITS: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());
    let mut units = UNITS.lock().expect("no thread panics while it holds the units");
    if let Some(known) = units.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    units.insert(name.to_owned(), kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_units_are_kept_once() {
        assert!(std::ptr::eq(unit("furlong"), unit("furlong")));
    }

    #[test]
    fn events_of_one_number_stand_together_and_an_end_leaves_a_gap() {
        let event = |number| Happened {
            number,
            at: Time::ZERO,
            place: "rank 0".to_owned(),
            what: "begins".to_owned(),
            cause: 0,
        };
        let (left, right) = (vec![event(3), event(4)], vec![event(3), event(4), event(5)]);
        let parting = Parting { number: 5, left, right };
        let found = parting.pairs();
        let there = found.iter().map(|(number, sides)| (*number, sides.map(|one| one.is_some())));
        assert_eq!(
            there.collect::<Vec<_>>(),
            [(3, [true, true]), (4, [true, true]), (5, [false, true])]
        );
    }
}
