//! The labels of one rank, found by their letters.

use runtime::loggops::schedule::Builder;

const EMPTY: u32 = u32::MAX;
/// Slots at the start.
/// Method: most ranks have few operations.
const SLOTS: usize = 64;
/// Most slots of a table that is kept for the next rank.
/// Method: memory of a larger one is given back.
const KEPT: usize = 4096;

/// Operations by their labels: open addressing, at most half full.
#[derive(Debug)]
pub(super) struct Labels {
    slots: Vec<u32>,
    used: usize,
}

impl Default for Labels {
    fn default() -> Self {
        Self { slots: vec![EMPTY; SLOTS], used: 0 }
    }
}

impl Labels {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        if self.slots.len() > KEPT {
            *self = Self::default();
        } else if self.used > 0 {
            self.slots.fill(EMPTY);
            self.used = 0;
        }
    }

    /// The operation with this label.
    pub(super) fn find(&self, builder: &Builder, label: &str) -> Option<u32> {
        let op = self.slots[self.slot(builder, label)];
        (op != EMPTY).then_some(op)
    }

    /// Adds the label of operation `op`, which no other has.
    pub(super) fn insert(&mut self, builder: &Builder, label: &str, op: u32) {
        if 2 * (self.used + 1) > self.slots.len() {
            self.grow(builder);
        }
        let slot = self.slot(builder, label);
        self.slots[slot] = op;
        self.used += 1;
    }

    fn grow(&mut self, builder: &Builder) {
        let double = vec![EMPTY; 2 * self.slots.len()];
        for op in std::mem::replace(&mut self.slots, double) {
            if op != EMPTY {
                let label = builder.label(op).expect("what is in the table has a label");
                let slot = self.slot(builder, label);
                self.slots[slot] = op;
            }
        }
    }

    /// The slot of this label, or the free one where it belongs.
    fn slot(&self, builder: &Builder, label: &str) -> usize {
        let mask = self.slots.len() - 1;
        let low = usize::try_from(hash(label) & u64::from(u32::MAX)).expect("32 bits");
        let mut slot = low & mask;
        while self.slots[slot] != EMPTY && builder.label(self.slots[slot]) != Some(label) {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// FNV-1a, its high half folded in.
fn hash(label: &str) -> u64 {
    let mixed = label.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mixed ^ (mixed >> 32)
}
