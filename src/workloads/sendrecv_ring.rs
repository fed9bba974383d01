//! A halo on a ring of ranks by `MPI_Sendrecv`, blocking and not.
//!
//! ```text
//!   sendrecv    MPI_Sendrecv to the right and from the left; the same to the left and from the right; compute
//!   isendrecv   MPI_Isendrecv to the right, MPI_Isendrecv to the left; compute; wait for both
//! ```
//!
//! Libraries make `MPI_Sendrecv` of a receive, a send and a wait for both, and so do these ranks. Where the
//! exchange is nonblocking the computation lies between its beginning and the wait: how much of the exchange
//! it hides is up to the protocol's progress. The document of this call is MPI-4.0, Sec. 3.10.

use std::sync::Arc;

use super::application::{
    COMPUTE, PER_NODE, PER_NODE_PATH, STEPS, WARMUP, equal_steps, measure_steps,
};
use super::job::AnyProgram;
use super::kind::{Kind, LONGEST_RUN, Processes, Reading, Workload};
use super::metric::{COMMUNICATION, Measured, STEP_TIME, TIME};
use super::ranks::Ranks;
use form::codes;
use form::fields::SIZE;
use form::shape::Shape;
use form::typed::{Object as _, default, required};
use form::workload_field;
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use protocols::contract::{Handle, Next};
use units::{Bytes, TimeDelta};

form::words! {
    /// How a rank exchanges its halo.
    pub enum Exchange {
        /// MPI_Sendrecv to the right, then to the left; the rank computes after both
        Sendrecv = "sendrecv",
        /// MPI_Isendrecv to the right and to the left; the rank computes before it waits for both
        Isendrecv = "isendrecv",
    }
}

form::object! {
    /// Each rank of a ring sends its halo to both neighbours by MPI_Sendrecv in each step, and computes.
    pub struct RingForm {
        /// Processes of the ring.
        processes: u32 = required(&Shape::Count { min: 2, max: 65_536 }, "64"),
        processes_per_node: u32 = PER_NODE,
        /// How a rank exchanges its halo.
        exchange: Exchange = default(&Exchange::SHAPE, "sendrecv"),
        /// Bytes that two neighbours send each other in a step.
        size: Bytes = required(&SIZE, "\"8 KiB\""),
        warmup: u32 = WARMUP,
        steps: u32 = STEPS,
        compute: TimeDelta = COMPUTE,
    }
}

/// A halo on a ring.
pub static KIND: Kind = Kind {
    name: "sendrecv_ring",
    fields: RingForm::FIELDS,
    about: RingForm::ABOUT,
    metrics: &[STEP_TIME, COMMUNICATION, TIME],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| Some(Arc::new(RingForm::read(reading.node))),
};

/// Messages to the next rank.
const RIGHTWARDS: i32 = 0;
/// Messages to the rank before.
const LEFTWARDS: i32 = 1;

impl RingForm {
    fn per_node(&self) -> u32 {
        self.processes_per_node.min(self.processes)
    }

    /// `MPI_Isendrecv`: what comes from `source` arrives in buffer `first`, what goes leaves from the next.
    fn begin_sendrecv(&self, first: u32, [source, to]: [u32; 2], tag: i32) -> [Next<Call>; 2] {
        let (comm, mode, bytes) = (Comm::default(), SendMode::Standard, self.size.as_u64());
        let [source, to] = [source, to].map(|rank| Peer::Rank(Rank(rank)));
        let [receive, send] = [first, first + 1].map(|id| (Handle(id), Buffer { id, bytes }));
        let ((request, buffer), tags) = (receive, Some(tag));
        let receive = Call::Irecv { request, source, tag: tags, comm, buffer };
        let (request, buffer) = send;
        [Next::Call(receive), Next::Call(Call::Isend { request, to, tag, comm, buffer, mode })]
    }

    fn step(&self, rank: u32) -> Vec<Next<Call>> {
        let size = self.processes;
        let [left, right] = [(rank + size - 1) % size, (rank + 1) % size];
        let rightwards = self.begin_sendrecv(0, [left, right], RIGHTWARDS);
        let leftwards = self.begin_sendrecv(2, [right, left], LEFTWARDS);
        let time = self.compute.as_ps();
        let compute = (time > 0).then_some(Next::Compute(time));
        let mut step = Vec::from(rightwards);
        match self.exchange {
            Exchange::Sendrecv => {
                step.push(wait_all(0, 2));
                step.extend(leftwards);
                step.push(wait_all(2, 2));
                step.extend(compute);
            }
            Exchange::Isendrecv => {
                step.extend(leftwards);
                step.extend(compute);
                step.push(wait_all(0, 4));
            }
        }
        step
    }
}

fn wait_all(first: u32, count: u32) -> Next<Call> {
    let requests = Requests::Range { first: Handle(first), count };
    Next::Call(Call::WaitAll { requests, statuses: false })
}

impl Workload for RingForm {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let (processes, per_node) = (self.processes, self.per_node());
        let nodes = processes.div_ceil(per_node);
        if nodes > reading.nodes {
            let found = format!("{processes} processes need {nodes} nodes");
            let allowed = format!("there are {}, with {per_node} processes each", reading.nodes);
            reading.refuse(workload_field!(Self, processes), found, allowed);
            return None;
        }
        let steps = u128::from(self.warmup) + u128::from(self.steps);
        let computes = steps * u128::from(self.compute.as_ps());
        if computes > u128::from(LONGEST_RUN.as_ps()) {
            let path = workload_field!(Self, compute);
            let found = format!("{steps} steps of {} each", self.compute);
            let one =
                reading.error(&codes::PRODUCT, path, found, "at most 200 days can be counted");
            reading.diagnostics.push(one);
            return None;
        }
        Some(Processes::new(processes, per_node))
    }

    fn traffic(&self, _: u32, _: u16) -> Option<(Bytes, u128)> {
        Some((self.size, 2 * (u128::from(self.warmup) + u128::from(self.steps))))
    }

    fn nodes(&self) -> Option<u32> {
        Some(self.processes.div_ceil(self.per_node()))
    }

    fn programs(&self, _: &Ranks) -> Vec<AnyProgram> {
        let steps = [self.warmup, self.steps];
        let program = |rank| AnyProgram::Score(equal_steps(self.step(rank), steps));
        (0..self.processes).map(program).collect()
    }

    fn messages(&self, _: &Ranks) -> u64 {
        2 * u64::from(self.processes) * u64::from(self.steps)
    }

    fn measure(&self, run: &mut Measured<'_>) {
        measure_steps(run, self.steps);
    }
}
