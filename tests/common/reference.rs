//! Collectives as MPI defines them, one rank after the other: what every algorithm must give.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::wildcard_enum_match_arm, reason = "tables of a few kinds each")]
#![allow(clippy::cast_possible_truncation, reason = "bytes of a pattern")]

use std::sync::Arc;

use mpisim::collectives::{Block, Blocks, Collective, Kind};
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction, Side};
use mpisim::protocols::call::Comm;
use mpisim::protocols::contract::{Region, Space};

/// Byte that a result buffer holds before.
pub(crate) const FILL: u8 = 0xa5;

/// What a rank gives.
pub(crate) const INPUT: Space = Space::User(0);
/// Where its result goes.
pub(crate) const OUTPUT: Space = Space::User(1);

/// Collectives that move bytes.
pub(crate) const MOVING: [Kind; 6] =
    [Kind::Barrier, Kind::Bcast, Kind::Scatter, Kind::Gather, Kind::Allgather, Kind::Alltoall];
/// Collectives that combine them.
pub(crate) const COMBINING: [Kind; 6] = [
    Kind::Reduce,
    Kind::Allreduce,
    Kind::ReduceScatter,
    Kind::ReduceScatterBlock,
    Kind::Scan,
    Kind::Exscan,
];

/// One collective of all ranks: the call and the input of each, and what each must have.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub(crate) calls: Vec<Collective>,
    pub(crate) inputs: Vec<Vec<u8>>,
    /// `None` where the rank's result is not defined, or it has none: the buffer must stay.
    pub(crate) results: Vec<Option<Vec<u8>>>,
    /// What the result buffer of each rank holds before.
    pub(crate) outputs: Vec<Vec<u8>>,
}

/// Small numbers that fit every operator, told apart by rank and place.
pub(crate) fn elements(reduction: Reduction, rank: u32, count: u64) -> Vec<u8> {
    let number = |index: u64| {
        let mixed = (u64::from(rank) * 2_654_435_761 + index * 40_503 + 7) % 1009;
        i64::try_from(mixed).expect("small") - 3
    };
    let one = |index: u64| {
        let value = number(index);
        let small = i32::try_from(value).expect("small");
        match reduction.datatype() {
            Datatype::Int8 | Datatype::Uint8 => value.to_le_bytes()[..1].to_vec(),
            Datatype::Int16 | Datatype::Uint16 => value.to_le_bytes()[..2].to_vec(),
            Datatype::Int32 | Datatype::Uint32 => small.to_le_bytes().to_vec(),
            Datatype::Int64 | Datatype::Uint64 => value.to_le_bytes().to_vec(),
            // Sums and products of small powers of two are exact in any order.
            Datatype::Float => f32::from(1_i8 << (small & 1)).to_le_bytes().to_vec(),
            Datatype::Double => f64::from(1 << (small & 1)).to_le_bytes().to_vec(),
            Datatype::Int32Pair => {
                let index = i32::try_from(rank).expect("small");
                [(small % 5).to_le_bytes(), index.to_le_bytes()].concat()
            }
            Datatype::Int64Pair => {
                [(value.abs() + 2).to_le_bytes(), number(index + 1).abs().to_le_bytes()].concat()
            }
            Datatype::Program => panic!("elements of a real program are in its process"),
        }
    };
    (0..count).flat_map(one).collect()
}

/// Bytes told apart by rank and place.
fn bytes(rank: u32, count: u64) -> Vec<u8> {
    (0..count).map(|place| ((u64::from(rank) * 97 + place * 31 + 5) % 251) as u8).collect()
}

pub(crate) fn fold(reduction: Reduction, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut inputs = inputs.iter();
    let mut sum = inputs.next().expect("at least one").clone();
    for input in inputs {
        reduction.combine(input, &mut sum, Side::After);
    }
    sum
}

fn filled(len: u64) -> Vec<u8> {
    vec![FILL; usize::try_from(len).expect("small")]
}

pub(crate) fn part(buffer: &[u8], block: Block) -> &[u8] {
    let start = usize::try_from(block.offset).expect("small");
    &buffer[start..start + usize::try_from(block.len).expect("small")]
}

pub(crate) fn put(buffer: &mut [u8], block: Block, bytes: &[u8]) {
    let start = usize::try_from(block.offset).expect("small");
    buffer[start..start + bytes.len()].copy_from_slice(bytes);
}

