//! What a call asks of requests that are open.

/// Wait or test that a call makes on a set of requests.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Asked {
    /// To wait until one has ended, and for all that have: `MPI_Waitsome`.
    WaitSome,
    /// For one that has ended: `MPI_Testany`.
    TestAny,
    /// For all that have ended: `MPI_Testsome`.
    TestSome,
}

impl Asked {
    /// The name of the MPI function.
    pub const fn function(self) -> &'static str {
        match self {
            Self::WaitSome => "MPI_Waitsome",
            Self::TestAny => "MPI_Testany",
            Self::TestSome => "MPI_Testsome",
        }
    }
}

/// Action of a call on one request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum OfRequest {
    /// It tests it, and leaves it open: `MPI_Request_get_status`.
    GetStatus,
    /// The library ends it by itself, when its operation is over: `MPI_Request_free`.
    Free,
}

impl OfRequest {
    /// The name of the MPI function.
    pub const fn function(self) -> &'static str {
        match self {
            Self::GetStatus => "MPI_Request_get_status",
            Self::Free => "MPI_Request_free",
        }
    }
}
