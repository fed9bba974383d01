//! Why a report cannot be made.

use experiment::run::timeline::MOST_RANKS;

/// The most arrows that a picture holds.
pub const MOST_ARROWS: usize = 120;

/// Why a sequence is not drawn.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotDrawn {
    /// Nothing was sent.
    #[error("no message was sent in the measured time")]
    Nothing,
    /// More than fit.
    #[error("{0} messages do not fit one picture; {MOST_ARROWS} do")]
    TooMany(usize),
    /// More ranks than fit.
    #[error("at most {MOST_RANKS} ranks are drawn, and these are {0}")]
    Ranks(u32),
    /// There are no ranks.
    #[error("messages between ranks are drawn, and a packing sends none")]
    Packing,
    /// The run that is noted ended before the one that is not.
    #[error("what is noted of the run met a limit: {0}")]
    Limit(String),
}

impl NotDrawn {
    /// A remedy.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Nothing => "`--trace FILE` shows what its cores and devices do",
            Self::TooMany(_) => "fewer rounds, smaller windows or a program of a few calls fit",
            Self::Ranks(_) => "choose a smaller run, or `--trace FILE`",
            Self::Packing => {
                "`--trace FILE` shows what its parts do over time, `--explain` where it went"
            }
            Self::Limit(_) => "raise `limits.memory`, or choose a smaller run",
        }
    }
}

/// Why a table, a figure or a page cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReportError {
    /// A metric is NaN or infinite; no output format may carry it.
    #[error("point {point}: {metric} is {value}; a result must be a finite number")]
    NotFinite {
        /// Index of the point.
        point: usize,
        /// Name of the metric.
        metric: String,
        /// The value, as text.
        value: String,
    },
    /// A logarithmic axis would have to show values that have no logarithm.
    #[error(
        "{axis}: {count} of {of} values are not above zero (the first is {first}); \
         a logarithmic axis shows positive values only"
    )]
    NotPositive {
        /// The axis' label.
        axis: String,
        /// How many values are zero or negative.
        count: usize,
        /// Of how many.
        of: usize,
        /// The first of them.
        first: f64,
    },
    /// Some values of an axis are NaN, infinite or too far apart to be drawn on one axis.
    #[error("{axis}: {count} of {of} values cannot be drawn: they are not finite or too large")]
    NotDrawable {
        /// The axis' label.
        axis: String,
        /// How many values.
        count: usize,
        /// Of how many.
        of: usize,
    },
    /// A part of a bar would have to be shorter than nothing.
    #[error("{axis}: a part is {first}; the parts of a bar cannot be below zero")]
    Negative {
        /// The axis' label.
        axis: String,
        /// The first such value.
        first: f64,
    },
    /// No point has a value to draw.
    #[error("no point has a value of `{metric}`: nothing to draw")]
    NothingToDraw {
        /// The metric requested.
        metric: String,
    },
    /// No point has this metric.
    #[error("no point has a metric `{name}`; there are: {known}")]
    UnknownMetric {
        /// The metric requested.
        name: String,
        /// The metrics that exist.
        known: String,
    },
    /// The path is not swept.
    #[error("`{path}` is not an axis of the sweep; the axes are: {known}")]
    UnknownAxis {
        /// The path requested.
        path: String,
        /// The paths that are swept.
        known: String,
    },
    /// An axis mixes units.
    #[error("values of `{path}` have different units ({first} and {second})")]
    MixedUnits {
        /// The path or metric.
        path: String,
        /// Unit of the first value.
        first: String,
        /// The unit that differs.
        second: String,
    },
    /// A table of the OSU benchmarks needs a value that the result does not have.
    #[error("an OSU table of {test} needs `{needed}`, which point {point} does not have")]
    OsuNeeds {
        /// The benchmark.
        test: &'static str,
        /// The metric or setting.
        needed: String,
        /// Index of the point.
        point: usize,
    },
    /// The messages of a point do not make a picture.
    #[error(transparent)]
    Messages(NotDrawn),
    /// A file is not the table of points that this program writes.
    #[error("line {line} is not one of `points.csv`: {why}")]
    NotPoints {
        /// Which line, from 1.
        line: usize,
        /// The mistake.
        why: String,
    },
    /// A library that writes a format failed: a defect of this program.
    #[error("writing {what} failed: {why}")]
    Writer {
        /// The format.
        what: &'static str,
        /// The library's message.
        why: String,
    },
}

impl ReportError {
    /// The exit code that belongs to the error.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::NotFinite { .. } | Self::NothingToDraw { .. } | Self::Messages(_) => 1,
            Self::NotPositive { .. }
            | Self::NotDrawable { .. }
            | Self::Negative { .. }
            | Self::UnknownMetric { .. }
            | Self::UnknownAxis { .. }
            | Self::MixedUnits { .. }
            | Self::NotPoints { .. }
            | Self::OsuNeeds { .. } => 3,
            Self::Writer { .. } => 70,
        }
    }

    /// A remedy, if there is one.
    pub const fn help(&self) -> Option<&'static str> {
        match self {
            Self::Messages(why) => Some(why.help()),
            Self::NotFinite { .. }
            | Self::NotPositive { .. }
            | Self::NotDrawable { .. }
            | Self::Negative { .. }
            | Self::NothingToDraw { .. }
            | Self::UnknownMetric { .. }
            | Self::UnknownAxis { .. }
            | Self::MixedUnits { .. }
            | Self::OsuNeeds { .. }
            | Self::NotPoints { .. }
            | Self::Writer { .. } => None,
        }
    }

    pub(super) fn not_points(line: usize, why: impl Into<String>) -> Self {
        Self::NotPoints { line, why: why.into() }
    }

    /// `what` could not be written, and why.
    pub fn writer(what: &'static str, why: impl std::fmt::Display) -> Self {
        Self::Writer { what, why: why.to_string() }
    }
}
