//! The supervisor: a process between the simulator and its ranks, which ends all of them when the simulator ends,
//! however it does.
//!
//! ```text
//!   simulator ─ orders ▶ supervisor ─ starts ▶ rank, in a process group of its own ─ starts ▶ others
//!             ◀ words ─            ◀ what a rank leaves behind becomes its child ─┘
//! ```
//!
//! The parent of a process alone knows its number for sure, since the number stays taken until the parent has collected
//! the exit status. The supervisor is the parent of each rank, and becomes that of what a rank has started and not
//! waited for, daemons with sessions of their own among them (`PR_SET_CHILD_SUBREAPER`). The end of the orders is the
//! end of the job: that pipe closes when the simulator ends it, and when the simulator is killed.
//!
//! What it cannot end is a process with the rights of another user (a setuid program).

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, PipeReader, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getppid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use super::files;
use super::orders::{Order, Word};
use super::stat::descendants;
use super::wire;

/// The name under which the simulator's program runs as the supervisor: its word number 0, behind it the number of the
/// simulator's process and how many files a rank may have open.
pub(super) const NAME: &str = "mpisim-supervisor";

/// Whether the program of this process would run the supervisor.
static IS_POSSIBLE: AtomicBool = AtomicBool::new(false);

/// Whether the program of this process becomes the supervisor where it is started as one.
pub(super) fn is_possible() -> bool {
    IS_POSSIBLE.load(Ordering::Relaxed)
}

