//! The observers of a run: monitors, the replay record, marks, and the trail of causes.

pub(super) mod trail;

use crate::monitors::buffers::Buffers;
use crate::monitors::{Monitors, Violation, system};
use crate::outcome::Mark;
use crate::untimed::Choice;
use trail::Trail;

/// All that watch a run; nothing of the run depends on them.
#[derive(Debug)]
pub(super) struct Observers {
    pub(super) monitors: Monitors,
    pub(super) buffers: Buffers,
    pub(super) violations: Vec<Violation>,
    pub(super) causality: system::Causality,
    pub(super) marks: Vec<Mark>,
    /// `None` where choices are not recorded.
    pub(super) choices: Option<Vec<Choice>>,
    /// What is noted of causes, where that is asked for.
    pub(super) trail: Option<Box<Trail>>,
}

impl Observers {
    pub(super) fn new(processes: usize, record: bool) -> Self {
        Self {
            monitors: Monitors::new(processes),
            buffers: Buffers::new(processes),
            violations: Vec::new(),
            causality: system::Causality::default(),
            marks: Vec::new(),
            choices: record.then(Vec::new),
            trail: None,
        }
    }
}
