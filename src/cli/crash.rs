//! Defects of this program: said in words, with the command that shows them again.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::signals;
use super::terminal::{Outcome, Problem};
use form::codes;

/// The file that tells of a defect; where there is one, the next has a number.
fn name_of_report(number: u32) -> String {
    match number {
        0 => "mpisim-defect.txt".to_owned(),
        more => format!("mpisim-defect-{}.txt", more + 1),
    }
}

/// Files of one folder that tell of defects, at most.
const REPORTS: u32 = 100;

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
    signals::note_panic();
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

/// A defect is also written into a file, here or where temporary files are; its name is in the help.
pub(super) fn reported(problem: Problem) -> Problem {
    if problem.code.code != codes::INTERNAL.code {
        return problem;
    }
    let folders = [PathBuf::from("."), std::env::temp_dir()];
    let written = folders.iter().find_map(|folder| write_report(&problem, folder));
    let help = problem.help.clone().unwrap_or_default();
    match written {
        Some(path) => problem.help(format!("{help}; all of it stands in {}", path.display())),
        None => problem,
    }
}

/// Details of a defect, as a file in `folder`; nothing if it cannot be written.
fn write_report(problem: &Problem, folder: &Path) -> Option<PathBuf> {
    let (version, os, arch) =
        (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let help = problem.help.as_deref().unwrap_or_default();
    let text = format!(
        "mpisim {version}, {os}, {arch}\n{}: {}\n{help}\nthe command was: {}\n",
        problem.code.code,
        problem.what,
        this_command()
    );
    (0..REPORTS).find_map(|number| {
        let path = folder.join(name_of_report(number));
        // Never what is there, a link among it.
        match File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => Some(Some(path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
            Err(_) => Some(None),
        }
    })?
}

/// The command line of this process.
pub(super) fn this_command() -> String {
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

    // row: L12
    #[test]
    fn a_defect_leaves_a_file_with_what_is_needed_to_show_it_again() {
        let folder = std::env::temp_dir().join(format!("mpisim-defect-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let problem = internal("a queue went backwards", "mpisim run a.json");
        let path = write_report(&problem, &folder).expect("the folder is there");
        let text = std::fs::read_to_string(&path).unwrap();
        // What is there stays, and a link is not followed.
        let second = folder.join("mpisim-defect-2.txt");
        std::os::unix::fs::symlink("elsewhere", &second).unwrap();
        let third = write_report(&problem, &folder).expect("there is room for more");
        assert_eq!(third, folder.join("mpisim-defect-3.txt"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert!(!folder.join("elsewhere").exists());
        std::fs::remove_dir_all(&folder).unwrap();
        for part in [
            env!("CARGO_PKG_VERSION"),
            "E1002: a queue",
            ": mpisim run a.json",
            "the command was: ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(write_report(&problem, &folder).is_none(), "the folder is gone");
        let other = reported(Problem::new(&codes::STOPPED, "a deadlock"));
        assert_eq!(other.help, None, "a result is no defect");
    }

    #[test]
    fn a_command_line_is_read_back_as_it_was() {
        let words = ["run", "a b.json", "--set", "x=8 B", "it's"].map(str::to_owned);
        assert_eq!(command_line(words), "mpisim run 'a b.json' --set 'x=8 B' 'it'\\''s'");
    }
}
