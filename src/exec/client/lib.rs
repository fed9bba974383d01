//! The MPI library that programs link: it hands each call to the simulator and carries out the answer.
//!
//! It has no MPI logic. A function's arguments become words of 64 bits and go into a pipe; what comes back is what
//! to do before the function returns: bytes to write, a function of the program's to call. See `wire.rs`.
//!
//! All of it is unsafe by nature, since addresses come from outside. What keeps it right: the simulator answers
//! only a process that waits, names only addresses that this process gave it, and one thread at a time calls
//! (`MPI_THREAD_SERIALIZED` at most).

#![allow(unsafe_code, reason = "the interface of MPI is one of C pointers")]

use std::cell::{Cell, OnceCell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

#[path = "sleep.rs"]
mod sleep;

#[path = "../wire.rs"]
#[allow(dead_code, reason = "the other side's half")]
mod wire;

use wire::{FRAME_HEAD, REQUEST_HEAD, REQUEST_MOST};

#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn read(file: c_int, to: *mut c_void, most: usize) -> isize;
    fn write(file: c_int, from: *const c_void, most: usize) -> isize;
    fn getenv(name: *const c_char) -> *const c_char;
    fn unsetenv(name: *const c_char) -> c_int;
    fn getpid() -> c_int;
    fn getppid() -> c_int;
    fn fcntl(file: c_int, command: c_int, ...) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(file: c_int) -> c_int;
    fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn munmap(address: *mut c_void, length: usize) -> c_int;
    fn exit(status: c_int) -> !;
    fn _exit(status: c_int) -> !;
    fn setvbuf(stream: *mut c_void, buffer: *mut c_char, mode: c_int, size: usize) -> c_int;
    static stdout: *mut c_void;
}

const CLOCK_THREAD_CPUTIME_ID: c_int = 3;
const F_SETFD: c_int = 2;
const FD_CLOEXEC: c_int = 1;
const PR_SET_PDEATHSIG: c_int = 1;
const SIGKILL: c_int = 9;
const EINTR: i32 = 4;
const O_RDWR: c_int = 2;
const O_CLOEXEC: c_int = 0o2_000_000;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
/// Bytes of a path, with its end.
const PATH: usize = 64;

/// Line-buffered.
const IOLBF: c_int = 1;

const BUFFER: usize = 8192;

/// The way to the simulator. A callback may call MPI while an answer is carried out: all state is in cells.
struct Engine {
    from: c_int,
    to: c_int,
    pid: c_int,
    /// Whether the simulator asks for the CPU time between calls.
    is_timed: Cell<bool>,
    /// Difference between two consecutive readings of that time.
    reading: u64,
    /// Input buffer: bytes received and not taken yet lie from `start` to `end`.
    buffer: UnsafeCell<[u8; BUFFER]>,
    start: Cell<usize>,
    end: Cell<usize>,
}

struct Single(OnceCell<Engine>);
// SAFETY: `OWNER` lets one thread in at a time.
unsafe impl Sync for Single {}
static ENGINE: Single = Single(OnceCell::new());
/// 0, or a number of the thread that is inside; callbacks of that thread may call again.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// The thread that has called last.
static CALLED: AtomicI32 = AtomicI32::new(0);

thread_local!(static THREAD: u8 = const { 0 });
// CPU time of this thread at the end of its last call, in nanoseconds.
thread_local!(static LEFT_AT: Cell<u64> = const { Cell::new(0) });

/// A number of this thread, other than 0.
fn thread() -> i32 {
    THREAD.with(|mark| (std::ptr::from_ref(mark).addr() >> 4) as i32 | 1)
}

fn stop(why: &str) -> ! {
    let text = format!("mpisim: {why}\n");
    // SAFETY: the text is alive; standard error may be closed, which changes nothing.
    unsafe {
        write(2, text.as_ptr().cast(), text.len());
        _exit(wire::UNREACHABLE)
    }
}

/// The two descriptors that the simulator has left open, where there are any.
static CHANNEL: OnceLock<Option<(c_int, c_int)>> = OnceLock::new();

