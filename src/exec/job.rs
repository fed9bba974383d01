//! The processes of a job, and what the simulator keeps of them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::choose::Choose;
use super::compute::{Compute, Computing, Recording, polls};
use super::digest::Digest;
use super::exposed::Exposed;
use super::functions::Function;
use super::host::OneCore;
use super::live::Live;
use super::loans::Lent;
use super::mpi::{Back, Fault, RankState, Then};
use super::output::{Output, Reports};
use super::place::{Place, Untimed};
use super::ranks::{Image, Rank, RankError, Request, ending, signal_name};
use super::supervisor::Supervisor;
use super::vain::Vain;
use super::watch::note_once;
use super::wire::UNREACHABLE;
use ::mpi::operator::Side;
use calls::space::Space;
use protocols::contract::Process;
use protocols::process_memory::ProcessMemory;

/// All processes of a job; they end with its last owner.
#[derive(Debug)]
pub struct Job {
    size: u32,
    members: Vec<Mutex<Member>>,
    failure: Mutex<Option<Failure>>,
    /// The program, and where a recording of its computation goes.
    records: Option<(Vec<String>, PathBuf)>,
    /// Numbers in what the ranks print.
    reports: Reports,
    /// Ranks that are not over.
    open: AtomicU32,
    /// Whether what its ranks print goes to the user, and notes about them with it.
    is_heard: bool,
    /// The parent of all processes; `None` where none was started.
    supervisor: Option<Supervisor>,
    vain: Mutex<Vain>,
    live: Arc<Live>,
    /// The core of the simulator and the processes, where they run by turns.
    _core: Option<OneCore>,
}

/// Why a job of real programs is over before its ranks have ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// The rank at fault.
    pub rank: u32,
    /// The cause, in a sentence.
    pub what: String,
    /// The exit status that the program requested (`MPI_Abort`), if it did.
    pub status: Option<i32>,
}

/// One rank: what MPI knows of it, its process, and how far the two have come.
pub struct Member {
    /// State of MPI on the rank.
    pub state: RankState,
    /// The process and its buffers.
    pub place: Place,
    /// Memory of the process that is in use by MPI.
    pub lent: Lent,
    /// The call that the process is in, or its last one.
    pub inside: Option<Inside>,
    /// The calls for which the process runs functions of its own, the innermost last, and what becomes of the results.
    pub outer: Vec<(Inside, Back)>,
    /// The time in picoseconds, where the process has requested it.
    pub time: Option<u64>,
    /// Whether the process is about to read the time.
    pub reads_clock: bool,
    /// Whether the process sleeps.
    pub sleeps: bool,
    /// Computation of the process between its calls.
    pub computing: Computing,
    /// Picoseconds of computation that begin now.
    pub computes: Option<u64>,
    /// The call to which the computation leads that is simulated now.
    pub computed: Option<Request>,
    /// How far the process has come.
    pub progress: Progress,
    /// Digest of its calls and of the data that it has sent.
    pub digest: Digest,
    /// Whether requests to the process have ended.
    pub is_over: bool,
}

/// How far a process has come, as far as its calls show: the simulator takes a program that polls in a state in which
/// it was before for one that polls for ever.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Progress {
    /// Calls that are no polls; a process that reads the time does something else at another time.
    calls: u64,
    /// Polls since the last of them.
    polls: u64,
}

/// Polls in a row, after which a process is taken for one that counts none of them: some seconds of simulation.
const POLLS: u64 = 1_000_000;

impl Progress {
    /// The process calls a function.
    pub fn calls(&mut self, function: Function) {
        if polls(function) && function != Function::Wtime {
            self.polls = (self.polls + 1).min(POLLS);
        } else {
            *self = Self { calls: self.calls + 1, polls: 0 };
        }
    }
}

