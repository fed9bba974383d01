//! The lock of a results directory: one writer at a time, and a dead one does not block.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::StoreError;

/// The process that holds a lock.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Owner {
    /// Its process id; 0 where it is not known.
    pub pid: u32,
    /// Its host.
    pub host: String,
    /// When it started, in clock ticks since the host booted; 0 where the system does not tell.
    pub started: u64,
    /// The boot of its host: process ids begin anew with each.
    pub boot: String,
}

impl Owner {
    /// This process.
    fn this() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            host: read_line("/proc/sys/kernel/hostname"),
            started: start_of(pid).unwrap_or(0),
            boot: read_line("/proc/sys/kernel/random/boot_id"),
        }
    }

    /// Whether the process may still be at work, as far as this one can tell; `free`: whether the system
    /// has given the lock on the file, which every process lets go of when it ends.
    fn may_live(&self, this: &Self, free: bool) -> bool {
        let one_kernel = !this.boot.is_empty() && self.boot == this.boot;
        if self.host != this.host {
            // A container by another name, which counts its processes for itself: the lock on the file is
            // the system's. What another machine does cannot be seen here.
            return !(one_kernel && free);
        }
        // Where the system tells nothing about processes, the lock on the file decides alone.
        one_kernel && this.started != 0 && start_of(self.pid) == Some(self.started)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            return write!(f, "another process");
        }
        write!(f, "process {} on host {} (start tick {})", self.pid, self.host, self.started)
    }
}

fn read_line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// When a process started, in clock ticks since boot; `None` where there is no such process, or only what
/// is left of one that has ended and that was not waited for.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; 20 fields after it comes the start.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// A lock that is held; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// Open as long as the lock is held: the system lets go of it when the process dies.
    file: File,
}

impl Lock {
    /// Takes the lock; the note says whose lock was taken over.
    pub(super) fn acquire(path: &Path) -> Result<(Self, Option<String>), StoreError> {
        let failed = |why| StoreError::io("lock", path, why);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(path).map_err(failed)?;
            let owner = read_owner(&mut file);
            // Any other failure is a file system without locks: the process id decides alone.
            let free = match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(locked(path, owner)),
                taken => taken.is_ok(),
            };
            if !is_still(path, &file) {
                // Its holder removed it after we opened it: there may be a new one.
                continue;
            }
            // Read again: its holder may have written its name after we looked.
            let owner = read_owner(&mut file);
            let this = Owner::this();
            if owner.as_ref().is_some_and(|owner| owner.may_live(&this, free)) {
                return Err(locked(path, owner));
            }
            write_owner(&mut file, &this).map_err(failed)?;
            let note =
                owner.map(|owner| format!("the lock of {owner}, which is gone, was taken over"));
            return Ok((Self { path: path.to_owned(), file }, note));
        }
    }
}

impl Lock {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed before it is let go: who opened it meanwhile sees that it is another file.
        // What stands there after the directory was removed is the lock of another run.
        if is_still(&self.path, &self.file) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

fn locked(path: &Path, owner: Option<Owner>) -> StoreError {
    StoreError::Locked { path: path.to_owned(), owner: owner.unwrap_or_default() }
}

/// The owner written in a lock file; `None` where it is empty or was torn.
fn read_owner(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write_owner(file: &mut File, owner: &Owner) -> std::io::Result<()> {
    let text = serde_json::to_string(owner).expect("strings and whole numbers are JSON");
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Whether `path` still leads to `file`.
#[cfg(unix)]
pub(super) fn is_still(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(there), Ok(here)) = (fs::metadata(path), file.metadata()) else { return false };
    (there.dev(), there.ino()) == (here.dev(), here.ino())
}

/// Whether `path` still leads to `file`: open files cannot be removed here.
#[cfg(not(unix))]
pub(super) fn is_still(path: &Path, _file: &File) -> bool {
    path.exists()
}
