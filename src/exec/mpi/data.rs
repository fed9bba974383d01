//! The data that an address, a count and a datatype name.

use std::ops::Range;
use std::sync::Arc;

use super::fault::Fault;
use super::frame::Frame;
use crate::digest::Digest;
use crate::functions::{self as mpi5, Function};
use crate::place::{Place, Touched};
use crate::ranks::RankError;
use crate::watch::note_once;
use ::mpi::datatype::Datatype;
use calls::arguments::{Buffer, Outcome};
use calls::space::{Region, Space};
use calls::typed::Elements;
use protocols::call::Call;
use protocols::uses::{Pieces, Use};

/// Data in the memory of a process.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// Bytes one after the other.
    Plain {
        /// The first.
        address: u64,
        /// How many.
        bytes: u64,
    },
    /// Elements of a datatype that lie in pieces.
    Pieces {
        /// The first byte of their buffer.
        address: u64,
        /// The elements in it.
        elements: Arc<Elements>,
    },
}

/// Bytes that the simulator holds for a call, since it takes them one after the other and the program has them in
/// pieces.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// The buffer of the call.
    pub(super) buffer: Buffer,
    /// Where the bytes go at the end, each part with its place among them; of what is only read nothing.
    pub(super) goes: Vec<(u64, Data)>,
    /// Where the bytes come from at the start.
    pub(super) comes: Vec<(u64, Data)>,
    /// Whether they are those of a message, which may be shorter than its buffer: what it does not fill stays as it is.
    is_message: bool,
    /// The function that packs and unpacks them.
    of: Option<Function>,
}

/// Data that a nonblocking send reads, and what its bytes are: a program may not change them before the send is complete.
#[derive(Debug)]
pub(crate) struct Sent {
    data: Data,
    /// Of the bytes, from when the send begins until the program knows that it is complete.
    digest: Option<Digest>,
    /// Whether the call that began the send has copied the bytes.
    is_copied: bool,
    /// The function that has named the data, and where it returns to.
    named: (Function, u64),
}

impl Sent {
    /// The data of a send that this call prepares; the send begins with [`Self::begin`].
    pub(super) fn new(data: Data, frame: &Frame<'_>) -> Self {
        Self { data, digest: None, is_copied: false, named: (frame.function, frame.caller()) }
    }

    /// The send begins.
    pub(super) fn begin(&mut self, place: &mut Place) -> Result<(), RankError> {
        self.digest = Some(self.now(place)?);
        if self.data.bytes() > 0 {
            let buffer = place.buffer(self.data.address(), self.data.bytes());
            place.watch(buffer);
        }
        Ok(())
    }

    /// The function that has started it returns.
    pub(super) fn has_begun(&mut self, place: &mut Place) {
        self.is_copied = place.watched() >= self.data.bytes();
    }

    /// The program learns that the send is complete: the data must be what it was when it began.
    pub(super) fn end(&mut self, place: &mut Place) -> Result<(), Fault> {
        let Some(digest) = self.digest.take() else { return Ok(()) };
        if self.now(place)? == digest {
            return Ok(());
        }
        let (function, caller) = self.named;
        let (bytes, sends) = (self.data.bytes(), place.process.called(function, caller));
        if self.is_copied {
            let rank = place.process.number();
            note_once(&format!(
                "rank {rank} changes what {sends} sends before the send is complete, which MPI forbids: the message has \
                 the bytes of the call, which has copied them"
            ));
            return Ok(());
        }
        let why = format!(
            "the {bytes} bytes that {sends} sends were changed before the send was complete"
        );
        Err(Fault::new(mpi5::ERR_BUFFER, why))
    }

    /// Of long data some samples are looked at, from its first byte to its last, so that a long message does not take
    /// twice as long.
    fn now(&self, place: &mut Place) -> Result<Digest, RankError> {
        let mut digest = Digest::default();
        let bytes = self.data.bytes();
        if bytes <= SAMPLES * SAMPLE {
            digest.sends(0, &self.data.part(place, 0..bytes)?);
            return Ok(digest);
        }
        for sample in 0..SAMPLES {
            let from = (bytes - SAMPLE) / (SAMPLES - 1) * sample;
            let from = if sample + 1 == SAMPLES { bytes - SAMPLE } else { from };
            digest.sends(from, &self.data.part(place, from..from + SAMPLE)?);
        }
        Ok(digest)
    }
}

/// How many samples of long data are looked at, and bytes of each.
const SAMPLES: u64 = 16;
const SAMPLE: u64 = 4096;