/// Blocks of different sizes with gaps, in no order.
pub(crate) fn ragged(size: u32, unit: u64) -> Blocks {
    let mut offset = 0;
    let mut blocks: Vec<Block> = (0..size)
        .map(|rank| {
            let len = u64::from((rank * 7 + 2) % 4) * unit;
            let block = Block { offset: offset + unit, len };
            offset += len + unit;
            block
        })
        .collect();
    // Offsets in the order of lengths, not of ranks.
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|&rank| (blocks[rank].len, rank));
    let mut offset = 0;
    for rank in order {
        blocks[rank].offset = offset;
        offset += blocks[rank].len + unit;
    }
    Blocks::List(blocks.into())
}

impl Example {
    fn build(
        size: u32,
        inputs: Vec<Vec<u8>>,
        room: impl Fn(u32) -> u64,
        call: impl Fn(u32, Region, Region) -> Collective,
        result: impl Fn(u32, Vec<u8>) -> Option<Vec<u8>>,
    ) -> Self {
        let calls = (0..size).map(|rank| {
            let input = Region::new(INPUT, inputs[rank as usize].len() as u64);
            call(rank, input, Region::new(OUTPUT, room(rank)))
        });
        let outputs: Vec<Vec<u8>> = (0..size).map(|rank| filled(room(rank))).collect();
        let results = (0..size).map(|rank| result(rank, outputs[rank as usize].clone()));
        Self { calls: calls.collect(), results: results.collect(), inputs, outputs }
    }

    /// A collective that moves bytes: `unit` per block, or blocks of different sizes.
    pub(crate) fn moving(kind: Kind, size: u32, root: u32, unit: u64, lists: bool) -> Self {
        let blocks = if lists { ragged(size, unit) } else { Blocks::Equal(unit) };
        let own = |rank: u32| blocks.at(rank).len;
        let inputs = |len: &dyn Fn(u32) -> u64| -> Vec<Vec<u8>> {
            (0..size).map(|rank| bytes(rank, len(rank))).collect()
        };
        let (comm, extent) = (Comm(0), blocks.extent(size));
        let whole = |mut buffer: Vec<u8>, inputs: &[Vec<u8>]| {
            for (rank, input) in (0..).zip(inputs) {
                put(&mut buffer, blocks.at(rank), input);
            }
            buffer
        };
        match kind {
            Kind::Barrier => Self::build(
                size,
                inputs(&|_| 0),
                |_| 0,
                |_, _, _| Collective::barrier(comm),
                |_, old| Some(old),
            ),
            Kind::Bcast => {
                let message = bytes(root, unit);
                let mut example = Self::build(
                    size,
                    inputs(&|_| 0),
                    |_| unit,
                    |_, _, output| Collective::bcast(comm, Rank(root), output),
                    |_, _| Some(message.clone()),
                );
                example.outputs[root as usize].clone_from(&message);
                example
            }
            Kind::Scatter => {
                let inputs = inputs(&|rank| if rank == root { extent } else { 0 });
                let source = inputs[root as usize].clone();
                Self::build(
                    size,
                    inputs,
                    own,
                    |_, input, output| {
                        Collective::scatter(comm, Rank(root), input, blocks.clone(), output)
                    },
                    |rank, _| Some(part(&source, blocks.at(rank)).to_vec()),
                )
            }
            Kind::Gather => {
                let inputs = inputs(&own);
                let all = inputs.clone();
                Self::build(
                    size,
                    inputs,
                    |rank| if rank == root { extent } else { 0 },
                    |_, input, output| {
                        Collective::gather(comm, Rank(root), input, output, blocks.clone())
                    },
                    |rank, old| Some(if rank == root { whole(old, &all) } else { old }),
                )
            }
            Kind::Allgather => {
                let inputs = inputs(&own);
                let all = inputs.clone();
                Self::build(
                    size,
                    inputs,
                    |_| extent,
                    |_, input, output| Collective::allgather(comm, input, output, blocks.clone()),
                    |_, old| Some(whole(old, &all)),
                )
            }
            Kind::Alltoall => Self::alltoall(size, unit, lists),
            other => panic!("{other:?} is a reduction"),
        }
    }

    fn alltoall(size: u32, unit: u64, lists: bool) -> Self {
        let len = |from: u32, to: u32| {
            if lists { u64::from((from * 3 + to * 5) % 4) * unit } else { unit }
        };
        let lists_of = |lens: Vec<u64>| {
            if lists { Blocks::packed(&lens) } else { Blocks::Equal(unit) }
        };
        let sends = |rank: u32| lists_of((0..size).map(|to| len(rank, to)).collect());
        let receives = |rank: u32| lists_of((0..size).map(|from| len(from, rank)).collect());
        let inputs: Vec<Vec<u8>> =
            (0..size).map(|rank| bytes(rank, sends(rank).extent(size))).collect();
        let all = inputs.clone();
        Self::build(
            size,
            inputs,
            |rank| receives(rank).extent(size),
            |rank, input, output| {
                Collective::alltoall(Comm(0), (input, sends(rank)), (output, receives(rank)))
            },
            |rank, mut buffer| {
                for from in 0..size {
                    let bytes = part(&all[from as usize], sends(from).at(rank));
                    put(&mut buffer, receives(rank).at(from), bytes);
                }
                Some(buffer)
            },
        )
    }

