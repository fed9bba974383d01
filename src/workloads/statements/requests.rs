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

use super::reader::Reader;
use super::variables::text_of;
use crate::program::control::{Computed, Key, Members};
use form::codes;
use form::diagnostic::{Diagnostic, quote};
use form::expression::{Expression, Type};
use form::fields::MOST_OF_ARRAY;
use form::json::Node;
use protocols::call::{Buffer, Requests};
use protocols::contract::Handle;

/// The arrays of requests of one rank.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    /// Their names, in the order of the text.
    names: Vec<String>,
    /// The plain names of requests and messages.
    plain: BTreeSet<String>,
    /// Statements with a request of an array, and how many of them were read that begin one.
    statements: u32,
    begun: u32,
}

/// The number of the first buffer of a place of an array: plain statements have lower ones, and buffers with a name
/// higher ones.
const FIRST_BUFFER: u32 = 1 << 20;
/// The buffers of an operation.
const BUFFERS: u32 = 2;

impl Arrays {
    /// Those of a list of statements.
    fn of(list: &Node) -> Self {
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

    fn members(&self, name: &str) -> Members {
        let place = self.names.iter().position(|known| known == name);
        let number = |count: usize| u32::try_from(count).expect("the shape limits statements");
        let place = number(place.expect("the names of all arrays were read before"));
        Members { first: number(self.plain.len()) + place, stride: number(self.names.len()) }
    }
}

impl Reader<'_> {
    /// The request of an array that `value` names; `None` where that is a plain name.
    pub(super) fn element(
        &mut self,
        value: &Node,
        path: &str,
        key: impl Fn(Members) -> Key,
    ) -> Option<Handle> {
        let members = self.array(value, path)?;
        let most = i64::try_from(MOST_OF_ARRAY - 1).expect("a small number");
        if self.computes(value, (key(members), Type::Integer), (0, most), path) {
            return Some(Handle(members.first));
        }
        let index = value.small("index").unwrap_or(0);
        Some(Handle(members.first + index * members.stride))
    }

    /// The buffers of the operation whose request `value` names, which was read before.
    pub(super) fn buffers_of_element(&mut self, value: &Node) {
        let arrays = self.arrays.as_mut().expect("the request was read before");
        let stride = BUFFERS * arrays.statements;
        let members = Members { first: FIRST_BUFFER + BUFFERS * arrays.begun, stride };
        arrays.begun += 1;
        let most = (MOST_OF_ARRAY - 1)
            .min(u64::from(((Buffer::OWN - FIRST_BUFFER) / stride).saturating_sub(1)));
        let range = (0, i64::try_from(most).expect("a small number"));
        let key = Key::Buffers(members);
        // The index is an expression of the request, or a number.
        let computed = &mut self.scope.extras.computed;
        let request = computed.last().filter(|one| matches!(one.key, Key::Request(_)));
        let index = || Expression::constant(value.small("index").unwrap_or(0).into());
        let value = match text_of(value.get("index").unwrap_or(value)) {
            Some(_) => request.map_or_else(|| Expression::constant(0), |one| one.value.clone()),
            None => index(),
        };
        computed.push(Computed { key, value, range });
    }

    /// The first requests of the array that `value` names.
    pub(super) fn first_of_array(&mut self, value: &Node, path: &str) -> Requests {
        let members = self.array(value, path).expect("the tree was checked against its shape");
        let most = i64::try_from(MOST_OF_ARRAY).expect("a small number");
        if self.computes(value, (Key::Requests(members), Type::Integer), (0, most), path) {
            return Requests::List([].into());
        }
        members.up_to(i64::from(value.small("count").unwrap_or(0)))
    }

    /// The array that `value` names, and not a plain request.
    fn array(&mut self, value: &Node, path: &str) -> Option<Members> {
        let name = value.word("name")?;
        let arrays = self.arrays.get_or_insert_with(|| Arrays::of(self.list));
        let members = arrays.members(name);
        if arrays.plain.contains(name) {
            let found = format!("`{}` is an array here", quote(name));
            let allowed = "it is a plain request or a message in another statement";
            let one = Diagnostic::error(&codes::REQUEST, value.span, path, found, allowed);
            self.report(one.help("give the array a name of its own"));
        }
        // The program looks at run time which of its requests are open.
        self.scope.used = true;
        Some(members)
    }
}
