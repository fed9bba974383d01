//! Real MPI programs: processes that link the library of this package, and their ranks in the simulator.
//!
//! ```text
//!   program ─ libmpi_abi.so.1 ═ pipe ═ ranks ─ mpi (handles, arguments) ─ program (calls of the library's machines)
//!        memory ◀─────────── job (bytes, when the simulated hardware moves them) ───────────┘
//! ```
//!
//! | begin with | to |
//! |---|---|
//! | `abi/*.txt` | see the functions and constants of MPI 5.0, of which header and library are made, and the family that answers each function |
//! | [`wire`] | see what a process and the simulator say to each other |
//! | [`supervise`] | see who starts the processes, and ends them |
//! | [`ranks`] | see how requests and replies reach a process |
//! | [`mpi`] | see what a function's arguments mean |
//! | [`program`] | see how a process becomes the program of a rank |

pub mod choose;
pub mod compute;
pub mod digest;
pub mod exposed;
mod files;
pub mod host;
pub mod job;
pub mod live;
pub mod loans;
pub mod mpi;
mod orders;
pub mod output;
pub mod place;
pub mod program;
pub mod ranks;
pub mod source;
pub mod stat;
pub mod supervise;
pub mod supervisor;
pub mod vain;
pub mod watch;
pub mod wire;

/// The functions and constants of MPI 5.0.
pub mod functions {
    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
}

/// `mpi.h`, for programs.
pub const HEADER: &str = include_str!(concat!(env!("OUT_DIR"), "/mpi.h"));
/// `libmpisim_clock.so`, for programs whose clocks tell simulated time.
pub const CLOCK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libmpisim_clock.so"));
/// `libmpi_abi.so.1`, for programs.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libmpi_abi.so.1"));
