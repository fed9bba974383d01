//! Collectives between two groups: with real payload, every kind gives each group what the other one gives,
//! for groups of one to four ranks that lie beside each other or in turn.

use std::sync::Arc;

use crate::reference::{Example, FILL, INPUT, OUTPUT, elements, fold, part, put, ragged};
use crate::small::{Small, WORLD, gives};
use mpisim::collectives::{Between, Blocks, Collective, Kind};
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Call, Comm, CommCall};
use mpisim::protocols::contract::Region;
use mpisim::runtime::explore;
use mpisim::runtime::untimed::Outcome;

const OWN: Comm = Comm(10);
const BETWEEN: Comm = Comm(11);

/// The processes of both groups.
type Groups = [Vec<u32>; 2];

/// One rank of an operation.
struct Place<'a> {
    process: u32,
    /// Its rank in its group.
    me: u32,
    own: &'a [u32],
    other: &'a [u32],
    /// The group and the rank of the root.
    root: (bool, u32),
    lists: bool,
}

fn size(group: &[u32]) -> u32 {
    u32::try_from(group.len()).unwrap()
}

fn affine() -> Reduction {
    Reduction::new(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair).unwrap()
}

/// Bytes that name their process.
fn data(process: u32, len: u64) -> Vec<u8> {
    elements(Reduction::new(Operator::Sum, Datatype::Int32).unwrap(), process, len / 4)
}

fn filled(len: u64) -> Vec<u8> {
    vec![FILL; usize::try_from(len).unwrap()]
}

