//! The supervisor of a job's ranks, as the simulator has it: see [`super::supervise`].

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::prctl;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::files;
use super::host::with_equal_addresses;
use super::orders::{Order, Word};
use super::stat::Stat;
use super::supervise;

/// The parent of a job's processes; clones are the same. All processes end with [`Supervisor::end`], and at the latest
/// when this process ends.
#[derive(Clone, Debug)]
pub struct Supervisor(Arc<Mutex<Supervised>>);

#[derive(Debug)]
struct Supervised {
    process: Child,
    /// Closed at the end of the job.
    orders: Option<PipeWriter>,
    words: BufReader<PipeReader>,
    /// Ranks that have not ended, as far as this was said.
    running: BTreeSet<u32>,
    ended: BTreeMap<u32, ExitStatus>,
    /// The signal that ends it, and its processes with it.
    signal: Option<i32>,
    /// Whether it has ended by itself: its processes are children of the simulator now.
    is_lost: bool,
}

/// Supervisors whose jobs are not over.
static ALL: Mutex<Vec<Weak<Mutex<Supervised>>>> = Mutex::new(Vec::new());

/// How many files processes may have open that this one starts.
static BEFORE: OnceLock<u64> = OnceLock::new();

impl Supervisor {
    /// Starts one.
    ///
    /// # Errors
    ///
    /// When the system does not start it.
    pub fn start() -> io::Result<Self> {
        if !supervise::is_possible() {
            return Err(io::Error::other("this program runs no supervisor of processes"));
        }
        // If the supervisor is killed the simulator becomes the parent in its place.
        prctl::set_child_subreaper(true)?;
        let files = BEFORE.get_or_init(files::raise);
        let (its_orders, orders) = io::pipe()?;
        let (words, its_words) = io::pipe()?;
        let mut command = Command::new(own_program());
        command.arg0(supervise::NAME).arg(std::process::id().to_string()).arg(files.to_string());
        // A signal from the terminal is for the simulator.
        command.stdin(its_orders).stdout(its_words).process_group(0);
        let process = with_equal_addresses(|| command.spawn())?;
        let supervised = Arc::new(Mutex::new(Supervised {
            process,
            orders: Some(orders),
            words: BufReader::new(words),
            running: BTreeSet::new(),
            ended: BTreeMap::new(),
            signal: None,
            is_lost: false,
        }));
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&supervised));
        Ok(Self(supervised))
    }

    fn lock(&self) -> MutexGuard<'_, Supervised> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process that has the other ends of its channel, and its standard output; the number of the process.
    ///
    /// # Errors
    ///
    /// When the system does not start it.
    pub fn starts(
        &self,
        command: &[OsString],
        environment: Vec<(OsString, OsString)>,
        (from, to): (&PipeReader, &PipeWriter),
        output: Option<&PipeWriter>,
    ) -> io::Result<u32> {
        let order = Order {
            command: command.to_vec(),
            environment,
            from: from.as_raw_fd(),
            to: to.as_raw_fd(),
            output: output.map(AsRawFd::as_raw_fd),
        };
        self.lock().starts(&order)
    }

    /// How a process has ended that it has started, if it has.
    pub fn ended(&self, process: u32) -> Option<ExitStatus> {
        self.lock().ended(process)
    }

    /// The signal that has ended the supervisor, and its processes with it.
    pub fn signal(&self) -> Option<i32> {
        let mut supervised = self.lock();
        supervised.hears();
        supervised.signal
    }

    /// Whether `process` is the one that was started as `rank`, or one that it has started.
    pub fn is_of(&self, process: u32, rank: u32) -> bool {
        let parents = [self.lock().process.id(), std::process::id()];
        let mut process = process;
        while process != rank {
            // Number 0 is the parent of the first process.
            let Some(stat) = Stat::of(process) else { return false };
            if parents.contains(&stat.parent) {
                // Its own parent has ended: it has the group in which it was started.
                return stat.group == rank;
            }
            process = stat.parent;
        }
        true
    }

    /// All its processes end, and all that they have started.
    pub fn end(&self) {
        self.lock().end();
    }
}

