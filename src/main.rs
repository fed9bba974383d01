//! The command line program.

use std::fs;
use std::process::ExitCode;
use std::thread;

/// Bytes of stack with which every command comes to its end.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    // The first thread has what the user's limit leaves, which may be meant for the ranks.
    if first_stack().is_some_and(|bytes| bytes < STACK)
        && let Ok(command) = thread::Builder::new().stack_size(STACK).spawn(mpisim::cli::main)
    {
        // The command reports its own panics.
        return command.join().unwrap_or(ExitCode::FAILURE);
    }
    mpisim::cli::main()
}

/// Bytes of stack that the system allows the first thread (`ulimit -s`), where it limits them.
fn first_stack() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max stack size"))?;
    line.split_whitespace().next()?.parse().ok()
}
