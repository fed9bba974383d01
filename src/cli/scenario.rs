//! From the options of a command to a plan.

use std::path::{Path, PathBuf};

use super::args::Changes;
use super::terminal::{Failure, Problem, Terminal};
use crate::experiment::codes;
use crate::experiment::diagnostic::quote;
use crate::experiment::library::Library;
use crate::experiment::plan::{self, Plan, Request};

/// What `scenario` with these options asks for.
pub(super) fn request(
    scenario: &str,
    changes: &Changes,
    seed: Option<u64>,
) -> Result<Request, Failure> {
    let mut overrides = changes.set.clone();
    let shown: Vec<String> = overrides.iter().map(|one| format!("--set {one}")).collect();
    no_contradiction(shown, seed)?;
    overrides.extend(seed.map(|seed| format!("seed={seed}")));
    let library = library(changes.models.as_deref())?;
    Ok(Request { scenario: scenario.to_owned(), overrides, library, text: None })
}

/// Refuses two options that give one field two values.
fn no_contradiction(mut shown: Vec<String>, seed: Option<u64>) -> Result<(), Failure> {
    let assignment = |text: &str| -> Option<(String, String)> {
        let (path, value) = text.trim_start_matches("--set ").split_once('=')?;
        Some((path.trim().to_owned(), value.trim().to_owned()))
    };
    let mut given: Vec<(String, String)> = shown.iter().filter_map(|one| assignment(one)).collect();
    shown.retain(|one| assignment(one).is_some());
    if let Some(seed) = seed {
        shown.push(format!("--seed {seed}"));
        given.push(("seed".to_owned(), seed.to_string()));
    }
    for (later, (path, value)) in given.iter().enumerate() {
        let first = given[..later].iter().position(|(known, old)| known == path && old != value);
        if let Some(first) = first {
            let (one, other) = (quote(&shown[first]), quote(&shown[later]));
            let what = format!("`{one}` and `{other}` contradict each other");
            return Err(Problem::new(&codes::USAGE, what).help("keep one of them").into());
        }
    }
    Ok(())
}

/// Where models are looked for.
pub(super) fn library(models: Option<&Path>) -> Result<Library, Failure> {
    if let Some(folder) = models
        && !folder.is_dir()
    {
        let shown = folder.display().to_string();
        let what = format!("`--models {}` is no directory", quote(&shown));
        return Err(Problem::new(&codes::NO_FILE, what)
            .help("name a directory with machine models")
            .into());
    }
    let models: Vec<PathBuf> = models.map(Path::to_path_buf).into_iter().collect();
    Ok(Library { models, ..Library::default() })
}

/// The plan, after everything there is to say about it was written.
pub(super) fn load(terminal: Terminal, request: &Request) -> Result<Plan, Failure> {
    let (plan, diagnostics) = plan::load(request);
    if !diagnostics.is_empty() {
        terminal.diagnostics(&diagnostics);
    }
    plan.ok_or_else(|| Failure::Said(diagnostics.exit_code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(set: &[&str], seed: Option<u64>, contradiction: Option<&str>) {
        let shown = set.iter().map(|one| format!("--set {one}")).collect();
        match (no_contradiction(shown, seed), contradiction) {
            (Ok(()), None) => {}
            (Err(Failure::Problem(problem)), Some(part)) => {
                assert!(problem.what.contains(part), "{}", problem.what);
                assert_eq!(problem.exit, 2);
            }
            (found, wanted) => panic!("{found:?} instead of {wanted:?}"),
        }
    }

    #[test]
    fn one_field_gets_one_value() {
        check(&["a=1", "b=2", "a=1"], Some(3), None);
        check(&["a=1", "b=2", "a= 3"], None, Some("`--set a=1` and `--set a= 3`"));
        check(&["nonsense", "seed=2"], Some(3), Some("`--set seed=2` and `--seed 3`"));
    }
}
