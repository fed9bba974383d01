//! Bandwidth between pairs of processes, one way or both, as `osu_bw` and `osu_bibw` measure it; with more
//! pairs than one between the cores of a node, as `osu_mbw_mr` does.

use std::sync::Arc;

use super::fields::{BETWEEN, Between, ROUNDS, Rounds, SIZE, WARMUP, WINDOW};
use super::job::AnyProgram;
use super::kind::{Kind, OsuBenchmark, OsuTest, Processes, Reading, Workload};
use super::metric::{BANDWIDTH, MESSAGE_RATE, Measured, TIME};
use super::ranks::Ranks;
use super::windowed::{Direction, Windowed};
use form::shape::Shape;
use form::typed::{Object as _, default};
use form::workload_field;
use mpi::envelope::Rank;
use units::Bytes;

form::words! {
    /// The buffers of a window.
    pub enum Buffers {
        /// each message of a window has one
        Own = "own",
        /// all messages of a window have the same one, as in osu_bw
        One = "one",
    }
}

form::object! {
    /// One process sends windows of messages to another, which answers each window.
    pub struct BandwidthForm {
        size: Bytes = SIZE,
        window: u32 = WINDOW,
        rounds: Rounds = ROUNDS,
        warmup: u32 = WARMUP,
        between: Between = BETWEEN,
        /// Pairs of processes; more than one between `cores` only. The bandwidth is their sum.
        pairs: u32 = default(&Shape::Count { min: 1, max: 65_536 }, "1"),
        /// The buffers of a window, on each side.
        buffers: Buffers = default(&Buffers::SHAPE, "own"),
    }
}

/// Bandwidth one way.
pub static ONE_WAY: Kind = Kind {
    name: "bandwidth",
    fields: BandwidthForm::FIELDS,
    about: BandwidthForm::ABOUT,
    metrics: &[BANDWIDTH, MESSAGE_RATE, TIME],
    account: &[],
    processes: "workload",
    read: |reading| Some(read(reading, false)),
};

/// Bandwidth both ways at once.
pub static BOTH_WAYS: Kind = Kind {
    name: "bidirectional_bandwidth",
    about: "Two processes send windows of messages to each other at once.",
    read: |reading| Some(read(reading, true)),
    ..ONE_WAY
};

/// Pairs that exchange windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Bandwidth {
    /// The values of the scenario; one pair between nodes.
    pub form: BandwidthForm,
    /// Whether both processes of a pair send.
    pub bidirectional: bool,
}

fn read(reading: &mut Reading<'_>, bidirectional: bool) -> Arc<dyn Workload> {
    let mut form = BandwidthForm::read(reading.node);
    if form.between == Between::Nodes && form.pairs > 1 {
        let path = workload_field!(BandwidthForm, pairs);
        let found = format!("{} pairs between nodes", form.pairs);
        let one = reading.error(&form::codes::CONTRADICTION, path, found, "one pair, or `cores`");
        let one = one.help("the workload `message_rate` has many pairs between nodes");
        reading.diagnostics.push(one);
        form.pairs = 1;
    }
    Arc::new(Bandwidth { form, bidirectional })
}

impl Bandwidth {
    fn rounds(&self) -> u32 {
        self.form.rounds.of(self.form.size)
    }

    fn direction(&self, rank: u32) -> Direction {
        match (self.bidirectional, rank % 2) {
            (true, _) => Direction::Both,
            (false, 0) => Direction::Sends,
            (false, _) => Direction::Receives,
        }
    }
}

impl Workload for Bandwidth {
    fn kind(&self) -> &'static Kind {
        if self.bidirectional { &BOTH_WAYS } else { &ONE_WAY }
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let pair = self.form.between.processes(reading)?;
        let pairs = self.form.pairs;
        Some(Processes { count: 2 * pairs, per_node: pair.per_node * pairs, ..pair })
    }

    fn traffic(&self, _: u32, threads: u16) -> Option<(Bytes, u128)> {
        let BandwidthForm { size, window, warmup, .. } = self.form;
        let rounds = u128::from(self.rounds()) + u128::from(warmup);
        Some((size, u128::from(window) * rounds * u128::from(threads)))
    }

    fn programs(&self, _: &Ranks) -> Vec<AnyProgram> {
        let BandwidthForm { size, window, warmup, pairs, buffers, .. } = self.form;
        let rank = |me: u32| {
            // Neighbours are a pair; the even one sends.
            let peer = Rank(me ^ 1);
            let (size, rounds) = (size.as_u64(), self.rounds());
            let rank = Windowed::new(peer, self.direction(me), size, window, warmup, rounds);
            let rank = if buffers == Buffers::One { rank.with_one_buffer() } else { rank };
            match (pairs, me) {
                (1, 0) => rank,
                (1, _) => rank.timed_by_partner(),
                _ => rank.with_common_start(),
            }
        };
        (0..2 * pairs).map(|me| AnyProgram::Windowed(rank(me))).collect()
    }

    fn messages(&self, _: &Ranks) -> u64 {
        let directions = if self.bidirectional { 2 } else { 1 };
        let BandwidthForm { window, pairs, .. } = self.form;
        directions * u64::from(pairs) * u64::from(self.rounds()) * u64::from(window)
    }

    fn measure(&self, run: &mut Measured<'_>) {
        let messages = self.messages(&run.ranks);
        run.bandwidth(messages, self.form.size.as_u64());
        run.message_rate(messages);
    }

    fn senders(&self, _: &Ranks) -> u64 {
        u64::from(self.form.pairs)
    }

    fn osu_benchmark(&self) -> Option<OsuBenchmark> {
        let test = if self.bidirectional { OsuTest::BiBandwidth } else { OsuTest::Bandwidth };
        let BandwidthForm { size, window, .. } = self.form;
        let settings = vec![
            (workload_field!(BandwidthForm, size), size.to_string()),
            (workload_field!(BandwidthForm, window), window.to_string()),
        ];
        Some(OsuBenchmark { test, settings })
    }
}
