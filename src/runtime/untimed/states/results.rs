//! Results of steps, by the numbers of what they follow from.

use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;

use super::parts::Number;
use crate::fingerprint::Fingerprint;
use crate::monitors::buffers::Buffers;
use crate::prints::Prints;
use crate::untimed::choice::Choice;
use crate::untimed::facts::{Coverage, Facts};
use crate::untimed::state::{Operation, Port};
use crate::untimed::turn::Outside;
use crate::untimed::wires::Wires;
use protocols::contract::{Machine, Process};

/// A step of a process in a state of its port.
#[derive(Clone, Copy, Debug)]
pub(super) enum After {
    /// It was not taken yet.
    Unknown,
    /// It is computed by a world.
    Other,
    /// It is a turn, and leaves the port so.
    Turn { turn: Number, port: Number },
}

/// A process and its port.
#[derive(Debug)]
pub(super) struct Pair {
    /// The choices of the process and its adapter, and their results.
    pub(super) afters: Vec<(Choice, After)>,
    /// Whether all its programs have ended.
    pub(super) is_over: bool,
}

/// Result of a turn.
#[derive(Debug)]
pub(super) struct Turned {
    pub(super) process: Process,
    pub(super) local: Number,
    pub(super) met: Coverage,
    pub(super) effects: Box<[Number]>,
    pub(super) facts: Facts,
}

/// Effect of a turn on a port or another process.
#[derive(Debug)]
pub(super) struct Effect<M: Machine> {
    pub(super) from: Process,
    pub(super) does: Outside<M>,
}

impl<M: Machine> Effect<M> {
    /// A message arrives, or an operation is posted.
    pub(super) fn happens_to_port(&self, port: &mut Port<M>) {
        match &self.does {
            Outside::Sends { to, via, incoming } => {
                port.deliver(to.back(self.from), *via, incoming.clone());
            }
            Outside::Posts { token, lane, does } => {
                port.post(Operation::new(*token, *lane, does.clone()));
            }
            Outside::Fills { .. } | Outside::Types { .. } => {}
        }
    }

    /// The receiver of a message expects its content or its types.
    pub(super) fn happens_to_buffers(&self, buffers: &mut Buffers) {
        match &self.does {
            Outside::Fills { message, seed, .. } => buffers.expect_content(*message, *seed),
            Outside::Types { message, typed, .. } => {
                buffers.expect_types(*message, Arc::clone(typed));
            }
            Outside::Sends { .. } | Outside::Posts { .. } => {}
        }
    }

    /// A message leaves its adapter; answers whether it arrives at once.
    pub(super) fn crosses(&self, wires: Option<&mut Wires<M>>) -> bool {
        let Outside::Sends { to, incoming, .. } = &self.does else { return true };
        let end = (to.peer, to.back(self.from));
        wires.is_none_or(|wires| wires.post(end, incoming.clone()).is_some())
    }
}

impl<M: Machine> Hash for Effect<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.from.hash(state);
        std::mem::discriminant(&self.does).hash(state);
        match &self.does {
            Outside::Sends { to, via, incoming } => (to, via, incoming.named()).hash(state),
            Outside::Posts { token, lane, does } => (token, lane, does).hash(state),
            Outside::Fills { to, message, seed } => (to, message, seed).hash(state),
            Outside::Types { to, message, typed } => (to, message, typed).hash(state),
        }
    }
}

/// Turns whose results are known.
#[derive(Debug)]
pub(super) struct Turns<M: Machine> {
    pub(super) pairs: Vec<Pair>,
    pub(super) numbers_of_pairs: Prints<NonZeroU32>,
    /// By what a turn takes.
    pub(super) inputs: Prints<NonZeroU32>,
    /// By process and input.
    pub(super) by_input: Prints<NonZeroU32>,
    pub(super) turned: Vec<Turned>,
    pub(super) effects: Vec<Effect<M>>,
    pub(super) numbers_of_effects: Prints<NonZeroU32>,
    /// Ports, processes and wires after effects, and monitors after the facts of turns.
    pub(super) on_ports: Prints<NonZeroU32>,
    pub(super) on_locals: Prints<NonZeroU32>,
    pub(super) on_wires: Prints<(NonZeroU32, bool)>,
    pub(super) on_windows: Prints<(NonZeroU32, Coverage)>,
    pub(super) on_monitors: Prints<(NonZeroU32, Coverage)>,
    /// Bytes that the lists of all these hold.
    pub(super) held: usize,
}

