//! The clocks of the C library, where they tell simulated time: a library that is loaded before it.
//!
//! A rank's main thread reads `MPI_Wtime`, which takes its time and so ends loops that wait for a moment. Its other
//! threads get what it has read last, since one thread at a time calls MPI. What is no rank has the system's clocks. A rank
//! that sleeps goes on at once, later in simulated time.

#![allow(unsafe_code, reason = "the interface of the C library is one of C pointers")]

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

#[path = "sleep.rs"]
mod sleep;

#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

#[repr(C)]
pub struct Timeval {
    seconds: i64,
    microseconds: i64,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn getpid() -> c_int;
}

#[cfg(target_arch = "x86_64")]
mod number {
    pub const CLOCK_GETTIME: i64 = 228;
    pub const GETTID: i64 = 186;
}
#[cfg(not(target_arch = "x86_64"))]
mod number {
    pub const CLOCK_GETTIME: i64 = 113;
    pub const GETTID: i64 = 178;
}

const REALTIME: c_int = 0;
const MONOTONIC: c_int = 1;
const MONOTONIC_RAW: c_int = 4;
const REALTIME_COARSE: c_int = 5;
const MONOTONIC_COARSE: c_int = 6;
const BOOTTIME: c_int = 7;
const TAI: c_int = 11;

/// A run begins with the year 2026, UTC.
const EPOCH: u64 = 1_767_225_600;
const BILLION: u64 = 1_000_000_000;

/// The process that has the MPI library of a rank; a process that it forks is another one, and so is a script that starts it.
static RANK: AtomicI32 = AtomicI32::new(0);
/// The address of `PMPI_Wtime`, once the MPI library is there.
static WTIME: AtomicUsize = AtomicUsize::new(0);
/// The address of the function that tells the simulator of a sleep.
static SLEEP: AtomicUsize = AtomicUsize::new(0);
/// Programs that load this library have no other clocks.
static IS_SIMULATED: AtomicBool = AtomicBool::new(true);
/// Nanoseconds of simulated time that were read last.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Whether `MPI_Wtime` is being read: what MPI itself asks the system's clocks is theirs.
static READS: AtomicBool = AtomicBool::new(false);

/// The MPI library of a rank says how its time is read, and how it sleeps: programs may load that library where this one
/// does not find its functions.
#[unsafe(no_mangle)]
pub extern "C" fn mpisim_clocks_follow(wtime: *const c_void, sleep: *const c_void) {
    // SAFETY: no arguments.
    RANK.store(unsafe { getpid() }, Ordering::Relaxed);
    WTIME.store(wtime.addr(), Ordering::Relaxed);
    SLEEP.store(sleep.addr(), Ordering::Relaxed);
}

/// The rank sleeps for so many nanoseconds; 0 where this thread is none that the simulator knows.
fn asleep(nanoseconds: u64) -> c_int {
    let address = SLEEP.load(Ordering::Relaxed);
    if address == 0 {
        return 0;
    }
    // SAFETY: the MPI library has named this function as one of such arguments.
    let sleep: extern "C" fn(u64) -> c_int =
        unsafe { std::mem::transmute(address as *const c_void) };
    sleep(nanoseconds)
}

/// The time of a clock, as the program has it.
fn time_of(clock: c_int) -> Timespec {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    clock_gettime(clock, &raw mut now);
    now
}

/// Nanoseconds of simulated time; `None` in a process that is no rank.
fn simulated() -> Option<u64> {
    // SAFETY: no arguments.
    let (process, thread) = unsafe { (getpid(), syscall(number::GETTID)) };
    if process != RANK.load(Ordering::Relaxed) {
        return None;
    }
    if i64::from(process) != thread {
        return Some(LAST.load(Ordering::Relaxed));
    }
    let address = WTIME.load(Ordering::Relaxed);
    if address == 0 || READS.swap(true, Ordering::Relaxed) {
        return None;
    }
    let now = (as_seconds_f64(address) * 1e9).round() as u64;
    READS.store(false, Ordering::Relaxed);
    LAST.store(now, Ordering::Relaxed);
    Some(now)
}

/// Result of `PMPI_Wtime`, which is at this address.
fn as_seconds_f64(address: usize) -> f64 {
    // SAFETY: a function of this name has no arguments and returns a double.
    let wtime: extern "C" fn() -> f64 = unsafe { std::mem::transmute(address as *const c_void) };
    wtime()
}

/// Seconds and nanoseconds of the day, or since the start.
fn reading(clock: c_int) -> Option<(i64, i64)> {
    let epoch = match clock {
        REALTIME | REALTIME_COARSE | TAI => EPOCH,
        MONOTONIC | MONOTONIC_RAW | MONOTONIC_COARSE | BOOTTIME => 0,
        _ => return None,
    };
    let now = simulated()?;
    Some(((epoch + now / BILLION) as i64, (now % BILLION) as i64))
}

#[unsafe(no_mangle)]
pub extern "C" fn clock_gettime(clock: c_int, to: *mut Timespec) -> c_int {
    let Some((seconds, nanoseconds)) = reading(clock) else {
        // SAFETY: the caller's arguments are those of the system call.
        return unsafe { syscall(number::CLOCK_GETTIME, c_long::from(clock), to) } as c_int;
    };
    if !to.is_null() {
        // SAFETY: the caller hands over where the time goes.
        unsafe { to.write(Timespec { seconds, nanoseconds }) };
    }
    0
}

/// The time of day, of the system where it is no rank's.
fn day() -> (i64, i64) {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    clock_gettime(REALTIME, &raw mut now);
    (now.seconds, now.nanoseconds)
}

#[unsafe(no_mangle)]
pub extern "C" fn gettimeofday(to: *mut Timeval, _zone: *mut c_void) -> c_int {
    let (seconds, nanoseconds) = day();
    if !to.is_null() {
        // SAFETY: the caller hands over where the time goes.
        unsafe { to.write(Timeval { seconds, microseconds: nanoseconds / 1000 }) };
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn time(to: *mut i64) -> i64 {
    let (seconds, _) = day();
    if !to.is_null() {
        // SAFETY: the caller hands over where the time goes.
        unsafe { to.write(seconds) };
    }
    seconds
}

#[unsafe(no_mangle)]
pub extern "C" fn timespec_get(to: *mut Timespec, base: c_int) -> c_int {
    const UTC: c_int = 1;
    if base != UTC {
        return 0;
    }
    clock_gettime(REALTIME, to);
    base
}
