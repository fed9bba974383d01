//! What a process gives to a collective of MPI, and what its endpoints take from the result.
//!
//! ```text
//!             collect ─▶ [exchange: joined input] ─▶ MPI ─▶ [exchange: result] ─▶ place, serve
//! ```
//!
//! The slots of the threads hold pointers: who reads a block reads it where its owner has it. The
//! exchange buffer of the caller is used where MPI needs the blocks of a process next to each other,
//! or one operand for all its endpoints; where a process has one endpoint, or its blocks lie together
//! already, MPI gets the program's own buffer.
//!
//! Source: `xios-ep` Sec. 5.

use std::sync::Arc;

use super::Shown;
use crate::collective::{self, Collective as Shape};
use crate::rank_map::{Place, RankMap};
use collectives::{Block, Blocks, Collective, Kind, Work};
use mpi::envelope::Rank;
use mpi::operator::{Reduction, Side};
use protocols::call::Comm;
use protocols::contract::{Region, Space};

/// One endpoint in one collective.
#[derive(Debug)]
pub(super) struct Joined<'a> {
    /// Where all endpoints live.
    pub(super) map: &'a RankMap,
    /// Where this one lives.
    pub(super) place: Place,
    /// The communicator of the processes.
    pub(super) mpi: Comm,
    /// Call of this endpoint.
    pub(super) call: &'a Collective,
    /// Calls of the endpoints of its process, by in-process rank; none before all have arrived.
    pub(super) all: &'a [Arc<Collective>],
}

/// The document's collective that has the steps of this one.
pub(super) fn shape(call: &Collective) -> Shape {
    let root = call.root;
    match call.kind {
        Kind::Barrier => Shape::Barrier,
        Kind::Bcast => Shape::Bcast { root },
        Kind::Scatter => Shape::Scatter { root },
        Kind::Gather => Shape::Gather { root },
        Kind::Reduce => Shape::Reduce { root },
        Kind::Allgather => Shape::Allgather,
        Kind::Allreduce | Kind::ReduceScatter | Kind::ReduceScatterBlock => Shape::Allreduce,
        Kind::Alltoall => Shape::Alltoall,
        Kind::Scan => Shape::Scan,
        Kind::Exscan => Shape::Exscan,
    }
}

/// Why an endpoint of rank `rank` cannot make this call, as a sentence.
pub(super) fn unfit(call: &Collective, map: &RankMap, rank: Rank) -> Option<String> {
    let (size, own) = (map.size(), rank.0);
    if call.kind.has_root() && call.root.0 >= size {
        return Some(format!("there is no endpoint {} of {size}", call.root.0));
    }
    if call.units.is_some() {
        return Some("collectives of endpoints have their processes for units".to_owned());
    }
    let equal = call.sends.are_equal() && call.receives.are_equal();
    if call.kind == Kind::Alltoall && !equal {
        let words = "the counts of MPI_Alltoallv are not known to the other endpoints of a process";
        return Some(words.to_owned());
    }
    let scans = matches!(call.kind, Kind::Scan | Kind::Exscan);
    if !map.is_process_ordered() && (scans || !call.commutes()) {
        return Some("the order of ranks is not that of processes, and it matters here".to_owned());
    }
    let scatters = matches!(call.kind, Kind::ReduceScatter | Kind::ReduceScatterBlock);
    if scatters && by_process(map, &call.sends).is_none() {
        return Some("the blocks of a process do not lie next to each other".to_owned());
    }
    let root = call.root.0 == own;
    let (sends, receives) = (&call.sends, &call.receives);
    let (input, output) = match call.kind {
        Kind::Barrier | Kind::Bcast => return None,
        Kind::Scatter => (if root { sends.extent(size) } else { 0 }, sends.at(own).len),
        Kind::Gather => (receives.at(own).len, if root { receives.extent(size) } else { 0 }),
        Kind::Allgather => (receives.at(own).len, receives.extent(size)),
        Kind::Alltoall => (sends.extent(size), receives.extent(size)),
        Kind::ReduceScatter | Kind::ReduceScatterBlock => (sends.extent(size), sends.at(own).len),
        Kind::Reduce if !root => (call.input.len, 0),
        Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => {
            (call.input.len, call.input.len)
        }
    };
    let short = |name: &str, found: u64, wanted: u64| {
        let words = format!("its {name} has {found} B, and the call needs {wanted} B");
        (found < wanted).then_some(words)
    };
    short("input", call.input.len, input).or_else(|| short("output", call.output.len, output))
}

