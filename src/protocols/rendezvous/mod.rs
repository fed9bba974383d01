//! The rendezvous family: one file per protocol with two roles, and one entry of the registry in
//! `selection/protocol.rs`, which declares its module.
//!
//! A *role* is one side of one message: see `role.rs`. The library sends the RTS, and then starts the
//! sender role; in the diagrams it stands as `(RTS)`. The receiver role begins when a receive has
//! taken the RTS.

pub mod role;
pub mod share;

use super::contract::ProtocolError;
pub use super::selection::protocol::{self, Protocol};
pub use super::selection::scheme::{self, Cooperation, Rule, Scheme};
pub use super::selection::{coop_coll, coop_hybrid, coop_load};
use super::wire::ControlMessage;
pub use role::{Port, Progress, Role, RoleInput};

/// Generates the roles of all protocols of the family and their static dispatch.
macro_rules! roles {
    ($(
        $(#[$doc:meta])* $name:ident => $module:ident, $label:literal,
            $($property:ident: $value:expr),*;
    )*) => {
        $(pub mod $module;)*

        impl Protocol {
            pub(super) const fn sender(self) -> Sender {
                match self { $(Self::$name => Sender::$name($module::Sender::new()),)* }
            }

            pub(super) const fn receiver(self) -> Receiver {
                match self { $(Self::$name => Receiver::$name($module::Receiver::new()),)* }
            }
        }

        /// The sender role of any protocol.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Sender {
            $(#[doc = concat!("Of ", $label, ".")] $name($module::Sender),)*
        }

        /// The receiver role of any protocol.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        pub enum Receiver {
            $(#[doc = concat!("Of ", $label, ".")] $name($module::Receiver),)*
        }

        impl Role for Sender {
            fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
                match self { $(Self::$name(role) => role.handle(input, port),)* }
            }
        }

        impl Role for Receiver {
            fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
                match self { $(Self::$name(role) => role.handle(input, port),)* }
            }
        }
    };
}

protocol::protocols!(roles);

/// The sender's side of a message, before and after it knows how the payload will move.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Sending {
    /// The receiver decides: its CTS names the protocol, its FIN says that it has moved all itself.
    Undecided,
    /// The role of that protocol.
    Decided(Sender),
}

impl Role for Sending {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        match (&mut *self, input) {
            (Self::Decided(role), input) => role.handle(input, port),
            (Self::Undecided, RoleInput::Start) => Ok(Progress::Pending),
            (Self::Undecided, RoleInput::Word { word: ControlMessage::Fin, .. }) => {
                Ok(Progress::Complete)
            }
            (
                Self::Undecided,
                RoleInput::Word { word: ControlMessage::Cts { protocol, .. }, .. },
            ) => {
                let mut role = protocol.sender();
                port.protocol = protocol;
                role.handle(RoleInput::Start, port)?;
                let progress = role.handle(input, port)?;
                *self = Self::Decided(role);
                Ok(progress)
            }
            (Self::Undecided, input) => {
                Err(ProtocolError::refused("rendezvous::sender", "Undecided", input))
            }
        }
    }
}

/// The receiver's side of a message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Receiving {
    /// It has requested the counters of its node.
    Asking,
    /// The role of the protocol that it has chosen.
    Decided(Receiver),
}
