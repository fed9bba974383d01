//! Why results cannot be kept.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::lock::Owner;

const PERMISSION: &str = "name another place, or change the permission";
const SPACE: &str = "free space, then run again: `mpisim run` with `--resume` repeats no point";
const KIND: &str = "name a file where a file is meant, and a directory where one is meant";

/// Remedies for errors of the operating system.
const REMEDIES: [(ErrorKind, &str); 8] = [
    (
        ErrorKind::InvalidFilename,
        "choose another directory with `--out`: file systems take names of up to 255 bytes",
    ),
    (ErrorKind::NotFound, "name a place in a directory that exists"),
    (ErrorKind::NotADirectory, KIND),
    (ErrorKind::IsADirectory, KIND),
    (ErrorKind::PermissionDenied, PERMISSION),
    (ErrorKind::ReadOnlyFilesystem, PERMISSION),
    (ErrorKind::StorageFull, SPACE),
    (ErrorKind::QuotaExceeded, SPACE),
];

/// Why a results directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused an operation.
    #[error("cannot {action} `{}`: {why}", path.display())]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// The error of the operating system.
        why: std::io::Error,
    },
    /// The directory has content, but no manifest of ours.
    #[error(
        "`{}` is not empty and not a results directory (it has `{entry}`); nothing was changed",
        directory.display()
    )]
    NotOurs {
        /// The directory.
        directory: PathBuf,
        /// One of its entries.
        entry: String,
    },
    /// The directory belongs to another scenario.
    #[error(
        "`{}` has results of scenario `{found}`, not of `{wanted}`; nothing was changed",
        directory.display()
    )]
    OtherScenario {
        /// The directory.
        directory: PathBuf,
        /// The scenario whose results are there.
        found: String,
        /// The scenario that was to be run.
        wanted: String,
    },
    /// A file that would be written exists and is not ours.
    #[error("`{}` exists and no manifest of ours lists it; it is not overwritten", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The name of a result file would leave the directory.
    #[error("`{0}` is not the name of a result file")]
    BadName(String),
    /// Another run is at work in the directory.
    #[error("`{}` is in use by {owner}; only one run may write there", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The run that holds it.
        owner: Owner,
    },
    /// The unfinished or finished run is of another version of the program.
    #[error(
        "`{}` was written by mpisim {found}, this is mpisim {wanted}; their points do not mix",
        directory.display()
    )]
    OtherVersion {
        /// The directory.
        directory: PathBuf,
        /// The version that wrote it.
        found: String,
        /// The version that runs.
        wanted: String,
    },
    /// The scenario, its models or its overrides changed since the run began.
    #[error(
        "the scenario changed since `{}` was begun: {difference}; its points do not mix",
        directory.display()
    )]
    Changed {
        /// The directory.
        directory: PathBuf,
        /// The first difference: path, value then, value now.
        difference: String,
    },
    /// A file of ours cannot be understood.
    #[error("`{}` is damaged at byte {offset}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: usize,
        /// The mistake there, in words.
        why: String,
    },
    /// The directory was removed or moved while the run wrote into it.
    #[error("`{}` is not there any more: its directory was removed or moved during the run", path.display())]
    Gone {
        /// The journal, or the plan of a shared sweep.
        path: PathBuf,
    },
    /// Some of the final files could not be written; all points and all others are kept.
    #[error("not written: {}", list(missing))]
    Missing {
        /// Name and reason of each.
        missing: Vec<(String, String)>,
    },
}

fn list(missing: &[(String, String)]) -> String {
    let entries = missing.iter().map(|(name, why)| format!("{name} ({why})"));
    entries.collect::<Vec<_>>().join(", ")
}

impl StoreError {
    pub(super) fn io(action: &'static str, path: &Path, why: std::io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), why }
    }

    /// The exit code that belongs to the error: 4 where the output cannot be written, 3 where a
    /// file that is read does not fit.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Io { .. }
            | Self::NotOurs { .. }
            | Self::OtherScenario { .. }
            | Self::Foreign { .. }
            | Self::BadName(_)
            | Self::Locked { .. }
            | Self::Gone { .. }
            | Self::Missing { .. } => 4,
            Self::OtherVersion { .. } | Self::Changed { .. } | Self::Damaged { .. } => 3,
        }
    }

    /// The remedy.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Io { why, .. } => {
                let remedy = REMEDIES.iter().find(|(kind, _)| *kind == why.kind());
                remedy.map_or("remove the cause, then run the command again", |(_, help)| help)
            }
            Self::Gone { .. } => {
                "the points that it held went with it: run again, or put the directory back and go \
                 on with `--resume`"
            }
            Self::Missing { .. } => "free space, then run again with `--resume`: no point is lost",
            Self::NotOurs { .. } | Self::OtherScenario { .. } | Self::BadName(_) => {
                "choose another directory with `--out`"
            }
            Self::Foreign { .. } => "move the file away, or choose another directory with `--out`",
            Self::Locked { .. } => {
                "wait for that run, or choose another directory with `--out`; where it is surely gone, \
                 remove the lock"
            }
            Self::OtherVersion { .. } | Self::Changed { .. } => {
                "run without `--resume`, or into another directory with `--out`"
            }
            Self::Damaged { .. } => "run without `--resume` after removing the damaged file",
        }
    }
}
