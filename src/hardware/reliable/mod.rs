//! A reliable connection over a wire that loses, repeats and reorders packets: what the HCAs of
//! InfiniBand do below the MPI library.
//!
//! ```text
//!   Sender ──packet, PSN──▶ wire ──▶ Receiver ──in order, once──▶ memory
//!      ▲                                 │
//!      └────── ACK n, NAK n ◀── wire ◀───┘
//! ```
//!
//! Every packet carries its packet sequence number (PSN), modulo 2^24. The receiver takes them in
//! order only: it acknowledges what it takes, acknowledges a packet again that it has had before,
//! and asks once for the missing one where a later one comes (NAK, PSN sequence error). The sender
//! goes back to the packet that is requested and sends it and all after it again; so it does where
//! nothing arrives for the time of the transport timer. After so many tries without progress the
//! work request ends with an error, transport retry counter exceeded: the MPI library gets a
//! completion with an error, so that nothing is lost in silence.
//!
//! Both ends are pure: no clock, no random number, no wire. `runtime::timed` gives them a fabric,
//! `runtime::explore::lossy` an adversary.
//!
//! What stays on the wire while half of all PSNs go by would be taken for new; of 2^24 it does not.
//!
//! Source: `InfiniBand` Architecture Specification, volume 1, 9.7 (PSN, ACK, NAK, duplicates) and
//! 9.9.2 (retry counter). Left out: the receiver coalesces no ACKs, an RDMA read is requested again
//! by its answers' sequence instead of by a request of its own, and automatic path migration.

mod receiver;
mod sender;
mod settings;

#[cfg(feature = "mutants")]
mod flaw;

#[cfg(feature = "mutants")]
pub use flaw::Flaw;
pub use receiver::{Receiver, Verdict};
pub use sender::{Output, Sender};
pub use settings::{Answer, Psn, Settings};

#[cfg(test)]
mod tests;
