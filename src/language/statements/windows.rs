//! Windows that a program names, and their memory.
//!
//! A rank's name of a window holds from the statement that makes it to the one that frees it.
//!
//! Memory that is attached to a dynamic window has one name in all ranks, which stands for its address: where
//! an MPI program tells the address by a message, a statement of another rank says the name.

use std::collections::BTreeMap;

use super::communicators::Named;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::json::Node;
use protocols::contract::Region;
use protocols::rma::call::{Flavor, Win};

/// Statements that make or free windows.
pub(super) const MAKING: [&str; 5] =
    ["win_create", "win_allocate", "win_allocate_shared", "win_create_dynamic", "win_free"];

/// First number of memory with a name.
/// Encoding: memory without one is numbered from 0, by each rank for itself.
const FIRST_NAMED: u32 = 1 << 16;

/// Names of the memory of windows, the same in all ranks.
#[derive(Debug, Default)]
pub(super) struct MemoryNames(Vec<String>);

impl MemoryNames {
    /// The number of the memory with this name.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        let known = self.0.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        FIRST_NAMED + u32::try_from(place).expect("the shape limits the statements")
    }
}

/// A window of one rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) win: Win,
    pub(super) flavor: Flavor,
    pub(super) comm: Named,
    /// The rank's own memory, where it is known before the run; its length is the greatest where that is
    /// computed.
    pub(super) own: Region,
}

/// The windows that one rank has made so far.
#[derive(Debug, Default)]
pub(super) struct Windows {
    open: BTreeMap<String, (Window, Span)>,
    ended: Vec<String>,
    made: u16,
    /// Pieces of memory without a name.
    unnamed: u32,
}

impl Windows {
    /// The number of one more piece of memory without a name.
    pub(super) const fn unnamed_memory(&mut self) -> u32 {
        self.unnamed += 1;
        self.unnamed - 1
    }

    /// The window of the statement `node`, under `new`, gets a name that is free.
    pub(super) fn make(
        &mut self,
        out: &mut Diagnostics,
        (node, path): (&Node, &str),
        (flavor, comm, own): (Flavor, Named, Region),
    ) -> Win {
        let value = node.get("new").expect("the key is required");
        let name = value.text().expect("the tree was checked against its shape").to_owned();
        let (win, at) = (Win(self.made), format!("{path}.new"));
        if let Some((_, first)) = self.open.get(&name) {
            let found = format!("window `{}` is made again", quote(&name));
            let allowed = "a name may be used again after the free";
            let one = Diagnostic::error(&codes::WINDOW, value.span, &at, found, allowed);
            out.push(one.related(*first, "it was made here"));
        }
        match self.made.checked_add(1) {
            Some(made) => self.made = made,
            None => out.push(Diagnostic::error(
                &codes::WINDOW,
                value.span,
                at,
                "a window more than a rank can have",
                format!("{} are made at most, those that are freed among them", u16::MAX),
            )),
        }
        self.open.insert(name, (Window { win, flavor, comm, own }, value.span));
        win
    }

    /// The window that the statement `node` names under `win`; a report where there is none.
    pub(super) fn named(&self, out: &mut Diagnostics, node: &Node, path: &str) -> Option<Window> {
        let value = node.get("win")?;
        let name = value.text().expect("the tree was checked against its shape");
        if let Some((window, _)) = self.open.get(name) {
            return Some(*window);
        }
        let ended = self.ended.iter().any(|ended| ended == name);
        let found = if ended { "was freed" } else { "was never made" };
        let names: Vec<&str> = self.open.keys().map(String::as_str).collect();
        let allowed = if names.is_empty() {
            "none is made before".to_owned()
        } else {
            format!("made before are {}", names.join(", "))
        };
        let found = format!("window `{}` {found}", quote(name));
        let at = format!("{path}.win");
        out.push(Diagnostic::error(&codes::WINDOW, value.span, at, found, allowed));
        None
    }

    /// The window of this name is freed.
    pub(super) fn free(&mut self, name: &str) {
        if let Some((name, _)) = self.open.remove_entry(name) {
            self.ended.push(name);
        }
    }

    /// The program of the rank is over: all windows must be freed.
    pub(super) fn end(&mut self, out: &mut Diagnostics, path: &str) {
        for (name, (_, made)) in &self.open {
            let found = format!("window `{}` is never freed", quote(name));
            let allowed = "`win_free` must come after it";
            out.push(Diagnostic::error(&codes::WINDOW, *made, path, found, allowed));
        }
    }
}
