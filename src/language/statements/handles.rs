//! What is known of requests and messages at a place of the program, by their names.
//!
//! The ways through a loop or a condition part and come together again. What one of them changes is kept in a log, so
//! that going back and coming together cost as much as was changed, and not as much as is known.

use std::collections::BTreeMap;

use form::diagnostic::Span;
use protocols::contract::Handle;

/// The state of a request or message at a place of the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Open {
    /// It is open.
    Yes,
    /// It may have ended in a test.
    Perhaps,
    /// It was prepared, and may be started: it ends by `request_free` only.
    Prepared,
    /// It has ended.
    No,
}

/// Its number, its state, and where it was opened.
pub(super) type Entry = (Handle, Open, Span);

/// The known requests and messages.
#[derive(Debug, Default)]
pub(super) struct Handles {
    known: BTreeMap<String, Entry>,
    /// Earlier entries of changed names, from the outermost loop or condition on.
    log: Vec<(String, Option<Entry>)>,
}

/// A place of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(usize);

/// Entries of some names on another way; `None` for a name that is not known there.
pub(super) type Way = BTreeMap<String, Option<Entry>>;

impl Handles {
    pub(super) fn get(&self, name: &str) -> Option<Entry> {
        self.known.get(name).copied()
    }

    /// Names that are open, or may be.
    pub(super) fn open(&self) -> Vec<&str> {
        let open = self.known.iter().filter(|(_, (_, open, _))| *open != Open::No);
        open.map(|(name, _)| name.as_str()).collect()
    }

    pub(super) fn set(&mut self, name: &str, entry: Entry) {
        let before = self.known.insert(name.to_owned(), entry);
        self.log.push((name.to_owned(), before));
    }

    /// Changes the state of a name, where it is known.
    pub(super) fn mark(&mut self, name: &str, open: Open) {
        if let Some((handle, _, span)) = self.get(name) {
            self.set(name, (handle, open, span));
        }
    }

    /// A way begins; `is_outermost` outside of every loop and condition, where nothing goes back behind it.
    pub(super) fn begin(&mut self, is_outermost: bool) -> Mark {
        if is_outermost {
            self.log.clear();
        }
        Mark(self.log.len())
    }

    /// Entries, where a way began, of the names that it has changed.
    pub(super) fn before(&self, mark: Mark) -> Way {
        let mut before = Way::new();
        for (name, entry) in &self.log[mark.0..] {
            before.entry(name.clone()).or_insert(*entry);
        }
        before
    }

    /// Goes back to where a way began: what is known at its end, of the names that it has changed.
    pub(super) fn go_back(&mut self, mark: Mark) -> Way {
        let before = self.before(mark);
        let mut after = Way::new();
        for (name, entry) in before {
            after.insert(name.clone(), self.get(&name));
            match entry {
                Some(entry) => drop(self.known.insert(name, entry)),
                None => drop(self.known.remove(&name)),
            }
        }
        self.log.truncate(mark.0);
        after
    }

    /// The way since `mark` and another one that began there come together: the program knows at run time which it has
    /// taken.
    pub(super) fn meet(&mut self, mark: Mark, mut other: Way) {
        for (name, entry) in self.before(mark) {
            other.entry(name).or_insert(entry);
        }
        for (name, there) in other {
            let here = self.get(&name);
            let (handle, open, span) = match (here, there) {
                (Some((handle, open, span)), Some((_, other, _))) => {
                    (handle, if open == other { open } else { on_one_way(open, other) }, span)
                }
                (Some((handle, open, span)), None) | (None, Some((handle, open, span))) => {
                    (handle, on_one_way(open, Open::No), span)
                }
                (None, None) => continue,
            };
            self.set(&name, (handle, open, span));
        }
    }
}

/// The state of a name whose states differ on two ways.
fn on_one_way(one: Open, other: Open) -> Open {
    if [one, other].contains(&Open::Prepared) { Open::Prepared } else { Open::Perhaps }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(open: Open) -> Entry {
        (Handle(0), open, Span::default())
    }

    fn state(handles: &Handles, name: &str) -> Option<Open> {
        handles.get(name).map(|(_, open, _)| open)
    }

    #[test]
    fn two_ways_come_together_in_what_they_have_changed() {
        let mut handles = Handles::default();
        for name in ["ended", "kept", "both"] {
            handles.set(name, entry(Open::Yes));
        }
        let mark = handles.begin(true);
        handles.mark("ended", Open::No);
        handles.mark("both", Open::No);
        handles.set("one", entry(Open::Yes));
        handles.set("prepared", entry(Open::Prepared));
        let other = handles.go_back(mark);
        assert_eq!(state(&handles, "ended"), Some(Open::Yes));
        assert_eq!(state(&handles, "one"), None);
        handles.mark("both", Open::No);
        handles.set("two", entry(Open::Yes));
        handles.meet(mark, other);
        let found =
            ["ended", "kept", "both", "one", "two", "prepared"].map(|name| state(&handles, name));
        let [perhaps, prepared] = [Open::Perhaps, Open::Prepared].map(Some);
        assert_eq!(found, [perhaps, Some(Open::Yes), Some(Open::No), perhaps, perhaps, prepared]);
    }

    #[test]
    fn an_outer_way_knows_what_an_inner_one_has_changed() {
        let mut handles = Handles::default();
        handles.set("a", entry(Open::Yes));
        let outer = handles.begin(true);
        let inner = handles.begin(false);
        handles.mark("a", Open::No);
        handles.meet(inner, Way::new());
        assert_eq!(state(&handles, "a"), Some(Open::Perhaps));
        assert_eq!(handles.before(outer)["a"].map(|(_, open, _)| open), Some(Open::Yes));
    }
}
