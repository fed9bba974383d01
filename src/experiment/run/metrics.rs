//! What was measured: from the marks of a run to the scenario's metrics.

use super::job::{Noted, placed};
use super::{account, explain, limit_in_words};
use crate::plan::{Addressing, Point, Workload};
use crate::results::{Metric, PointResult, ResourceUse, Spent, Unfired};
use hardware::fabric::{Boundary, Kind};
use runtime::account::{Account, Part};
use runtime::deadlock::Blocked;
use runtime::device::marks_of;
use runtime::loggops::schedule;
use runtime::timed::{self, Ending, Mark, Outcome, Used};
use units::{Time, TimeDelta};
use workloads::application::Task as ApplicationTask;
use workloads::collective;
use workloads::gpu::GpuWorkload;
use workloads::graph500::traffic::Totals;
use workloads::linked_list::SERVED;
use workloads::one_sided::{OneSided, Task};
use workloads::packing::{OTHER, PACK, Packing};
use workloads::stencil::Stencil;
use workloads::team;
use workloads::windowed::{END, START};
use workloads::xios_ep;

/// The result of one point.
pub fn point(point: &Point, outcome: &Outcome, noted: Noted) -> PointResult {
    let failure = failure(point, outcome);
    let mut metrics = if failure.is_none() { metrics(point, outcome, noted) } else { Vec::new() };
    if point.account && failure.is_none() {
        metrics.extend(account::metrics(point, outcome, noted));
    }
    PointResult {
        index: point.index,
        params: point.params.clone(),
        digest: outcome.digest.to_string(),
        metrics,
        resources: resources(outcome),
        spent: spent(outcome),
        explanation: if failure.is_none() { explain::explanation(point, outcome) } else { None },
        limited: matches!(outcome.ending, Ending::Limit(_)),
        unfired: outcome.unfired.iter().map(unfired).collect(),
        failure,
    }
}

fn unfired(one: &timed::Unfired) -> Unfired {
    Unfired { fault: one.fault, kind: one.kind.to_owned(), why: one.why.clone() }
}

/// How the simulated program failed, or what stopped it.
fn failure(point: &Point, outcome: &Outcome) -> Option<String> {
    let failure = match &outcome.ending {
        Ending::Limit(limit) => Some(limit_in_words(point, limit)),
        Ending::Deadlock(deadlock) => Some(deadlock.to_string()),
        Ending::ClockStands { at, askers } => Some(clock_stands(*at, askers)),
        Ending::Protocol { process, error } => Some(format!("process {}: {error}", process.0)),
        Ending::Fault(failure) => Some(failure.to_string()),
        Ending::Crashed { at, report } => Some(format!("at {at}: {report}")),
        Ending::Finished => None,
    };
    let broken: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
    if broken.is_empty() {
        return failure;
    }
    Some([failure.unwrap_or_default(), broken.join("\n")].join("\n").trim().to_owned())
}

fn clock_stands(at: Time, askers: &[Blocked]) -> String {
    let asks: Vec<String> = askers.iter().map(|blocked| format!("  {blocked}")).collect();
    let asks = asks.join("\n");
    format!(
        "the clock stands still at {at}: a call that finds nothing takes no time on this machine, so \
         nothing that is under way, or takes time, ever ends\n{asks}"
    )
}

/// The metrics of the workload, the main one first; `time` last.
fn metrics(point: &Point, outcome: &Outcome, noted: Noted) -> Vec<Metric> {
    let (begun, ended) = interval(point, outcome);
    let mut measured =
        Measured { point, outcome, noted, elapsed: ended.since(begun), all: Vec::new() };
    measured.workload();
    measured.add("time", measured.elapsed.as_us_f64(), "us");
    measured.all
}

/// A run, and its metrics so far.
struct Measured<'a> {
    point: &'a Point,
    outcome: &'a Outcome,
    noted: Noted,
    /// The measured interval.
    elapsed: TimeDelta,
    all: Vec<Metric>,
}

