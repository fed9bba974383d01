//! A machine profile: plain validated numbers, set by path and read by field.
//!
//! `ProfileBuilder` takes values by path (`hca.mtu`), in any order, the last one winning;
//! [`ProfileBuilder::build`] fills in what the rules of [`PARAMETERS`] allow and reports everything
//! that is missing or wrong at once. Where a number comes from is the file reader's knowledge.

pub use super::parameters::{
    Cache, Cma, Coherence, Cpu, Gpu, Hca, Knem, Link, Mem, Mpi, Os, PARAMETERS, Pcie, Profile,
    Xpmem,
};
pub use super::value::{Kind, Ratio, Value, ValueError};

use units::{Bandwidth, Bytes, CostPerByte, Frequency, Rate, TimeDelta};

/// Rule for a parameter that a profile does not name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fallback {
    /// Nothing: the profile is incomplete.
    Required,
    /// The feature does not exist, or does not limit; the parameter's doc says which.
    Absent,
    /// This value, as a text of the parameter's kind.
    Default(&'static str),
    /// The value of another parameter.
    SameAs(&'static str),
    /// Nothing where that other parameter has a value; where it has none, the part does not exist.
    RequiredWith(&'static str),
}

/// One parameter of a profile.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parameter {
    /// Section and name: `hca.mtu`.
    pub path: &'static str,
    /// Kind of its value.
    pub kind: Kind,
    /// Rule where a profile does not name it.
    pub fallback: Fallback,
    /// Its meaning, in a sentence.
    pub doc: &'static str,
    /// Where real machines lie, as texts of the parameter's kind.
    pub band: (&'static str, &'static str),
}

/// Parameters that no mechanism uses yet: changing one changes nothing.
const DESCRIBED_ONLY: &[&str] = &["cpu.clock", "cpu.sw_scale", "mem.capacity", "gpu.mem_bw_peak"];

impl Parameter {
    /// The parameter of this path.
    pub fn find(path: &str) -> Option<&'static Self> {
        PARAMETERS.iter().find(|parameter| parameter.path == path)
    }

    /// Whether a mechanism uses the number; the others only describe the machine so far.
    pub fn is_simulated(&self) -> bool {
        !DESCRIBED_ONLY.contains(&self.path)
    }

    /// The lowest and the highest value of real machines.
    ///
    /// # Panics
    ///
    /// Only where the table's band is not of its own kind, which a test excludes.
    pub fn plausible(&self) -> (Value, Value) {
        let value = |text| self.kind.parse(text).expect("the table's bands are of their kind");
        (value(self.band.0), value(self.band.1))
    }

    /// Whether real machines have such a value; outside, a reader may have mistaken the unit.
    pub fn is_plausible(&self, value: Value) -> bool {
        let (low, high) = self.plausible();
        let neglected = value.steps() == 0 && self.allows_zero();
        neglected || (low.steps()..=high.steps()).contains(&value.steps())
    }

    /// Whether a zero means something: a time or cost that is neglected, a feature left out.
    pub fn allows_zero(&self) -> bool {
        match self.kind {
            Kind::Time | Kind::CostPerByte | Kind::Flag => true,
            Kind::Bytes
            | Kind::Bandwidth
            | Kind::Rate
            | Kind::Frequency
            | Kind::Count
            | Kind::Ratio => self.plausible().0.steps() == 0,
        }
    }
}

/// A struct field that is filled from a number of smallest steps.
pub(super) trait Field {
    /// The field of `steps`; `None` only for optional parameters.
    fn from_steps(steps: Option<u64>) -> Self;
    /// The steps of the field.
    fn to_steps(&self) -> Option<u64>;
}

macro_rules! fields {
    ($($type:ty: $make:expr, $steps:expr;)+) => {$(
        impl Field for $type {
            fn from_steps(steps: Option<u64>) -> Self {
                $make(steps.expect("only optional parameters resolve to nothing"))
            }
            fn to_steps(&self) -> Option<u64> {
                Some($steps(*self))
            }
        }
    )+};
}

