//! A turn of a thread, and its effects on others.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::facts::Fact;
use super::state::{Mail, OperationKind};
use crate::monitors::buffers::Typed;
use mpi::observation::MessageId;
use protocols::contract::{Lane, Machine, Process, Route, Token, Via};

/// Next step of a thread, with what it takes from its channels.
#[derive(Debug)]
pub(super) enum Turn<M: Machine> {
    Enter,
    Act,
    Touch,
    EndPass,
    Packet(Route, Mail<M>),
    Done(Token, Lane),
}

impl<M: Machine> Hash for Turn<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Enter | Self::Act | Self::Touch | Self::EndPass => {}
            Self::Packet(from, incoming) => (from, incoming.named()).hash(state),
            Self::Done(token, lane) => (token, lane).hash(state),
        }
    }
}

/// Effect of a turn outside the library, the programs and the memory of its process.
#[derive(Clone, Debug)]
pub(super) enum Outside<M: Machine> {
    Sends { to: Route, via: Via, incoming: Mail<M> },
    Posts { token: Token, lane: Lane, does: OperationKind },
    Fills { to: Process, message: MessageId, seed: u64 },
    Types { to: Process, message: MessageId, typed: Arc<Typed> },
}

/// The effects of the turn that is being taken; nothing where it is not going to be kept.
#[derive(Clone, Debug)]
pub(super) struct Notes<M: Machine>(pub(super) Option<Box<Noted<M>>>);

pub(super) type Noted<M> = (Vec<Outside<M>>, Vec<Fact>);

impl<M: Machine> Notes<M> {
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// The turn depends on something else than what it is known by.
    pub(super) fn spoil(&mut self) {
        self.0 = None;
    }

    pub(super) fn note(&mut self, outside: impl FnOnce() -> Outside<M>) {
        if let Some(noted) = &mut self.0 {
            noted.0.push(outside());
        }
    }

    pub(super) fn fact(&mut self, fact: Fact) {
        if let Some(noted) = &mut self.0 {
            noted.1.push(fact);
        }
    }
}
