//! Eager protocol: the payload travels with its envelope and is copied on both sides.
//!
//! ```text
//!   sender    copy in ──EAGER──▶ (complete; a synchronous send waits for ACK)
//!   receiver  matched:     copy out of the landing buffer, repost it
//!             unexpected:  copy into a library buffer, repost; a later receive copies again
//! ```
//!
//! Source: `endpoints` Sec. 4.3 (small unexpected messages are buffered whole); `coop` Sec. I-A.
//! Left out: registered user buffers sent without the copy. Noticeable just below the threshold.
//! Inside a node a message is one cell, whatever its size, and there is always one. Noticeable with
//! eager messages that are larger than a cell, and in bursts of more than there are cells.

use super::contract::{Action, CodePath, Emit, Region, Space, Thread};
use super::wire::{LibraryAction, MessageHeader, Packet, Wire};

/// Sends `header` with the payload in `buffer`, copied through the staging buffer of `thread`.
///
/// An empty message needs no copy.
pub(super) fn send(
    wire: Wire,
    thread: Thread,
    header: MessageHeader,
    buffer: Region,
    out: &mut impl Emit<LibraryAction>,
) {
    let payload = (buffer.len > 0).then(|| {
        let staging = Region::new(Space::Staging(thread.0), buffer.len);
        out.emit(|| Action::Copy { from: buffer, to: staging });
        staging
    });
    let packet = Packet::Eager(header);
    out.emit(|| Action::Send {
        to: wire.route,
        via: wire.via,
        header: wire.header,
        packet,
        payload,
    });
}

/// The receiver's copy out of `source` into its buffer: as much as fits.
pub(super) fn copy_out(source: Option<Region>, buffer: Region, out: &mut impl Emit<LibraryAction>) {
    if let Some(source) = source {
        let bytes = source.len.min(buffer.len);
        if bytes > 0 {
            out.emit(|| Action::Copy { from: source.part(0, bytes), to: buffer.part(0, bytes) });
        }
    }
}

/// Keeps an unexpected payload in library buffer `slot` and frees the landing buffer.
pub(super) fn buffer_unexpected(
    landing: Option<Region>,
    slot: u32,
    out: &mut impl Emit<LibraryAction>,
) -> Option<Region> {
    landing.map(|landing| {
        let kept = Region::new(Space::Unexpected(slot), landing.len);
        out.emit(|| Action::Copy { from: landing, to: kept });
        kept
    })
}

/// Tells a synchronous sender that its message was matched.
pub(super) fn acknowledge(wire: Wire, header: &MessageHeader, out: &mut impl Emit<LibraryAction>) {
    out.emit(|| Action::Work(CodePath::Control));
    let packet = Packet::Matched { sender: header.sender };
    out.emit(|| Action::Send {
        to: wire.route,
        via: wire.via,
        header: wire.control,
        packet,
        payload: None,
    });
}