fields! {
    TimeDelta: TimeDelta::from_ps, TimeDelta::as_ps;
    Bytes: Bytes::new, Bytes::as_u64;
    Bandwidth: Bandwidth::from_bit_per_s, Bandwidth::as_bit_per_s;
    Rate: Rate::from_per_s, Rate::as_per_s;
    CostPerByte: CostPerByte::from_as_per_byte, CostPerByte::as_as_per_byte;
    Frequency: Frequency::from_hz, Frequency::as_hz;
    Ratio: Ratio::from_ppm, Ratio::as_ppm;
    u32: |steps| Self::try_from(steps).expect("a count has 32 bits"), u64::from;
    bool: |steps| steps != 0, u64::from;
}

impl<T: Field> Field for Option<T> {
    /// A zero that an optional parameter allows says that the feature is not there.
    fn from_steps(steps: Option<u64>) -> Self {
        steps.filter(|&steps| steps != 0).map(|steps| T::from_steps(Some(steps)))
    }

    fn to_steps(&self) -> Option<u64> {
        self.as_ref().and_then(T::to_steps)
    }
}

/// Why a profile, or one of its values, is refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProfileError {
    /// No parameter has this path.
    #[error("`{path}` is not a parameter of a machine profile")]
    UnknownPath {
        /// The path as given.
        path: String,
    },
    /// The value is of another kind than the parameter.
    #[error("`{path}` is `{found}`; {} is needed", expected.in_words())]
    WrongKind {
        /// The parameter.
        path: &'static str,
        /// Kind of the parameter.
        expected: Kind,
        /// The value given.
        found: Value,
    },
    /// A parameter without which the machine is not described.
    #[error("`{path}` is missing")]
    Missing {
        /// The parameter.
        path: &'static str,
    },
    /// A zero where nothing works with one.
    #[error("`{path}` is 0; a value like `{example}` is needed")]
    Zero {
        /// The parameter.
        path: &'static str,
        /// The lowest plausible value.
        example: &'static str,
    },
    /// Two values that cannot both hold.
    #[error("`{first}` is `{first_value}` and `{second}` is `{second_value}`: {rule}")]
    Inconsistent {
        /// One parameter.
        first: &'static str,
        /// Its value.
        first_value: Value,
        /// The other parameter.
        second: &'static str,
        /// Its value.
        second_value: Value,
        /// Relation that should hold between them.
        rule: &'static str,
    },
}

/// Where the value of a parameter comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// It was set.
    Given,
    /// The table's default.
    Default,
    /// The value of another parameter.
    SameAs(&'static str),
    /// There is none.
    Absent,
}

/// A profile in the making: values by path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProfileBuilder {
    /// One entry for each parameter, in the order of [`PARAMETERS`].
    given: Vec<Option<Value>>,
}

impl Default for ProfileBuilder {
    fn default() -> Self {
        Self { given: vec![None; PARAMETERS.len()] }
    }
}

impl ProfileBuilder {
    /// A builder that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives `path` the `value`, in place of an earlier one.
    ///
    /// # Errors
    ///
    /// [`ProfileError::UnknownPath`], [`ProfileError::WrongKind`] or [`ProfileError::Zero`]; the
    /// builder is then unchanged.
    pub fn set(&mut self, path: &str, value: Value) -> Result<(), ProfileError> {
        let index =
            position(path).ok_or_else(|| ProfileError::UnknownPath { path: path.to_owned() })?;
        let parameter = &PARAMETERS[index];
        if value.kind() != parameter.kind {
            let (path, expected) = (parameter.path, parameter.kind);
            return Err(ProfileError::WrongKind { path, expected, found: value });
        }
        if value.steps() == 0 && !parameter.allows_zero() {
            return Err(ProfileError::Zero { path: parameter.path, example: parameter.band.0 });
        }
        self.given[index] = Some(value);
        Ok(())
    }

