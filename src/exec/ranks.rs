//! The processes of a job: one for each rank, children of the simulator.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::Signal;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

use super::functions::Function;
use super::output::{Lines, Output, Reports};
use super::source::Code;
use super::stat::Stat;
use super::supervisor::Supervisor;
use super::watch::{PATIENCE, Watch, note, now};
use super::wire;

/// A program to start, with its arguments, environment, library and output.
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

/// The variable that names the folders in which a process looks for libraries.
const LIBRARIES: &str = "LD_LIBRARY_PATH";
/// Variables that fix Python's hash seed, so that runs repeat, and leave its output unbuffered; the user's come later.
const DEFAULTS: [(&str, &str); 2] = [("PYTHONHASHSEED", "0"), ("PYTHONUNBUFFERED", "1")];

impl Image {
    /// All variables beside those of the simulator: the last one of a name counts.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let given = self.environment.iter().rev().find(|(name, _)| name == LIBRARIES);
        let others = given.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(LIBRARIES));
        let mut path = self.library.as_os_str().to_owned();
        // An empty path would be the working folder.
        if let Some(others) = others.filter(|others| !others.is_empty()) {
            path.push(":");
            path.push(others);
        }
        let defaults = DEFAULTS.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let given = self.environment.iter().cloned();
        defaults.into_iter().chain(given).chain([(LIBRARIES.into(), path)]).collect()
    }
}

/// Why a rank's process is of no use any more, or never was.
#[derive(Debug, thiserror::Error)]
pub enum RankError {
    /// It cannot be started.
    #[error("{program} cannot be started: {error}")]
    Start {
        /// The first word of the command.
        program: String,
        /// Error of the operating system.
        error: io::Error,
    },
    /// The pipe cannot be read or written.
    #[error("rank {rank} cannot be reached: {error}")]
    Channel {
        /// Which rank.
        rank: u32,
        /// Error of the operating system.
        error: io::Error,
    },
    /// Its output cannot be read or passed on.
    #[error("the output of rank {rank} cannot be printed: {error}")]
    Output {
        /// Which rank.
        rank: u32,
        /// Error of the operating system.
        error: io::Error,
    },
    /// Its memory cannot be read or written.
    #[error("memory of rank {rank} at {address:#x} cannot be reached: {error}")]
    Memory {
        /// Which rank.
        rank: u32,
        /// Where.
        address: u64,
        /// Error of the operating system.
        error: io::Error,
    },
    /// An array goes on where the process has no memory.
    #[error(
        "the array of {entries} entries at {address:#x} is longer than the memory of rank {rank} from there on"
    )]
    Array {
        /// Which rank.
        rank: u32,
        /// How many entries it would have.
        entries: u64,
        /// Where it begins.
        address: u64,
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
        /// Error of the operating system.
        error: io::Error,
    },
    /// A function of the program's that MPI runs within another call makes a call that takes time.
    #[error(
        "rank {rank} calls {function} in an operator or an error handler, where the simulator carries local functions only"
    )]
    InCallback {
        /// Which rank.
        rank: u32,
        /// The function that it calls.
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
    /// It says that it is a process that is not its own.
    #[error(
        "rank {rank} says that it is process {process}, which is neither the process that was started nor one that this has \
         started: the simulator does not touch its memory"
    )]
    Foreign {
        /// Which rank.
        rank: u32,
        /// The number of the process.
        process: u32,
    },
    /// A second thread calls while one is inside.
    #[error(
        "rank {rank}: two of its threads are inside MPI at once, and MPI_THREAD_SERIALIZED is the most that \
         MPI_Init_thread provides"
    )]
    Threads {
        /// Which rank.
        rank: u32,
    },
    /// The system opens no more files.
    #[error("the simulator cannot open the files of rank {rank}: {}", super::files::lack())]
    Files {
        /// Which rank.
        rank: u32,
    },
    /// The message received is no request of this library's.
    #[error("rank {rank} sent an invalid request to the simulator")]
    Nonsense {
        /// Which rank.
        rank: u32,
    },
}

impl RankError {
    /// The error of a rank for one of the operating system: `Files` where no more files can be opened, else `other`.
    fn of(rank: u32, error: io::Error, other: impl FnOnce(io::Error) -> Self) -> Self {
        if super::files::is_lack(&error) { Self::Files { rank } } else { other(error) }
    }

