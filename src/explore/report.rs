//! The results of an exploration.

use super::Size;
use runtime::monitors::Sometimes;

/// Why an exploration did not come to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stopped {
    /// There are more states than it may visit.
    States,
    /// There is more to keep than it may keep.
    Memory,
    /// It got a request to stop.
    Asked,
}

/// The result of one exploration.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Different states; 0 where runs were made one by one.
    pub states: usize,
    /// Choices followed.
    pub transitions: usize,
    /// Steps to the farthest state, or of the longest run.
    pub depth: usize,
    /// Ends at which every program had ended: states, or runs.
    pub finals: usize,
    /// Ends at which survivors wait for the victim of a crash, or a queue pair has given up, and a
    /// report says so.
    pub diagnosed: usize,
    /// Runs made one by one.
    pub schedules: usize,
    /// Runs that were cut off and may still end.
    pub unfinished: usize,
    /// Bytes of tables and open states at most.
    pub memory: usize,
    /// Why not every order was tried, where that was requested.
    pub stopped: Option<Stopped>,
    /// Failures, one of each class.
    pub failures: Vec<Failed>,
    /// How often interesting branches were reached.
    pub sometimes: Sometimes,
    /// Reports of crashes, one for each victim, and of queue pairs that gave up, at the nearest end.
    pub diagnoses: Vec<String>,
}

/// One step of a story.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoryStep {
    /// The event.
    pub words: String,
    /// Line of the scenario, or number of the call.
    pub position: Option<u32>,
}

/// One failure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failed {
    /// The kind of failure: `deadlock`, `livelock`, `law M3`, ...
    pub class: String,
    /// The failure at the end, with the waits of all ranks.
    pub explanation: String,
    /// The way to it.
    pub steps: Vec<StoryStep>,
    /// How many steps lead to where the failure can no longer be avoided, where that is known.
    pub point_of_no_return: Option<usize>,
    /// The steps that must be taken as they are; all ranks take the others in turn. `None` where
    /// that order could not be found.
    pub forced: Option<Vec<String>>,
    /// The place of each step among the choices that were open.
    pub choices: Vec<usize>,
    /// Fingerprint of the state at the end.
    pub end: u128,
    /// The size in which it shows, where the subject has one.
    pub size: Option<Size>,
}

/// The run of a replayed token.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Replayed {
    /// The kind of failure at its end; `None` where nothing is wrong.
    pub class: Option<String>,
    /// The failure at the end.
    pub explanation: String,
    /// The way.
    pub steps: Vec<StoryStep>,
    /// Fingerprint of the state at the end.
    pub end: u128,
}
