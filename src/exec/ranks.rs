//! The processes of a job: one for each rank, children of the simulator.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

use super::functions::Function;
use super::host::with_equal_addresses;
use super::output::{Lines, Output, Reports};
use super::source::Code;
use super::watch::{Watch, note};
use super::wire;

/// What to start.
#[derive(Clone, Debug)]
pub struct Image {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Variables beside those of the simulator.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder that has the MPI library.
    pub library: PathBuf,
    /// Where its standard output goes.
    pub output: Output,
    /// Numbers in it that are metrics.
    pub reports: Reports,
}

/// Why a rank's process is of no use any more, or never was.
#[derive(Debug, thiserror::Error)]
pub enum RankError {
    /// It cannot be started.
    #[error("{program} cannot be started: {error}")]
    Start {
        /// The first word of the command.
        program: String,
        /// What the system says.
        error: io::Error,
    },
    /// The pipe cannot be read or written.
    #[error("rank {rank} cannot be reached: {error}")]
    Channel {
        /// Which rank.
        rank: u32,
        /// What the system says.
        error: io::Error,
    },
    /// What it prints cannot be taken or passed on.
    #[error("the output of rank {rank} cannot be printed: {error}")]
    Output {
        /// Which rank.
        rank: u32,
        /// What the system says.
        error: io::Error,
    },
    /// Its memory cannot be read or written.
    #[error("memory of rank {rank} at {address:#x} cannot be reached: {error}")]
    Memory {
        /// Which rank.
        rank: u32,
        /// Where.
        address: u64,
        /// What the system says.
        error: io::Error,
    },
    /// The system keeps the simulator from it.
    #[error(
        "the simulator may not reach the memory of rank {rank}: {error}. It reads and writes it as a debugger would, \
         which the system allows for a process's own children unless `kernel.yama.ptrace_scope` is 2 or 3, the \
         container's profile forbids it (`--cap-add SYS_PTRACE`), or the program has rights of its own (setuid)"
    )]
    Rights {
        /// Which rank.
        rank: u32,
        /// What the system says.
        error: io::Error,
    },
    /// A function of the program's that MPI runs within another call makes a call that takes time.
    #[error(
        "rank {rank} calls {function} in an operator or an error handler, where the simulator carries local functions only"
    )]
    InCallback {
        /// Which rank.
        rank: u32,
        /// What it calls.
        function: &'static str,
    },
    /// An error handler whose own calls fail.
    #[error(
        "rank {rank}: {deep} operators and error handlers run within one another: the last one fails, too"
    )]
    TooDeep {
        /// Which rank.
        rank: u32,
        /// How many.
        deep: u32,
    },
    /// A rank is a script that starts several programs that call MPI.
    #[error("rank {rank} starts a second program that calls MPI: a rank is one such program")]
    Second {
        /// Which rank.
        rank: u32,
    },
    /// Data for which the simulator has no memory.
    #[error("rank {rank} names {bytes} bytes of data, for which the simulator has no memory")]
    TooLarge {
        /// Which rank.
        rank: u32,
        /// How many bytes.
        bytes: u64,
    },
    /// What came is no request of this library's.
    #[error("rank {rank} writes what is no request into the channel of its MPI library")]
    Nonsense {
        /// Which rank.
        rank: u32,
    },
}

/// What a process asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Request {
    /// The number of the function, or one of [`wire`]'s words in its place.
    pub function: u32,
    /// CPU time since the last answer, in nanoseconds; 0 where the simulator did not ask for it.
    pub cpu: u64,
    /// Where the function returns to in the program; 0 where the library does not know.
    pub caller: u64,
    words: [u64; wire::WORDS],
    /// How many of them there are.
    count: usize,
}

impl Request {
    /// A request of these words, which are at most [`wire::WORDS`].
    #[cfg(test)]
    pub(crate) fn of(function: u32, given: &[u64]) -> Self {
        let mut words = [0; wire::WORDS];
        words[..given.len()].copy_from_slice(given);
        Self { function, cpu: 0, caller: 0, words, count: given.len() }
    }

    /// How many words there are.
    pub const fn words(&self) -> usize {
        self.count
    }

    /// Argument number `at`, counted from 0.
    pub const fn word(&self, at: usize) -> u64 {
        self.words[at]
    }

    /// Argument number `at`, a C `int`.
    #[allow(clippy::cast_possible_truncation, reason = "an int is the low half of its word")]
    pub const fn int(&self, at: usize) -> i32 {
        self.words[at].cast_signed() as i32
    }