/// The file of this program. Its name where it still has one: under a tool that runs programs in itself, as valgrind
/// does, `/proc/self/exe` is the tool. Where the file was replaced or deleted since, only that link leads to it.
fn own_program() -> PathBuf {
    let named = std::env::current_exe().ok().filter(|path| path.is_file());
    named.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

/// The processes of all jobs end, and no job goes on: what it finds out about its processes from now on would be the
/// end of this process. To be called when that comes next.
pub fn end_all() {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    for supervised in all.iter().filter_map(Weak::upgrade) {
        let mut locked = supervised.lock().unwrap_or_else(PoisonError::into_inner);
        locked.end();
        // A thread that asks how a process has ended waits for the end of this one.
        std::mem::forget(locked);
        std::mem::forget(Arc::clone(&supervised));
    }
    std::mem::forget(all);
}

impl Supervised {
    fn starts(&mut self, order: &Order) -> io::Result<u32> {
        let gone = || io::Error::other("the supervisor of its processes has ended");
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        self.orders.as_mut().ok_or_else(gone)?.write_all(&line)?;
        loop {
            match self.hear()?.ok_or_else(gone)? {
                Word::Started(process) => {
                    self.running.insert(process);
                    return Ok(process);
                }
                Word::Refused(error) => return Err(io::Error::from_raw_os_error(error)),
                Word::Ended(process, status) => self.ends(process, status),
                Word::Signalled(signal) => self.signal = Some(signal),
            }
        }
    }

    /// The next word; `None` where there is no supervisor any more.
    fn hear(&mut self) -> io::Result<Option<Word>> {
        let mut line = String::new();
        if self.words.read_line(&mut line)? == 0 {
            self.is_lost = true;
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line)?))
    }

    /// Whether a word has come, or the end of them.
    fn has_word(&self) -> bool {
        let mut ready = [PollFd::new(self.words.get_ref().as_fd(), PollFlags::POLLIN)];
        !self.words.buffer().is_empty() || poll(&mut ready, 0_u16).is_ok_and(|ready| ready > 0)
    }

    fn ends(&mut self, process: u32, status: i32) {
        self.running.remove(&process);
        self.ended.insert(process, ExitStatus::from_raw(status));
    }

    /// Takes the words that have come.
    fn hears(&mut self) {
        while !self.is_lost && self.has_word() {
            match self.hear() {
                Ok(Some(Word::Ended(process, status))) => self.ends(process, status),
                Ok(Some(Word::Signalled(signal))) => self.signal = Some(signal),
                Ok(_) | Err(_) => break,
            }
        }
    }

    fn ended(&mut self, process: u32) -> Option<ExitStatus> {
        self.hears();
        if self.is_lost && self.running.contains(&process) {
            self.asks(process);
        }
        self.ended.get(&process).copied()
    }

    /// Asks the system about a process that has become a child of this one.
    fn asks(&mut self, process: u32) {
        let status = match waitpid(pid(process), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, code)) => (code & 0xff) << 8,
            Ok(WaitStatus::Signaled(_, signal, _)) => signal as i32,
            Ok(_) | Err(_) => return,
        };
        self.ends(process, status);
    }

    fn end(&mut self) {
        // Closed, they are the order to end; it ends when its processes have.
        self.orders = None;
        let ended = self.process.wait();
        let was_lost = self.is_lost || !ended.is_ok_and(|status| status.success());
        if !was_lost {
            return;
        }
        self.is_lost = true;
        for process in std::mem::take(&mut self.running) {
            // It is a child of this process now, so its number is taken; it may have ended.
            let _ = killpg(pid(process), Signal::SIGKILL);
            self.asks(process);
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.end();
    }
}

fn pid(process: u32) -> Pid {
    Pid::from_raw(process.cast_signed())
}
