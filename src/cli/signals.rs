//! SIGINT, SIGTERM and SIGHUP: the first ends the run between points, the second at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::show::counted;
use super::terminal::Terminal;
use form::codes::ExitClass;

/// Points that are under way when a signal comes get so long to end.
const GRACE: Duration = Duration::from_millis(1500);

/// A file that grows beyond what the system allows is an error of writing it, not the end of the program.
pub(super) fn outlive_long_files() {
    // Where no handler can be set, the signal ends the program as before.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Whether an abort can only be an allocation that failed: not after a panic.
static NO_PANIC: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// An allocation that the system refuses ends the process as limits do. The standard library says how
/// much was requested, and aborts: nothing can be cleared up then, and nothing that was kept is lost.
pub(super) fn end_at_failed_allocations() {
    let limit = i32::from(ExitClass::Limit.exit_code());
    let _ = signal_hook::flag::register_conditional_shutdown(SIGABRT, limit, NO_PANIC.clone());
}

/// From now on an abort may be a panic within another.
pub(super) fn note_panic() {
    NO_PANIC.store(false, Ordering::SeqCst);
}

/// The signal that stops this process, if any.
#[derive(Clone, Debug)]
pub(super) struct Interrupt {
    /// Set by the first signal.
    pub(super) stop: Arc<AtomicBool>,
    which: Arc<AtomicI32>,
    said: Arc<AtomicBool>,
    /// The lock file of this run: removed where the process ends without unwinding.
    lock: Arc<Mutex<Option<PathBuf>>>,
    /// Points that are kept, and how many there are in all; 0 where none is kept.
    points: Arc<[AtomicUsize; 2]>,
    terminal: Terminal,
    advice: String,
}

impl Interrupt {
    /// Begins to listen; `advice` tells the user how to go on after a stop.
    pub(super) fn listen(terminal: Terminal, advice: String) -> Self {
        let interrupt = Self {
            stop: Arc::default(),
            which: Arc::default(),
            said: Arc::default(),
            lock: Arc::default(),
            points: Arc::default(),
            terminal,
            advice,
        };
        // Without the right to listen, or a thread for it, a signal ends the program the system's way, and the
        // journal keeps the points all the same.
        let heard = interrupt.clone();
        let (listens, begun) = mpsc::channel::<()>();
        let started = thread::Builder::new().spawn(move || {
            let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
            drop(listens);
            if let Ok(mut signals) = signals {
                signals.forever().for_each(|signal| heard.hear(signal));
            }
        });
        if started.is_ok() {
            // It ends when the other side is dropped: signals are handled from here on.
            let _ = begun.recv();
        }
        interrupt
    }

    /// The lock file that this run holds from here on.
    pub(super) fn frees(&self, lock: &Path) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock.to_owned());
    }

    /// So many points of so many are kept by now.
    pub(super) fn keeps(&self, kept: usize, all: usize) {
        self.points[0].store(kept, Ordering::SeqCst);
        self.points[1].store(all, Ordering::SeqCst);
    }

    /// One more point is kept.
    pub(super) fn keeps_one(&self) {
        self.points[0].fetch_add(1, Ordering::SeqCst);
    }

    /// Ends the process at once; whole points are in the journal.
    fn end(&self, code: i32) -> ! {
        exec::supervisor::end_all();
        if let Some(lock) = &*self.lock.lock().unwrap_or_else(PoisonError::into_inner) {
            // What stays is a lock of a dead process, which the next run takes over.
            let _ = std::fs::remove_file(lock);
        }
        std::process::exit(code)
    }

    fn hear(&self, signal: i32) {
        if self.stop.swap(true, Ordering::SeqCst) {
            self.end(128 + signal);
        }
        self.which.store(signal, Ordering::SeqCst);
        let late = self.clone();
        let waits = thread::Builder::new().spawn(move || {
            thread::sleep(GRACE);
            late.end(i32::from(late.stopped()));
        });
        if waits.is_err() {
            self.end(i32::from(self.stopped()));
        }
    }

    /// Whether a signal came.
    pub(super) fn came(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The flag of the first signal, for what cannot say how long it looks at it.
    pub(super) fn for_ever(&self) -> &'static AtomicBool {
        Box::leak(Box::new(Arc::clone(&self.stop)))
    }

    /// Reports the stop once, and returns the exit code.
    pub(super) fn stopped(&self) -> u8 {
        let signal = self.which.load(Ordering::SeqCst);
        if !self.said.swap(true, Ordering::SeqCst) {
            let name = match signal {
                SIGTERM => "SIGTERM",
                SIGHUP => "SIGHUP",
                _ => "SIGINT",
            };
            let [kept, all] = self.points.each_ref().map(|count| count.load(Ordering::SeqCst));
            let kept = match all {
                0 => String::new(),
                all => format!("{kept} of {} kept; ", counted(all, "point")),
            };
            self.terminal.note(&format!("stopped by {name}; {kept}{}", self.advice));
        }
        u8::try_from(128 + signal).expect("these signals have small numbers")
    }
}