impl<M: Machine> Default for Turns<M> {
    fn default() -> Self {
        Self {
            pairs: Vec::new(),
            numbers_of_pairs: Prints::default(),
            inputs: Prints::default(),
            by_input: Prints::default(),
            turned: Vec::new(),
            effects: Vec::new(),
            numbers_of_effects: Prints::default(),
            on_ports: Prints::default(),
            on_locals: Prints::default(),
            on_wires: Prints::default(),
            on_windows: Prints::default(),
            on_monitors: Prints::default(),
            held: 0,
        }
    }
}

impl<M: Machine> Turns<M> {
    pub(super) fn after(&self, (pair, place): (Number, u16)) -> After {
        self.pairs[pair as usize].afters[usize::from(place)].1
    }

    pub(super) fn bytes(&self) -> usize {
        let tables = self.numbers_of_pairs.bytes()
            + self.inputs.bytes()
            + self.by_input.bytes()
            + self.numbers_of_effects.bytes()
            + self.on_ports.bytes()
            + self.on_locals.bytes()
            + self.on_wires.bytes();
        tables + self.on_windows.bytes() + self.on_monitors.bytes() + self.held
    }

    /// The number of an effect; equal ones have the same.
    pub(super) fn number_of_effect(&mut self, effect: Effect<M>) -> Number {
        let next = next(self.effects.len());
        let key = Fingerprint::named(&effect);
        let number = self.numbers_of_effects.find_or_put(key, next).get() - 1;
        if number == next.get() - 1 {
            self.held += size_of::<Effect<M>>();
            if let Outside::Sends { incoming, .. } = &effect.does {
                self.held += incoming.bytes();
            }
            self.effects.push(effect);
        }
        number
    }
}

/// The number after so many, as a table keeps it: greater by one.
pub(super) fn next(many: usize) -> NonZeroU32 {
    let next = u32::try_from(many + 1).ok().and_then(NonZeroU32::new);
    next.expect("fewer than 2^32 - 1 results")
}

/// A number as a table keeps it.
pub(super) fn stored(number: Number) -> NonZeroU32 {
    number.checked_add(1).and_then(NonZeroU32::new).expect("a number is less than 2^32 - 1")
}

/// Key of a result by numbers: these themselves, and bits of all in the lowest quarter.
#[inline]
pub(super) fn key(numbers: [Number; 3]) -> u128 {
    /// Method: odd numbers with bits all over.
    const FACTORS: [u64; 3] = [0x87c3_7b91_1142_53d5, 0x4cf5_ad43_2745_937f, 0x9e37_79b9_7f4a_7c15];
    let [a, b, c] = numbers.map(u64::from);
    let mixed =
        a.wrapping_mul(FACTORS[0]) ^ b.wrapping_mul(FACTORS[1]) ^ c.wrapping_mul(FACTORS[2]);
    u128::from(a) << 96 | u128::from(b) << 64 | u128::from(c) << 32 | u128::from(mixed >> 32)
}

/// A number that is known, or becomes known now.
pub(super) fn known_or(
    table: &mut Prints<NonZeroU32>,
    key: u128,
    compute: impl FnOnce() -> Number,
) -> Number {
    match table.find(key) {
        Some(number) => number.get() - 1,
        None => table.find_or_put(key, stored(compute())).get() - 1,
    }
}

/// Parts after a step, by their places, and the branches that it reached.
#[derive(Debug)]
pub(super) struct Computed {
    pub(super) parts: Box<[(usize, Number)]>,
    pub(super) met: Coverage,
}
