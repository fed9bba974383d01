//! A buffer with a block for each rank.

use crate::functions as mpi5;
use crate::mpi::args::{self, Address, Count, TypedBlocks};
use crate::mpi::data::{Data, Held, elements};
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::types::Types;
use calls::space::{Region, Space};
use collectives::{Block, Blocks};

/// The buffer, its blocks, and what is held for it.
pub(super) struct Part {
    pub(super) region: Region,
    pub(super) blocks: Blocks,
    pub(super) held: Option<Held>,
}

impl Part {
    /// Its buffer and its blocks; what is held for it is handed on.
    pub(super) fn taken(self, all: &mut Vec<Held>) -> (Region, Blocks) {
        all.extend(self.held);
        (self.region, self.blocks)
    }
}

/// A product or a sum of counts.
pub(super) fn countable(all: Option<u64>) -> Result<u64, Fault> {
    all.ok_or_else(|| Fault::new(mpi5::ERR_COUNT, "more elements or bytes than 64 bits count"))
}

/// A buffer with a block for each rank, as the arguments of a function say it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Many {
    /// As many elements for each rank, one after the other.
    Equal(args::Buffer),
    /// For each rank its own number of elements, at its own displacement.
    Listed(args::Blocks),
    /// For each rank its own number of elements of its own datatype, at its own displacement in bytes.
    OfTypes(TypedBlocks<Count>),
    /// The same, with displacements that are addresses in all forms of the function.
    OfTypesAt(TypedBlocks<i64>),
}

impl Many {
    /// Whether each block has its own length.
    pub(super) const fn is_list(self) -> bool {
        !matches!(self, Self::Equal(_))
    }

    pub(super) const fn is_in_place(self) -> bool {
        let (Self::Equal(args::Buffer { address, .. })
        | Self::Listed(args::Blocks { address, .. })
        | Self::OfTypes(TypedBlocks { address, .. })
        | Self::OfTypesAt(TypedBlocks { address, .. })) = self;
        address.is_in_place()
    }

    /// The buffer, with blocks of so many ranks.
    pub(super) fn part(
        self,
        types: &Types,
        frame: &mut Frame<'_>,
        ranks: u32,
        rw: (bool, bool),
    ) -> Result<Part, Fault> {
        match self {
            Self::Equal(buffer) => equal(types, frame, buffer, ranks, rw),
            Self::Listed(blocks) => listed(types, frame, blocks, ranks, rw),
            Self::OfTypes(blocks) => {
                let displacements = frame.counts(blocks.displacements, ranks as usize)?;
                of_types(types, frame, blocks, displacements, rw)
            }
            Self::OfTypesAt(blocks) => {
                let displacements = frame.longs(blocks.displacements, ranks as usize)?;
                of_types(types, frame, blocks, displacements, rw)
            }
        }
    }
}

fn equal(
    types: &Types,
    frame: &mut Frame<'_>,
    args::Buffer { address, count, datatype }: args::Buffer,
    ranks: u32,
    rw: (bool, bool),
) -> Result<Part, Fault> {
    let all = countable(count.natural()?.checked_mul(u64::from(ranks)))?;
    let data = types.elements(address, all, datatype)?;
    let length = if all == 0 { 0 } else { data.bytes() / u64::from(ranks) };
    let (buffer, held) = data.in_one_piece(frame.place, rw)?;
    let region = Region::new(Space::User(buffer.id), buffer.bytes);
    Ok(Part { region, blocks: Blocks::Equal(length), held })
}

fn listed(
    types: &Types,
    frame: &mut Frame<'_>,
    of: args::Blocks,
    ranks: u32,
    rw: (bool, bool),
) -> Result<Part, Fault> {
    let (Address(first), ranks) = (of.address, ranks as usize);
    let counts = frame.counts(of.counts, ranks)?;
    let displacements = frame.counts(of.displacements, ranks)?;
    let tree = types.committed(of.datatype)?;
    let mut parts = Vec::with_capacity(ranks);
    for (count, displacement) in counts.into_iter().zip(displacements) {
        let at = first.wrapping_add_signed(displacement.wrapping_mul(tree.extent()));
        parts.push(elements(at, Count(count).natural()?, tree)?);
    }
    part(frame, parts, rw)
}

fn of_types<D>(
    types: &Types,
    frame: &mut Frame<'_>,
    TypedBlocks { address: Address(first), counts, datatypes, .. }: TypedBlocks<D>,
    displacements: Vec<i64>,
    rw: (bool, bool),
) -> Result<Part, Fault> {
    let ranks = displacements.len();
    let counts = frame.counts(counts, ranks)?;
    let datatypes = frame.handles(datatypes, ranks)?;
    let mut parts = Vec::with_capacity(ranks);
    for ((count, displacement), datatype) in counts.into_iter().zip(displacements).zip(datatypes) {
        let at = first.wrapping_add_signed(displacement);
        parts.push(match Count(count).natural()? {
            0 => Data::Plain { address: at, bytes: 0 },
            count => elements(at, count, types.committed(datatype)?)?,
        });
    }
    part(frame, parts, rw)
}

/// One buffer of these parts: the program's own, where each is one run of bytes.
fn part(
    frame: &mut Frame<'_>,
    parts: Vec<Data>,
    (is_read, is_written): (bool, bool),
) -> Result<Part, Fault> {
    let plain: Option<Vec<(u64, u64)>> = parts
        .iter()
        .map(|part| match part {
            Data::Plain { address, bytes } => Some((*address, *bytes)),
            Data::Pieces { .. } => None,
        })
        .collect();
    if let Some(plain) = plain {
        let with_data = || plain.iter().filter(|(_, bytes)| *bytes > 0);
        let first = with_data().map(|(address, _)| *address).min().unwrap_or_default();
        let end = with_data().map(|(address, bytes)| address + bytes).max().unwrap_or_default();
        let block = |(address, len): &(u64, u64)| match *len {
            0 => Block::default(),
            len => Block { offset: address - first, len },
        };
        let blocks = Blocks::List(plain.iter().map(block).collect());
        let buffer = frame.place.buffer(first, end - first);
        let region = Region::new(Space::User(buffer.id), buffer.bytes);
        return Ok(Part { region, blocks, held: None });
    }
    let lengths: Vec<u64> = parts.iter().map(Data::bytes).collect();
    let total = lengths.iter().try_fold(0_u64, |all, length| all.checked_add(*length));
    let total = countable(total)?;
    let blocks = Blocks::packed(&lengths);
    let mut at = 0;
    let mut places = Vec::with_capacity(parts.len());
    for part in parts {
        let bytes = part.bytes();
        places.push((at, part));
        at += bytes;
    }
    let wanted = |wanted: bool| if wanted { places.clone() } else { Vec::new() };
    let buffer = frame.place.hold(total)?;
    let (goes, comes) = (wanted(is_written), wanted(is_read));
    let held = Held::new(frame.place, buffer, comes, goes);
    held.fill(frame.place)?;
    let region = Region::new(Space::User(buffer.id), total);
    Ok(Part { region, blocks, held: Some(held) })
}
