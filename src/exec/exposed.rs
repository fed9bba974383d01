//! Memory of a process that others of the job reach: what is attached to dynamic windows, and what is shared.
//!
//! A program tells others the addresses of what it has attached; the library knows that memory by number. And memory
//! that processes share is a file without a name, which each of them maps.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::ftruncate;

/// Memory that the processes of a job have exposed; clones share one state.
#[derive(Clone, Debug)]
pub struct Exposed(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Of each process what it has attached, by its address.
    attached: Vec<BTreeMap<u64, Attached>>,
    /// Shared memory, by the library's name of it: a name is given once.
    shared: BTreeMap<u32, OwnedFd>,
}

#[derive(Clone, Copy, Debug)]
struct Attached {
    bytes: u64,
    /// The library's number of it.
    number: u32,
    /// To how many windows it is attached.
    windows: u32,
}

impl Exposed {
    /// Nothing yet, of so many processes.
    pub fn new(processes: u32) -> Self {
        let attached = vec![BTreeMap::new(); processes as usize];
        Self(Arc::new(Mutex::new(State { attached, shared: BTreeMap::new() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process has attached `bytes` bytes at `address`, which the library knows as memory `number`.
    pub fn attach(&self, process: u32, address: u64, bytes: u64, number: u32) {
        let attached = &mut self.state().attached[process as usize];
        let windows = attached.get(&address).map_or(0, |attached| attached.windows) + 1;
        attached.insert(address, Attached { bytes, number, windows });
    }

    /// A process has detached from a window what it has attached at `address`: the number of it, where there was
    /// something.
    pub fn detach(&self, process: u32, address: u64) -> Option<u32> {
        let mut state = self.state();
        let Entry::Occupied(mut attached) = state.attached[process as usize].entry(address) else {
            return None;
        };
        let number = attached.get().number;
        attached.get_mut().windows -= 1;
        if attached.get().windows == 0 {
            attached.remove();
        }
        Some(number)
    }

    /// The number of the attached memory that has `bytes` bytes from `address` on, and the first byte's place in it.
    pub fn find(&self, process: u32, address: u64, bytes: u64) -> Option<(u32, u64)> {
        let state = self.state();
        let before = state.attached[process as usize].range(..=address);
        let (start, attached) = before.last()?;
        let offset = address - start;
        (offset.checked_add(bytes)? <= attached.bytes).then_some((attached.number, offset))
    }

    /// The path by which processes map shared memory of this name, which is made where it is not there.
    ///
    /// # Errors
    ///
    /// When the system gives none.
    pub fn share(&self, name: u32, bytes: u64) -> io::Result<String> {
        let mut state = self.state();
        if let Entry::Vacant(entry) = state.shared.entry(name) {
            let file = memfd_create("mpisim-shared", MFdFlags::MFD_CLOEXEC)?;
            let bytes = i64::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
            ftruncate(&file, bytes)?;
            entry.insert(file);
        }
        Ok(format!("/proc/{}/fd/{}", std::process::id(), state.shared[&name].as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_memory_is_found_by_its_addresses() {
        let exposed = Exposed::new(2);
        exposed.attach(1, 1000, 100, 7);
        exposed.attach(1, 2000, 50, 8);
        assert_eq!(exposed.find(1, 1000, 100), Some((7, 0)));
        assert_eq!(exposed.find(1, 1060, 40), Some((7, 60)));
        assert_eq!(exposed.find(1, 1060, 41), None);
        assert_eq!(exposed.find(1, 999, 1), None);
        assert_eq!(exposed.find(0, 1000, 1), None);
        exposed.attach(1, 2000, 50, 8);
        assert_eq!(exposed.detach(1, 2000), Some(8));
        assert_eq!(exposed.find(1, 2000, 50), Some((8, 0)));
        assert_eq!(exposed.find(1, u64::MAX, 8), None);
        assert_eq!(exposed.detach(1, 1000), Some(7));
        assert_eq!(exposed.find(1, 1000, 1), None);
    }
}