impl Place<'_> {
    fn blocks(&self, group: &[u32]) -> Blocks {
        if self.lists { ragged(size(group), 4) } else { Blocks::Equal(8) }
    }

    fn root(&self) -> Rank {
        match self.root {
            (true, root) if root == self.me => Between::ROOT,
            (true, _) => Between::NO_ROOT,
            (false, root) => Rank(root),
        }
    }

    fn is_root(&self) -> bool {
        self.root() == Between::ROOT
    }

    /// Whether it is of the group that the root is not of.
    fn is_across(&self) -> bool {
        !self.root.0
    }

    /// The process of the root.
    fn of_root(&self) -> u32 {
        let group = if self.root.0 { self.own } else { self.other };
        group[self.root.1 as usize]
    }

    /// Blocks of what one rank sends to the other group, or receives from it; from `i` to `j` goes
    /// one length.
    fn exchanged(&self, sends: bool) -> Blocks {
        let len = |peer: &u32| {
            let (from, to) = if sends { (self.process, *peer) } else { (*peer, self.process) };
            if self.lists { 4 * u64::from((from + 2 * to) % 3) } else { 4 }
        };
        let lengths: Vec<u64> = self.other.iter().map(len).collect();
        if self.lists { Blocks::packed(&lengths) } else { Blocks::Equal(4) }
    }

    /// The blocks of a vector of so many elements in its own group.
    fn scattered(&self) -> Blocks {
        let (own, other) = (size(self.own), size(self.other));
        let width = affine().datatype().width();
        if !self.lists {
            return Blocks::Equal(u64::from(other) * width);
        }
        let rest = u64::from(own * other - (own - 1)) * width;
        let lengths: Vec<u64> = (0..own).map(|rank| if rank == 0 { rest } else { width }).collect();
        Blocks::packed(&lengths)
    }

    fn vector(&self, process: u32, kind: Kind) -> Vec<u8> {
        let scatters = matches!(kind, Kind::ReduceScatter | Kind::ReduceScatterBlock);
        let count = if scatters { size(self.own) * size(self.other) } else { 3 };
        elements(affine(), process, count.into())
    }

    /// What the other group gives, combined in the order of its ranks.
    fn combined(&self, kind: Kind) -> Vec<u8> {
        let all: Vec<Vec<u8>> = self.other.iter().map(|&one| self.vector(one, kind)).collect();
        fold(affine(), &all)
    }

    /// Its call, what it gives, what its result buffer holds before, and after.
    fn example(&self, kind: Kind) -> (Collective, Vec<u8>, Vec<u8>, Vec<u8>) {
        let root = self.root();
        let (input, output, result) = self.bytes(kind);
        let [from, to] = [(INPUT, &input), (OUTPUT, &output)]
            .map(|(space, bytes)| Region::new(space, bytes.len() as u64));
        let group = if self.is_root() { self.other } else { self.own };
        let call = match kind {
            Kind::Barrier => Collective::barrier(BETWEEN),
            Kind::Bcast => Collective::bcast(BETWEEN, root, to),
            Kind::Scatter => Collective::scatter(BETWEEN, root, from, self.blocks(group), to),
            Kind::Gather => Collective::gather(BETWEEN, root, from, to, self.blocks(group)),
            Kind::Allgather => Collective {
                sends: self.blocks(self.own),
                ..Collective::allgather(BETWEEN, from, to, self.blocks(self.other))
            },
            Kind::Alltoall => {
                let (sends, receives) = (self.exchanged(true), self.exchanged(false));
                Collective::alltoall(BETWEEN, (from, sends), (to, receives))
            }
            Kind::Reduce => Collective::reduce(BETWEEN, root, from, to, affine()),
            Kind::Allreduce => Collective::allreduce(BETWEEN, from, to, affine()),
            Kind::ReduceScatter | Kind::ReduceScatterBlock => {
                Collective::reduce_scatter(BETWEEN, from, to, self.scattered(), affine())
            }
            Kind::Scan | Kind::Exscan => panic!("{kind:?} is not defined between groups"),
        };
        (call, input, output, result)
    }

    fn bytes(&self, kind: Kind) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let (none, others) = (Vec::new, self.blocks(self.other));
        let own = self.blocks(self.own).at(self.me);
        let whole = filled(others.extent(size(self.other)));
        let collected = || {
            let mut whole = whole.clone();
            for (rank, &process) in (0..).zip(self.other) {
                let block = others.at(rank);
                put(&mut whole, block, &data(process, block.len));
            }
            whole
        };
        match kind {
            Kind::Bcast if self.is_across() => (none(), filled(40), data(self.of_root(), 40)),
            Kind::Bcast if self.is_root() => {
                (none(), data(self.process, 40), data(self.process, 40))
            }
            Kind::Scatter if self.is_across() => {
                let all = data(self.of_root(), self.blocks(self.own).extent(size(self.own)));
                (none(), filled(own.len), part(&all, own).to_vec())
            }
            Kind::Scatter if self.is_root() => {
                (data(self.process, whole.len() as u64), none(), none())
            }
            Kind::Gather if self.is_across() => (data(self.process, own.len), none(), none()),
            Kind::Gather if self.is_root() => (none(), whole.clone(), collected()),
            Kind::Allgather => (data(self.process, own.len), whole.clone(), collected()),
            Kind::Alltoall => {
                let (others, receives) = (size(self.other), self.exchanged(false));
                let mut result = filled(receives.extent(others));
                let output = result.clone();
                for (rank, &process) in (0..).zip(self.other) {
                    let (own, other, me) = (self.other, self.own, rank);
                    let peer = Place { process, me, own, other, root: self.root, ..*self };
                    let sends = peer.exchanged(true);
                    let given = data(process, sends.extent(size(self.own)));
                    put(&mut result, receives.at(rank), part(&given, sends.at(self.me)));
                }
                (data(self.process, self.exchanged(true).extent(others)), output, result)
            }
            Kind::Reduce if self.is_across() => (self.vector(self.process, kind), none(), none()),
            Kind::Reduce if self.is_root() => {
                let result = self.combined(kind);
                (none(), filled(result.len() as u64), result)
            }
            Kind::Allreduce => {
                let result = self.combined(kind);
                (self.vector(self.process, kind), filled(result.len() as u64), result)
            }
            Kind::ReduceScatter | Kind::ReduceScatterBlock => {
                let block = self.scattered().at(self.me);
                let result = part(&self.combined(kind), block).to_vec();
                (self.vector(self.process, kind), filled(block.len), result)
            }
            Kind::Barrier
            | Kind::Bcast
            | Kind::Scatter
            | Kind::Gather
            | Kind::Reduce
            | Kind::Scan
            | Kind::Exscan => (none(), none(), none()),
        }
    }
}