/// Takes the descriptors out of the environment: a program that this one starts has no part in the channel.
fn descriptors() -> Option<(c_int, c_int)> {
    // SAFETY: the name ends with 0, and no other thread changes the environment while a program is loaded or in its first
    // call.
    let text = unsafe {
        let name = c"MPISIM_CHANNEL";
        let value = getenv(name.as_ptr());
        if value.is_null() {
            return None;
        }
        CStr::from_ptr(value)
    };
    let mut words = text.to_str().ok()?.splitn(4, ',');
    let channel = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let is = |end: c_int, pipe: &str| {
        std::fs::read_link(format!("/proc/self/fd/{end}")).is_ok_and(|found| found.as_os_str() == pipe)
    };
    if !is(channel.0, words.next()?) || !is(channel.1, words.next()?) {
        return None;
    }
    // SAFETY: as above; the text is not used any more.
    unsafe { unsetenv(c"MPISIM_CHANNEL".as_ptr()) };
    Some(channel)
}

/// Runs when the library is loaded: the process ends with the simulator, its own children have no part in the
/// channel, and a line that it prints leaves it when it ends.
extern "C" fn loaded() {
    let Some((from, to)) = *CHANNEL.get_or_init(descriptors) else { return };
    // SAFETY: plain system calls on descriptors that are ours.
    unsafe {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if getppid() == 1 {
            _exit(wire::UNREACHABLE);
        }
        fcntl(from, F_SETFD, FD_CLOEXEC);
        fcntl(to, F_SETFD, FD_CLOEXEC);
        setvbuf(stdout, std::ptr::null_mut(), IOLBF, BUFFER);
    }
    join_clocks();
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

fn cpu_time() -> u64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    system_clock(CLOCK_THREAD_CPUTIME_ID, &raw mut now);
    now.seconds as u64 * 1_000_000_000 + now.nanoseconds as u64
}

/// The least of some differences of two readings: the cost of one.
fn time_of_a_reading() -> u64 {
    let once = |_| {
        let before = cpu_time();
        cpu_time() - before
    };
    (0..16).map(once).min().unwrap_or(0)
}

impl Engine {
    fn connect() -> Self {
        let Some((from, to)) = *CHANNEL.get_or_init(descriptors) else {
            stop("this program uses mpisim's MPI library: start it with `mpisim exec -n RANKS -- PROGRAM`");
        };
        // SAFETY: no arguments.
        let pid = unsafe { getpid() };
        let engine = Self {
            from,
            to,
            pid,
            is_timed: Cell::new(false),
            reading: time_of_a_reading(),
            buffer: UnsafeCell::new([0; BUFFER]),
            start: Cell::new(0),
            end: Cell::new(0),
        };
        let facts = std::ptr::from_ref(&FACTS).addr() as u64;
        engine.ask(wire::HELLO, &[wire::VERSION, pid as u64, facts], 0, 0);
        engine.is_timed.set(engine.answered() != 0);
        engine.leaves();
        IS_RANK.store(true, Ordering::Relaxed);
        engine
    }

    /// CPU time that the program has used since it left the library, in nanoseconds.
    fn computed(&self) -> u64 {
        if !self.is_timed.get() {
            return 0;
        }
        cpu_time().saturating_sub(LEFT_AT.get() + self.reading)
    }

    /// The program goes on.
    fn leaves(&self) {
        if self.is_timed.get() {
            LEFT_AT.set(cpu_time());
        }
    }

