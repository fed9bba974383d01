//! A kind of workload: what a scenario says of it, what it runs, and what it measures.
//!
//! One file holds a kind: its form (an [`object!`](form::object)), a [`Kind`] that names it and its metrics,
//! and an implementation of [`Workload`]. A line of [`KINDS`](super::KINDS) makes it known.
//!
//! ```text
//!   scenario ─ Kind::read ─▶ Workload ─ check_* ─▶ processes ─▶ programs ─ run ─▶ measure
//! ```

use std::any::Any;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use super::assumption::Assumption;
use super::job::AnyProgram;
use super::metric::{Measured, MetricSpec};
use super::packing::Packing;
use super::ranks::{Addressing, Ranks};
use super::trace::Imported;
use form::codes::{self, Code};
use form::diagnostic::{Diagnostic, Diagnostics, Span};
use form::json::Node;
use form::machine::Machine;
use form::shape::{Field, Variant, path};
use language::collectives::{Choices, Chosen};
use protocols::contract::{Process, Region};
use protocols::rma;
use runtime::account::Account;
use runtime::loggops::schedule::Schedule;
use runtime::memory::Memories;
use runtime::monitors::Violation;
use units::{Bytes, TimeDelta};

/// 200 days: the clock ends at 213.
pub const LONGEST_RUN: TimeDelta = TimeDelta::from_ps(form::fields::LONGEST);

/// A kind of workload.
#[derive(Debug)]
pub struct Kind {
    /// The scenario's word for it.
    pub name: &'static str,
    /// Its keys.
    pub fields: &'static [Field],
    /// The workload in a sentence.
    pub about: &'static str,
    /// The metrics, the main one first; the measured time follows.
    pub metrics: &'static [MetricSpec],
    /// The metrics of its account, beside those of all workloads.
    pub account: &'static [MetricSpec],
    /// The field that says how many processes a node has.
    pub processes: &'static str,
    /// The workload of a checked tree; `None` with reports where it contradicts itself.
    pub read: fn(&mut Reading<'_>) -> Option<Arc<dyn Workload>>,
}

impl Kind {
    /// Its form, as one of the kinds of `workload`.
    pub const fn variant(&self) -> Variant {
        Variant { name: self.name, fields: self.fields, doc: self.about }
    }
}

/// Where the traces lie that a workload names.
pub trait Traces {
    /// The trace in the file of a name, beside the scenario, in the format of a kind; `None` with reports.
    fn trace(
        &mut self,
        diagnostics: &mut Diagnostics,
        kind: &str,
        named: &Node,
    ) -> Option<Imported>;
}

/// A scenario while its workload is read and checked.
pub struct Reading<'a> {
    /// Where reports go.
    pub diagnostics: &'a mut Diagnostics,
    /// Traces in files.
    pub traces: &'a mut dyn Traces,
    /// The whole scenario, checked against its shape.
    pub tree: &'a Node,
    /// Its workload.
    pub node: &'a Node,
    /// Number of nodes.
    pub nodes: u32,
    /// Threads of a process.
    pub threads: u16,
    /// Processes that stand for one process of the scenario.
    pub separate: u16,
    /// Ranks of a process.
    pub each: u16,
    /// How messages find their thread.
    pub addressing: Addressing,
    /// Swept paths and their values.
    pub swept: &'a [(String, String)],
    /// How windows work.
    pub rma: &'a rma::Settings,
    /// Algorithms of collectives.
    pub choices: &'a Choices,
    /// The machine of every node, where it could be read.
    pub machine: Option<&'a Machine>,
}

