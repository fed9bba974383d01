//! The form of `topology`, made of the registry of topologies: the kind says which keys it has.

use form::shape::{Field, Need, Shape, Variant};
use hardware::topology::{self, KINDS, Key};

/// How many keys the kinds before this one have.
const fn keys_before(kind: usize) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < kind {
        count += KINDS[at].keys.len();
        at += 1;
    }
    count
}

const ALL_KEYS: usize = keys_before(KINDS.len());

/// The keys of all kinds, one after the other.
const KEYS: [Key; ALL_KEYS] = {
    let nothing = Key { name: "", least: 0, most: 0, need: topology::Need::Default(""), doc: "" };
    let mut keys = [nothing; ALL_KEYS];
    let mut kind = 0;
    while kind < KINDS.len() {
        let mut at = 0;
        while at < KINDS[kind].keys.len() {
            keys[keys_before(kind) + at] = KINDS[kind].keys[at];
            at += 1;
        }
        kind += 1;
    }
    keys
};

static SHAPES: [Shape; ALL_KEYS] = {
    let mut shapes = [Shape::Flag; ALL_KEYS];
    let mut at = 0;
    while at < ALL_KEYS {
        shapes[at] = Shape::Count { min: KEYS[at].least as u64, max: KEYS[at].most as u64 };
        at += 1;
    }
    shapes
};

static FIELDS: [Field; ALL_KEYS] = {
    let mut fields = [form::shape::NOTE; ALL_KEYS];
    let mut at = 0;
    while at < ALL_KEYS {
        let need = match KEYS[at].need {
            topology::Need::Required(example) => Need::Required(example),
            topology::Need::Default(value) => Need::Default(value),
        };
        fields[at] = Field { key: KEYS[at].name, shape: &SHAPES[at], need, doc: KEYS[at].doc };
        at += 1;
    }
    fields
};

/// The kinds, in the order of the registry.
pub(crate) static VARIANTS: [Variant; KINDS.len()] = {
    let mut variants = [Variant { name: "", fields: &[], doc: "" }; KINDS.len()];
    let mut kind = 0;
    while kind < KINDS.len() {
        let (_, fields) = FIELDS.split_at(keys_before(kind));
        let (fields, _) = fields.split_at(KINDS[kind].keys.len());
        variants[kind] = Variant { name: KINDS[kind].word, fields, doc: KINDS[kind].about };
        kind += 1;
    }
    variants
};

/// An object whose `kind` is one of them.
pub(super) static TOPOLOGY: Shape = Shape::Tagged { tag: "kind", variants: &VARIANTS };