/// Two groups that lie beside each other, or in turn as far as that goes.
fn groups(first: u32, second: u32, in_turn: bool) -> Groups {
    let mut groups = [Vec::new(), Vec::new()];
    for process in 0..first + second {
        let turns = in_turn && process < 2 * first.min(second);
        let is_first = if turns { process % 2 == 1 } else { groups[0].len() < first as usize };
        groups[usize::from(!is_first)].push(process);
    }
    groups
}

/// The calls of a process: it makes the two groups, and calls.
fn calls(groups: &Groups, process: u32, call: Collective) -> Vec<Call> {
    let side = usize::from(groups[1].contains(&process));
    let color = Some(i32::try_from(side).unwrap());
    let (peer, remote_leader) = (WORLD, Rank(groups[1 - side][0]));
    let between = CommCall::Intercomm {
        comm: OWN,
        leader: Rank(0),
        peer,
        remote_leader,
        tag: 0,
        new: BETWEEN,
    };
    let split = CommCall::Split { comm: WORLD, color, key: 0, new: OWN };
    let [split, between] = [split, between].map(Call::Communicators);
    vec![split, between, Call::Collective(Arc::new(call))]
}

#[track_caller]
fn check(groups: &Groups, (kind, lists): (Kind, bool), root: (usize, u32)) {
    let mut example = Example { calls: vec![], inputs: vec![], outputs: vec![], results: vec![] };
    let mut all = Vec::new();
    for process in 0..size(&groups[0]) + size(&groups[1]) {
        let side = usize::from(groups[1].contains(&process));
        let (own, other) = (&groups[side], &groups[1 - side]);
        let me = own.iter().position(|one| *one == process).unwrap();
        let me = u32::try_from(me).unwrap();
        let root = (side == root.0, root.1);
        let place = Place { process, me, own, other, root, lists };
        let (call, input, output, result) = place.example(kind);
        all.push(calls(groups, process, call.clone()));
        example.calls.push(call);
        example.inputs.push(input);
        example.outputs.push(output);
        example.results.push(Some(result));
    }
    for seed in 0..2 {
        let mut world = Small { example: Some(example.clone()), ..Small::new(all.clone()) }.world();
        let walk = explore::walk(&mut world, seed, 1, 1_000_000);
        let what = format!("{kind:?} of {groups:?}, lists {lists}, root {root:?}, seed {seed}");
        let fault = world.fault().map(ToString::to_string);
        assert_eq!(walk.outcome, Outcome::Finished, "{what}: {:?} {fault:?}", world.deadlock());
        assert_eq!(walk.violations, [], "{what}");
        assert_eq!(world.conclude(), [], "{what}");
        assert!(gives(&example, &world), "{what}");
    }
}

#[test]
fn each_group_gets_what_the_other_one_gives() {
    let defined = Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Scan | Kind::Exscan));
    for (first, second) in [(1, 1), (1, 2), (2, 1), (2, 3), (3, 3), (4, 2), (1, 4), (5, 4)] {
        for in_turn in [false, true] {
            let groups = groups(first, second, in_turn);
            for kind in defined.clone() {
                let is_list = kind == Kind::ReduceScatter;
                let has_both =
                    matches!(kind, Kind::Scatter | Kind::Gather | Kind::Allgather | Kind::Alltoall);
                for lists in [false, true] {
                    if lists != is_list && !has_both {
                        continue;
                    }
                    for root in [(0, first - 1), (1, 0)] {
                        check(&groups, (kind, lists), root);
                        if !kind.has_root() {
                            break;
                        }
                    }
                }
            }
        }
    }
}