    fn ask(&self, function: u32, words: &[u64], cpu: u64, caller: u64) {
        let mut request = [0_u8; REQUEST_MOST];
        request[..4].copy_from_slice(&function.to_ne_bytes());
        request[4..8].copy_from_slice(&(words.len() as u32).to_ne_bytes());
        request[8..16].copy_from_slice(&cpu.to_ne_bytes());
        request[16..24].copy_from_slice(&caller.to_ne_bytes());
        for (place, word) in request[REQUEST_HEAD..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        self.send(request.as_ptr(), REQUEST_HEAD + 8 * words.len());
    }

    fn send(&self, mut from: *const u8, mut length: usize) {
        while length > 0 {
            // SAFETY: `length` bytes at `from` are readable: a request of ours, or what the program said is its buffer.
            let written = unsafe { write(self.to, from.cast(), length) };
            if written < 0 && std::io::Error::last_os_error().raw_os_error() == Some(EINTR) {
                continue;
            }
            if written <= 0 {
                // The simulator is gone, and has said why.
                // SAFETY: ends the process.
                unsafe { _exit(wire::UNREACHABLE) };
            }
            length -= written as usize;
            // SAFETY: still within the bytes, or one behind them.
            from = unsafe { from.add(written as usize) };
        }
    }

    /// Reads `length` bytes to `to`, or as many as there are and at least one.
    fn receive(&self, to: *mut u8, length: usize) -> usize {
        loop {
            // SAFETY: `length` bytes at `to` are writable: our buffer, or what the program said is its buffer.
            let got = unsafe { read(self.from, to.cast(), length) };
            if got > 0 {
                return got as usize;
            }
            if got < 0 && std::io::Error::last_os_error().raw_os_error() == Some(EINTR) {
                continue;
            }
            // SAFETY: ends the process: the simulator is gone, and has said why.
            unsafe { _exit(wire::UNREACHABLE) };
        }
    }

    /// The next `length` bytes of the answer, to `to`.
    fn take(&self, mut to: *mut u8, mut length: usize) {
        while length > 0 {
            let buffer: *mut u8 = self.buffer.get().cast();
            if self.start.get() == self.end.get() {
                if length >= BUFFER {
                    let got = self.receive(to, length);
                    length -= got;
                    // SAFETY: still within the bytes, or one behind them.
                    to = unsafe { to.add(got) };
                    continue;
                }
                self.start.set(0);
                self.end.set(self.receive(buffer, BUFFER));
            }
            let here = length.min(self.end.get() - self.start.get());
            // SAFETY: `length` bytes at `to` are writable, and `here` bytes lie in the buffer, from `start` on.
            unsafe {
                std::ptr::copy_nonoverlapping(buffer.add(self.start.get()), to, here);
                to = to.add(here);
            }
            self.start.set(self.start.get() + here);
            length -= here;
        }
    }

    fn head(&self) -> [u8; FRAME_HEAD] {
        let mut head = [0; FRAME_HEAD];
        self.take(head.as_mut_ptr(), FRAME_HEAD);
        head
    }

    fn word(&self) -> u64 {
        let mut bytes = [0_u8; 8];
        self.take(bytes.as_mut_ptr(), 8);
        u64::from_ne_bytes(bytes)
    }

    /// Carries out the answer until the function returns.
    fn answered(&self) -> u64 {
        loop {
            let head = self.head();
            let number = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().expect("8 bytes"));
            let (value, length) = (number(8), number(16) as usize);
            match u32::from_ne_bytes(head[..4].try_into().expect("4 bytes")) {
                wire::RETURN => return value,
                wire::WRITE => self.take(value as *mut u8, length),
                wire::READ => {
                    let wanted = self.word() as usize;
                    self.send(value as *const u8, wanted);
                }
                wire::CALL => {
                    let words: [u64; 6] = std::array::from_fn(|_| self.word());
                    self.leaves();
                    let result = call_back(value, words);
                    self.ask(wire::RESULT, &[result], self.computed(), 0);
                }
                wire::ALLOCATE => {
                    let size = (value as usize).max(1).next_multiple_of(64);
                    // SAFETY: the size is a multiple of the alignment.
                    let address = unsafe { aligned_alloc(64, size) };
                    self.ask(wire::RESULT, &[address.addr() as u64], 0, 0);
                }
                wire::MAP => {
                    let address = self.map(value as usize, length);
                    self.ask(wire::RESULT, &[address as u64], 0, 0);
                }
                wire::UNMAP => {
                    let bytes = self.word() as usize;
                    // SAFETY: the address came from `mmap` of as many bytes, and the simulator names it once.
                    unsafe { munmap(value as *mut c_void, bytes) };
                }
                // SAFETY: the address came from `aligned_alloc`, and the simulator names it once.
                wire::FREE => unsafe { free(value as *mut c_void) },
                // SAFETY: ends the process as the program would.
                wire::EXIT => unsafe { exit(value as c_int) },
                other => stop(&format!("the simulator answers with a frame of kind {other}")),
            }
        }
    }
}

impl Engine {
    /// Maps `bytes` bytes of the file whose path of `length` bytes comes next; 0 where the system does not.
    fn map(&self, bytes: usize, length: usize) -> usize {
        let mut path = [0_u8; PATH];
        if length >= PATH {
            stop("the simulator names a file by a path that is too long");
        }
        self.take(path.as_mut_ptr(), length);
        // SAFETY: the path ends with 0; the file stays mapped when it is closed.
        unsafe {
            let file = open(path.as_ptr().cast(), O_RDWR | O_CLOEXEC);
            if file < 0 {
                return 0;
            }
            let address = mmap(std::ptr::null_mut(), bytes, PROT_READ_WRITE, MAP_SHARED, file, 0);
            close(file);
            if address.addr() == usize::MAX { 0 } else { address.addr() }
        }
    }
}

