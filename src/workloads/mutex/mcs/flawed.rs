//! Planted bugs of the MCS mutex, and changes that must not matter: for tests only.

use super::{
    Call, Comm, HOST, ME, MESSAGE, Mcs, NOBODY, Next, OPERANDS, PREVIOUS, Peer, Point, Release,
    Steps, TAG, TAIL, Turn, WORD, read, swap,
};

/// One of them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flaw {
    /// The release returns where its compare-and-swap fails.
    LeavesSuccessor,
    /// The tail is read, then written.
    SwapsInTwo,
    /// The compare-and-swap expects no rank instead of the own one.
    ExpectsNobody,
    /// A successor that the release waited for is not notified.
    ForgetsLate,
    /// The own `next` keeps what the last cycle left there.
    NeverResets,
    /// The own `next` is reset after the swap.
    ResetsLate,
    /// A rank enters when it has linked itself.
    EntersUnasked,
    /// Harmless: the message is taken from any source.
    AnySource,
    /// Harmless: the own `next` is reset twice.
    ResetsTwice,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::LeavesSuccessor,
        Self::SwapsInTwo,
        Self::ExpectsNobody,
        Self::ForgetsLate,
        Self::NeverResets,
        Self::ResetsLate,
        Self::EntersUnasked,
        Self::AnySource,
        Self::ResetsTwice,
    ];
}

/// The planted bug, and how far its own steps are.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Flawed {
    flaw: Option<Flaw>,
    step: u8,
}

impl Flawed {
    pub(super) const NONE: Self = Self { flaw: None, step: 0 };
}

impl Mcs {
    pub(in super::super) const fn plant(&mut self, flaw: Flaw) {
        self.flawed.flaw = Some(flaw);
    }

    /// A step of the bug's own; the point stays.
    const fn step(&mut self, step: u8, turn: Turn) -> Turn {
        self.flawed.step = step;
        turn
    }

    pub(super) fn flawed_acquire(&mut self, value: u64) -> Option<Turn> {
        let me = self.me;
        let reset = || Turn::store(me.own(0, WORD), NOBODY);
        match (self.flawed.flaw?, self.at, self.flawed.step) {
            (Flaw::NeverResets | Flaw::ResetsLate, Point::Reset, _) => {
                self.at = Point::Sync;
                Some(self.acquire(value))
            }
            (Flaw::ResetsTwice, Point::Reset, 0) | (Flaw::ResetsLate, Point::Previous, 0) => {
                Some(self.step(1, reset()))
            }
            (Flaw::ResetsTwice, Point::Reset, _) | (Flaw::ResetsLate, Point::Previous, _) => {
                self.flawed.step = 0;
                None
            }
            (Flaw::SwapsInTwo, Point::Swap, 0) => {
                Some(self.step(1, Turn::operate(HOST, TAIL, read(PREVIOUS))))
            }
            (Flaw::SwapsInTwo, Point::Swap, 1) => Some(self.step(2, Turn::flush(HOST))),
            (Flaw::SwapsInTwo, Point::Swap, _) => {
                self.flawed.step = 0;
                let write = Turn::operate(HOST, TAIL, swap(ME, None));
                Some(self.go(Point::Swapped, write))
            }
            (Flaw::EntersUnasked, Point::Wait, _) => {
                self.predecessor = NOBODY;
                Some(self.go(Point::Holds, Turn::Done))
            }
            (Flaw::AnySource, Point::Wait, _) => {
                let comm = Comm::default();
                let call = Call::Recv { source: Peer::Any, tag: Some(TAG), comm, buffer: MESSAGE };
                self.predecessor = NOBODY;
                Some(self.go(Point::Holds, Turn::Step(Next::Call(call))))
            }
            _ => None,
        }
    }

    pub(super) fn flawed_release(&mut self, value: u64) -> Option<Turn> {
        let takes_out = self.release == Release::CasFirst || value == NOBODY;
        match (self.flawed.flaw?, self.at, self.flawed.step) {
            (Flaw::LeavesSuccessor, Point::ReadAgain, _) => Some(self.go(Point::Reset, Turn::Done)),
            (Flaw::ExpectsNobody, Point::TakeOut, 0) if takes_out => {
                Some(self.step(1, Turn::store(OPERANDS, NOBODY << 32 | NOBODY)))
            }
            (Flaw::ExpectsNobody, Point::TakeOut, 1) => {
                self.flawed.step = 0;
                None
            }
            (Flaw::ForgetsLate, Point::SendToSuccessor, _)
                if self.successor == NOBODY && value != NOBODY =>
            {
                Some(self.go(Point::Reset, Turn::Done))
            }
            _ => None,
        }
    }
}
