//! The sleeps of the C library: a rank that sleeps tells the simulator, and the other ranks go on meanwhile.
//!
//! Where the program's clocks tell the time of this computer the rank sleeps here, too, for what is left when the simulator
//! answers: so ranks sleep side by side. Where they tell simulated time nothing sleeps here. A thread that has not called MPI
//! sleeps as it did without this library, and so does every process before its first call.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{IS_SIMULATED, Timespec, asleep, time_of};

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

#[cfg(target_arch = "x86_64")]
mod number {
    pub const CLOCK_GETTIME: i64 = 228;
}
#[cfg(not(target_arch = "x86_64"))]
mod number {
    pub const CLOCK_GETTIME: i64 = 113;
}

const REALTIME: c_int = 0;
const MONOTONIC: c_int = 1;
const ABSOLUTE: c_int = 1;
const EINTR: c_int = 4;
const EFAULT: c_int = 14;
const EINVAL: c_int = 22;
const BILLION: u64 = 1_000_000_000;

fn set_error(error: c_int) {
    // SAFETY: the C library has a place for each thread's.
    unsafe { *__errno_location() = error };
}

impl Timespec {
    /// Nanoseconds; `None` where it is no time.
    fn nanoseconds(&self) -> Option<u64> {
        let below = u64::try_from(self.nanoseconds).ok().filter(|below| *below < BILLION)?;
        u64::try_from(self.seconds).ok()?.checked_mul(BILLION)?.checked_add(below)
    }

    fn of(nanoseconds: u64) -> Self {
        let (seconds, below) = (nanoseconds / BILLION, nanoseconds % BILLION);
        Self { seconds: seconds as i64, nanoseconds: below as i64 }
    }
}

/// The time of this computer, in nanoseconds.
fn now() -> u64 {
    let mut now = Timespec::of(0);
    // SAFETY: `now` is ours.
    unsafe { syscall(number::CLOCK_GETTIME, i64::from(MONOTONIC), &raw mut now) };
    now.nanoseconds().unwrap_or(0)
}

/// The address of the next library's `clock_nanosleep`, once it was looked for.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Sleeps as without this library; 0, or an error. The C library's function, since a thread may be cancelled in it.
fn on_this_computer(clock: c_int, flags: c_int, time: &Timespec, left: *mut Timespec) -> c_int {
    type Sleep = extern "C" fn(c_int, c_int, *const Timespec, *mut Timespec) -> c_int;
    let mut address = NEXT.load(Ordering::Relaxed);
    if address == 0 {
        let after_this = std::ptr::without_provenance_mut(usize::MAX);
        // SAFETY: the name ends with 0, and the library is one of the two that stand for others.
        address = unsafe { dlsym(after_this, c"clock_nanosleep".as_ptr()) }.addr();
        NEXT.store(address, Ordering::Relaxed);
    }
    if address == 0 {
        return EINVAL;
    }
    // SAFETY: the function of this name has these arguments.
    let sleep: Sleep = unsafe { std::mem::transmute(address as *const c_void) };
    sleep(clock, flags, time, left)
}

/// Sleeps for a time; 0, or an error.
fn sleeps(time: &Timespec, left: *mut Timespec) -> c_int {
    let Some(nanoseconds) = time.nanoseconds() else { return EINVAL };
    let began = now();
    if asleep(nanoseconds) == 0 {
        return on_this_computer(MONOTONIC, 0, time, left);
    }
    let over = began.saturating_add(nanoseconds);
    if IS_SIMULATED.load(Ordering::Relaxed) || now() >= over {
        return 0;
    }
    let slept = on_this_computer(MONOTONIC, ABSOLUTE, &Timespec::of(over), std::ptr::null_mut());
    if slept == EINTR && !left.is_null() {
        // SAFETY: the caller hands over where the rest goes.
        unsafe { left.write(Timespec::of(over.saturating_sub(now()))) };
    }
    slept
}

#[unsafe(no_mangle)]
pub extern "C" fn nanosleep(time: *const Timespec, left: *mut Timespec) -> c_int {
    // SAFETY: the caller hands over a time, or null, which the system refuses.
    let slept = match unsafe { time.as_ref() } {
        Some(time) => sleeps(time, left),
        None => EFAULT,
    };
    if slept == 0 {
        return 0;
    }
    set_error(slept);
    -1
}

#[unsafe(no_mangle)]
pub extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const Timespec,
    left: *mut Timespec,
) -> c_int {
    // SAFETY: the caller hands over a time, or null, which the system refuses.
    let Some(time) = (unsafe { time.as_ref() }) else { return EFAULT };
    // Until when a rank sleeps on this computer is another time in each run: the simulator is not to know.
    let is_until = flags & ABSOLUTE != 0;
    if !matches!(clock, REALTIME | MONOTONIC) || (is_until && !IS_SIMULATED.load(Ordering::Relaxed)) {
        return on_this_computer(clock, flags, time, left);
    }
    if !is_until {
        return sleeps(time, left);
    }
    let (Some(until), Some(now)) = (time.nanoseconds(), time_of(clock).nanoseconds()) else { return EINVAL };
    sleeps(&Timespec::of(until.saturating_sub(now)), std::ptr::null_mut())
}

#[unsafe(no_mangle)]
pub extern "C" fn usleep(microseconds: c_uint) -> c_int {
    let time = Timespec::of(u64::from(microseconds) * 1000);
    nanosleep(&raw const time, std::ptr::null_mut())
}

#[unsafe(no_mangle)]
pub extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let mut left = Timespec::of(u64::from(seconds) * BILLION);
    let time = Timespec { ..left };
    if nanosleep(&raw const time, &raw mut left) == 0 {
        return 0;
    }
    // The rest, to the nearest second.
    (left.seconds + i64::from(left.nanoseconds >= 500_000_000)) as c_uint
}