impl Measured<'_> {
    fn add(&mut self, name: &str, value: f64, unit: &'static str) {
        self.all.push(Metric { name: name.to_owned(), value, unit });
    }

    fn workload(&mut self) {
        let point = self.point;
        match &point.workload {
            Workload::PingPong { size, rounds, .. } => {
                self.ping_pong(size.as_u64(), to_f64(*rounds));
            }
            Workload::Bandwidth { size, .. } => {
                self.bandwidth(size.as_u64());
                self.message_rate();
            }
            Workload::MessageRate { size, .. } => {
                self.message_rate();
                self.bandwidth(size.as_u64());
            }
            Workload::Collective { rounds, beside, .. } => {
                let each = self.elapsed.as_s_f64() / to_f64(*rounds) * 1e6;
                if let Some(beside) = beside {
                    self.add("exposed", each - beside.compute.as_us_f64(), "us");
                }
                self.add("latency", each, "us");
                if beside.is_none() {
                    self.message_rate();
                }
            }
            Workload::Tiles(tiles) => {
                self.step_time(tiles.steps);
                self.add("moved", to_f64(tiles.moved_bytes()), "B");
            }
            Workload::Packing(packing) => self.packing(packing),
            Workload::Gpu(workload) => self.gpu(workload),
            Workload::Application(applied) => match applied.application.steps() {
                Some(steps) => self.steps(&applied.application.task, steps),
                None => self.search(),
            },
            Workload::OneSided(workload) => self.one_sided(workload),
            Workload::Goal(_) | Workload::Program(_) => {}
        }
    }

    /// There and back, `rounds` times.
    fn ping_pong(&mut self, bytes: u64, rounds: f64) {
        let one_way = self.elapsed.as_s_f64() / (2.0 * rounds);
        self.add("latency", one_way * 1e6, "us");
        self.add("bandwidth", to_f64(bytes) / one_way / 1e6, "MB/s");
    }

    fn bandwidth(&mut self, bytes: u64) {
        let rate = messages(self.point) * to_f64(bytes) / self.elapsed.as_s_f64() / 1e6;
        self.add("bandwidth", rate, "MB/s");
    }

    fn message_rate(&mut self) {
        let rate = messages(self.point) / self.elapsed.as_s_f64();
        self.add("message_rate", rate, "msg/s");
    }

    fn step_time(&mut self, steps: u32) {
        self.add("step_time", self.elapsed.as_us_f64() / f64::from(steps), "us");
    }

    fn packing(&mut self, packing: &Packing) {
        let took = part_time(self.outcome, PACK).unwrap_or_default();
        self.add("pack_time", took.as_us_f64(), "us");
        if packing.beside.is_some() {
            let other = part_time(self.outcome, OTHER).unwrap_or_default();
            self.add("other_time", other.as_us_f64(), "us");
            return;
        }
        let bytes = to_f64(packing.layout.encoding.packed());
        self.add("bandwidth", bytes / took.as_s_f64() / 1e6, "MB/s");
        if self.point.machine.profile.gpu.sm_count.is_some() {
            self.add("bus_bytes", to_f64(over_the_bus(self.outcome)), "B");
        }
    }

    fn gpu(&mut self, workload: &GpuWorkload) {
        match workload {
            GpuWorkload::PingPong(ping_pong) => {
                self.ping_pong(ping_pong.sent.bytes(), f64::from(ping_pong.rounds));
            }
            GpuWorkload::Stencil(stencil) => {
                self.step_time(stencil.steps);
                let speed = to_f64(stencil.flops()) / self.elapsed.as_s_f64() / 1e9;
                self.add("speed", speed, "GFLOPS");
            }
        }
    }

    /// An application of so many steps.
    fn steps(&mut self, task: &ApplicationTask, steps: u32) {
        let inside = account::inside(self.outcome).as_us_f64();
        self.step_time(steps);
        self.add("communication_time", inside / f64::from(steps), "us");
        let ApplicationTask::Stencil(stencil) = task else { return };
        let messages = to_f64(stencil.halo.max(1)) * f64::from(stencil.steps);
        let copied = |spent: Account| to_f64(spent.copied) / messages;
        let [own, mean, imbalance] = of_watched(stencil, self.outcome, copied);
        self.add("copies", own, "");
        self.add("copies_mean", mean, "");
        self.add("copy_imbalance", imbalance, "");
        let steps = f64::from(stencil.steps);
        let copying = |spent: Account| spent.copying().as_us_f64() / steps;
        let [own, mean, _] = of_watched(stencil, self.outcome, copying);
        self.add("copying", own, "us");
        self.add("copying_mean", mean, "us");
    }

    /// A search of a graph, which has no steps.
    fn search(&mut self) {
        let Totals { levels, scanned, pairs } = self.noted.search.unwrap_or_default();
        self.add("search_time", self.elapsed.as_us_f64(), "us");
        self.add("communication_time", account::inside(self.outcome).as_us_f64(), "us");
        self.add("levels", f64::from(levels), "");
        self.add("edge_ends", to_f64(scanned), "");
        self.add("pairs", to_f64(pairs), "");
    }

    fn one_sided(&mut self, workload: &OneSided) {
        let outcome = self.outcome;
        match workload.task {
            Task::Mutex { .. } => {
                let [cycle, handover, packets] = cycles(workload, outcome);
                self.add("cycle_time", cycle, "us");
                self.add("handover", handover, "us");
                self.add("packets_per_cycle", packets, "");
                self.add("bypasses", f64::from(outcome.overtaken), "");
            }
            Task::Epochs(_) => {
                let [epoch, every, packets] = cycles(workload, outcome);
                self.add("epoch_time", epoch, "us");
                self.add("epoch_every", every, "us");
                self.add("packets_per_epoch", packets, "");
            }
            Task::LinkedList(list) => {
                let elements = f64::from(list.elements);
                let served = to_f64(packets(outcome, SERVED));
                self.add("element_time", self.elapsed.as_us_f64() / elements, "us");
                self.add("packets_per_element", served / elements, "");
                self.add("reads_per_element", to_f64(self.noted.looks) / elements, "");
            }
            Task::WindowGrowth(_) => {
                self.add("growth_time", mean_between_marks(outcome), "us");
            }
        }
    }
}