    /// Argument number `at`, of 64 bits.
    pub const fn long(&self, at: usize) -> i64 {
        self.words[at].cast_signed()
    }
}

/// One rank's process.
#[derive(Debug)]
pub struct Rank {
    number: u32,
    child: Child,
    /// The process that calls MPI: the child, or one that the child has started, where that is a script or a debugger.
    process: u32,
    from: PipeReader,
    to: PipeWriter,
    memory: Option<File>,
    /// Where the process has the words that it names in its first request.
    facts: u64,
    /// Its code, as far as it was loaded at its first call.
    code: Code,
    /// The function that it has called last, and where that returns to.
    last: Option<(Function, u64)>,
    /// What it prints, where the simulator passes it on.
    lines: Option<Lines>,
    /// Frames that were not sent yet.
    answer: Vec<u8>,
}

/// Milliseconds between looks at what a process prints while it computes.
const PATIENCE: u16 = 200;

/// Held while the ends of a process's pipes can be inherited.
static STARTING: Mutex<()> = Mutex::new(());

impl Rank {
    /// Starts rank `rank`: it runs until its first call.
    ///
    /// # Errors
    ///
    /// When the system does not start it.
    pub fn start(rank: u32, image: &Image) -> Result<Self, RankError> {
        let program = image.command.first().cloned().unwrap_or_default();
        let failed =
            |error| RankError::Start { program: program.to_string_lossy().into_owned(), error };
        // Points run side by side: a process that another thread starts meanwhile must not inherit these ends, or
        // the end of this one would go unseen.
        let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let (from, its_to) = io::pipe().map_err(failed)?;
        let (its_from, to) = io::pipe().map_err(failed)?;
        let inherit = |end: &dyn AsFd| fcntl(end, FcntlArg::F_SETFD(FdFlag::empty()));
        inherit(&its_from).and_then(|_| inherit(&its_to)).map_err(|error| failed(error.into()))?;
        let (stdout, lines) = image
            .output
            .of_rank(rank, &image.reports)
            .map_err(|error| RankError::Output { rank, error })?;
        let mut command = Command::new(&program);
        command
            .args(image.command.iter().skip(1))
            .envs(image.environment.iter().map(|(name, value)| (name, value)))
            .env(wire::CHANNEL, channel(&its_from, &its_to).map_err(failed)?)
            .env("LD_LIBRARY_PATH", library_path(&image.library))
            .env("PYTHONHASHSEED", "0")
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::null())
            .stdout(stdout)
            .process_group(0);
        let child = with_equal_addresses(|| command.spawn()).map_err(failed)?;
        let (memory, code, last, answer) = (None, Code::default(), None, Vec::new());
        let (number, process, facts) = (rank, child.id(), 0);
        Ok(Self { number, child, process, from, to, memory, facts, code, last, lines, answer })
    }

    /// The next request; `None` when the process has closed its end.
    ///
    /// # Errors
    ///
    /// When the pipe breaks, or what comes is no request.
    pub fn request(&mut self) -> Result<Option<Request>, RankError> {
        let mut bytes = [0_u8; wire::REQUEST_MOST];
        let mut watch = None;
        // What a rank prints before it computes for long is seen meanwhile; nothing else is printed until its next call.
        while self.is_busy(PATIENCE)? {
            self.print(Lines::print)?;
            // A process that it has forked may have its end of the channel for longer than itself.
            if matches!(self.child.try_wait(), Ok(Some(_))) && self.is_busy(0)? {
                self.print(Lines::end)?;
                return Ok(None);
            }
            let watch = watch.get_or_insert_with(|| Watch::begin(self.process));
            if let Some(since) = watch.waits(PATIENCE) {
                let (rank, last) = (self.number, self.last_call());
                note(&format!(
                    "rank {rank} has not called MPI for {since}; its last call was {last}"
                ));
            }
        }
        let got = self.from.read(&mut bytes).map_err(|error| self.broken(error))?;
        if got == 0 {
            self.print(Lines::end)?;
            return Ok(None);
        }
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let half = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let count = half(4) as usize;
        if count > wire::WORDS || got != wire::REQUEST_HEAD + 8 * count {
            return Err(RankError::Nonsense { rank: self.number });
        }
        let words = std::array::from_fn(|at| word(wire::REQUEST_HEAD + 8 * at));
        let request = Request { function: half(0), cpu: word(8), caller: word(16), words, count };
        if let Some(function) = Function::ALL.get(request.function as usize) {
            self.last = Some((*function, request.caller));
        }
        Ok(Some(request))
    }

    /// Whether there is no request within so many milliseconds.
    fn is_busy(&self, milliseconds: u16) -> Result<bool, RankError> {
        let mut ready = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, milliseconds) {
            Ok(ready) => Ok(ready == 0),
            Err(Errno::EINTR) => Ok(true),
            Err(error) => Err(self.broken(error.into())),
        }
    }

    /// Passes on what the process has printed before the call that it is in.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written.
    pub fn shows(&mut self) -> Result<(), RankError> {
        self.print(Lines::print)
    }

    fn print(&mut self, how: impl Fn(&mut Lines) -> io::Result<()>) -> Result<(), RankError> {
        let printed = self.lines.as_mut().map_or(Ok(()), how);
        printed.map_err(|error| RankError::Output { rank: self.number, error })
    }

    fn frame(&mut self, kind: u32, value: u64, bytes: &[u8]) {
        self.answer.extend_from_slice(&kind.to_ne_bytes());
        self.answer.extend_from_slice(&[0; 4]);
        self.answer.extend_from_slice(&value.to_ne_bytes());
        self.answer.extend_from_slice(&(bytes.len() as u64).to_ne_bytes());
        self.answer.extend_from_slice(bytes);
    }

    /// The process writes these bytes at `address` before its function returns; at 0 they go nowhere.
    pub fn put(&mut self, address: u64, bytes: &[u8]) {
        if address != 0 {
            self.frame(wire::WRITE, address, bytes);
        }
    }

    /// The function returns `value`.
    ///
    /// # Errors
    ///
    /// When the pipe breaks.
    pub fn answer(&mut self, value: u64) -> Result<(), RankError> {
        self.frame(wire::RETURN, value, &[]);
        self.flush()
    }

    /// The process calls a function of its own with these words; what it returns comes as a request, after those of
    /// the calls that it makes meanwhile.
    ///
    /// # Errors
    ///
    /// When the pipe breaks.
    pub fn call_back(&mut self, function: u64, words: [u64; 6]) -> Result<(), RankError> {
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        self.frame(wire::CALL, function, &bytes);
        self.flush()
    }

    /// Memory of the process's own, aligned to 64 bytes; 0 where it has none left.
    ///
    /// # Errors
    ///
    /// When the pipe breaks, or the process does not tell where.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, RankError> {
        self.frame(wire::ALLOCATE, bytes, &[]);
        self.flush()?;
        match self.request()? {
            Some(request) if request.function == wire::RESULT => Ok(request.word(0)),
            Some(_) | None => Err(self.nonsense()),
        }
    }

    /// The process frees what it has allocated, before its function returns.
    pub fn free(&mut self, address: u64) {
        if address != 0 {
            self.frame(wire::FREE, address, &[]);
        }
    }

    /// Maps a file into the process's memory; 0 where the system does not.
    ///
    /// # Errors
    ///
    /// When the pipe breaks, or the process does not tell where.
    pub fn map(&mut self, path: &str, bytes: u64) -> Result<u64, RankError> {
        self.frame(wire::MAP, bytes, path.as_bytes());
        self.flush()?;
        match self.request()? {
            Some(request) if request.function == wire::RESULT => Ok(request.word(0)),
            Some(_) | None => Err(self.nonsense()),
        }
    }

    /// The process unmaps what it has mapped, before its function returns.
    pub fn unmap(&mut self, address: u64, bytes: u64) {
        self.frame(wire::UNMAP, address, &bytes.to_ne_bytes());
    }

    /// The process has written its first request.
    ///
    /// # Errors
    ///
    /// When it does not speak this form of the wire, or its memory cannot be reached.
    pub fn greets(&mut self, request: &Request) -> Result<(), RankError> {
        let mut version = [0; 8];
        if request.word(0) != wire::VERSION {
            return Err(self.nonsense());
        }
        self.process = u32::try_from(request.word(1)).map_err(|_| self.nonsense())?;
        self.memory = None;
        self.facts = request.word(2);
        let facts = self.facts;
        let read = self.memory().and_then(|memory| memory.read_exact_at(&mut version, facts));
        read.map_err(|error| RankError::Rights { rank: self.number, error })?;
        self.code = Code::of(self.process);
        if u64::from_ne_bytes(version) == wire::VERSION { Ok(()) } else { Err(self.nonsense()) }
    }

    /// How often the program has read the clocks of the system since its first call.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn clocks(&mut self) -> Result<u64, RankError> {
        let mut clocks = [0; 8];
        self.read(self.facts.wrapping_add(8), &mut clocks)?;
        Ok(u64::from_ne_bytes(clocks))
    }

    /// The line of the program from which a call comes that returns to `caller`.
    pub fn line(&self, caller: u64) -> Option<String> {
        if self.code.has(caller) {
            return self.code.line(caller);
        }
        // Libraries that were loaded later.
        Code::of(self.process).line(caller)
    }

    /// A function and the line that it was called from.
    pub fn called(&self, function: Function, caller: u64) -> String {
        let name = function.name();
        self.line(caller).map_or_else(|| name.to_owned(), |line| format!("{name} ({line})"))
    }

    /// Which rank it is.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Whether the process has called MPI through this library.
    pub const fn has_called(&self) -> bool {
        self.last.is_some()
    }

    /// The function that the process has called last, and from where.
    pub fn last_call(&self) -> String {
        self.last.map_or_else(
            || "its start".to_owned(),
            |(function, caller)| self.called(function, caller),
        )
    }

    /// The error of a process that writes something else than it is asked for.
    pub const fn nonsense(&self) -> RankError {
        RankError::Nonsense { rank: self.number }
    }

    /// The error of a process that calls a function where that is not carried.
    pub const fn not_in_callback(&self, function: &'static str) -> RankError {
        RankError::InCallback { rank: self.number, function }
    }

    /// The error of a process that starts another program that calls MPI.
    pub const fn second(&self) -> RankError {
        RankError::Second { rank: self.number }
    }

    /// The error of a process that names more data than the simulator has room for.
    pub const fn too_large(&self, bytes: u64) -> RankError {
        RankError::TooLarge { rank: self.number, bytes }
    }

    /// The error of a process whose error handlers call one another without end.
    pub const fn too_deep(&self, deep: u32) -> RankError {
        RankError::TooDeep { rank: self.number, deep }
    }

    /// The error of a process that ends while it runs a function that MPI has called.
    pub fn ended_in_callback(&self) -> RankError {
        self.broken(io::ErrorKind::UnexpectedEof.into())
    }

    /// The process ends with this exit status, and runs its exit handlers.
    ///
    /// # Errors
    ///
    /// When the pipe breaks.
    pub fn exit(&mut self, status: i32) -> Result<(), RankError> {
        self.frame(wire::EXIT, i64::from(status).cast_unsigned(), &[]);
        self.flush()
    }

    fn flush(&mut self) -> Result<(), RankError> {
        let written = self.to.write_all(&self.answer);
        self.answer.clear();
        written.map_err(|error| self.broken(error))
    }

    fn broken(&self, error: io::Error) -> RankError {
        RankError::Channel { rank: self.number, error }
    }

    fn memory(&mut self) -> io::Result<&File> {
        if self.memory.is_none() {
            let path = format!("/proc/{}/mem", self.process);
            self.memory = Some(File::options().read(true).write(true).open(path)?);
        }
        Ok(self.memory.as_ref().expect("it was opened"))
    }

    /// Reads the process's memory.
    ///
    /// # Errors
    ///
    /// When the system does not allow it, or nothing is there.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), RankError> {
        let got = self.memory().and_then(|memory| memory.read_exact_at(into, address));
        got.map_err(|error| RankError::Memory { rank: self.number, address, error })
    }

    /// Writes the process's memory, where the process itself could.
    ///
    /// # Errors
    ///
    /// When the system does not allow it, nothing is there, or the process may only read it.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), RankError> {
        let pid = self.pid();
        let put = in_steps(bytes.len(), |done| {
            let rest = &bytes[done..];
            let to = [RemoteIoVec { base: index(address) + done, len: rest.len() }];
            process_vm_writev(pid, &[IoSlice::new(rest)], &to)
        });
        let put = match put {
            // What some containers forbid they allow by another way, which does not know what is read-only.
            Err(Errno::EPERM | Errno::ENOSYS) => {
                self.memory().and_then(|memory| memory.write_all_at(bytes, address))
            }
            other => other.map_err(io::Error::from),
        };
        put.map_err(|error| RankError::Memory { rank: self.number, address, error })
    }

    /// Reads pieces of the process's memory one after the other: address and bytes of each.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn gather(&mut self, pieces: &[(u64, u64)], into: &mut [u8]) -> Result<(), RankError> {
        let mut rest = into;
        for pieces in pieces.chunks(PIECES) {
            let (remote, length) = remote(pieces);
            let (here, after) = rest.split_at_mut(length);
            let read = process_vm_readv(self.pid(), &mut [IoSliceMut::new(here)], &remote);
            if read != Ok(length) {
                // The system does not allow it, or a piece is not there: one by one says which.
                let mut here = here;
                for (address, length) in pieces {
                    let (piece, after) = here.split_at_mut(index(*length));
                    self.read(*address, piece)?;
                    here = after;
                }
            }
            rest = after;
        }
        Ok(())
    }

    /// Writes bytes to pieces of the process's memory, one after the other.
    ///
    /// # Errors
    ///
    /// As [`Self::write`].
    pub fn scatter(&mut self, pieces: &[(u64, u64)], bytes: &[u8]) -> Result<(), RankError> {
        let mut rest = bytes;
        for pieces in pieces.chunks(PIECES) {
            let (remote, length) = remote(pieces);
            let (here, after) = rest.split_at(length);
            if process_vm_writev(self.pid(), &[IoSlice::new(here)], &remote) != Ok(length) {
                let mut here = here;
                for (address, length) in pieces {
                    let (piece, after) = here.split_at(index(*length));
                    self.write(*address, piece)?;
                    here = after;
                }
            }
            rest = after;
        }
        Ok(())
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.cast_signed())
    }

    /// How the process ended, where it does within a second: it has closed the channel, and ends.
    pub fn wait_a_moment(&mut self) -> Option<ExitStatus> {
        for _ in 0..100 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        None
    }

    /// Ends the process, and those that it has started.
    fn kill(&mut self) {
        // They are a group of their own. All may have ended by themselves: then there is nothing to kill.
        let _ = killpg(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        self.kill();
        // What a process has printed before it was ended; an error has no one left to act on it.
        let _ = self.print(Lines::end);
    }
}

