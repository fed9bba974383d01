//! Open files of the simulator: each rank takes some, and the system has a limit.

use std::io;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// Raises the limit of open files of this process as far as the system lets it; the limit before. Processes that it starts
/// are to have that one: some close all files that they may have.
pub(super) fn raise() -> rlim_t {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return rlim_t::MAX };
    if soft < hard {
        // Where it stays, what cannot be opened is named.
        let _ = limit(hard);
    }
    soft
}

/// This process, and those that it starts from now on, may have so many files open.
pub(super) fn limit(soft: rlim_t) -> nix::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, soft.min(hard), hard)
}

/// Whether an error is that no more files can be opened.
pub(super) fn is_lack(error: &io::Error) -> bool {
    [Errno::EMFILE, Errno::ENFILE].iter().any(|lack| error.raw_os_error() == Some(*lack as i32))
}

/// Message for a lack of open files: the limit, and the remedies.
pub(super) fn lack() -> String {
    let most = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
    format!(
        "the system lets a process have {most} files open (`ulimit -n`), and each rank takes four; raise that limit, or take \
         fewer ranks"
    )
}