impl Reading<'_> {
    /// The field at `path`, or what holds it.
    pub fn place(&self, path: &str) -> Span {
        let own = || if path.starts_with("workload.") { self.node.span } else { self.tree.span };
        path::at(self.tree, path).map_or_else(own, |node| node.span)
    }

    /// An error at the field `path`.
    pub fn error(
        &self,
        code: Code,
        path: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Diagnostic {
        let path = path.into();
        Diagnostic::error(code, self.place(&path), path, found, allowed)
    }

    /// Reports that a field contradicts others.
    pub fn refuse(
        &mut self,
        path: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) {
        let one = self.error(&codes::CONTRADICTION, path, found, allowed);
        self.diagnostics.push(one);
    }

    /// Whether an axis sweeps the field at `path`.
    pub fn is_swept(&self, path: &str) -> bool {
        self.swept.iter().any(|(axis, _)| axis == path)
    }

    /// Reports nodes that are too few or of the wrong number for pairs; `needed` says how many.
    pub fn need_nodes(&mut self, fits: bool, needed: &str) -> Option<()> {
        if fits {
            return Some(());
        }
        let kind = self.node.get("kind");
        let found = format!("the number of nodes is {}", self.nodes);
        let allowed =
            format!("the workload pairs processes of different nodes: {needed} is needed");
        let one = self.error(&codes::ONE_NODE, "nodes", found, allowed);
        self.diagnostics.push(match kind {
            Some(kind) => one.related(kind.span, "the workload is here"),
            None => one,
        });
        None
    }

    /// `per_node` processes on each node, if processes can be numbered so far; `path` gives them.
    pub fn on_each_node(&mut self, per_node: u32, path: &'static str) -> Option<u32> {
        let nodes = self.nodes;
        let product = u128::from(per_node) * u128::from(nodes);
        let limit = 16_777_216;
        if product <= limit {
            return u32::try_from(product).ok();
        }
        let found = format!("{nodes} nodes of {per_node} processes are {product} processes");
        let allowed = format!("at most {limit} are allowed");
        let one = self.error(&codes::PRODUCT, path, found, allowed);
        let one = one.related(self.place("nodes"), "the nodes are given here");
        self.diagnostics.push(one);
        None
    }

    /// Refuses endpoints: the workload gives its threads none.
    pub fn refuse_endpoints(&mut self) {
        if matches!(self.addressing, Addressing::Endpoints(_)) {
            self.refuse(
                "ranks.addressing",
                "endpoints are addressed",
                "only the workloads `message_rate`, `collective` and `program` give their threads endpoints",
            );
        }
    }

    /// Refuses threads that make partitions ready.
    pub fn refuse_partitioned(&mut self) {
        if self.addressing == Addressing::Partitioned {
            self.refuse(
                "ranks.addressing",
                "the threads of a process make partitions of one message ready",
                "only the workload `message_rate` without a long queue has such messages; a `program` has statements for them",
            );
        }
    }

    /// Refuses several threads in a process.
    pub fn refuse_threads(&mut self, kind: &Kind) {
        if self.threads <= 1 {
            return;
        }
        let path = "ranks.threads_per_process";
        let found = format!("processes of {} threads", self.threads);
        let allowed = format!("the workload {} has one thread in each process", kind.name);
        let one = self.error(&codes::CONTRADICTION, path, found, allowed);
        let one = one.related(self.place("workload.kind"), "the workload is given here").help(
            "several threads are known to the workloads message_rate, collective and program",
        );
        self.diagnostics.push(one);
    }

    /// Refuses the endpoint library; `allowed` says why.
    pub fn refuse_endpoint_library(&mut self, allowed: &str) {
        if self.addressing == Addressing::EndpointLibrary {
            let found = "the threads are endpoints of a library over plain MPI";
            self.refuse("ranks.addressing", found, allowed);
        }
    }
}

/// The workloads that run over the endpoint library, in words.
pub const OVER_PLAIN_MPI: &str =
    "only the workloads `message_rate` without long queues, `collective` and `program` run over it";

/// The processes that a workload has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Processes {
    /// In all.
    pub count: u32,
    /// Of a node, at most.
    pub per_node: u32,
    /// Whether all of them are on the first node, however processes are dealt out.
    pub together: bool,
}

impl Processes {
    /// So many processes, on nodes of at most `per_node`.
    pub const fn new(count: u32, per_node: u32) -> Self {
        Self { count, per_node, together: false }
    }
}

/// A benchmark of the OSU suite that a workload re-makes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OsuBenchmark {
    /// Which one.
    pub test: OsuTest,
    /// Paths and values of what its table has.
    pub settings: Vec<(&'static str, String)>,
}

/// Benchmarks of the OSU suite whose tables are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OsuTest {
    /// `osu_latency`.
    Latency,
    /// `osu_bw`.
    Bandwidth,
    /// `osu_bibw`.
    BiBandwidth,
    /// `osu_mbw_mr`.
    MessageRate,
}

/// A workload with its numbers: the functions of all kinds.
pub trait Workload: Any + Debug + Send + Sync {
    /// Its kind.
    fn kind(&self) -> &'static Kind;