/// The ends of a process's pipes, as the environment names them.
fn channel(from: &PipeReader, to: &PipeWriter) -> io::Result<String> {
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    let pipe = |end| fs::read_link(format!("/proc/self/fd/{end}"));
    Ok(format!("{from},{to},{},{}", pipe(from)?.display(), pipe(to)?.display()))
}

/// Pieces that one system call takes (`IOV_MAX`).
const PIECES: usize = 1024;

/// Moves `length` bytes by calls of the system, each of which is given how many are moved and says how many more it has
/// moved: where they are many (Linux: 2 GiB) or the rest is not there, fewer than there are.
fn in_steps(length: usize, mut step: impl FnMut(usize) -> nix::Result<usize>) -> nix::Result<()> {
    let mut done = 0;
    while done < length {
        done += match step(done)? {
            0 => return Err(Errno::EFAULT),
            moved => moved,
        };
    }
    Ok(())
}

/// Pieces as the system has them, and their bytes.
fn remote(pieces: &[(u64, u64)]) -> (Vec<RemoteIoVec>, usize) {
    let one = |(base, len): &(u64, u64)| RemoteIoVec { base: index(*base), len: index(*len) };
    let remote: Vec<RemoteIoVec> = pieces.iter().map(one).collect();
    let length = remote.iter().map(|piece| piece.len).sum();
    (remote, length)
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("an address has 64 bits")
}

