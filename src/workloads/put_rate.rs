//! Rate of puts by the threads of many pairs of processes: into one window that all threads of a process use,
//! or into a window for each.
//!
//! ```text
//!   thread 0   windows, lock all, barrier, warm-up, barrier, START, fork ── rounds ── join, END, unlock, free
//!   thread i                                                          └ START, rounds, END ┘
//!   target     windows, lock all, barrier, barrier ────────────────────────────────────────── unlock, free
//! ```
//!
//! A round is so many puts to places of the thread's own, and a flush of the target. Processes of the first
//! half of the nodes put into windows of the second half; the first thread of a target waits inside the
//! library for the end. No lock needs the target's consent (`MPI_MODE_NOCHECK`): all hold it together.
//!
//! Left out: a flush waits for all operations of its process on the target, also those that other threads
//! call meanwhile; a library may wait for those before it only. Noticeable where threads share a window.

use std::sync::Arc;

use super::fields::{ROUND_COUNT, SIZE, WARMUP};
use super::job::AnyProgram;
use super::kind::{Kind, Processes, Reading, Workload};
use super::metric::{BANDWIDTH, MESSAGE_RATE, Measured, TIME};
use super::ranks::Ranks;
use super::score::{Score, Section};
use form::fields::POSITIVE;
use form::shape::Shape;
use form::typed::{Object as _, default, required};
use form::workload_field;
use language::marks::{END, START};
use mpi::communicator::Communicators;
use protocols::call::{Call, Comm};
use protocols::contract::{Next, Region, Space};
use protocols::rma::call::{At, Flavor, Operation, RmaCall, Win};
use units::Bytes;

form::words! {
    /// Which windows the threads of a process use.
    pub enum Windows {
        /// one window for all threads
        One = "one",
        /// a window for each thread
        Each = "each",
    }
}

form::object! {
    /// Threads of processes put numbers into windows of processes on other nodes; the rate is their sum.
    pub struct PutRateForm {
        /// Processes of a node that put, each into the windows of one process on another node.
        senders_per_node: u32 = required(&Shape::Count { min: 1, max: 65_536 }, "1"),
        size: Bytes = SIZE,
        /// Puts of a thread before it flushes.
        puts: u32 = required(&POSITIVE, "64"),
        /// Measured rounds.
        rounds: u32 = required(&ROUND_COUNT, "100"),
        warmup: u32 = WARMUP,
        /// Which windows the threads of a process use.
        windows: Windows = default(&Windows::SHAPE, "one"),
    }
}

/// Pairs of processes.
pub static KIND: Kind = Kind {
    name: "put_rate",
    fields: PutRateForm::FIELDS,
    about: PutRateForm::ABOUT,
    metrics: &[MESSAGE_RATE, BANDWIDTH, TIME],
    account: &[],
    processes: workload_field!(PutRateForm, senders_per_node),
    read: |reading| {
        let form = PutRateForm::read(reading.node);
        let senders_per_node = form.senders_per_node.saturating_mul(u32::from(reading.separate));
        Some(Arc::new(PutRate { form, senders_per_node }))
    },
};

/// Pairs of processes of which one puts into windows of the other.
#[derive(Clone, Debug, PartialEq)]
pub struct PutRate {
    /// The values of the scenario.
    pub form: PutRateForm,
    /// Processes of a node that put.
    pub senders_per_node: u32,
}

const WORLD: Comm = Comm(Communicators::WORLD);

impl PutRate {
    /// Windows of a process with so many threads.
    fn windows(&self, threads: u16) -> impl Iterator<Item = Win> + Clone + use<> {
        let count = match self.form.windows {
            Windows::One => 1,
            Windows::Each => threads,
        };
        (0..count).map(Win)
    }

    /// The puts of a round, and their flush.
    fn round(&self, target: u32, thread: u16) -> impl Iterator<Item = Next<Call>> + use<> {
        let PutRateForm { size, puts, windows, .. } = self.form;
        let (win, first) = match windows {
            Windows::One => (Win(0), u64::from(thread) * u64::from(puts)),
            Windows::Each => (Win(thread), 0),
        };
        let size = size.as_u64();
        let put = move |number: u32| RmaCall::Operate {
            win,
            target: Some(target),
            at: At::contiguous((first + u64::from(number)) * size, size),
            does: Operation::Put { origin: Region::new(Space::User(thread.into()), size) },
            request: None,
        };
        let flush = RmaCall::Flush { win, target, local: false };
        (0..puts).map(put).chain([flush]).map(call)
    }

