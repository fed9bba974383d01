//! Receives that were too short: errors of the simulated program, reported as its result.
//!
//! MPI-3.1, Sec. 3.2.4: a message longer than the receive buffer is an error of class
//! `MPI_ERR_TRUNCATE`. The library fills what there is room for and says so; a program that does
//! not look is wrong.

use crate::job::AnyProgram;
use runtime::monitors::Violation;

/// Receives of a whole run that got more than they had room for.
pub fn truncations<'a>(programs: impl IntoIterator<Item = &'a AnyProgram>) -> Vec<Violation> {
    let mut found = Vec::new();
    for program in programs {
        // Programs of the other workloads receive messages of sizes that they know.
        if let AnyProgram::Goal(player) = program {
            found.extend(player.truncations());
        } else if let AnyProgram::Program(stream) = program {
            found.extend(stream.truncations());
        }
    }
    found
}
