//! The key `noise`: random disturbances.

use form::fields::{LONG, time};
use form::json::{Node, Value as Json};
use form::shape::Shape;
use form::typed::{Object, Value, default, required};
use units::TimeDelta;

form::object! {
    /// Random disturbances; off where it is missing.
    pub struct NoiseForm {
        /// Each process starts after a uniform random time up to this; true: as the machine says.
        start_skew: Disturbance<TimeDelta> =
            default(&Shape::Either(&[Shape::Flag, time(0, LONG)]), "false"),
        /// Interruptions of each core by the operating system; true: as the machine says.
        os_noise: Disturbance<OsNoise> =
            default(&Shape::Either(&[Shape::Flag, Shape::Object(<OsNoise as Object>::FIELDS)]), "false"),
    }
}

form::object! {
    /// Interruptions of a core.
    pub struct OsNoise {
        /// Mean time between two.
        period: TimeDelta = required(&time(1, LONG), "\"1 ms\""),
        /// How long one takes.
        length: TimeDelta = required(&time(1, LONG), "\"5 us\""),
    }
}

/// A disturbance as a scenario states it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Disturbance<T> {
    /// There is none.
    Off,
    /// It is that of the machine.
    OfTheMachine,
    /// It is this.
    This(T),
}

impl<T: Value> Value for Disturbance<T> {
    fn read(node: &Node) -> Self {
        match node.value {
            Json::Bool(false) => Self::Off,
            Json::Bool(true) => Self::OfTheMachine,
            Json::Null
            | Json::Number(_)
            | Json::Text(_)
            | Json::List(_)
            | Json::Object(_)
            | Json::Word(_)
            | Json::Invalid => Self::This(T::read(node)),
        }
    }
}

/// An object as the value of a field.
impl Value for OsNoise {
    fn read(node: &Node) -> Self {
        <Self as Object>::read(node)
    }
}
