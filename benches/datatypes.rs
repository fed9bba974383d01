//! How fast datatypes are walked: bytes per second of the serial reference, and primitives per second
//! of the traversal, for 16 MiB of packed data.
//!
//! `cargo bench --bench datatypes`. The reference has to reach 1 GB/s for blocks of 64 B; the
//! traversal is what a model of a GPU counts from, id by id.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use mpisim::mpi::datatype::{
    Datatype, Encoding, NodeKind, Observer, Order, Primitive, pack_part, unpack_part,
};

/// Packed bytes.
const PACKED: i64 = 16 << 20;
/// Bytes from block to block.
const STRIDE: i64 = 512;

fn main() {
    divan::main();
}

fn double() -> Datatype {
    Datatype::named(Primitive::Double)
}

/// Blocks of so many bytes at the stride.
fn vector(block: i64) -> Datatype {
    Datatype::hvector(PACKED / block, block / 8, STRIDE, &double()).expect("a type")
}

/// Types with the same blocks of 64 B, made in several ways.
fn types() -> [(&'static str, Datatype); 6] {
    let blocks = PACKED / 64;
    let places: Vec<i64> = (0..blocks).map(|block| block * STRIDE).collect();
    let lengths = vec![8; places.len()];
    let inner = Datatype::hvector(8, 8, STRIDE, &double()).expect("a type");
    let members = [double(), Datatype::named(Primitive::Int32), Datatype::named(Primitive::Char)];
    let record = Datatype::structure(&[1, 2, 1], &[0, 8, 16], &members);
    let side = [1 << 9, 1 << 9, 64];
    let [one, two, three] = [
        Datatype::hindexed(&lengths, &places, &double()),
        Datatype::hindexed_block(8, &places, &double()),
        Datatype::subarray(&side, &[1 << 9, 1 << 9, 8], &[0, 0, 4], Order::C, &double()),
    ]
    .map(|made| made.expect("a type"));
    let nested = Datatype::hvector(blocks / 8, 1, 8 * STRIDE, &inner).expect("a type");
    let records = Datatype::contiguous(PACKED / 17, &record.expect("a type")).expect("a type");
    [
        ("vector", vector(64)),
        ("vector of vectors", nested),
        ("indexed", one),
        ("indexed block", two),
        ("subarray", three),
        ("records of 17 B", records),
    ]
}

const NAMES: [&str; 6] =
    ["vector", "vector of vectors", "indexed", "indexed block", "subarray", "records of 17 B"];

fn by_name(name: &str) -> Datatype {
    let (_, datatype) = types().into_iter().find(|(known, _)| *known == name).expect("it is there");
    datatype
}

/// A buffer for a type, and room for what is packed of it.
fn buffers(datatype: &Datatype) -> (Vec<u8>, Vec<u8>) {
    let (_, end) = datatype.span(1).expect("it fits");
    let length = |bytes: u64| usize::try_from(bytes).expect("some MiB");
    (vec![1; length(end.cast_unsigned())], vec![0; length(datatype.size())])
}

#[divan::bench(args = [8, 64, 128, 512, 4096])]
fn reference_packs_blocks_of(bencher: Bencher<'_, '_>, block: i64) {
    pack_reference(bencher, &vector(block));
}

#[divan::bench(args = NAMES)]
fn reference_packs(bencher: Bencher<'_, '_>, name: &str) {
    pack_reference(bencher, &by_name(name));
}

fn pack_reference(bencher: Bencher<'_, '_>, datatype: &Datatype) {
    let (source, mut packed) = buffers(datatype);
    let all = 0..datatype.size();
    bencher.counter(BytesCount::new(datatype.size())).bench_local(|| {
        pack_part(datatype, 1, &source, 0, all.clone(), &mut packed).expect("it fits");
        black_box(packed[0])
    });
}

#[divan::bench]
fn reference_unpacks_a_vector(bencher: Bencher<'_, '_>) {
    let datatype = vector(64);
    let (mut target, packed) = buffers(&datatype);
    let all = 0..datatype.size();
    bencher.counter(BytesCount::new(datatype.size())).bench_local(|| {
        unpack_part(&datatype, 1, &packed, &mut target, 0, all.clone()).expect("it fits");
        black_box(target[0])
    });
}

#[divan::bench(args = NAMES)]
fn ids_are_located(bencher: Bencher<'_, '_>, name: &str) {
    let datatype = by_name(name);
    let encoding = Encoding::new(&datatype, 1).expect("it can be encoded");
    bencher.counter(ItemsCount::new(encoding.primitives())).bench_local(|| {
        (0..encoding.primitives()).fold(0, |sum: i64, id| sum ^ encoding.locate(id).input)
    });
}

/// Counts what a model of a GPU would.
#[derive(Default)]
struct Counts {
    levels: u64,
    reads: u64,
    searched: u64,
    members: u64,
}

impl Observer for Counts {
    fn level(&mut self, _: NodeKind, _: u32) {
        self.levels += 1;
    }

    fn search_step(&mut self, _: u64) {
        self.searched += 1;
    }

    fn lookaside(&mut self, _: u64) {
        self.reads += 1;
    }

    fn branch(&mut self, member: u32) {
        self.members ^= u64::from(member);
    }
}

#[divan::bench(args = NAMES)]
fn ids_are_traced(bencher: Bencher<'_, '_>, name: &str) {
    let datatype = by_name(name);
    let encoding = Encoding::new(&datatype, 1).expect("it can be encoded");
    bencher.counter(ItemsCount::new(encoding.primitives())).bench_local(|| {
        let mut counts = Counts::default();
        for id in 0..encoding.primitives() {
            black_box(encoding.trace(id, &mut counts));
        }
        black_box((counts.levels, counts.reads, counts.searched, counts.members))
    });
}

/// Whether a type with this many scattered blocks overlaps.
#[divan::bench]
fn overlaps_are_looked_for_in_262144_blocks(bencher: Bencher<'_, '_>) {
    let places: Vec<i64> = (0..PACKED / 64).map(|block| block * 7_919 % 262_147 * 64).collect();
    let datatype = Datatype::hindexed_block(8, &places, &double()).expect("a type");
    bencher.bench_local(|| black_box(datatype.overlap(1)));
}
