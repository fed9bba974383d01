//! COOP-coll: the calls on both sides decide who copies.
//!
//! A side that waits inside a blocking call has time; one that posted a non-blocking call has other
//! work. The RTS carries the sender's call and mode; the receiver looks both up when it has matched,
//! and its CTS (or its copy and FIN) carries the choice: no further message.
//!
//! Source: `coop` Table II and Sec. II-B1. Where the table offers RTR or RPUT (ready send into a
//! non-blocking receive) this is RPUT. Where the settings ask for RTR there, such receives are
//! offered when they are posted, and a ready send takes the offer before this choice is made.

use super::protocol::Protocol;
use calls::arguments::SendMode;

/// Table II: the protocol for a send of this mode and a receive.
///
/// `send_blocks` and `receive_blocks` say whether the calls wait for their end. Buffered sends
/// return before the message is matched: only the receive counts.
pub const fn table(mode: SendMode, send_blocks: bool, receive_blocks: bool) -> Protocol {
    match (mode, send_blocks, receive_blocks) {
        (SendMode::Buffered, _, true) | (_, false, true) => Protocol::RGet,
        (SendMode::Buffered, _, false) | (_, true, false) => Protocol::RPut,
        (_, true, true) | (_, false, false) => Protocol::CoopP2p,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_of_the_table_is_as_printed() {
        use Protocol::{CoopP2p as Coop, RGet, RPut};
        use SendMode::{Buffered, Ready, Standard, Synchronous};
        // claim: coop-tab2-send-recv
        assert_eq!(table(Standard, true, true), Coop);
        // claim: coop-tab2-send-irecv
        assert_eq!(table(Standard, true, false), RPut);
        // claim: coop-tab2-isend-recv
        assert_eq!(table(Standard, false, true), RGet);
        // claim: coop-tab2-isend-irecv
        assert_eq!(table(Standard, false, false), Coop);
        // claim: coop-tab2-bsend-recv
        assert_eq!(table(Buffered, true, true), RGet);
        // claim: coop-tab2-bsend-irecv
        assert_eq!(table(Buffered, true, false), RPut);
        // claim: coop-tab2-ssend-recv
        assert_eq!(table(Synchronous, true, true), Coop);
        // claim: coop-tab2-ssend-irecv
        assert_eq!(table(Synchronous, true, false), RPut);
        // claim: coop-tab2-rsend-recv
        assert_eq!(table(Ready, true, true), Coop);
        // claim: coop-tab2-rsend-irecv
        assert_eq!(table(Ready, true, false), RPut);
    }
}
