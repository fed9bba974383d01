//! Defects of this program: said in words, with the command that shows them again.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Mutex, PoisonError};

use super::terminal::{Outcome, Problem};
use crate::experiment::codes;

/// Where the last panic was.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Runs a command; a panic becomes a problem.
pub(super) fn guard(command: impl FnOnce() -> Outcome) -> Result<Outcome, Problem> {
    std::panic::set_hook(Box::new(remember));
    catch_unwind(AssertUnwindSafe(command)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        internal(text, &this_command())
    })
}

/// The text of a panic says nothing to a user: only its place is kept.
fn remember(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
}

/// A defect, with the command that shows it again.
pub(super) fn internal(what: &str, command: &str) -> Problem {
    let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let place = place.map_or_else(String::new, |place| format!(" (at {place})"));
    Problem::new(&codes::INTERNAL, format!("{what}{place}")).help(format!(
        "this is a defect of mpisim {}, not of the input; please report it with the command \
         that shows it: {command}",
        env!("CARGO_PKG_VERSION")
    ))
}

/// The command line of this process.
fn this_command() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    command_line(words)
}

/// A command line that a shell reads as these words.
pub(super) fn command_line(words: impl IntoIterator<Item = String>) -> String {
    let words = words.into_iter().map(|word| quoted(&word));
    std::iter::once("mpisim".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_says_how_it_is_shown_again() {
        let problem = internal("a queue went backwards", "mpisim run a.json");
        assert_eq!((problem.exit, problem.code.code), (70, "E1002"));
        assert!(problem.what.starts_with("a queue went backwards"), "{}", problem.what);
        assert!(problem.help.is_some_and(|help| help.ends_with(": mpisim run a.json")));
    }

    #[test]
    fn a_command_line_is_read_back_as_it_was() {
        let words = ["run", "a b.json", "--set", "x=8 B", "it's"].map(str::to_owned);
        assert_eq!(command_line(words), "mpisim run 'a b.json' --set 'x=8 B' 'it'\\''s'");
    }
}
