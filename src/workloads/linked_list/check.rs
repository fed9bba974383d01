//! Whether the list is what it must be, whatever the order of its making: element k belongs to rank
//! k mod P, there are as many as were requested, and the last one points nowhere.
//!
//! Source: `rma` Fig. 8; the check walks the memories after the run, at no simulated cost.

use super::{ELEMENT, NEXT, NULL, WORD};
use protocols::contract::{Process, Region, Space};
use runtime::memory::Memories;
use runtime::monitors::Violation;

/// The first mistake in the list of `elements` that `size` ranks have made; `None` where there is
/// none.
pub fn first_disorder(memories: &Memories, size: u32, elements: u32) -> Option<String> {
    let word = |rank: u32, memory: u32, offset: u64| {
        let region = Region { space: Space::Window(memory), offset, len: WORD };
        memories.load(Process(rank), region)
    };
    let (mut rank, mut memory) = (0, 0);
    for number in 0..elements {
        let (due, owner) = (number % size, word(rank, memory, 0));
        if rank != due || owner != u64::from(due) {
            return Some(format!(
                "element {number} lies at rank {rank} and says that it is of rank {owner}, instead of {due}"
            ));
        }
        let (next, address) = (word(rank, memory, NEXT), word(rank, memory, NEXT + WORD));
        let last = number + 1 == elements;
        if (next == NULL) != last {
            let found = if last { "goes on" } else { "ends" };
            return Some(format!("the list {found} after element {number} of {elements}"));
        }
        if !last {
            let (to, place) = (u32::try_from(next).ok(), u32::try_from(address >> 32).ok());
            match (to, place) {
                (Some(to), Some(place)) if to < size && address % (1 << 32) == 0 => {
                    (rank, memory) = (to, place);
                }
                _ => {
                    return Some(format!(
                        "element {number} points at {address:#x} of rank {next}, where no element of {ELEMENT} B is"
                    ));
                }
            }
        }
    }
    None
}

/// The same as a broken law.
pub fn disorder(memories: &Memories, size: u32, elements: u32) -> Option<Violation> {
    first_disorder(memories, size, elements).map(|detail| Violation {
        id: "R14",
        statement: "element k of the list belongs to rank k mod P, and none is lost",
        objects: vec!["the linked list".to_owned()],
        detail,
    })
}
