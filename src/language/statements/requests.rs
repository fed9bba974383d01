//! Arrays of requests: names with an index.
//!
//! Their handles come after those of plain names. The arrays of a program stand side by side, request by request, so
//! that each of them grows with its use:
//!
//! ```text
//!   plain names   a[0] b[0]   a[1] b[1]   a[2] b[2]  ...
//! ```
//!
//! Each place of an array has buffers of its own, beside those of plain statements: operations that a loop begins are
//! open at once, and no two of them receive into one buffer.
//!
//! A request of an array that no statement has begun is `MPI_REQUEST_NULL`: the program knows at run time what is open.

use std::collections::BTreeSet;

use crate::program::computed::Members;
use form::json::Node;

/// The arrays of requests of one rank.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    /// Their names, in the order of the text.
    names: Vec<String>,
    /// The plain names of requests and messages.
    pub(super) plain: BTreeSet<String>,
    /// Statements with a request of an array, and how many of them were read that begin one.
    pub(super) statements: u32,
    pub(super) begun: u32,
}

/// The number of the first buffer of a place of an array.
/// Encoding: plain statements have lower ones, and buffers with a name higher ones.
pub(super) const FIRST_BUFFER: u32 = 1 << 20;
/// The buffers of an operation.
/// Encoding: each has so many numbers.
pub(super) const BUFFERS: u32 = 2;

impl Arrays {
    /// Those of a list of statements.
    pub(super) fn of(list: &Node) -> Self {
        let mut arrays = Self::default();
        arrays.look(list);
        arrays
    }

    fn look(&mut self, list: &Node) {
        for node in list.elements().unwrap_or(&[]) {
            for key in ["do", "then", "else"] {
                if let Some(list) = node.get(key) {
                    self.look(list);
                }
            }
            let listed = node.get("reqs").map_or(&[][..], |reqs| {
                reqs.elements().unwrap_or_else(|| std::slice::from_ref(reqs))
            });
            self.statements += u32::from(node.get("req").is_some_and(|req| req.text().is_none()));
            let one = [node.get("req"), node.get("handle")].into_iter().flatten();
            for value in one.chain(listed) {
                match value.word("name") {
                    Some(name) if !self.names.iter().any(|known| known == name) => {
                        self.names.push(name.to_owned());
                    }
                    Some(_) => {}
                    None => self.plain.extend(value.text().map(str::to_owned)),
                }
            }
        }
    }

    pub(super) fn members(&self, name: &str) -> Members {
        let place = self.names.iter().position(|known| known == name);
        let number = |count: usize| u32::try_from(count).expect("the shape limits statements");
        let place = number(place.expect("the names of all arrays were read before"));
        Members { first: number(self.plain.len()) + place, stride: number(self.names.len()) }
    }
}