    /// Whether it is what a process says before it ends.
    const fn is_last_word(&self) -> bool {
        matches!(self, Self::Threads { .. })
    }

    /// Whether it may come of the end of the process: an address at which a living process has nothing does not.
    fn may_be_an_end(&self) -> bool {
        let nothing_there = [Errno::EFAULT, Errno::EIO].map(|error| Some(error as i32));
        !matches!(self, Self::Memory { error, .. } if nothing_there.contains(&error.raw_os_error()))
            && !matches!(self, Self::Array { .. })
    }
}

/// A request of a process.
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
    supervisor: Supervisor,
    /// The process that was started.
    started: u32,
    /// The process that calls MPI: the one that was started, or one that it has started, where that is a script or a
    /// debugger.
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
    /// The output of the process, where the simulator passes it on.
    lines: Option<Lines>,
    /// Frames that were not sent yet.
    answer: Vec<u8>,
    /// Whether it has closed the channel without ending.
    has_closed: bool,
}

impl Rank {
    /// Starts rank `rank`: it runs until its first call.
    ///
    /// # Errors
    ///
    /// When the system does not start it.
    pub fn start(rank: u32, image: &Image, supervisor: &Supervisor) -> Result<Self, RankError> {
        let program = image.command.first().cloned().unwrap_or_default();
        let failed = |error| {
            let program = program.to_string_lossy().into_owned();
            RankError::of(rank, error, |error| RankError::Start { program, error })
        };
        let (from, its_to) = io::pipe().map_err(failed)?;
        let (its_from, to) = io::pipe().map_err(failed)?;
        let (output, lines) = image.output.of_rank(rank, &image.reports).map_err(|error| {
            RankError::of(rank, error, |error| RankError::Output { rank, error })
        })?;
        let environment = image.variables();
        let started = supervisor
            .starts(&image.command, environment, (&its_from, &its_to), output.as_ref())
            .map_err(failed)?;
        let (memory, code, last, answer) = (None, Code::default(), None, Vec::new());
        let (number, process, supervisor) = (rank, started, supervisor.clone());
        let (facts, has_closed) = (0, false);
        Ok(Self {
            number,
            supervisor,
            started,
            process,
            from,
            to,
            memory,
            facts,
            code,
            last,
            lines,
            answer,
            has_closed,
        })
    }

    /// The next request; `None` when the process has closed its end.
    ///
    /// # Errors
    ///
    /// When the pipe breaks, or what comes is no request.
    pub fn request(&mut self) -> Result<Option<Request>, RankError> {
        let mut bytes = [0_u8; wire::REQUEST_MOST + 2 * wire::REQUEST_HEAD];
        let (began, mut watch) = (now(), None);
        // What a rank prints before it computes for long is seen meanwhile; nothing else is printed until its next call.
        while self.is_busy(PATIENCE)? {
            let now = now();
            let watch = watch.get_or_insert_with(|| Watch::begin(self.process, began));
            if !watch.is_due(now) {
                continue;
            }
            let waits = watch.waits(now);
            self.print(Lines::print)?;
            // A process that it has forked may have its end of the channel for longer than itself.
            if self.ended().is_some() && self.is_busy(0)? {
                self.print(Lines::end)?;
                return Ok(None);
            }
            if let Some(since) = waits {
                let (rank, last) = (self.number, self.last_call());
                note(&format!(
                    "rank {rank} has not called MPI for {since}; its last call was {last}"
                ));
            }
        }
        let got = self.from.read(&mut bytes).map_err(|error| self.broken(error))?;
        if got == 0 {
            // A process that ends closes its descriptors, too.
            let stat = Stat::of(self.started).filter(|_| self.ended().is_none());
            self.has_closed = stat.is_some_and(|stat| !stat.is_over);
            self.print(Lines::end)?;
            return Ok(None);
        }
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let half = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let (function, count) = (half(0), half(4) as usize);
        let length = wire::REQUEST_HEAD + 8 * count.min(wire::WORDS + 1);
        // Behind the request of one thread another one may have said that it calls, too.
        let is_by_two = got > length && half(length) == wire::THREADS;
        if function == wire::THREADS || is_by_two {
            return Err(self.by_two_threads());
        }
        if count > wire::WORDS || got != length {
            return Err(self.nonsense());
        }
        let words = std::array::from_fn(|at| word(wire::REQUEST_HEAD + 8 * at));
        let request = Request { function, cpu: word(8), caller: word(16), words, count };
        if let Some(function) = Function::ALL.get(function as usize) {
            self.last = Some((*function, request.caller));
        }
        Ok(Some(request))
    }