/// Difference between two endpoints of a process where they must agree, as a sentence; `None` where they do.
pub(super) fn differ(a: &Shown, b: &Shown) -> Option<&'static str> {
    let same = match (a, b) {
        (Shown::Call(a), Shown::Call(b)) => return calls_differ(a, b),
        (Shown::Makes(a), Shown::Makes(b)) => return a.differ(*b),
        (Shown::Windows(a), Shown::Windows(b)) => return (a != b).then_some("the window differs"),
        (Shown::Call(_) | Shown::Makes(_) | Shown::Windows(_), _) => false,
    };
    (!same).then_some("the operation differs")
}

fn calls_differ(a: &Collective, b: &Collective) -> Option<&'static str> {
    let bytes = |call: &Collective| {
        let input = if call.kind.reduces() { call.input.len } else { 0 };
        if call.kind == Kind::Bcast { call.output.len } else { input }
    };
    if a.kind != b.kind {
        Some("the operation differs")
    } else if a.kind.has_root() && a.root != b.root {
        Some("the root differs")
    } else if a.reduction != b.reduction {
        let operator = |call: &Collective| call.reduction.map(Reduction::operator);
        let datatype = |call: &Collective| call.reduction.map(Reduction::datatype);
        Some(if operator(a) != operator(b) {
            "the operator differs"
        } else if datatype(a) != datatype(b) {
            "the type of the elements differs"
        } else {
            "the operator commutes for one of the two only"
        })
    } else if (&a.sends, &a.receives) != (&b.sends, &b.receives) || bytes(a) != bytes(b) {
        Some("the lengths differ")
    } else {
        None
    }
}

/// The blocks of processes, where those of the endpoints of each lie next to each other.
fn by_process(map: &RankMap, blocks: &Blocks) -> Option<Blocks> {
    let joined = |process: u32| {
        let mut own = map.locals(process).iter().map(|rank| blocks.at(rank.0));
        let first = own.next()?;
        own.try_fold(first, |whole, next| {
            let adjacent = whole.offset + whole.len == next.offset;
            adjacent.then_some(Block { len: whole.len + next.len, ..whole })
        })
    };
    let joined: Vec<Block> = (0..map.process_count()).map(joined).collect::<Option<_>>()?;
    let (len, places) = (joined.first()?.len, 0..);
    let equal = places.zip(&joined).all(|(at, block)| *block == Block { offset: at * len, len });
    Some(if equal { Blocks::Equal(len) } else { Blocks::List(joined.into()) })
}

/// The blocks of processes one after the other; `len` of each process.
fn packed(map: &RankMap, len: impl Fn(u32) -> u64) -> Blocks {
    let lens: Vec<u64> = (0..map.process_count()).map(len).collect();
    match lens.split_first() {
        Some((first, rest)) if rest.iter().all(|len| len == first) => Blocks::Equal(*first),
        _ => Blocks::packed(&lens),
    }
}

/// A list of work in which copies that follow each other are one.
#[derive(Debug, Default)]
struct Moves(Vec<Work>);

impl Moves {
    fn copy(&mut self, source: Region, target: Region) {
        if source.len == 0 {
            return;
        }
        let next = |one: Region, other: Region| {
            one.space == other.space && one.offset + one.len == other.offset
        };
        if let Some(Work::Copy { from, to }) = self.0.last_mut()
            && next(*from, source)
            && next(*to, target)
        {
            from.len += source.len;
            to.len += source.len;
            return;
        }
        self.0.push(Work::Copy { from: source, to: target });
    }