    /// The value that `path` has by now, and where it comes from; `None` while it is missing.
    ///
    /// # Panics
    ///
    /// Only where the table's default is not of its own kind, which a test excludes.
    pub fn resolve(&self, path: &str) -> Option<(Option<Value>, Origin)> {
        let index = position(path)?;
        let parameter = &PARAMETERS[index];
        if let Some(value) = self.given[index] {
            return Some((Some(value), Origin::Given));
        }
        match parameter.fallback {
            Fallback::Required => None,
            Fallback::Absent => Some((None, Origin::Absent)),
            Fallback::RequiredWith(other) => {
                let part = self.resolve(other).is_some_and(|(value, _)| value.is_some());
                (!part).then_some((None, Origin::Absent))
            }
            Fallback::Default(text) => {
                let value = parameter.kind.parse(text).expect("the table's defaults parse");
                Some((Some(value), Origin::Default))
            }
            Fallback::SameAs(other) => {
                let (value, _) = self.resolve(other)?;
                Some((value, Origin::SameAs(other)))
            }
        }
    }

    /// The finished profile.
    ///
    /// # Errors
    ///
    /// Everything that is missing, or else every pair of values that cannot both hold.
    pub fn build(&self) -> Result<Profile, Vec<ProfileError>> {
        let mut errors = Vec::new();
        let mut steps = Vec::with_capacity(PARAMETERS.len());
        for parameter in PARAMETERS {
            match self.resolve(parameter.path) {
                Some((value, _)) => steps.push(value.map(Value::steps)),
                // What would be copied from a missing parameter is not missing itself.
                None if matches!(parameter.fallback, Fallback::SameAs(_)) => steps.push(None),
                None => errors.push(ProfileError::Missing { path: parameter.path }),
            }
        }
        if errors.is_empty() {
            errors.extend(RULES.iter().filter_map(|rule| rule.broken(self)));
        }
        if errors.is_empty() { Ok(Profile::from_steps(steps.into_iter())) } else { Err(errors) }
    }
}

fn position(path: &str) -> Option<usize> {
    PARAMETERS.iter().position(|parameter| parameter.path == path)
}

/// A relation that must hold between two values.
struct Rule {
    first: &'static str,
    second: &'static str,
    holds: fn(u64, u64) -> bool,
    says: &'static str,
}

impl Rule {
    fn broken(&self, builder: &ProfileBuilder) -> Option<ProfileError> {
        let value = |path| builder.resolve(path).and_then(|(value, _)| value);
        let (first, second) = (value(self.first)?, value(self.second)?);
        (!(self.holds)(first.steps(), second.steps())).then_some(ProfileError::Inconsistent {
            first: self.first,
            first_value: first,
            second: self.second,
            second_value: second,
            rule: self.says,
        })
    }
}

/// Relations that the kinds and bands of the table cannot express; none that two estimates, each inside its range,
/// could break.
static RULES: [Rule; 6] = [
    Rule {
        first: "cpu.cores_per_tile",
        second: "cpu.cores_per_socket",
        holds: |tile, socket| tile <= socket,
        says: "a tile is part of a socket",
    },
    Rule {
        first: "cache.l1d_size",
        second: "cache.l2_size",
        holds: |l1, l2| l1 <= l2,
        says: "the second level is at least as large as the first",
    },
    Rule {
        first: "cache.l2_size",
        second: "cache.l3_size",
        holds: |l2, l3| l3 == 0 || l2 <= l3,
        says: "the last level is at least as large as the second, or 0 for none",
    },
    Rule {
        first: "hca.socket",
        second: "cpu.sockets",
        holds: |socket, sockets| socket < sockets,
        says: "sockets are numbered from 0",
    },
    Rule {
        first: "os.noise_length",
        second: "os.noise_period",
        holds: |length, period| length < period || period == 0,
        says: "an interruption is shorter than its period",
    },
    Rule {
        first: "cpu.smt_share",
        second: "cpu.smt_share",
        holds: |share, _| share <= Ratio::ONE.as_ppm(),
        says: "one hardware thread uses at most all issue slots",
    },
];

pub mod least;
#[cfg(test)]
mod tests;
