//! The choice of an algorithm for a collective operation: the scenario's.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use ::mpi::group::Group;
use collectives::Collective;

type Function = dyn Fn(Collective, &Group) -> Collective + Send + Sync;

/// Chooses the algorithm of a call over the processes of a group.
#[derive(Clone)]
pub struct Choose(Arc<Function>);

impl Choose {
    /// By this function.
    pub fn new(choose: impl Fn(Collective, &Group) -> Collective + Send + Sync + 'static) -> Self {
        Self(Arc::new(choose))
    }

    /// The call with its algorithm.
    pub fn algorithm(&self, call: Collective, group: &Group) -> Collective {
        (self.0)(call, group)
    }
}

impl Debug for Choose {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        to.write_str("the scenario's choice of algorithms")
    }
}
