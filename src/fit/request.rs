//! The request of a fit: its machine, its tables, and the use of each row.

use std::path::PathBuf;

use super::candidates::Between;
use experiment::library::Library;

/// The use of a row of a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// Numbers are fitted on it.
    Fitted,
    /// Numbers are fitted on it, and by a second search without it: the error of that search here is the
    /// error to expect between the rows.
    HeldOut,
    /// A row of a table that is only compared.
    Predicted,
}

impl Role {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::HeldOut => "held out",
            Self::Predicted => "predicted",
        }
    }
}

/// A machine, and the tables to fit it to.
#[derive(Clone, Debug)]
pub struct Request {
    /// The machine that it begins with: a model's name.
    pub machine: String,
    /// Tables that numbers are fitted on, each as `[KIND=]FILE`.
    pub measured: Vec<String>,
    /// Tables that are only compared.
    pub predicted: Vec<String>,
    /// Where the processes of a pair are.
    pub between: Between,
    /// `path=value` of each `--set`.
    pub overrides: Vec<String>,
    /// Where models are.
    pub library: Library,
    /// Numbers of the machine that are not searched.
    pub keep: Vec<&'static str>,
    /// Every so many rows of a fitted table one is held out; 0: none.
    pub hold_out: usize,
    /// Topology of the machine: a file of `lstopo --of xml`.
    pub hwloc: Option<PathBuf>,
}