/// Bytes of data beyond which it is looked whether they are there before memory is taken for them.
const MANY: u64 = 1 << 28;

/// Elements further away from their address than this have a buffer that begins at their first byte: of absolute
/// addresses, that of `MPI_BOTTOM`, the whole memory would be one buffer.
const FAR: u64 = 1 << 20;

/// `count` elements of a datatype at an address.
pub(super) fn elements(address: u64, count: u64, tree: &Datatype) -> Result<Data, Fault> {
    let first = address.wrapping_add_signed(tree.true_lb());
    if tree.is_one_run() && (count <= 1 || u64::try_from(tree.extent()) == Ok(tree.size())) {
        let bytes = tree.packed(count).map_err(too_large)?;
        if first.checked_add(bytes).is_none() {
            return Err(too_large("they end beyond the last address"));
        }
        return Ok(Data::Plain { address: first, bytes });
    }
    let elements = if tree.true_lb().unsigned_abs() > FAR {
        let count = i64::try_from(count).map_err(too_large)?;
        let all = Datatype::contiguous(count, tree).map_err(too_large)?;
        let moved = Datatype::hindexed_block(1, &[-tree.true_lb()], &all).map_err(too_large)?;
        return Ok(elements_at(first, Elements::new(moved, 1).map_err(too_large)?));
    } else {
        Elements::new(tree.clone(), count).map_err(too_large)?
    };
    Ok(elements_at(address, elements))
}

fn elements_at(address: u64, elements: Elements) -> Data {
    let address = address.wrapping_add_signed(elements.lowest());
    Data::Pieces { address, elements: Arc::new(elements) }
}

fn too_large(error: impl std::fmt::Display) -> Fault {
    Fault::new(mpi5::ERR_COUNT, format!("data without end: {error}"))
}

impl Data {
    /// The first byte of its buffer.
    const fn address(&self) -> u64 {
        match self {
            Self::Plain { address, .. } | Self::Pieces { address, .. } => *address,
        }
    }

    /// Refuses data that reach beyond the process's memory, where they are many: the simulator takes as much memory as
    /// they have bytes before it reads them.
    pub(super) fn is_there(&self, place: &mut Place) -> Result<(), RankError> {
        match self {
            Self::Plain { address, bytes } if *bytes > MANY => {
                place.process.read(address.wrapping_add(bytes - 1), &mut [0])
            }
            Self::Pieces { elements, .. } if elements.packed() > MANY => {
                let last = self.part(place, elements.packed() - 1..elements.packed());
                last.map(drop)
            }
            Self::Plain { .. } | Self::Pieces { .. } => Ok(()),
        }
    }

    /// No bytes.
    pub(super) const NONE: Self = Self::Plain { address: 0, bytes: 0 };

