//! Message rate of many pairs of processes on two nodes each, as `osu_mbw_mr` measures it, with threads that
//! share a rank, have a communicator each, or are endpoints.

use std::sync::Arc;

use super::backlog::{LongQueue, backlog};
use super::fields::{ROUNDS, Rounds, SIZE, THREADED_QUEUE, ThreadedQueueForm, WARMUP, WINDOW};
use super::job::{AnyProgram, duplicate};
use super::kind::{Kind, OVER_PLAIN_MPI, OsuBenchmark, OsuTest, Processes, Reading, Workload};
use super::metric::{BANDWIDTH, MESSAGE_RATE, Measured, TIME};
use super::partitioned_rate::Pair;
use super::ranks::{Addressing, Ranks};
use super::windowed::{Creation, Direction, Share, Windowed};
use form::codes;
use form::shape::Shape;
use form::typed::{Object as _, default, required};
use form::workload_field;
use mpi::envelope::Rank;
use units::Bytes;

form::words! {
    /// Which nodes send.
    pub enum Senders {
        /// the first node of a pair sends
        One = "one",
        /// each node of a pair has senders and receivers
        Both = "both",
    }
}

form::object! {
    /// Pairs of processes on two nodes send windows of messages; the rate is their sum.
    pub struct MessageRateForm {
        /// Sending processes of a node, each paired with a receiver on the next node.
        senders_per_node: u32 = required(&Shape::Count { min: 1, max: 65_536 }, "16"),
        size: Bytes = SIZE,
        window: u32 = WINDOW,
        rounds: Rounds = ROUNDS,
        warmup: u32 = WARMUP,
        /// Which nodes send.
        direction: Senders = default(&Senders::SHAPE, "both"),
        queue: Option<ThreadedQueueForm> = THREADED_QUEUE,
    }
}

/// Pairs of processes.
pub static KIND: Kind = Kind {
    name: "message_rate",
    fields: MessageRateForm::FIELDS,
    about: MessageRateForm::ABOUT,
    metrics: &[MESSAGE_RATE, BANDWIDTH, TIME],
    account: &[],
    processes: workload_field!(MessageRateForm, senders_per_node),
    read: |reading| {
        let form = MessageRateForm::read(reading.node);
        Some(Arc::new(MessageRate {
            senders_per_node: form.senders_per_node.saturating_mul(u32::from(reading.separate)),
            rounds: form.rounds.of(form.size),
            queue: form.queue.as_ref().map(|queue| queue.of(reading.threads)),
            form,
        }))
    },
};

/// Pairs of processes that exchange windows.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRate {
    /// The values of the scenario.
    pub form: MessageRateForm,
    /// Sending processes of a node.
    pub senders_per_node: u32,
    /// Measured rounds.
    pub rounds: u32,
    /// The queue that is long at every receiver.
    pub queue: Option<LongQueue>,
}

impl MessageRate {
    fn both(&self) -> bool {
        self.form.direction == Senders::Both
    }

    /// Partner and direction of one process: the first half of the nodes is paired with the second,
    /// and the i-th sender of a node has the i-th receiver of the other one.
    fn pair(&self, ranks: &Ranks, process: u32) -> (u32, Direction) {
        let (placement, nodes, senders) = (&ranks.placement, ranks.nodes, self.senders_per_node);
        let node = placement.node_of(process, nodes);
        let slot = placement.slot_of(process, nodes);
        let half = nodes / 2;
        let other = (node + half) % nodes;
        let (slot, direction) = match (self.both(), slot < senders) {
            (true, true) => (slot + senders, Direction::Sends),
            (true, false) => (slot - senders, Direction::Receives),
            (false, _) if node < half => (slot, Direction::Sends),
            (false, _) => (slot, Direction::Receives),
        };
        (placement.process_at(other, slot, nodes), direction)
    }