    /// Makes the windows, in which each thread has room for the puts of a round.
    fn create(&self, threads: u16) -> Vec<Next<Call>> {
        let of_a_thread = self.form.size.as_u64() * u64::from(self.form.puts);
        let bytes = match self.form.windows {
            Windows::One => of_a_thread * u64::from(threads),
            Windows::Each => of_a_thread,
        };
        let create = |win: Win| {
            let (flavor, memory, unit) = (Flavor::Allocate, u32::from(win.0), 1);
            call(RmaCall::Create { win, comm: WORLD, flavor, memory, bytes, unit })
        };
        let windows = self.windows(threads);
        let lock = |win| call(RmaCall::LockAll { win, no_check: true });
        let barrier = Next::Call(Call::Barrier { comm: WORLD });
        let made = windows.clone().map(create).chain(windows.map(lock));
        made.chain([barrier]).collect()
    }

    fn free(&self, threads: u16) -> impl Iterator<Item = Next<Call>> + use<> {
        let windows = self.windows(threads);
        let unlock = windows.clone().map(|win| call(RmaCall::UnlockAll { win }));
        unlock.chain(windows.map(|win| call(RmaCall::Free { win })))
    }

    fn program(&self, ranks: &Ranks, process: u32, thread: u16) -> AnyProgram {
        let Ranks { placement, nodes, threads, .. } = *ranks;
        let (node, slot) = (placement.node_of(process, nodes), placement.slot_of(process, nodes));
        let half = nodes / 2;
        let puts = node < half;
        let target = placement.process_at((node + half) % nodes, slot, nodes);
        let warms_up = self.form.warmup > 0;
        let warm = warms_up.then_some(Next::Call(Call::Barrier { comm: WORLD }));
        let measured = Section::measured(self.round(target, thread), self.form.rounds);
        let sections: Vec<Section> = match (thread, puts) {
            (0, true) => {
                let many = threads > 1;
                let begin = self.create(threads);
                let start = [Next::Mark(START)].into_iter().chain(many.then_some(Next::Fork));
                let over = many.then_some(Next::Join).into_iter().chain([Next::Mark(END)]);
                let before = [
                    Section::once(begin),
                    Section::repeated(self.round(target, 0), self.form.warmup),
                    Section::once(warm.into_iter().chain(start)),
                ];
                let after = Section::once(over.chain(self.free(threads)));
                before.into_iter().chain(measured).chain([after]).collect()
            }
            (_, true) => {
                let [start, end] = [START, END].map(|mark| Section::once([Next::Mark(mark)]));
                [start].into_iter().chain(measured).chain([end]).collect()
            }
            (0, false) => {
                let steps = self.create(threads).into_iter().chain(warm).chain(self.free(threads));
                vec![Section::once(steps)]
            }
            (_, false) => Vec::new(),
        };
        AnyProgram::Score(Score::new(sections))
    }
}

fn call(call: RmaCall) -> Next<Call> {
    Next::Call(Call::Rma(call.into()))
}

impl Workload for PutRate {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let nodes = reading.nodes;
        reading.need_nodes(nodes >= 2 && nodes.is_multiple_of(2), "an even number")?;
        let per_node = self.senders_per_node;
        Some(Processes::new(reading.on_each_node(per_node, KIND.processes)?, per_node))
    }

    /// Several threads put.
    fn check_threads(&self, _: &mut Reading<'_>) {}

    fn traffic(&self, _: u32, threads: u16) -> Option<(Bytes, u128)> {
        let PutRateForm { size, puts, rounds, warmup, .. } = self.form;
        let rounds = u128::from(rounds) + u128::from(warmup);
        Some((size, u128::from(puts) * rounds * u128::from(threads)))
    }

    fn has_windows(&self) -> bool {
        true
    }

    /// All threads of all processes.
    fn programs(&self, ranks: &Ranks) -> Vec<AnyProgram> {
        let threads = |process| (0..ranks.threads).map(move |thread| (process, thread));
        let all = (0..ranks.placement.processes).flat_map(threads);
        all.map(|(process, thread)| self.program(ranks, process, thread)).collect()
    }

    fn messages(&self, ranks: &Ranks) -> u64 {
        let PutRateForm { puts, rounds, .. } = self.form;
        let pairs = u64::from(ranks.placement.processes) / 2 * u64::from(ranks.threads);
        pairs * u64::from(rounds) * u64::from(puts)
    }

    fn measure(&self, run: &mut Measured<'_>) {
        let messages = self.messages(&run.ranks);
        run.message_rate(messages);
        run.bandwidth(messages, self.form.size.as_u64());
    }

    fn senders(&self, ranks: &Ranks) -> u64 {
        u64::from(self.senders_per_node) * u64::from(ranks.threads)
    }
}
