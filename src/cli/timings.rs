//! What processor time the scenarios of a command have taken.

use std::fmt::Write as _;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};

/// Scenarios that ran one after the other, with their processor time.
pub(super) struct Timings {
    before: Duration,
    took: Vec<(String, Duration)>,
}

impl Timings {
    pub(super) fn begin() -> Self {
        Self { before: spent(), took: Vec::new() }
    }

    /// Charges the time since the last call to `scenario`.
    pub(super) fn took(&mut self, scenario: &str) {
        let now = spent();
        self.took.push((scenario.to_owned(), now.saturating_sub(self.before)));
        self.before = now;
    }

    /// A line for each scenario, the dearest first, and the sum.
    pub(super) fn table(&self) -> String {
        let mut rows: Vec<&(String, Duration)> = self.took.iter().collect();
        rows.sort_by(|(_, one), (_, other)| other.cmp(one));
        let mut text = "processor time in s\n".to_owned();
        for (scenario, took) in rows {
            let _ = writeln!(text, "{:9.2}  {scenario}", took.as_secs_f64());
        }
        let all: Duration = self.took.iter().map(|(_, took)| *took).sum();
        let _ = writeln!(text, "{:9.2}  all", all.as_secs_f64());
        text
    }
}

/// Processor time of this process so far, and of its children that have ended (ranks of real programs).
fn spent() -> Duration {
    let of = |who| {
        getrusage(who).map_or(Duration::ZERO, |usage| {
            let micros = |time: TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
            Duration::from_micros(micros(usage.user_time()) + micros(usage.system_time()))
        })
    };
    of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN)
}