    /// `into` stands before `from`.
    fn combine(&mut self, from: Region, into: Region) {
        if from.len > 0 {
            self.0.push(Work::Combine { from, into, side: Side::After });
        }
    }
}

/// The operation of MPI among the processes that carries out `call` of endpoints with this map, as
/// its root, or the first endpoint, makes it.
///
/// # Panics
///
/// The root is no endpoint of the map.
pub fn among_processes(call: &Collective, map: &RankMap) -> Collective {
    let place = map.place(shape(call).root().unwrap_or(Rank(0))).expect("a rank of the map");
    Joined { map, place, mpi: Comm::default(), call, all: &[] }.mpi()
}

impl Joined<'_> {
    /// Where the root lives.
    fn root(&self) -> Option<Place> {
        shape(self.call).root().and_then(|root| self.map.place(root))
    }

    /// Whether the root has to sort its blocks before it scatters them.
    pub(super) fn sorts(&self) -> bool {
        self.call.kind == Kind::Scatter && by_process(self.map, &self.call.sends).is_none()
    }

    /// In-process rank of the endpoint that calls MPI for this process.
    fn caller(&self) -> u32 {
        collective::caller(self.root(), self.place.process)
    }

    pub(super) fn is_caller(&self) -> bool {
        self.caller() == self.place.local
    }

    fn is_root(&self) -> bool {
        self.root() == Some(self.place)
    }

    fn ranks(&self, process: u32) -> impl Iterator<Item = u32> {
        self.map.locals(process).iter().map(|rank| rank.0)
    }

    fn own_ranks(&self) -> impl Iterator<Item = u32> {
        self.ranks(self.place.process)
    }

    fn own_rank(&self) -> u32 {
        self.map.rank(self.place).expect("an endpoint has a rank").0
    }

    /// A part of the caller's exchange buffer.
    fn exchange(&self, offset: u64, len: u64) -> Region {
        let thread = u16::try_from(self.caller()).expect("threads are counted in u16");
        Region { space: Space::Exchange(thread), offset, len }
    }

    /// Bytes of the blocks of a process.
    fn sum(&self, blocks: &Blocks, process: u32) -> u64 {
        self.ranks(process).map(|rank| blocks.at(rank).len).sum()
    }

    /// Where the blocks of all endpoints go in the order of places, from `offset` on.
    fn in_places(&self, blocks: &Blocks, offset: u64) -> Vec<(u32, Region)> {
        let mut at = offset;
        let processes = 0..self.map.process_count();
        let place = |rank: u32| {
            let len = blocks.at(rank).len;
            at += len;
            (rank, self.exchange(at - len, len))
        };
        processes.flat_map(|process| self.ranks(process)).map(place).collect()
    }

    pub(super) fn alone(&self) -> bool {
        self.map.local_size(self.place.process) == 1
    }

    /// The operand of this process, where the caller joined those of its endpoints.
    fn operand(&self) -> Region {
        if self.alone() { self.call.input } else { self.exchange(0, self.call.input.len) }
    }

    /// The blocks that this process gives, where the caller joined them.
    fn given(&self) -> Region {
        if self.alone() {
            return self.call.input;
        }
        self.exchange(0, self.sum(&self.call.receives, self.place.process))
    }

    /// Work of the caller before it calls MPI.
    pub(super) fn collect(&self) -> Vec<Work> {
        let mut moves = Moves::default();
        let call = self.call;
        match call.kind {
            Kind::Barrier | Kind::Bcast => {}
            Kind::Scatter if !self.is_root() || !self.sorts() => {}
            Kind::Scatter => {
                for (rank, to) in self.in_places(&call.sends, 0) {
                    moves.copy(call.sends.of(call.input, rank), to);
                }
            }
            Kind::Gather | Kind::Allgather if self.alone() => {}
            Kind::Gather | Kind::Allgather => {
                let mut offset = 0;
                for (rank, one) in self.own_ranks().zip(self.all) {
                    let len = call.receives.at(rank).len;
                    moves.copy(one.input.part(0, len), self.exchange(offset, len));
                    offset += len;
                }
            }
            Kind::Alltoall => {
                let (len, mut offset) = (call.sends.at(0).len, 0);
                for process in 0..self.map.process_count() {
                    for one in self.all {
                        for rank in self.ranks(process) {
                            let block = one.sends.of(one.input, rank);
                            moves.copy(block, self.exchange(offset, len));
                            offset += len;
                        }
                    }
                }
            }
            Kind::Reduce
            | Kind::Allreduce
            | Kind::ReduceScatter
            | Kind::ReduceScatterBlock
            | Kind::Scan
            | Kind::Exscan => {
                if !self.alone() {
                    self.fold(&mut moves, self.all, self.operand());
                }
            }
        }
        moves.0
    }

    /// Puts what these endpoints give together into `into`, in the order of their ranks.
    fn fold(&self, moves: &mut Moves, of: &[Arc<Collective>], into: Region) {
        for (at, one) in of.iter().enumerate() {
            let from = one.input.part(0, self.call.input.len);
            if at == 0 { moves.copy(from, into) } else { moves.combine(from, into) }
        }
    }

    /// Call of the caller to MPI: the same operation among the processes.
    pub(super) fn mpi(&self) -> Collective {
        let (comm, call) = (self.mpi, self.call);
        let root = Rank(self.root().map_or(0, |root| root.process));
        let (map, process) = (self.map, self.place.process);
        let reduction = || call.reduction.expect("a reduction has an operator");
        let plain = match call.kind {
            Kind::Barrier => Collective::barrier(comm),
            Kind::Bcast => Collective::bcast(comm, root, call.output),
            Kind::Scatter => {
                let (input, blocks) = self.or_packed(&call.sends, call.input, 0);
                Collective::scatter(comm, root, input, blocks, self.scattered())
            }
            Kind::Gather => {
                let (output, blocks) =
                    self.or_packed(&call.receives, call.output, self.given().len);
                let output = if self.is_root() { output } else { call.output };
                Collective::gather(comm, root, self.given(), output, blocks)
            }
            Kind::Allgather => {
                let (output, blocks) =
                    self.or_packed(&call.receives, call.output, self.given().len);
                Collective::allgather(comm, self.given(), output, blocks)
            }
            Kind::Alltoall => {
                let own = u64::from(map.local_size(process)) * call.sends.at(0).len;
                let blocks = packed(map, |other| own * u64::from(map.local_size(other)));
                let input = self.exchange(0, own * u64::from(map.size()));
                let output = self.exchange(input.len, input.len);
                Collective::alltoall(comm, (input, blocks.clone()), (output, blocks))
            }
            Kind::Reduce => {
                Collective::reduce(comm, root, self.operand(), call.output, reduction())
            }
            Kind::Allreduce => {
                Collective::allreduce(comm, self.operand(), call.output, reduction())
            }
            Kind::ReduceScatter | Kind::ReduceScatterBlock => {
                let blocks = by_process(map, &call.sends).expect("it was looked at in the call");
                let output = self.scattered();
                Collective::reduce_scatter(comm, self.operand(), output, blocks, reduction())
            }
            Kind::Scan | Kind::Exscan => {
                let input = self.operand();
                Collective::exscan(comm, input, self.before(), reduction())
            }
        };
        plain.clone().by(call.algorithm).unwrap_or(plain)
    }

    /// A buffer of all blocks as MPI takes it: the program's own, or the exchange buffer from
    /// `offset` on.
    fn or_packed(&self, blocks: &Blocks, own: Region, offset: u64) -> (Region, Blocks) {
        if let Some(whole) = by_process(self.map, blocks) {
            return (own, whole);
        }
        let packed = packed(self.map, |process| self.sum(blocks, process));
        (self.exchange(offset, blocks.sum(0, self.map.size())), packed)
    }

    /// Where MPI puts what it scatters to this process.
    fn scattered(&self) -> Region {
        if self.alone() {
            return self.call.output;
        }
        let size = self.map.size();
        let before = self.call.sends.sum(0, size).max(self.call.sends.extent(size));
        self.exchange(before, self.sum(&self.call.sends, self.place.process))
    }

    /// Where MPI puts what the processes before this one give together.
    fn before(&self) -> Region {
        let len = self.call.input.len;
        self.exchange(len, len)
    }

    /// Work of the caller on the data that MPI gave it.
    pub(super) fn place(&self) -> Vec<Work> {
        let mut moves = Moves::default();
        let call = self.call;
        let gathers = call.kind == Kind::Gather && self.is_root();
        if (gathers || call.kind == Kind::Allgather)
            && by_process(self.map, &call.receives).is_none()
        {
            for (rank, from) in self.in_places(&call.receives, self.given().len) {
                moves.copy(from, call.receives.of(call.output, rank));
            }
        }
        moves.0
    }

    /// Work by which every endpoint of the process takes data from its caller.
    pub(super) fn serve(&self) -> Vec<Work> {
        let mut moves = Moves::default();
        let call = self.call;
        let caller = self.caller() as usize;
        match call.kind {
            Kind::Barrier | Kind::Gather | Kind::Reduce => {}
            Kind::Bcast | Kind::Allreduce | Kind::Allgather if self.is_caller() => {}
            Kind::Bcast => moves.copy(self.all[caller].output, call.output),
            Kind::Allreduce => {
                let len = call.input.len;
                moves.copy(self.all[caller].output.part(0, len), call.output.part(0, len));
            }
            Kind::Allgather => {
                for rank in 0..self.map.size() {
                    let [from, to] = [self.all[caller].output, call.output]
                        .map(|output| call.receives.of(output, rank));
                    moves.copy(from, to);
                }
            }
            Kind::Scatter | Kind::ReduceScatter | Kind::ReduceScatterBlock if self.alone() => {}
            Kind::Scatter | Kind::ReduceScatter | Kind::ReduceScatterBlock => {
                let earlier = self.own_ranks().take(self.place.local as usize);
                let offset: u64 = earlier.map(|rank| call.sends.at(rank).len).sum();
                let len = call.sends.at(self.own_rank()).len;
                moves.copy(self.scattered().part(offset, len), call.output.part(0, len));
            }
            Kind::Alltoall => self.take_from_all(&mut moves),
            Kind::Scan => self.scan(&mut moves, self.place.local as usize + 1),
            Kind::Exscan => self.scan(&mut moves, self.place.local as usize),
        }
        moves.0
    }

    /// The block of each sender: those of a process lie by sender, then by receiver.
    fn take_from_all(&self, moves: &mut Moves) {
        let call = self.call;
        let (len, locals) = (call.receives.at(0).len, self.map.local_size(self.place.process));
        let mut offset = len * u64::from(locals * self.map.size() + self.place.local);
        for process in 0..self.map.process_count() {
            for rank in self.ranks(process) {
                moves.copy(self.exchange(offset, len), call.receives.of(call.output, rank));
                offset += len * u64::from(locals);
            }
        }
    }

    /// Combines the contributions of the processes before this one and of the first `upto` endpoints of this one.
    fn scan(&self, moves: &mut Moves, upto: usize) {
        let (output, own) = (self.call.output.part(0, self.call.input.len), &self.all[..upto]);
        if self.place.process == 0 {
            self.fold(moves, own, output);
            return;
        }
        moves.copy(self.before(), output);
        for one in own {
            moves.combine(one.input.part(0, self.call.input.len), output);
        }
    }
}
