//! Completions for shells and pages for `man`, made from the flags.

use std::fs;
use std::io;
use std::path::Path;

use clap::CommandFactory as _;

use super::args::Arguments;
use super::terminal::{Outcome, Problem, print};
use form::codes;
use form::diagnostic::quote;

/// Prints completions.
pub(super) fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "mpisim", &mut bytes);
    print(&String::from_utf8_lossy(&bytes))?;
    Ok(0)
}

/// Prints the page of a command, named by its words, or writes all pages into a directory.
pub(super) fn manual(words: &[String], out: Option<&Path>) -> Outcome {
    if let Some(directory) = out {
        return write_all(directory).map(|()| 0).map_err(|error| {
            let what = format!("cannot write manual pages to `{}`: {error}", directory.display());
            Problem::new(&codes::OUTPUT, what).into()
        });
    }
    let mut bytes = Vec::new();
    let rendered = clap_mangen::Man::new(find(words)?).render(&mut bytes);
    rendered.expect("writing to memory does not fail");
    print(&String::from_utf8_lossy(&bytes))?;
    Ok(0)
}

fn write_all(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Arguments::command(), directory)
}

/// The command of these words, named in full.
fn find(words: &[String]) -> Result<clap::Command, Problem> {
    let mut command = Arguments::command();
    command.build();
    let mut name = command.get_name().to_owned();
    for word in words {
        let Some(inner) = command.find_subcommand(word) else {
            let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            let what = format!("`{name}` has no command `{}`", quote(word));
            let problem = Problem::new(&codes::USAGE, what);
            return Err(problem.help(format!("it has {}", known.join(", "))));
        };
        name = format!("{name}-{word}");
        command = inner.clone().display_name(name.clone());
    }
    Ok(command)
}
