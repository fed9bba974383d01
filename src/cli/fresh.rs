//! `mpisim new`: a scenario to begin with.

use std::path::Path;

use super::args::NewArguments;
use super::terminal::{Outcome, Problem, Terminal, print};
use experiment::fresh::{kinds, scenario};
use experiment::store::{check_writable, write_atomically};
use form::codes;
use form::diagnostic::quote;
use form::shape::nearest;
use shipped::{SHIPPED, library};

/// Writes a scenario that can be run as it is.
pub(super) fn new(_: Terminal, arguments: &NewArguments) -> Outcome {
    let path = Path::new(&arguments.file);
    let kinds = kinds();
    let Some(kind) = kinds.iter().find(|kind| kind.name == arguments.workload) else {
        let names = kinds.iter().map(|kind| kind.name);
        return Err(unknown("kind of workload", &arguments.workload, names).into());
    };
    if let Some(machine) = &arguments.machine {
        let known = || SHIPPED.models.names();
        if !known().any(|name| name == machine) {
            return Err(unknown("machine that ships", machine, known()).into());
        }
    }
    if path.symlink_metadata().is_ok() {
        let what = format!("`{}` exists; it is not overwritten", quote(&arguments.file));
        return Err(Problem::new(&codes::NOT_OURS, what).help("name another file").into());
    }
    check_writable(path)?;
    write_atomically(path, scenario(kind, arguments.machine.as_deref(), &library()).as_bytes())?;
    let file = quote(&arguments.file);
    print(&format!(
        "wrote {file}: {}\nrun it:   mpisim run {file}\nall keys: mpisim show {file} --resolved\n",
        kind.doc
    ))?;
    Ok(0)
}

fn unknown<'a>(what: &str, found: &str, known: impl Iterator<Item = &'a str>) -> Problem {
    let known: Vec<&str> = known.collect();
    let said = format!("there is no {what} `{}`; there are {}", quote(found), known.join(", "));
    let problem = Problem::new(&codes::USAGE, said);
    match nearest(found, known.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem,
    }
}