/// Runs the supervisor, where this process was started as one: to be called before anything else.
pub fn is_supervisor() -> Option<ExitCode> {
    IS_POSSIBLE.store(true, Ordering::Relaxed);
    let mut words = env::args_os();
    if words.next()?.as_bytes() != NAME.as_bytes() {
        return None;
    }
    let mut number = || words.next()?.to_str()?.parse::<u64>().ok();
    let (simulator, files) = (u32::try_from(number()?).ok()?, number()?);
    let served = Supervised::begin(simulator, files).and_then(|mut ranks| {
        let served = ranks.serve();
        ranks.end();
        served
    });
    Some(if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The ranks, as their parent has them.
struct Supervised {
    simulator: u32,
    /// How many files a rank may have open.
    files: u64,
    orders: BufReader<PipeReader>,
    words: File,
    /// A byte comes when a process has ended.
    ended: UnixStream,
    /// A byte comes when the supervisor is to end by a signal.
    ends: Vec<(i32, UnixStream)>,
    ranks: BTreeSet<u32>,
}

/// Milliseconds that processes get to end after they were killed, before it is looked for others again.
const PATIENCE: u16 = 20;
/// How often it is looked: what has not ended after 2 s cannot be ended.
const LOOKS: u32 = 100;

impl Supervised {
    fn begin(simulator: u32, files: u64) -> io::Result<Self> {
        prctl::set_child_subreaper(true)?;
        // Without it the name would be that of the link that it was started by.
        prctl::set_name(c"mpisim")?;
        let (ended, of_children) = UnixStream::pair()?;
        ended.set_nonblocking(true)?;
        pipe::register(SIGCHLD, of_children)?;
        let mut ends = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let (end, of_users) = UnixStream::pair()?;
            pipe::register(signal, of_users)?;
            ends.push((signal, end));
        }
        let orders = io::stdin().as_fd().try_clone_to_owned()?;
        let words = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let orders = BufReader::new(PipeReader::from(orders));
        let supervised =
            Self { simulator, files, orders, words, ended, ends, ranks: BTreeSet::new() };
        // A simulator that has ended before has other processes of its number.
        let parent = getppid().as_raw().cast_unsigned();
        if parent == simulator { Ok(supervised) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Serves the simulator until it wants no more.
    fn serve(&mut self) -> io::Result<()> {
        let mut line = String::new();
        loop {
            let fixed = [self.orders.get_ref().as_fd(), self.ended.as_fd()].into_iter();
            let all = fixed.chain(self.ends.iter().map(|(_, end)| end.as_fd()));
            let mut ready: Vec<_> = all.map(|end| PollFd::new(end, PollFlags::POLLIN)).collect();
            match poll(&mut ready, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let is_ready: Vec<bool> = ready.iter().map(|end| end.any().unwrap_or(true)).collect();
            let (orders, ended) = (is_ready[0], is_ready[1]);
            let mut signals = self.ends.iter().zip(&is_ready[2..]).filter(|(_, comes)| **comes);
            if let Some(((signal, _), _)) = signals.next() {
                let word = Word::Signalled(*signal);
                return self.say(&word);
            }
            if ended {
                self.sees_ends()?;
            }
            if orders {
                line.clear();
                if self.orders.read_line(&mut line)? == 0 {
                    return Ok(());
                }
                let order: Order = serde_json::from_str(&line)?;
                let word = match self.start(&order) {
                    Ok(process) => {
                        self.ranks.insert(process);
                        Word::Started(process)
                    }
                    Err(error) => {
                        Word::Refused(error.raw_os_error().unwrap_or(Errno::EINVAL as i32))
                    }
                };
                self.say(&word)?;
            }
        }
    }

    fn say(&mut self, word: &Word) -> io::Result<()> {
        let mut line = serde_json::to_vec(word)?;
        line.push(b'\n');
        self.words.write_all(&line)
    }

    /// Starts a process.
    fn start(&self, order: &Order) -> io::Result<u32> {
        let theirs = |end: i32| format!("/proc/{}/fd/{end}", self.simulator);
        let from = File::open(theirs(order.from))?;
        let to = File::options().write(true).open(theirs(order.to))?;
        let output = match order.output {
            Some(end) => File::options().write(true).open(theirs(end))?,
            None => File::options().write(true).open("/dev/null")?,
        };
        let input = File::open("/dev/null")?;
        // The process has them under the numbers that they have here.
        for end in [&from, &to] {
            fcntl(end, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        let mut words = order.command.iter();
        let program = words.next().ok_or(Errno::ENOENT)?;
        let mut command = Command::new(program);
        command
            .args(words)
            .envs(order.environment.iter().map(|(name, value)| (name, value)))
            .env(wire::CHANNEL, channel(&from, &to)?)
            .stdin(input)
            .stdout(output)
            .process_group(0);
        let own = files::raise();
        // All is open by now.
        files::limit(self.files)?;
        let child = command.spawn();
        files::limit(own)?;
        Ok(child?.id())
    }

    /// Tells which ranks have ended.
    fn sees_ends(&mut self) -> io::Result<()> {
        let mut bytes = [0; 64];
        // One byte stands for one or more ends.
        while self.ended.read(&mut bytes).is_ok_and(|got| got > 0) {}
        loop {
            let (process, status) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(process, code)) => (process, (code & 0xff) << 8),
                Ok(WaitStatus::Signaled(process, signal, has_core)) => {
                    (process, signal as i32 | if has_core { 0x80 } else { 0 })
                }
                Err(Errno::EINTR) => continue,
                Ok(_) | Err(_) => return Ok(()),
            };
            let process = process.as_raw().cast_unsigned();
            // What a rank has left behind is of no interest.
            if self.ranks.remove(&process) {
                self.say(&Word::Ended(process, status))?;
            }
        }
    }

    /// Ends the ranks and all that they have started.
    fn end(&mut self) {
        for rank in &self.ranks {
            // It may have ended: its number is taken until its end was seen.
            let _ = killpg(Pid::from_raw(rank.cast_signed()), Signal::SIGKILL);
        }
        let (mut looks, mut ends) = (0, 0);
        while looks < LOOKS {
            loop {
                match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                    Err(Errno::ECHILD) => return,
                    Ok(WaitStatus::StillAlive) | Err(_) => break,
                    Ok(_) => ends += 1,
                }
            }
            let mut ready = [PollFd::new(self.ended.as_fd(), PollFlags::POLLIN)];
            let has_ended = poll(&mut ready, PATIENCE).is_ok_and(|ready| ready > 0);
            let _ = self.ended.read(&mut [0; 64]);
            // As long as they end, no other is looked for; some start others as fast as they end.
            if !has_ended || ends > self.ranks.len() {
                looks += 1;
                for process in descendants(std::process::id()) {
                    let _ = kill(Pid::from_raw(process.cast_signed()), Signal::SIGKILL);
                }
            }
        }
    }
}

/// The ends of a process's pipes, as the environment names them.
fn channel(from: &File, to: &File) -> io::Result<OsString> {
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    let pipe = |end| fs::read_link(format!("/proc/self/fd/{end}"));
    Ok(format!("{from},{to},{},{}", pipe(from)?.display(), pipe(to)?.display()).into())
}