    fn program(&self, ranks: &Ranks, process: u32, thread: u16) -> AnyProgram {
        let (peer, direction) = self.pair(ranks, process);
        let MessageRateForm { size, window, warmup, .. } = self.form;
        let (size, threads) = (size.as_u64(), ranks.threads);
        let windows = |peer| {
            let rank = Windowed::new(Rank(peer), direction, size, window, warmup, self.rounds);
            // Without a warm-up the barrier at the start is the common one.
            if warmup > 0 { rank.with_common_start() } else { rank }
        };
        // Ranks are grouped by process, in the order of threads.
        let thread_of_peer = peer * u32::from(threads) + u32::from(thread);
        let (program, over) = match ranks.addressing {
            // Each thread is a rank like any other: all are in the barrier, and none is created.
            Addressing::EndpointLibrary => return AnyProgram::Windowed(windows(thread_of_peer)),
            Addressing::Endpoints(own) => {
                let creation = if own.at_start { Creation::Static } else { Creation::Dynamic };
                let program = windows(thread_of_peer).of_threads(threads, Share::tagged(thread));
                (program.of_endpoints(creation), threads)
            }
            Addressing::Partitioned => {
                let (peer, bytes, rounds) = (Rank(peer), size, self.rounds);
                let warm_up = warmup;
                let pair = Pair { peer, direction, bytes, window, warm_up, rounds, threads };
                return pair.program(thread);
            }
            Addressing::Process => (windows(peer).of_threads(threads, Share::tagged(thread)), 0),
            Addressing::Duplicated => {
                let share = Share::on(thread, duplicate(thread));
                (windows(peer).of_threads(threads, share), 0)
            }
        };
        let queue = self.queue.filter(|_| thread == 0);
        let first = Rank(peer * u32::from(over.max(1)));
        let backlog = backlog(queue, direction == Direction::Receives, first, size);
        AnyProgram::Windowed(match backlog.map(|backlog| backlog.over(over)) {
            Some(backlog) => program.with_backlog(backlog),
            None => program,
        })
    }
}

impl Workload for MessageRate {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn check_addressing(&self, reading: &mut Reading<'_>) {
        if self.queue.is_none() {
            return;
        }
        reading.refuse_partitioned();
        reading.refuse_endpoint_library(OVER_PLAIN_MPI);
        if matches!(reading.addressing, Addressing::Endpoints(own) if own.at_start) {
            reading.refuse(
                "ranks.endpoints.creation",
                "endpoints are there from the start",
                "long queues are made of dynamic endpoints, threads or processes",
            );
        }
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let nodes = reading.nodes;
        reading.need_nodes(nodes >= 2 && nodes.is_multiple_of(2), "an even number")?;
        let per_node = self.senders_per_node * if self.both() { 2 } else { 1 };
        Some(Processes::new(reading.on_each_node(per_node, KIND.processes)?, per_node))
    }

    fn check_threads(&self, reading: &mut Reading<'_>) {
        let each = 2 * u128::from(self.form.window) + 1;
        let queued = self.queue.map_or(0, |queue| queue.length);
        let threads = reading.threads;
        let requests = each * u128::from(threads) + u128::from(queued) + 1;
        let limit = 1 << 31;
        if requests <= limit {
            return;
        }
        let path = workload_field!(MessageRateForm, window);
        let found = format!("{threads} threads need {requests} requests in a process");
        let allowed = format!("at most {limit} can be told apart");
        let one = reading.error(&codes::PRODUCT, path, found, allowed);
        let threads = reading.place("ranks.threads_per_process");
        reading.diagnostics.push(one.related(threads, "the threads are given here"));
    }

    fn traffic(&self, _: u32, threads: u16) -> Option<(Bytes, u128)> {
        let MessageRateForm { size, window, warmup, .. } = self.form;
        let rounds = u128::from(self.rounds) + u128::from(warmup);
        Some((size, u128::from(window) * rounds * u128::from(threads)))
    }

    fn sends_partitions(&self, ranks: &Ranks) -> bool {
        ranks.addressing == Addressing::Partitioned
    }

    fn combines_threads(&self, ranks: &Ranks) -> bool {
        ranks.addressing == Addressing::Partitioned && ranks.threads > 1
    }

    /// All threads of all processes.
    fn programs(&self, ranks: &Ranks) -> Vec<AnyProgram> {
        let threads = |process| (0..ranks.threads).map(move |thread| (process, thread));
        let all = (0..ranks.placement.processes).flat_map(threads);
        all.map(|(process, thread)| self.program(ranks, process, thread)).collect()
    }

    fn messages(&self, ranks: &Ranks) -> u64 {
        let pairs = u64::from(ranks.placement.processes) / 2 * u64::from(ranks.threads);
        pairs * u64::from(self.rounds) * u64::from(self.form.window)
    }

    fn measure(&self, run: &mut Measured<'_>) {
        let messages = self.messages(&run.ranks);
        run.message_rate(messages);
        run.bandwidth(messages, self.form.size.as_u64());
    }

    fn senders(&self, ranks: &Ranks) -> u64 {
        u64::from(self.senders_per_node) * u64::from(ranks.threads)
    }

    fn osu_benchmark(&self) -> Option<OsuBenchmark> {
        let MessageRateForm { size, window, .. } = self.form;
        let settings = vec![
            (workload_field!(MessageRateForm, size), size.to_string()),
            (workload_field!(MessageRateForm, window), window.to_string()),
            (KIND.processes, self.senders_per_node.to_string()),
        ];
        Some(OsuBenchmark { test: OsuTest::MessageRate, settings })
    }
}
