//! The program of one rank of a case.

use std::collections::VecDeque;
use std::sync::Arc;

use super::case::{Case, Does, Kind, Op, Round, Sync};
use mpi::envelope::Rank;
use mpi::operator::{Datatype, Operator};
use mpi::rma::synchronisation::{LockKind, RankSet};
use mpi::rma::update::Update;
use protocols::call::{Call, Comm, Reply, Requests};
use protocols::contract::{Handle, Machine, Next, Program, Region, Space};
use protocols::rma::call::{At, FenceAssert, Flavor, Operation, RmaCall, Win, address};

/// The program.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Play {
    lines: Arc<[Line]>,
    at: usize,
    value: u64,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Line {
    Plain(Next<Call>),
    /// Adds to the value that was read last, and writes it.
    Add(Region, Update, Vec<u8>),
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Play {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        let line = self.lines.get(self.at);
        self.at += 1;
        match line {
            None => Next::End,
            Some(Line::Plain(next)) => next.clone(),
            Some(Line::Add(region, sum, add)) => {
                let mut value = self.value.to_le_bytes();
                sum.apply(add, &mut value[..add.len()]);
                Next::Store(*region, u64::from_le_bytes(value))
            }
        }
    }

    fn loaded(&mut self, value: u64) {
        self.value = value;
    }

    fn position(&self) -> Option<u32> {
        u32::try_from(self.at).ok()?.checked_sub(1)
    }
}

const WINDOW: Win = Win(0);
const WORLD: Comm = Comm(0);

struct Writer<'a> {
    case: &'a Case,
    rank: u32,
    lines: Vec<Line>,
    /// Requests without a wait so far.
    open: VecDeque<Handle>,
    /// Number of the next buffer that no operation names.
    buffer: u32,
}

impl Play {
    pub(super) fn new(case: &Case, rank: u32) -> Self {
        let buffer = 2 * u32::try_from(case.ops().count() + 1).expect("a case is small");
        let mut writer = Writer { case, rank, lines: Vec::new(), open: VecDeque::new(), buffer };
        writer.all();
        Self { lines: writer.lines.into(), at: 0, value: 0 }
    }
}

