//! The job of a scenario's point as a subject.

use super::MayFail;
use super::planted::{Library, Planted};
use super::subject::{Start, Subject};
use experiment::plan::{Addressing, Plan, Point};
use experiment::run::{end, job};
use protocols::contract::{Machine, Program};
use runtime::faults::{Allowed, Fault, Untimed};
use runtime::memory::Payload;
use runtime::monitors::buffers::Lends;
use runtime::untimed::{PacketFaults, World};
use workloads::agent::Assisted;
use workloads::job::AnyProgram;
use workloads::xios_ep::Rules;
use xios_ep::library::EpThread;

/// Every order is judged by the bytes too.
const PAYLOAD: Payload = Payload::Real;

/// Why a scenario cannot be explored.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// It has a sweep.
    #[error("the scenario has {0} points, and one is explored at a time")]
    Points(usize),
    /// It packs, and does nothing else.
    #[error("a packing has no ranks: it sends no message")]
    NoRanks,
    /// Its ranks are processes of the host.
    #[error("its ranks are real processes, and these cannot be set back to try another order")]
    RealProcesses,
    /// Its fault plan has a fault that no order of events shows.
    #[error("`faults[{at}]` is a `{kind}`, which is not explored: {why}")]
    Fault {
        /// Its place in the plan.
        at: usize,
        /// Its kind, as scenarios call it.
        kind: &'static str,
        /// The part of it that is not explored.
        why: &'static str,
    },
    /// Its job cannot be built.
    #[error("{0}")]
    Job(String),
}

impl Unfit {
    /// The remedy.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Points(_) => "give each swept field one value by `--set PATH=VALUE`",
            Self::NoRanks => {
                "`mpisim run` with `--set mpi.payload=real` moves its bytes and compares them"
            }
            Self::RealProcesses => {
                "`mpisim run` simulates them in one order; a `program` of the same calls can be explored"
            }
            Self::Fault { .. } => {
                "explored are the death of one process, or a packet that is lost, duplicated or \
                 overtaken, and every delay; say by `--crash` or `--faults` what may go wrong \
                 instead of the plan, or take the fault out; `mpisim run` simulates it as it is"
            }
            Self::Job(_) => "choose nodes and processes that fit the machine",
        }
    }
}

/// The job of a point, judged at its end as a timed run of it is; `program` gives a rank's own.
fn start<M: Machine<Call: Lends> + 'static, P: Program<M> + 'static>(
    mut world: World<M, P>,
    (settings, point): (String, &Point),
    wires: PacketFaults,
    program: fn(&P) -> Option<&AnyProgram>,
) -> Box<dyn Subject> {
    for (process, region, bytes) in end::contents(point, PAYLOAD) {
        world.store(process, region, &bytes);
    }
    let point = point.clone();
    let start = Start::new(world).with_settings(settings);
    let start = start.with_wires(wires.settings, wires.between);
    Box::new(start.judged(move |world| {
        let programs = world.programs().filter_map(program);
        end::broken(&point, programs, world.memories()).into_iter().next()
    }))
}

/// Faults that the plan of the only point allows; none where there are several points.
///
/// # Errors
///
/// [`Unfit`] where an exploration would leave out an effect of a fault of the plan.
pub fn may_fail(plan: &Plan) -> Result<MayFail, Unfit> {
    let [point] = &plan.points[..] else { return Ok(MayFail::default()) };
    let mut all = MayFail::default();
    for (at, fault) in point.faults.faults.iter().enumerate() {
        let refuse = |why| Unfit::Fault { at, kind: fault.effect.word(), why };
        all = with(all, fault).map_err(refuse)?;
    }
    Ok(all)
}

/// The allowed faults with one more, or the reason why that one is not explored.
fn with(before: MayFail, fault: &Fault) -> Result<MayFail, &'static str> {
    let MayFail { crash, packets } = before;
    match fault.untimed() {
        Untimed::Order => Ok(before),
        Untimed::Beyond(why) => Err(why),
        Untimed::Death if crash => Err("a second process dies"),
        Untimed::Death if packets.is_nothing() => Ok(MayFail::DEATH),
        Untimed::Packet(one) if !crash => Ok(MayFail { crash, packets: packets.most(one) }),
        Untimed::Death | Untimed::Packet(_) => Err("a process dies while links fail"),
    }
}

/// The job of the only point of a plan, with real payload.
///
/// # Errors
///
/// [`Unfit`] where there are several points or no ranks, or where the job does not fit the machine.
pub fn subject(plan: &Plan) -> Result<Box<dyn Subject>, Unfit> {
    subject_with(plan, Planted::default())
}

/// The same with a planted bug.
pub(super) fn subject_with(plan: &Plan, planted: Planted) -> Result<Box<dyn Subject>, Unfit> {
    let [point] = &plan.points[..] else { return Err(Unfit::Points(plan.points.len())) };
    if point.workload.packing().is_some() {
        return Err(Unfit::NoRanks);
    }
    if point.workload.runs_real_processes() {
        return Err(Unfit::RealProcesses);
    }
    let mut job = job::build(point);
    job.mpi.payload = PAYLOAD;
    for program in &mut job.programs {
        if let AnyProgram::Program(written) = program {
            written.unbounded();
        }
    }
    let wrong = |why: workloads::job::JobError| Unfit::Job(why.to_string());
    let wires = job.packet_faults(Allowed::default()).map_err(wrong)?;
    let settings = [&plan.digest, planted.id()].concat();
    let known = (settings, point);
    let library = |job, process| Library::new(planted.into_job(job), process);
    if point.addressing == Addressing::EndpointLibrary {
        let world = job.untimed_over_xios_ep(Rules::default()).map_err(wrong)?;
        return Ok(start(world, known, wires, |thread| Some(EpThread::program(thread))));
    }
    if point.progress_thread {
        let world = job.assisted().untimed_on(library).map_err(wrong)?;
        return Ok(start(world, known, wires, Assisted::program));
    }
    let world = job.untimed_on(library).map_err(wrong)?;
    Ok(start(world, known, wires, |program| Some(program)))
}