    /// A collective that combines `count` elements (per block, where it has blocks).
    pub(crate) fn combining(
        kind: Kind,
        size: u32,
        root: u32,
        count: u64,
        reduction: Reduction,
    ) -> Self {
        let width = reduction.datatype().width();
        let blocks = match kind {
            Kind::ReduceScatter => Blocks::packed(
                &(0..size).map(|r| u64::from(r % 3) * count * width).collect::<Vec<_>>(),
            ),
            _ => Blocks::Equal(count * width),
        };
        let scatters = matches!(kind, Kind::ReduceScatter | Kind::ReduceScatterBlock);
        let elements_each = if scatters { blocks.extent(size) / width } else { count };
        let inputs: Vec<Vec<u8>> =
            (0..size).map(|rank| elements(reduction, rank, elements_each)).collect();
        let sums: Vec<Vec<u8>> =
            (1..=inputs.len()).map(|upto| fold(reduction, &inputs[..upto])).collect();
        let total = sums.last().expect("at least one rank").clone();
        let comm = Comm(0);
        let bytes = elements_each * width;
        let space = |rank: u32| if scatters { blocks.at(rank).len } else { bytes };
        Self::build(
            size,
            inputs,
            space,
            |_, input, output| match kind {
                Kind::Reduce => Collective::reduce(comm, Rank(root), input, output, reduction),
                Kind::Allreduce => Collective::allreduce(comm, input, output, reduction),
                Kind::Scan => Collective::scan(comm, input, output, reduction),
                Kind::Exscan => Collective::exscan(comm, input, output, reduction),
                Kind::ReduceScatter | Kind::ReduceScatterBlock => {
                    Collective::reduce_scatter(comm, input, output, blocks.clone(), reduction)
                }
                other => panic!("{other:?} is no reduction"),
            },
            |rank, old| {
                Some(match kind {
                    Kind::Reduce if rank != root => old,
                    Kind::Reduce | Kind::Allreduce => total.clone(),
                    Kind::Scan => sums[rank as usize].clone(),
                    Kind::Exscan if rank == 0 => old,
                    Kind::Exscan => sums[rank as usize - 1].clone(),
                    _ => part(&total, blocks.at(rank)).to_vec(),
                })
            },
        )
    }

    /// The same by another way to do it, changed on all ranks alike.
    /// The same where what each rank gives lies where its result goes. Algorithms that write over what they read
    /// later read it elsewhere, if it `is_aside`: the library does that by itself.
    pub(crate) fn in_place(&self, is_aside: bool) -> Self {
        let mut placed = self.clone();
        let size = self.calls.len() as u32;
        for (rank, call) in placed.calls.iter_mut().enumerate() {
            let own = call.input;
            *call = call.clone().at_its_place((rank as u32, size));
            if !call.in_place {
                continue;
            }
            if call.kind == Kind::Scatter {
                // The root keeps its block where it is.
                placed.results[rank] = Some(placed.outputs[rank].clone());
                continue;
            }
            let given = &self.inputs[rank];
            let at = call.input.offset as usize;
            let output = &mut placed.outputs[rank];
            output.resize(output.len().max(at + given.len()), 0);
            output[at..at + given.len()].copy_from_slice(given);
            if call.kind == Kind::Exscan && rank == 0 {
                placed.results[rank] = Some(placed.outputs[rank].clone());
            }
            if is_aside && call.overwrites((rank as u32, size)) {
                call.input = own;
            }
        }
        placed
    }

    pub(crate) fn by(&self, change: impl Fn(Collective) -> Collective) -> Self {
        Self { calls: self.calls.iter().cloned().map(change).collect(), ..self.clone() }
    }

    /// The call of each rank, as a program makes it.
    pub(crate) fn calls(&self) -> Vec<Arc<Collective>> {
        self.calls.iter().cloned().map(Arc::new).collect()
    }
}

/// Every operator on every type that it takes.
pub(crate) fn reductions() -> Vec<Reduction> {
    let types = |operator| Datatype::ALL.map(|datatype| Reduction::new(operator, datatype));
    Operator::ALL.into_iter().flat_map(types).flatten().collect()
}
