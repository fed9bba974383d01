//! The processes of a job, and what the simulator keeps of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::ranks::{Image, Rank, RankError, ending};
use protocols::arguments::Buffer;
use protocols::contract::Process;
use protocols::process_memory::ProcessMemory;

/// All processes of a job; they end with its last owner.
#[derive(Debug)]
pub struct Job {
    size: u32,
    ranks: Vec<Mutex<Place>>,
    failure: Mutex<Option<Failure>>,
}

/// Why a job of real programs is over before its ranks have ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// Whose fault it is.
    pub rank: u32,
    /// What has happened, in a sentence.
    pub what: String,
    /// The exit status that the program asked for (`MPI_Abort`), if it did.
    pub status: Option<i32>,
}

/// One rank's process and its buffers.
#[derive(Debug)]
pub struct Place {
    /// The process.
    pub process: Rank,
    /// The number of the buffer that begins at an address, and the address of each number. An address keeps its
    /// number: the HCA's registration cache knows buffers by it.
    numbers: BTreeMap<u64, u32>,
    addresses: Vec<u64>,
}

impl Place {
    /// The buffer of `bytes` bytes at an address of the process.
    ///
    /// # Panics
    ///
    /// With more than 2^31 different addresses.
    pub fn buffer(&mut self, address: u64, bytes: u64) -> Buffer {
        let next =
            Buffer::OWN + u32::try_from(self.addresses.len()).expect("fewer than 2^31 buffers");
        let id = *self.numbers.entry(address).or_insert(next);
        if id == next {
            self.addresses.push(address);
        }
        Buffer { id, bytes }
    }

    fn address(&self, buffer: u32) -> u64 {
        self.addresses[(buffer - Buffer::OWN) as usize]
    }
}

impl Job {
    /// Starts one process for each rank. Where one cannot be started the job has failed.
    pub fn start(size: u32, image: &Image) -> Arc<Self> {
        let start = |rank| {
            let process = Rank::start(rank, image)?;
            Ok(Mutex::new(Place { process, numbers: BTreeMap::new(), addresses: Vec::new() }))
        };
        let (ranks, failure) = match (0..size).map(start).collect::<Result<Vec<_>, RankError>>() {
            Ok(ranks) => (ranks, None),
            Err(error) => {
                (Vec::new(), Some(Failure { rank: 0, what: error.to_string(), status: None }))
            }
        };
        Arc::new(Self { size, ranks, failure: Mutex::new(failure) })
    }

    /// How many ranks there are.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// One rank's process.
    pub fn place(&self, rank: u32) -> MutexGuard<'_, Place> {
        // A panic of another thread ends the run anyhow.
        self.ranks[rank as usize].lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The first failure, if something has failed.
    pub fn failure(&self) -> Option<Failure> {
        self.noted().clone()
    }

    fn noted(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Notes a failure, unless an earlier one explains it.
    pub fn fail(&self, failure: Failure) {
        self.noted().get_or_insert(failure);
    }

    /// Notes that a rank's process cannot be asked or answered any more.
    pub fn lost(&self, rank: u32, last: &str, error: &RankError) {
        let status = self.place(rank).process.wait_a_moment();
        let how = status.map_or_else(
            || error.to_string(),
            |status| format!("its process has ended by {}", ending(status)),
        );
        self.fail(Failure {
            rank,
            what: format!("rank {rank}: {how}; its last call was {last}"),
            status: None,
        });
    }

    /// Notes the end of a process that has closed the channel: a failure before `MPI_Finalize`, and with an exit
    /// status other than 0.
    pub fn ended(&self, rank: u32, last: &str, is_final: bool) {
        let status = self.place(rank).process.wait_a_moment();
        if is_final && status.is_none_or(|status| status.success()) {
            return;
        }
        let how = status.map_or_else(|| "no end: it has closed the channel".to_owned(), ending);
        let last = if is_final {
            String::new()
        } else {
            format!(" before MPI_Finalize; its last call was {last}")
        };
        let what = format!("rank {rank}: its process has ended by {how}{last}");
        self.fail(Failure { rank, what, status: status.and_then(|status| status.code()) });
    }
}

/// The memory of a job's processes.
#[derive(Debug)]
pub struct JobMemory(pub Arc<Job>);

impl JobMemory {
    fn noted(&self, process: Process, result: Result<(), RankError>) {
        if let Err(error) = result {
            self.0.fail(Failure { rank: process.0, what: error.to_string(), status: None });
        }
    }
}

impl ProcessMemory for JobMemory {
    fn read(&self, process: Process, buffer: u32, offset: u64, into: &mut [u8]) {
        let mut place = self.0.place(process.0);
        let address = place.address(buffer).wrapping_add(offset);
        let result = place.process.read(address, into);
        self.noted(process, result);
    }

    fn write(&self, process: Process, buffer: u32, offset: u64, bytes: &[u8]) {
        let mut place = self.0.place(process.0);
        let address = place.address(buffer).wrapping_add(offset);
        let result = place.process.write(address, bytes);
        self.noted(process, result);
    }
}