/// Data that the simulator reads by itself: the version to see whether the system permits it.
#[repr(C)]
struct Facts {
    version: u64,
    /// How often the program has read the system's clocks.
    clocks: AtomicU64,
}

static FACTS: Facts = Facts { version: wire::VERSION, clocks: AtomicU64::new(0) };
/// Whether this process has called MPI.
static IS_RANK: AtomicBool = AtomicBool::new(false);

/// A function of the C library that the program finds in this library first, by its address once it was looked for.
struct Behind {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Behind {
    const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    fn address(&self) -> *const c_void {
        const NEXT: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            // SAFETY: the name ends with 0.
            address = unsafe { dlsym(NEXT, self.name.as_ptr()) }.addr();
            if address == 0 {
                stop("the C library has no clocks");
            }
            self.address.store(address, Ordering::Relaxed);
        }
        std::ptr::without_provenance(address)
    }
}

fn system_clock(clock: c_int, to: *mut Timespec) -> c_int {
    static SYSTEM: Behind = Behind::new(c"clock_gettime");
    // SAFETY: a function of this name has this type.
    let read: extern "C" fn(c_int, *mut Timespec) -> c_int =
        unsafe { std::mem::transmute(SYSTEM.address()) };
    read(clock, to)
}

/// The program reads a clock of the system, which knows nothing of simulated time.
fn reads_clock() {
    if IS_RANK.load(Ordering::Relaxed) {
        FACTS.clocks.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counted, except for clocks of CPU time.
#[unsafe(no_mangle)]
pub extern "C" fn clock_gettime(clock: c_int, to: *mut Timespec) -> c_int {
    const PROCESS_CPUTIME: c_int = 2;
    if ![PROCESS_CPUTIME, CLOCK_THREAD_CPUTIME_ID].contains(&clock) {
        reads_clock();
    }
    system_clock(clock, to)
}

#[unsafe(no_mangle)]
pub extern "C" fn gettimeofday(to: *mut c_void, zone: *mut c_void) -> c_int {
    static SYSTEM: Behind = Behind::new(c"gettimeofday");
    reads_clock();
    // SAFETY: a function of this name has this type.
    let read: extern "C" fn(*mut c_void, *mut c_void) -> c_int =
        unsafe { std::mem::transmute(SYSTEM.address()) };
    read(to, zone)
}

#[unsafe(no_mangle)]
pub extern "C" fn time(to: *mut i64) -> i64 {
    static SYSTEM: Behind = Behind::new(c"time");
    reads_clock();
    // SAFETY: a function of this name has this type.
    let read: extern "C" fn(*mut i64) -> i64 = unsafe { std::mem::transmute(SYSTEM.address()) };
    read(to)
}

#[unsafe(no_mangle)]
pub extern "C" fn timespec_get(to: *mut Timespec, base: c_int) -> c_int {
    static SYSTEM: Behind = Behind::new(c"timespec_get");
    reads_clock();
    // SAFETY: a function of this name has this type.
    let read: extern "C" fn(*mut Timespec, c_int) -> c_int =
        unsafe { std::mem::transmute(SYSTEM.address()) };
    read(to, base)
}

/// Where the function that this stands in returns to: an address in the program. It is the word above the frame
/// pointer, which the build makes every function of this library keep; 0 on a processor whose frames are not known.
#[inline(always)]
fn caller() -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let frame: *const u64;
        // SAFETY: the register is read, and the word above the frame that it points to is this function's.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            std::arch::asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags));
            #[cfg(target_arch = "aarch64")]
            std::arch::asm!("mov {}, x29", out(reg) frame, options(nomem, nostack, preserves_flags));
            frame.add(1).read()
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    0
}

/// Calls a function of the program's. Its arguments are pointers and ints, at most six: one form of call serves
/// all, since each has a register of its own, and a callee reads those that it has.
fn call_back(function: u64, [a, b, c, d, e, f]: [u64; 6]) -> u64 {
    type Callback = extern "C" fn(u64, u64, u64, u64, u64, u64) -> u64;
    // SAFETY: the program has handed this address to MPI as that of a function of such arguments.
    let function: Callback = unsafe { std::mem::transmute(function as *const c_void) };
    function(a, b, c, d, e, f)
}

/// Tells the simulator why this process ends. The other thread may be anywhere: one write of a few bytes is whole.
fn tell_of_threads() {
    let Some((_, to)) = *CHANNEL.get_or_init(descriptors) else { return };
    let mut request = [0_u8; REQUEST_HEAD];
    request[..4].copy_from_slice(&wire::THREADS.to_ne_bytes());
    // SAFETY: the request is alive; where it cannot be written the process ends all the same.
    unsafe { write(to, request.as_ptr().cast(), request.len()) };
}

/// Hands a call to the simulator, which the program made where `caller` says.
fn call(function: u32, words: &[u64], caller: u64) -> u64 {
    let me = thread();
    let owner = OWNER.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed);
    let is_nested = owner == Err(me);
    if owner.is_err() && !is_nested {
        tell_of_threads();
        stop("two threads are inside MPI at once: MPI_THREAD_SERIALIZED is what MPI_Init_thread provides");
    }
    CALLED.store(me, Ordering::Relaxed);
    let engine = ENGINE.0.get_or_init(Engine::connect);
    let cpu = engine.computed();
    // SAFETY: no arguments.
    if unsafe { getpid() } != engine.pid {
        stop("a process that a rank has forked calls MPI");
    }
    engine.ask(function, words, cpu, caller);
    let value = engine.answered();
    engine.leaves();
    if !is_nested {
        OWNER.store(0, Ordering::Release);
    }
    value
}