/// How a process ended, in words.
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => match Signal::try_from(signal) {
            Ok(name) => name.as_str().to_owned(),
            Err(_) => format!("signal {signal}"),
        },
        (None, None) => "an end that the system does not explain".to_owned(),
    }
}

fn library_path(library: &std::path::Path) -> OsString {
    let mut path = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(others);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written by a system that moves at most `most` bytes a call and has room for `room`.
    fn written(bytes: &[u8], most: usize, room: usize) -> (nix::Result<()>, Vec<u8>) {
        let mut memory = Vec::new();
        let result = in_steps(bytes.len(), |done| {
            assert_eq!(done, memory.len(), "the rest follows what is there");
            let moved = most.min(bytes.len() - done).min(room - done);
            memory.extend_from_slice(&bytes[done..done + moved]);
            if moved == 0 { Err(Errno::EFAULT) } else { Ok(moved) }
        });
        (result, memory)
    }

    #[test]
    fn a_system_that_moves_some_bytes_a_call_moves_all_of_them() {
        let bytes: Vec<u8> = (0..100).collect();
        for most in [1, 7, 50, 99, 100, 1000] {
            assert_eq!(written(&bytes, most, 1000), (Ok(()), bytes.clone()), "{most} a call");
        }
        assert_eq!(written(&[], 7, 0), (Ok(()), Vec::new()));
        let fault = Err(Errno::EFAULT);
        assert_eq!(written(&bytes, 7, 30), (fault, bytes[..30].to_vec()), "the rest is not there");
        assert_eq!(
            in_steps(1, |_| Ok(0)),
            fault,
            "a call that moves nothing would move nothing again"
        );
    }
}