/// A call of a process.
pub struct Inside {
    /// Which function.
    pub function: Function,
    /// With its arguments.
    pub request: Request,
    /// Continuation with the library's reply, where one is awaited.
    pub then: Option<Then>,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Member")
            .field("state", &self.state)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Job {
    /// Starts one process for each rank. Where one cannot be started the job has failed.
    pub fn start(
        size: u32,
        image: &Image,
        node_of: impl Fn(u32) -> u32,
        choose: &Choose,
        compute: &Compute,
    ) -> Arc<Self> {
        // With a recording they compute side by side.
        let by_turns = !matches!(compute, Compute::Recorded(..));
        let core = by_turns.then(OneCore::take).flatten();
        let exposed = Exposed::new(size);
        let start = |supervisor: &Supervisor, rank, computing| {
            let process =
                Rank::start(rank, image, supervisor).map_err(|error| error.to_string())?;
            let state = RankState::new((rank, size), node_of(rank), &exposed, choose.clone());
            Ok(Mutex::new(Member {
                state,
                place: Place::new(process),
                lent: Lent::default(),
                inside: None,
                outer: Vec::new(),
                time: None,
                reads_clock: false,
                sleeps: false,
                computing,
                computes: None,
                computed: None,
                progress: Progress::default(),
                digest: Digest::default(),
                is_over: false,
            }))
        };
        let start_all = || {
            let computing = compute.of_ranks(size)?;
            let supervisor = Supervisor::start().map_err(|error| {
                format!("the supervisor of the ranks cannot be started: {error}")
            })?;
            let one = |(rank, computing)| start(&supervisor, rank, computing);
            let members = (0..size).zip(computing).map(one).collect::<Result<_, String>>()?;
            Ok((members, supervisor))
        };
        let (members, supervisor, failure) = match start_all() {
            Ok((members, supervisor)) => (members, Some(supervisor), None),
            Err(what) => (Vec::new(), None, Some(Failure { rank: 0, what, status: None })),
        };
        let records = match compute {
            Compute::Measured(_, Some(file)) => {
                let word = |word: &OsString| word.to_string_lossy().into_owned();
                Some((image.command.iter().map(word).collect(), file.clone()))
            }
            Compute::Measured(_, None) | Compute::None | Compute::Recorded(..) => None,
        };
        let (open, vain, live) = (AtomicU32::new(size), Mutex::default(), Live::begin(size));
        let (failure, reports) = (Mutex::new(failure), image.reports.clone());
        let is_heard = !matches!(image.output, Output::Nothing);
        Arc::new(Self {
            size,
            members,
            failure,
            records,
            reports,
            open,
            is_heard,
            supervisor,
            vain,
            live,
            _core: core,
        })
    }

    /// The numbers looked for in the output of the ranks.
    pub const fn reports(&self) -> &Reports {
        &self.reports
    }

    /// Digests of the calls and the sent data of all ranks: 8 bytes of each.
    pub fn digest(&self) -> Vec<u8> {
        let started = if self.members.is_empty() { 0 } else { self.size };
        (0..started).flat_map(|rank| self.member(rank).digest.bytes()).collect()
    }

    /// A rank is over; with the last one its computation is written down, and all metrics were printed.
    pub fn one_is_over(&self) {
        let is_last = self.open.fetch_sub(1, Ordering::Relaxed) == 1;
        if !is_last || self.failure().is_some() {
            return;
        }
        if let Some(pattern) = self.reports.missing() {
            let what = format!("no rank has printed a line with a number that matches `{pattern}`");
            self.fail(Failure { rank: 0, what, status: None });
        }
        if self.is_heard {
            self.tell_of_untimed();
            self.tell_of_clocks();
        }
        let Some((command, file)) = &self.records else { return };
        let ranks = (0..self.size).map(|rank| self.member(rank).computing.take()).collect();
        if let Err(what) = Recording::new(command.clone(), ranks).write(file) {
            self.fail(Failure { rank: 0, what, status: None });
        }
    }

    /// Prints a note on the work that took no simulated time, though a core would take some.
    fn tell_of_untimed(&self) {
        let mut all = Untimed::new();
        for rank in 0..self.size {
            for (function, (times, bytes)) in &self.member(rank).place.untimed {
                let sum = all.entry(*function).or_default();
                *sum = (sum.0 + times, sum.1 + bytes);
            }
        }
        let one = |(function, (times, bytes)): (&Function, &(u64, u64))| {
            format!("{} ({times} times, {bytes} bytes in all)", function.name())
        };
        let all: Vec<String> = all.iter().map(one).collect();
        if !all.is_empty() {
            let all = all.join(", ");
            note_once(&format!("packing, unpacking and combining took no simulated time in {all}"));
        }
    }

    /// Times of the host say nothing about the simulated machine.
    fn tell_of_clocks(&self) {
        let reads = |rank: &u32| self.member(*rank).place.reads_clocks;
        let mut ranks = (0..self.size).filter(reads);
        let Some(first) = ranks.next() else { return };
        let more = match ranks.count() {
            0 => String::new(),
            more => format!(", as {more} more do"),
        };
        note_once(&format!(
            "rank {first} reads clocks of this host{more}, which know nothing of simulated time: MPI_Wtime tells it, and \
             with `--clock simulated` they do, too"
        ));
    }

    /// How far the job is, for those who watch it.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Calls in vain of the rank that called last.
    pub fn vain(&self) -> MutexGuard<'_, Vain> {
        self.vain.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// How many ranks there are.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// One rank.
    pub fn member(&self, rank: u32) -> MutexGuard<'_, Member> {
        // A panic of another thread ends the run anyhow.
        self.members[rank as usize].lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The first failure, if something has failed.
    pub fn failure(&self) -> Option<Failure> {
        self.noted().clone()
    }

    fn noted(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Notes a failure, unless an earlier one explains it.
    pub fn fail(&self, failure: Failure) {
        self.noted().get_or_insert(failure);
    }

    /// Whether a signal has ended the supervisor, and all ranks with it: then notes that.
    fn has_no_supervisor(&self) -> bool {
        let Some(signal) = self.supervisor.as_ref().and_then(Supervisor::signal) else {
            return false;
        };
        let what = format!("the supervisor of the ranks was ended by {}", signal_name(signal));
        self.fail(Failure { rank: 0, what, status: None });
        true
    }

    /// Notes that a rank's process can no longer be reached, or its memory not.
    pub fn lost(&self, member: &mut Member, rank: u32, error: &RankError) {
        if self.has_no_supervisor() {
            return;
        }
        let process = &mut member.place.process;
        let last = process.last_call();
        // What the process has said itself explains more than how it has ended, and that more than what came of it.
        let status = process.ended_by(error);
        let said = process.last_words(error);
        let (how, status) = match (said, status) {
            (Some(said), _) => (said, None),
            // The error names its rank.
            (None, None) => (error.to_string(), None),
            (None, Some(status)) => {
                let how = format!("rank {rank}: its process has ended by {}", ending(status));
                (how, status.code())
            }
        };
        self.fail(Failure { rank, what: format!("{how}; its last call was {last}"), status });
    }

    /// Notes that a rank has called `MPI_Abort`.
    pub fn aborted(&self, member: &Member, rank: u32, status: i32) {
        let (call, refused) = (member.place.process.last_call(), member.state.refusal());
        let what = format!("rank {rank} calls {call} with {status}{refused}");
        self.fail(Failure { rank, what, status: Some(status) });
    }

    /// Notes the end of a process that has closed the channel: a failure before `MPI_Finalize`, and with an exit
    /// status other than 0.
    pub fn ended(&self, member: &mut Member, rank: u32) {
        let last = member.place.process.last_call();
        let is_final = member.inside.is_some() && member.state.may_end();
        let status = member.place.process.wait_a_moment();
        if is_final && status.is_none_or(|status| status.success()) || self.has_no_supervisor() {
            return;
        }
        let process = &member.place.process;
        let refused = member.state.refusal();
        // A process that closes them and calls MPI at once has ended before that is seen.
        let may_have_closed =
            !is_final && status.and_then(|status| status.code()) == Some(UNREACHABLE);
        if process.has_closed() || may_have_closed {
            let or = if process.has_closed() {
                String::new()
            } else {
                format!(", or has ended with exit status {UNREACHABLE} itself")
            };
            let what = format!(
                "rank {rank}: its process has closed the descriptors of its MPI library{or}; its last call was {last}{refused}"
            );
            return self.fail(Failure { rank, what, status: None });
        }
        let how = status.map_or_else(|| "no end: it has closed the channel".to_owned(), ending);
        let has_exited = status.is_some_and(|status| status.code().is_some());
        let last = if is_final {
            String::new()
        } else if process.has_called() {
            format!(" before MPI_Finalize; its last call was {last}")
        } else if has_exited {
            ", and has not called MPI: a program that uses another MPI library is to be compiled with `mpisim cc`"
                .to_owned()
        } else {
            " before its first call of MPI".to_owned()
        };
        let what = format!("rank {rank}: its process has ended by {how}{last}{refused}");
        self.fail(Failure { rank, what, status: status.and_then(|status| status.code()) });
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Before the ranks are gone, so that all that they have printed is there.
        if let Some(supervisor) = &self.supervisor {
            supervisor.end();
        }
    }
}

/// The memory of a job's processes.
#[derive(Debug)]
pub struct JobMemory(pub Arc<Job>);

impl JobMemory {
    /// Whether the memory is gone with its process, which has ended well: then notes that something `does` it.
    fn is_gone(&self, member: &Member, (space, offset): (Space, u64), does: &str) -> bool {
        let is_gone = member.is_over && member.place.located(space, offset).is_some();
        if is_gone && self.0.failure().is_none() {
            let rank = member.place.process.number();
            note_once(&format!(
                "an operation {does} memory of rank {rank}, which has ended without completing it: the bytes have no \
                 defined value"
            ));
        }
        is_gone
    }

    fn noted(&self, process: Process, result: Result<(), RankError>) {
        self.0.vain().ends();
        if let Err(error) = result {
            self.0.lost(&mut self.0.member(process.0), process.0, &error);
        }
    }
}

impl ProcessMemory for JobMemory {
    fn address(&self, process: Process, space: Space) -> Option<u64> {
        self.0.member(process.0).place.located(space, 0)
    }

    fn read(&self, process: Process, space: Space, offset: u64, into: &mut [u8]) {
        let process = space.root().unwrap_or(process);
        let mut member = self.0.member(process.0);
        if self.is_gone(&member, (space, offset), "reads") {
            return;
        }
        let result = member.place.read(space, offset, into);
        member.digest.sends(offset, into);
        drop(member);
        self.noted(process, result);
    }

    fn write(&self, process: Process, space: Space, offset: u64, bytes: &[u8]) {
        let process = space.root().unwrap_or(process);
        let mut member = self.0.member(process.0);
        if self.is_gone(&member, (space, offset), "writes") {
            return;
        }
        let result = member.place.write(space, offset, bytes);
        drop(member);
        self.noted(process, result);
    }

    fn gather(&self, process: Process, space: Space, pieces: &[(u64, u64)], into: &mut [u8]) {
        let process = space.root().unwrap_or(process);
        let mut member = self.0.member(process.0);
        if self.is_gone(&member, (space, 0), "reads") {
            return;
        }
        let result = member.place.gather(space, pieces, into);
        member.digest.sends(0, into);
        drop(member);
        self.noted(process, result);
    }

    fn scatter(&self, process: Process, space: Space, pieces: &[(u64, u64)], bytes: &[u8]) {
        let process = space.root().unwrap_or(process);
        let mut member = self.0.member(process.0);
        if self.is_gone(&member, (space, 0), "writes") {
            return;
        }
        let result = member.place.scatter(space, pieces, bytes);
        drop(member);
        self.noted(process, result);
    }

    fn combine(&self, process: Process, number: u16, from: &[u8], into: &mut [u8], side: Side) {
        let mut member = self.0.member(process.0);
        let Member { state, place, .. } = &mut *member;
        match state.combine(place, number, from, into, side) {
            Ok(()) => {}
            Err(Fault::Lost(error)) => self.0.lost(&mut member, process.0, &error),
            Err(Fault::Aborts(status)) => self.0.aborted(&member, process.0, status),
            Err(Fault::Error { why, .. }) => {
                let what = format!("rank {}, in an operator of its own: {why}", process.0);
                self.0.fail(Failure { rank: process.0, what, status: None });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_only_polls_comes_to_a_state_in_which_it_was() {
        let after = |functions: &[Function]| {
            let mut progress = Progress::default();
            for function in functions {
                progress.calls(*function);
            }
            progress
        };
        let [test, time, send] = [Function::Test, Function::Wtime, Function::Send];
        assert_ne!(after(&[test]), after(&[test, test]));
        assert_ne!(after(&[test, time]), after(&[test, time, test, time]));
        assert_ne!(after(&[send, test]), after(&[send, test, send, test]));
        let many = vec![test; usize::try_from(POLLS).expect("it is small")];
        assert_eq!(after(&many), after(&[&many[..], &[test]].concat()));
    }
}