    const fn by_two_threads(&self) -> RankError {
        RankError::Threads { rank: self.number }
    }

    /// The last message of the process before it ended, where that explains an error.
    pub fn last_words(&mut self, error: &RankError) -> Option<String> {
        if error.is_last_word() {
            return Some(error.to_string());
        }
        let has_said = !self.is_busy(0).ok()?;
        let said = if has_said { self.request().err() } else { None };
        said.filter(RankError::is_last_word).map(|said| said.to_string())
    }

    /// Whether the process has closed the channel and gone on.
    pub const fn has_closed(&self) -> bool {
        self.has_closed
    }

    /// Whether there is no request within so many milliseconds, or output before it. What the process has printed is
    /// taken, and before a request all that it has printed before.
    fn is_busy(&mut self, milliseconds: u16) -> Result<bool, RankError> {
        // The request first: what was printed before it is seen after it. A rank without output has its request twice.
        let request = self.from.as_fd();
        let output = self.lines.as_ref().and_then(Lines::pipe).map_or(request, AsFd::as_fd);
        let mut ends = [request, output].map(|end| PollFd::new(end, PollFlags::POLLIN));
        match poll(&mut ends, milliseconds) {
            Ok(0) | Err(Errno::EINTR) => return Ok(true),
            Ok(_) => {}
            Err(error) => return Err(self.broken(error.into())),
        }
        let [has_request, prints] = ends.map(|end| end.any() == Some(true));
        if prints {
            self.print(Lines::take)?;
        }
        Ok(!has_request)
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
    /// When it does not speak this form of the wire, is no process of this rank, or its memory cannot be reached.
    pub fn greets(&mut self, request: &Request) -> Result<(), RankError> {
        let mut version = [0; 8];
        if request.word(0) != wire::VERSION {
            return Err(self.nonsense());
        }
        let process = u32::try_from(request.word(1)).map_err(|_| self.nonsense())?;
        if !self.supervisor.is_of(process, self.started) {
            return Err(RankError::Foreign { rank: self.number, process });
        }
        self.process = process;
        self.memory = None;
        self.facts = request.word(2);
        let (rank, address) = (self.number, request.word(2));
        let read = self.memory().and_then(|memory| memory.read_exact_at(&mut version, address));
        read.map_err(|error| {
            let is_forbidden = error.kind() == io::ErrorKind::PermissionDenied;
            RankError::of(rank, error, |error| {
                if is_forbidden {
                    RankError::Rights { rank, error }
                } else {
                    RankError::Memory { rank, address, error }
                }
            })
        })?;
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

    /// The error of a process that writes something else than was requested.
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

    /// How the process ended, where an error may come of its end.
    pub fn ended_by(&mut self, error: &RankError) -> Option<ExitStatus> {
        let is_over = Stat::of(self.process).is_none_or(|stat| stat.is_over);
        if is_over || error.may_be_an_end() { self.wait_a_moment() } else { None }
    }

    /// How the process ended, where it does within a second: it has closed the channel, and ends.
    pub fn wait_a_moment(&mut self) -> Option<ExitStatus> {
        for _ in 0..100 {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            // It may print more than its pipe holds before it ends; an error is found when the rank is printed next.
            let _ = self.print(Lines::take);
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        None
    }

    /// How the process has ended that was started, if it has.
    fn ended(&self) -> Option<ExitStatus> {
        self.supervisor.ended(self.started)
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        // What a process has printed before it was ended; an error has no one left to act on it.
        let _ = self.print(Lines::end);
    }
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

/// A signal, in words.
pub fn signal_name(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(name) => name.as_str().to_owned(),
        Err(_) => format!("signal {signal}"),
    }
}

/// How a process ended, in words.
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => signal_name(signal),
        (None, None) => "an end that the system does not explain".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that arrive through a system that moves at most `most` bytes a call and has room
    /// for `room`.
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