    /// The metrics, the main one first; the measured time is the last.
    fn metrics(&self) -> Vec<&'static MetricSpec> {
        self.kind().metrics.iter().collect()
    }

    /// The most endpoints of a process, where they are no threads.
    fn endpoints(&self) -> Option<u16> {
        None
    }

    /// Refuses ways to address threads that the workload does not know.
    fn check_addressing(&self, reading: &mut Reading<'_>) {
        reading.refuse_endpoints();
        reading.refuse_endpoint_library(OVER_PLAIN_MPI);
        reading.refuse_partitioned();
    }

    /// Its processes; `None` with reports where there can be no such number.
    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes>;

    /// Refuses threads that the workload does not know.
    fn check_threads(&self, reading: &mut Reading<'_>) {
        reading.refuse_threads(self.kind());
    }

    /// Whether its ranks may send partitioned messages: else no choice of the library about those matters.
    fn sends_partitions(&self, _ranks: &Ranks) -> bool {
        true
    }

    /// Whether a progress thread may stand beside each rank.
    fn has_progress_threads(&self) -> bool {
        true
    }

    /// Collectives that it calls.
    fn collectives(&self) -> Vec<&Chosen> {
        Vec::new()
    }

    /// Size and number of the messages of one rank, where their product must be looked at.
    fn traffic(&self, _processes: u32, _threads: u16) -> Option<(Bytes, u128)> {
        None
    }

    /// Whether its windows lie in memory that all processes map.
    fn maps_windows(&self) -> bool {
        false
    }

    /// Whether what it does depends on the bytes of its memory.
    fn needs_bytes(&self) -> bool {
        false
    }

    /// Refuses what the machine cannot do; `real` where bytes exist.
    fn check_machine(&self, _reading: &mut Reading<'_>, _machine: &Machine, _real: bool) {}

    /// Numbers that the workload takes for granted.
    fn assumptions(&self) -> Vec<Assumption> {
        Vec::new()
    }

    /// Whether epochs on windows are issued as `mpi.rma` says.
    fn has_windows(&self) -> bool {
        false
    }

    /// Hash of the file that it replays.
    fn file_digest(&self) -> Option<&str> {
        None
    }

    /// The program and the arguments of its ranks, where those are processes of the host, which run once and in one
    /// order.
    fn command(&self) -> Option<&[String]> {
        None
    }

    /// Variables of their environment that the scenario sets, as `NAME=value`.
    fn variables(&self) -> &[String] {
        &[]
    }

    /// Whether its ranks are processes of the host.
    fn runs_real_processes(&self) -> bool {
        self.command().is_some()
    }

    /// Files that a run of it executes, reads or keeps, beside those that the scenario was read from.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether its times are measured on this host, so that no two runs are the same.
    fn is_measured_here(&self) -> bool {
        false
    }

    /// Nodes that its processes need, where they are not all that the scenario has.
    fn nodes(&self) -> Option<u32> {
        None
    }

    /// Whether the threads of a process combine before one of them calls.
    fn combines_threads(&self, _ranks: &Ranks) -> bool {
        false
    }

    /// One program for each thread, process by process.
    fn programs(&self, ranks: &Ranks) -> Vec<AnyProgram>;

    /// The packing of one core and one GPU that it is instead of a job of processes.
    fn packing(&self) -> Option<&Packing> {
        None
    }

    /// The contents of buffers before the run, where bytes exist.
    fn contents(&self) -> Vec<(Process, Region, Vec<u8>)> {
        Vec::new()
    }

    /// Laws of the workload that the memories break after a run that came to its end.
    fn broken(&self, _memories: &Memories) -> Vec<Violation> {
        Vec::new()
    }

    /// Messages between the marks; 0 where the scenario writes them out.
    fn messages(&self, _ranks: &Ranks) -> u64 {
        0
    }

    /// Paths of the fields that choose what is measured, and change nothing of what happens: points of a sweep that
    /// differ in them alone are one run.
    fn observed(&self) -> &'static [&'static str] {
        &[]
    }

    /// Adds the metrics of [`Kind::metrics`], in their order.
    fn measure(&self, run: &mut Measured<'_>);

    /// Threads that send, on each node that does.
    fn senders(&self, ranks: &Ranks) -> u64 {
        u64::from(ranks.placement.per_node)
    }

    /// Adds what its account has beside that of all workloads; `account` is that of all threads.
    fn measure_account(&self, _run: &mut Measured<'_>, _account: &Account) {}

    /// The benchmark of the OSU suite that it re-makes.
    fn osu_benchmark(&self) -> Option<OsuBenchmark> {
        None
    }

    /// The schedule that it replays, or why its programs cannot be written as one; `Ok(None)`: they are
    /// recorded.
    ///
    /// # Errors
    ///
    /// Why GOAL cannot say it.
    fn schedule(&self) -> Result<Option<Schedule>, String> {
        Ok(None)
    }
}

impl dyn Workload {
    /// The workload as one of type `W`, where it is one.
    pub fn downcast_ref<W: Workload>(&self) -> Option<&W> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}