/// Messages of the timed rounds; 0 where the scenario writes them out.
pub(super) fn messages(point: &Point) -> f64 {
    match &point.workload {
        Workload::PingPong { rounds, .. } => to_f64(2 * rounds),
        Workload::Bandwidth { window, rounds, pairs, bidirectional, .. } => {
            let directions = if *bidirectional { 2 } else { 1 };
            to_f64(directions * u64::from(*pairs) * rounds * u64::from(*window))
        }
        Workload::MessageRate { window, rounds, .. } => {
            let pairs = u64::from(point.placement.processes) / 2 * u64::from(point.threads);
            to_f64(pairs * rounds * u64::from(*window))
        }
        Workload::Collective { chosen, rounds, .. } => {
            let (call, processes) = (placed(point, chosen), point.placement.processes);
            let messages = match point.addressing {
                Addressing::Process if point.threads > 1 => {
                    team::funnelled_messages(&call, processes, point.threads)
                }
                Addressing::EndpointLibrary => xios_ep::messages(&call, processes, point.threads),
                Addressing::Process | Addressing::Duplicated | Addressing::Endpoints(_) => {
                    let ranks = processes * u32::from(point.ranks_of_a_process());
                    collective::messages(&call, ranks)
                }
            };
            to_f64(messages * rounds)
        }
        Workload::Tiles(tiles) => to_f64(tiles.messages()),
        Workload::Application(applied) => to_f64(applied.application.messages()),
        Workload::Gpu(workload) => to_f64(workload.messages()),
        Workload::Goal(replayed) => {
            let ops = replayed.schedule.ops();
            to_f64(ops.iter().filter(|op| op.kind == schedule::Kind::Send).count() as u64)
        }
        Workload::OneSided(_) | Workload::Packing(_) | Workload::Program(_) => 0.0,
    }
}

/// From asking for a part of a packing to its end.
fn part_time(outcome: &Outcome, part: u32) -> Option<TimeDelta> {
    let at = |number| outcome.marks.iter().find(|mark| mark.number == number).map(|mark| mark.at);
    let [start, end] = marks_of(part).map(at);
    Some(end?.since(start?))
}

/// Bytes over both directions of the buses of GPUs, headers included.
fn over_the_bus(outcome: &Outcome) -> u64 {
    let is_bus = |used: &&Used| used.kind == Kind::Boundary(Boundary::GpuBus);
    outcome.resources.iter().filter(is_bus).map(|used| used.stats.raw_bytes).sum()
}

/// What a cycle takes a rank in the mean, how often one of all ranks ends, and its packets.
fn cycles(workload: &OneSided, outcome: &Outcome) -> [f64; 3] {
    let of = |number| outcome.marks.iter().filter(move |mark| mark.number == number);
    let mut begun: Vec<_> = of(START).map(|mark| (mark.process, mark)).collect();
    begun.sort_unstable_by_key(|(process, _)| *process);
    let (mut spent, mut packets) = (0.0, 0);
    for end in of(END) {
        let start = begun.binary_search_by_key(&end.process, |(process, _)| *process);
        let start = begun[start.expect("who ends has begun")].1;
        spent += end.at.since(start.at).as_us_f64();
        packets += end.account.packets - start.account.packets;
    }
    let all = to_f64(workload.repetitions()) * f64::from(workload.measured());
    [spent / all, measured(outcome).as_us_f64() / all, to_f64(packets) / all]
}