    /// Bytes of data.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Plain { bytes, .. } => *bytes,
            Self::Pieces { elements, .. } => elements.packed(),
        }
    }

    /// A message with this data.
    pub(super) fn carried(&self, place: &mut Place, call: impl FnOnce(Buffer) -> Call) -> Call {
        match self {
            Self::Plain { address, bytes } => call(place.buffer(*address, *bytes)),
            Self::Pieces { address, elements } => {
                call(place.buffer(*address, elements.packed())).typed(elements)
            }
        }
    }

    /// The function reads this data and writes other data by itself.
    pub(super) fn is_read_for(&self, writes: &Self, frame: &mut Frame<'_>) {
        let by = (frame.function, frame.caller());
        let (reads, writes) = (self.used(false), writes.used(true));
        frame.place.touched.push(Touched { by, reads, writes });
    }

    /// The bytes, as memory that is read or written.
    fn used(&self, writes: bool) -> Use {
        let (space, base) = (Space::PROCESS, self.address());
        let region = |offset, len| Region { space, offset, len };
        match self {
            Self::Plain { address, bytes } => Use::whole(region(*address, *bytes), writes),
            Self::Pieces { address, elements } => {
                let region = region(*address, elements.extent());
                let pieces = Pieces::Elements(Arc::clone(elements));
                Use { pieces, base, ..Use::whole(region, writes) }
            }
        }
    }

    /// The bytes, one after the other.
    pub(super) fn gather(&self, place: &mut Place) -> Result<Vec<u8>, RankError> {
        self.part(place, 0..self.bytes())
    }

    /// A range of the bytes.
    fn part(&self, place: &mut Place, range: Range<u64>) -> Result<Vec<u8>, RankError> {
        let length = range.end - range.start;
        // The memory itself is taken when it is written.
        if Vec::<u8>::new().try_reserve_exact(index(length)).is_err() {
            return Err(place.process.too_large(length));
        }
        let mut bytes = vec![0; index(length)];
        match self {
            Self::Plain { address, .. } => {
                if !bytes.is_empty() {
                    place.process.read(address + range.start, &mut bytes)?;
                }
            }
            Self::Pieces { address, elements } => {
                place.process.gather(&pieces(*address, elements, range), &mut bytes)?;
            }
        }
        Ok(bytes)
    }

    /// Puts bytes in their places, as far as they go.
    pub(super) fn scatter(&self, place: &mut Place, bytes: &[u8]) -> Result<(), RankError> {
        let bytes = &bytes[..bytes.len().min(index(self.bytes()))];
        if bytes.is_empty() {
            return Ok(());
        }
        match self {
            Self::Plain { address, .. } => place.process.write(*address, bytes),
            Self::Pieces { address, elements } => {
                let pieces = pieces(*address, elements, 0..bytes.len() as u64);
                place.process.scatter(&pieces, bytes)
            }
        }
    }

    /// A buffer that has the bytes one after the other: the program's own, or one that the simulator holds; `is_read`
    /// says whether the call reads them, `is_written` whether it writes them.
    pub(super) fn in_one_piece(
        &self,
        place: &mut Place,
        (is_read, is_written): (bool, bool),
    ) -> Result<(Buffer, Option<Held>), RankError> {
        if is_read {
            self.is_there(place)?;
        }
        if let Self::Plain { address, bytes } = self {
            return Ok((place.buffer(*address, *bytes), None));
        }
        let parts = |wanted| if wanted { vec![(0, self.clone())] } else { Vec::new() };
        let buffer = place.hold(self.bytes())?;
        let held = Held::new(place, buffer, parts(is_read), parts(is_written));
        held.fill(place)?;
        Ok((held.buffer, Some(held)))
    }
}

impl Held {
    /// Bytes that the function which the process is in holds; each part has its place among them.
    pub(super) const fn new(
        place: &Place,
        buffer: Buffer,
        comes: Vec<(u64, Data)>,
        goes: Vec<(u64, Data)>,
    ) -> Self {
        Self { buffer, goes, comes, is_message: false, of: place.now }
    }

    /// The same, of a message.
    pub(super) fn of_message(self) -> Self {
        Self { is_message: true, ..self }
    }

    /// Parts have moved, which takes no simulated time: those that lie in pieces are packed or unpacked.
    fn moved(&self, place: &mut Place, parts: &[(u64, Data)]) {
        let in_pieces = parts.iter().filter(|(_, data)| matches!(data, Data::Pieces { .. }));
        place.takes_no_time(self.of, in_pieces.map(|(_, data)| data.bytes()).sum());
    }

    /// The bytes come from where the program has them.
    pub(super) fn fill(&self, place: &mut Place) -> Result<(), RankError> {
        for (first, data) in &self.comes {
            let bytes = data.gather(place)?;
            let start = index(*first);
            place.held(self.buffer)[start..start + bytes.len()].copy_from_slice(&bytes);
        }
        self.moved(place, &self.comes);
        Ok(())
    }

    /// The bytes go where the program wants them: of a message as many as have come.
    pub(super) fn empty(&self, place: &mut Place, outcome: Outcome) -> Result<(), RankError> {
        let come = match outcome {
            _ if !self.is_message => u64::MAX,
            Outcome::Received(status) | Outcome::Truncated(status) => status.count,
            Outcome::Sent | Outcome::Cancelled => 0,
        };
        for (first, data) in &self.goes {
            let (start, bytes) = (index(*first), data.bytes().min(come.saturating_sub(*first)));
            let bytes = place.held(self.buffer)[start..start + index(bytes)].to_vec();
            data.scatter(place, &bytes)?;
        }
        self.moved(place, &self.goes);
        Ok(())
    }

    /// The bytes go where the program wants them, and are held no more.
    pub(super) fn end(self, place: &mut Place, outcome: Outcome) -> Result<(), RankError> {
        self.empty(place, outcome)?;
        place.release(self.buffer);
        Ok(())
    }
}

/// Addresses and lengths of a range of the bytes of elements.
fn pieces(address: u64, elements: &Elements, bytes: Range<u64>) -> Vec<(u64, u64)> {
    elements.runs(bytes).map(|(at, length)| (address.wrapping_add(at), length)).collect()
}

fn index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("no more than the memory of a process")
}