/// Where the clocks of the program tell simulated time, the library of these clocks has a function of this name: it takes
/// the functions that read the time and that sleep.
const CLOCKS: &CStr = c"mpisim_clocks_follow";

/// Whether the program's clocks tell simulated time.
static IS_SIMULATED: AtomicBool = AtomicBool::new(false);

/// The program's clocks follow the simulator, where they do.
fn join_clocks() {
    type Follow = extern "C" fn(*const c_void, *const c_void);
    // SAFETY: the name ends with 0; a null library stands for all that were loaded with the program.
    let follow = unsafe { dlsym(std::ptr::null_mut(), CLOCKS.as_ptr()) };
    if follow.is_null() {
        return;
    }
    // SAFETY: the function of this name has these arguments.
    let follow: Follow = unsafe { std::mem::transmute(follow) };
    IS_SIMULATED.store(true, Ordering::Relaxed);
    follow(PMPI_Wtime as *const c_void, asleep as *const c_void);
}

/// Tells the simulator that this thread sleeps for so many nanoseconds; 0 where the thread has not called MPI last, or is
/// inside it.
extern "C" fn asleep(nanoseconds: u64) -> c_int {
    let me = thread();
    if CALLED.load(Ordering::Relaxed) != me
        || OWNER.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return 0;
    }
    // SAFETY: no arguments.
    let engine = ENGINE.0.get().filter(|engine| unsafe { getpid() } == engine.pid);
    if let Some(engine) = engine {
        engine.ask(wire::SLEEPS, &[nanoseconds], engine.computed(), 0);
        engine.answered();
        engine.leaves();
    }
    OWNER.store(0, Ordering::Release);
    c_int::from(engine.is_some())
}

/// The time of a clock of the system.
fn time_of(clock: c_int) -> Timespec {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    system_clock(clock, &raw mut now);
    now
}

/// A value as a word.
trait Word {
    fn word(self) -> u64;
    fn of(word: u64) -> Self;
}

impl Word for usize {
    fn word(self) -> u64 {
        self as u64
    }
    fn of(word: u64) -> Self {
        word as Self
    }
}

impl Word for i64 {
    fn word(self) -> u64 {
        self as u64
    }
    fn of(word: u64) -> Self {
        word as Self
    }
}

impl Word for i32 {
    fn word(self) -> u64 {
        i64::from(self) as u64
    }
    fn of(word: u64) -> Self {
        word as Self
    }
}

impl Word for f64 {
    fn word(self) -> u64 {
        self.to_bits()
    }
    fn of(word: u64) -> Self {
        Self::from_bits(word)
    }
}

/// A function and its twin for tools that put themselves between: both call the simulator.
macro_rules! mpi {
    ($number:literal $name:ident $profiled:ident ($($word:ident: $kind:ty),*) $result:ty) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn $profiled($($word: $kind),*) -> $result {
            <$result as Word>::of(call($number, &[$(Word::word($word)),*], caller()))
        }
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($word: $kind),*) -> $result {
            <$result as Word>::of(call($number, &[$(Word::word($word)),*], caller()))
        }
    };
}

include!(env!("MPISIM_FUNCTIONS"));