/// What the ranks of a stencil spent: the watched one, the mean, and the greatest distance from the
/// mean, as a part of it. Of messages that they copied a half counts a half.
fn of_watched(stencil: &Stencil, outcome: &Outcome, spent: impl Fn(Account) -> f64) -> [f64; 3] {
    let of = |(start, end): (&Mark, &Mark)| (start.process.0, spent(end.account - start.account));
    let all: Vec<(u32, f64)> = account::brackets(outcome).map(of).collect();
    let mean = all.iter().map(|(_, each)| each).sum::<f64>() / to_f64(all.len().max(1) as u64);
    let own = all.iter().find(|(rank, _)| *rank == stencil.watched).map_or(0.0, |one| one.1);
    let far = |each: f64| if mean > 0.0 { (each / mean - 1.0).abs() } else { 0.0 };
    [own, mean, all.iter().map(|(_, each)| far(*each)).fold(0.0, f64::max)]
}

/// Packets of all processes from their start to their mark number `end`.
fn packets(outcome: &Outcome, end: u32) -> u64 {
    let of = |number| {
        let marks = outcome.marks.iter().filter(move |mark| mark.number == number);
        marks.map(|mark| mark.account.packets).sum::<u64>()
    };
    of(end) - of(START)
}

/// The mean time from a start mark to the end mark of the same process that follows it.
fn mean_between_marks(outcome: &Outcome) -> f64 {
    let of = |number| outcome.marks.iter().filter(move |mark| mark.number == number);
    let sum = |number| of(number).map(|mark| mark.at.since(Time::ZERO).as_us_f64()).sum::<f64>();
    (sum(END) - sum(START)) / to_f64(of(END).count() as u64)
}

/// From the first start mark to the last end mark; the whole run where nothing was marked.
pub(super) fn measured(outcome: &Outcome) -> TimeDelta {
    let (begun, ended) = between_marks(outcome);
    ended.since(begun)
}

/// The measured time: a packing is measured as a whole.
pub(super) fn interval(point: &Point, outcome: &Outcome) -> (Time, Time) {
    let packs = matches!(point.workload, Workload::Packing(_));
    if packs { (Time::ZERO, outcome.end) } else { between_marks(outcome) }
}

fn between_marks(outcome: &Outcome) -> (Time, Time) {
    let of =
        |wanted| outcome.marks.iter().filter(move |mark| mark.number == wanted).map(|mark| mark.at);
    match (of(START).min(), of(END).max()) {
        (Some(start), Some(end)) => (start, end),
        _ => (Time::ZERO, outcome.end),
    }
}

/// What every resource did over the whole run; cores are one line.
fn resources(outcome: &Outcome) -> Vec<ResourceUse> {
    let elapsed = outcome.end.since(Time::ZERO);
    // What cores copy at most is hundreds of lines that say little.
    let shared = outcome.resources.iter().filter(|used| used.kind != Kind::Copies);
    let hardware = shared.map(|Used { name, servers, stats, .. }| ResourceUse {
        name: name.clone(),
        busy: stats.busy.scaled(1, u64::from(*servers)),
        elapsed,
        bytes: stats.raw_bytes,
        packets: stats.packets,
        queue_max: u64::from(stats.queue_max),
    });
    let core = |name: &str, busy| ResourceUse {
        name: name.to_owned(),
        busy,
        elapsed,
        bytes: 0,
        packets: 0,
        queue_max: 0,
    };
    // Means over all cores: time in calls, and time in passes that met an arrival.
    let working = core(ResourceUse::CORES, mean(outcome, Account::working));
    let polling = core(ResourceUse::POLLING, mean(outcome, Account::polling));
    [working, polling].into_iter().chain(hardware.filter(|resource| resource.packets > 0)).collect()
}

/// The mean over all threads of some time of theirs.
fn mean(outcome: &Outcome, of: impl Fn(&Account) -> TimeDelta) -> TimeDelta {
    let sum: u128 = outcome.accounts.iter().map(|thread| u128::from(of(thread).as_ps())).sum();
    let mean = sum / (outcome.accounts.len() as u128).max(1);
    TimeDelta::from_ps(u64::try_from(mean).expect("a mean is below its greatest value"))
}

/// The time of a thread by what it went into; parts without time are left out.
fn spent(outcome: &Outcome) -> Vec<Spent> {
    let all = Part::ALL.into_iter().map(|part| Spent {
        part: part.name().to_owned(),
        time: mean(outcome, |thread| thread.of(part)),
    });
    all.filter(|part| part.time > TimeDelta::ZERO).collect()
}

#[expect(clippy::cast_precision_loss, reason = "results are floats, from here on")]
pub(super) fn to_f64(value: u64) -> f64 {
    value as f64
}