impl Writer<'_> {
    fn all(&mut self) {
        let init = &self.case.init[self.rank as usize];
        let bytes = init.len() as u64;
        self.store(Region::new(Space::Window(0), bytes), init);
        let (win, flavor, memory, unit) = (WINDOW, self.case.flavor, 0, self.case.unit);
        let own = if flavor == Flavor::Dynamic { 0 } else { bytes };
        self.rma(RmaCall::Create { win, comm: WORLD, flavor, memory, bytes: own, unit });
        let attached = flavor == Flavor::Dynamic && bytes > 0;
        if attached {
            self.rma(RmaCall::Attach { win, memory, bytes });
        }
        self.barrier();
        for step in &self.case.steps {
            match step {
                Round::Epochs { sync, ops } => self.epochs(*sync, ops),
                Round::Increments { target, disp, add } => {
                    self.increment(*target, *disp, &add[self.rank as usize]);
                }
            }
            self.barrier();
        }
        if attached {
            self.rma(RmaCall::Detach { win, memory });
        }
        self.rma(RmaCall::Free { win });
    }

    fn plain(&mut self, next: Next<Call>) {
        self.lines.push(Line::Plain(next));
    }

    fn rma(&mut self, call: RmaCall) {
        self.plain(Next::Call(Call::Rma(Arc::new(call))));
    }

    fn barrier(&mut self) {
        self.plain(Next::Call(Call::Barrier { comm: WORLD }));
    }

    /// The program writes these bytes.
    fn store(&mut self, region: Region, bytes: &[u8]) {
        for (chunk, offset) in bytes.chunks(8).zip((0..).step_by(8)) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let part = region.part(offset, chunk.len() as u64);
            self.plain(Next::Store(part, u64::from_le_bytes(word)));
        }
    }

    /// Where bytes of a target lie, as calls say it.
    fn displaced(&self, at: At) -> At {
        let disp = match self.case.flavor {
            Flavor::Dynamic => address(0, at.disp),
            Flavor::Create | Flavor::Allocate | Flavor::Shared(_) => at.disp / self.case.unit,
        };
        At { disp, ..at }
    }

    fn operate(&mut self, op: &Op) {
        let Does::Operate { target, at, kind, data, request } = &op.does else {
            let win = WINDOW;
            return match op.does {
                Does::Flush(target) => self.rma(RmaCall::Flush { win, target, local: false }),
                Does::FlushAll | Does::Operate { .. } => {
                    self.rma(RmaCall::FlushAll { win, local: false });
                }
            };
        };
        if let Some(region) = op.origin() {
            self.store(region, data);
        }
        let empty = Region::new(Space::User(2 * op.number), 0);
        let (origin, result) = (op.origin(), op.result());
        let does = match *kind {
            Kind::Put => Operation::Put { origin: origin.unwrap_or(empty) },
            Kind::Get => Operation::Get { into: result.unwrap_or(empty) },
            Kind::Update { update, .. } => Operation::Update { update, origin, result },
        };
        let request = request.then_some(Handle(op.number));
        self.open.extend(request);
        let at = self.displaced(*at);
        self.rma(RmaCall::Operate { win: WINDOW, target: *target, at, does, request });
    }

    fn operate_all(&mut self, ops: &[&Op]) {
        for op in ops {
            self.operate(op);
        }
    }

    /// Waits for all requests.
    fn wait(&mut self) {
        let requests = Requests::List(self.open.drain(..).collect());
        if !requests.is_empty() {
            self.plain(Next::Call(Call::WaitAll { requests, statuses: false }));
        }
    }

    /// Operations on no rank, wherever they stand.
    fn on_nobody(&mut self, ops: &[&Op]) {
        for op in ops.iter().filter(|op| matches!(op.does, Does::Operate { target: None, .. })) {
            self.operate(op);
        }
    }

    fn epochs(&mut self, sync: Sync, ops: &[Op]) {
        let (win, rank) = (WINDOW, self.rank);
        let mine: Vec<&Op> = ops.iter().filter(|op| op.origin == rank).collect();
        match sync {
            Sync::Fence => {
                let assert = FenceAssert::default();
                self.rma(RmaCall::Fence { win, assert });
                self.operate_all(&mine);
                self.rma(RmaCall::Fence { win, assert });
            }
            Sync::Pscw => self.post_and_start(&mine, ops),
            Sync::Lock(kind) => {
                self.on_nobody(&mine);
                for target in 0..self.case.ranks() {
                    if mine.iter().all(|op| op.target() != Some(target)) {
                        continue;
                    }
                    let there = mine.iter().filter(|op| op.belongs_to(target));
                    let there: Vec<&Op> = there.copied().collect();
                    self.rma(RmaCall::Lock { win, target, kind, no_check: false });
                    self.operate_all(&there);
                    self.wait();
                    self.rma(RmaCall::Unlock { win, target });
                }
                self.wait();
            }
            Sync::LockMany => {
                let sizes = self.case.init.iter().map(Vec::is_empty);
                let targets: Vec<u32> =
                    (0..).zip(sizes).filter(|(_, empty)| !empty).map(|(rank, _)| rank).collect();
                for &target in &targets {
                    let kind = LockKind::Shared;
                    self.rma(RmaCall::Lock { win, target, kind, no_check: false });
                }
                self.operate_all(&mine);
                self.wait();
                for &target in targets.iter().rev() {
                    self.rma(RmaCall::Unlock { win, target });
                }
            }
            Sync::LockAll => {
                self.rma(RmaCall::LockAll { win, no_check: false });
                self.operate_all(&mine);
                self.wait();
                self.rma(RmaCall::UnlockAll { win });
            }
        }
    }

    fn post_and_start(&mut self, mine: &[&Op], all: &[Op]) {
        let (win, rank) = (WINDOW, self.rank);
        let ranks = |ranks: Vec<u32>| ranks.into_iter().map(Rank).collect::<RankSet>();
        let to_me = all.iter().filter(|op| op.target() == Some(rank));
        let origins = ranks(to_me.map(|op| op.origin).collect());
        let targets = ranks(mine.iter().filter_map(|op| op.target()).collect());
        let exposes = !origins.ranks().is_empty();
        if exposes {
            self.rma(RmaCall::Post { win, group: origins });
        }
        if targets.ranks().is_empty() {
            self.on_nobody(mine);
        } else {
            self.rma(RmaCall::Start { win, group: targets });
            self.operate_all(mine);
            self.rma(RmaCall::Complete { win });
        }
        if exposes {
            self.rma(RmaCall::Wait { win });
        }
    }

    fn increment(&mut self, target: u32, disp: u64, add: &[u8]) {
        let (win, kind, datatype) = (WINDOW, LockKind::Exclusive, self.case.datatype);
        let region = Region::new(Space::User(self.buffer), add.len() as u64);
        self.buffer += 1;
        let at = self.displaced(At::contiguous(disp * datatype.width(), region.len));
        let operate = |does| {
            let target = Some(target);
            RmaCall::Operate { win, target, at, does, request: None }
        };
        self.rma(RmaCall::Lock { win, target, kind, no_check: false });
        self.rma(operate(Operation::Get { into: region }));
        self.rma(RmaCall::Flush { win, target, local: false });
        self.plain(Next::Load(region));
        self.lines.push(Line::Add(region, sum(datatype), add.to_vec()));
        self.rma(operate(Operation::Put { origin: region }));
        self.rma(RmaCall::Unlock { win, target });
    }
}

fn sum(datatype: Datatype) -> Update {
    Update::reduce(Operator::Sum, datatype).expect("a sum is defined on every number")
}
