//! One-sided windows: clients with many endpoints, and a server process.
//!
//! ```text
//!              thread 0   thread 1   thread 2        N = 3 collective creations, one per column
//!   process 0    EP 0       EP 1       null
//!   process 1    EP 2       EP 3       EP 4
//!   server        A          B          C            three windows on one memory
//! ```
//!
//! MPI makes a window per process, so a process with several endpoints takes part in several
//! windows, and the server has as many on the same memory as any process has threads. An operation
//! of thread i goes through window i.
//!
//! Source: `xios-ep` Sec. 8.
//! Left out: what the operations do, which is MPI's business; `library::one_sided` makes the calls.

use std::fmt;

use super::rank_map::RankMap;
use mpi::envelope::Rank;

/// The windows of a set of client endpoints and one server.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Windows {
    /// Where the client endpoints live.
    clients: RankMap,
}

/// One of the collective creations.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Round {
    /// Its number, which is the thread number of its clients and the index of the server's window.
    pub index: u32,
    /// The endpoint of each client process whose memory it shows; null where the process has no
    /// such thread.
    pub buffers: Vec<Option<Rank>>,
}

/// Party that starts or serves a one-sided operation.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Party {
    /// A client endpoint.
    Client(Rank),
    /// The server process.
    Server,
}

/// A one-sided operation.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Operation {
    /// Write.
    Put,
    /// Read.
    Get,
    /// Combine.
    Accumulate,
    /// Read and combine.
    GetAccumulate,
    /// Read and combine one element.
    FetchAndOp,
    /// Replace one element that has a certain value.
    CompareAndSwap,
}

/// Where an operation goes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Access {
    /// The operation, unchanged: MPI carries it out.
    pub operation: Operation,
    /// By which window.
    pub route: Route,
}

/// By which window a client and the server reach each other.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Route {
    /// Index of the window: the thread number of the client.
    pub window: u32,
    /// The process of the client.
    pub client: u32,
}

/// Why an operation has no window.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum WindowError {
    /// Both are clients.
    #[error("endpoints {} and {} are both clients; windows lie between a client and the server", origin.0, target.0)]
    Clients {
        /// Endpoint that starts it.
        origin: Rank,
        /// Endpoint whose memory it is for.
        target: Rank,
    },
    /// Both are the server.
    #[error("the server accesses itself; windows lie between a client and the server")]
    Server,
    /// There is no such client.
    #[error("client {} is out of range: there are {clients}", client.0)]
    ClientOutOfRange {
        /// Its rank.
        client: Rank,
        /// How many there are.
        clients: u32,
    },
}

impl Operation {
    /// All that are offered.
    pub const ALL: [Self; 6] = [
        Self::Put,
        Self::Get,
        Self::Accumulate,
        Self::GetAccumulate,
        Self::FetchAndOp,
        Self::CompareAndSwap,
    ];
}

impl Windows {
    /// The windows of client processes with so many threads each.
    pub fn new(threads: &[u32]) -> Self {
        Self { clients: RankMap::from_counts(threads) }
    }

    /// N: the most threads of any client process, and how many windows the server has.
    pub fn server_windows(&self) -> u32 {
        let sizes = (0..self.clients.process_count()).map(|p| self.clients.local_size(p));
        sizes.max().unwrap_or(0)
    }

    /// How many windows show memory of a client.
    pub fn client_windows(&self) -> u32 {
        self.clients.size()
    }

    /// The collective creations, in order.
    pub fn rounds(&self) -> Vec<Round> {
        let buffer =
            |index: u32, process| self.clients.locals(process).get(index as usize).copied();
        let processes = 0..self.clients.process_count();
        let buffers = |index| processes.clone().map(|process| buffer(index, process)).collect();
        (0..self.server_windows()).map(|index| Round { index, buffers: buffers(index) }).collect()
    }

    /// The window through which an operation goes.
    ///
    /// # Errors
    ///
    /// Not exactly one of both is the server, or there is no such client.
    pub fn access(
        &self,
        operation: Operation,
        origin: Party,
        target: Party,
    ) -> Result<Access, WindowError> {
        self.route(origin, target).map(|route| Access { operation, route })
    }

    /// The window by which one of both reaches the other.
    ///
    /// # Errors
    ///
    /// As [`Windows::access`].
    pub fn route(&self, origin: Party, target: Party) -> Result<Route, WindowError> {
        let client = match (origin, target) {
            (Party::Client(client), Party::Server) | (Party::Server, Party::Client(client)) => {
                client
            }
            (Party::Client(origin), Party::Client(target)) => {
                return Err(WindowError::Clients { origin, target });
            }
            (Party::Server, Party::Server) => return Err(WindowError::Server),
        };
        let outside = WindowError::ClientOutOfRange { client, clients: self.clients.size() };
        let place = self.clients.place(client).ok_or(outside)?;
        Ok(Route { window: place.local, client: place.process })
    }
}

/// The name of a server window: A, B, … Z, then W26 and so on.
pub fn letter(window: u32) -> String {
    match u8::try_from(window) {
        Ok(small @ 0..26) => char::from(b'A' + small).to_string(),
        _ => format!("W{window}"),
    }
}

impl fmt::Display for Round {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buffer = |buffer: &Option<Rank>| {
            buffer.map_or_else(|| "null".to_owned(), |rank| format!("EP {}", rank.0))
        };
        let buffers = super::list(self.buffers.iter().map(buffer));
        write!(out, "i = {}: clients {buffers}, server {}", self.index, letter(self.index))
    }
}

impl fmt::Display for Windows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (server, clients) = (self.server_windows(), self.client_windows());
        write!(out, "N = {server}: {clients} client windows, {server} server windows")?;
        self.rounds().iter().try_for_each(|round| write!(out, "\n  {round}"))
    }
}

#[cfg(test)]
mod tests;
