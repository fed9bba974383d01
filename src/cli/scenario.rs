//! From the options of a command to a plan.

use std::path::{Path, PathBuf};

use super::args::Changes;
use super::mpi_library;
use super::terminal::{Failure, Problem, Terminal};
use experiment::library::Library;
use experiment::overrides::Spelling;
use experiment::plan::{self, Plan, Request};
use form::codes;
use form::diagnostic::quote;

/// The request for `scenario` with these options.
pub(super) fn request(
    scenario: &str,
    changes: &Changes,
    seed: Option<u64>,
) -> Result<Request, Failure> {
    let request = request_of_side(scenario, changes, "--set", &[])?;
    let given: Vec<(&str, &str)> = changes.set.iter().map(|one| ("--set", one.as_str())).collect();
    no_contradiction(&given, seed)?;
    let overrides = request.overrides.into_iter().chain(seed.map(|seed| format!("seed={seed}")));
    Ok(Request { overrides: overrides.collect(), ..request })
}

/// The request for `scenario` with the options of both sides of a comparison, and its `own` by
/// `option`.
pub(super) fn request_of_side(
    scenario: &str,
    changes: &Changes,
    option: &'static str,
    own: &[String],
) -> Result<Request, Failure> {
    let shared = changes.set.iter().map(|one| ("--set", one.as_str()));
    let given: Vec<_> = shared.chain(own.iter().map(|one| (option, one.as_str()))).collect();
    no_contradiction(&given, None)?;
    Ok(Request {
        scenario: scenario.to_owned(),
        overrides: changes.set.iter().chain(own).cloned().collect(),
        library: library(changes.models.as_deref())?,
        text: None,
        spelling: Spelling { own: Some((changes.set.len(), option)) },
    })
}

/// Refuses two options that give one field two values.
fn no_contradiction(options: &[(&str, &str)], seed: Option<u64>) -> Result<(), Failure> {
    let seed = seed.map(|seed| seed.to_string());
    let given = options.iter().filter_map(|(option, one)| {
        let (path, value) = one.split_once('=')?;
        Some((path.trim(), value.trim(), format!("{option} {one}")))
    });
    let seed = seed.iter().map(|seed| ("seed", seed.as_str(), format!("--seed {seed}")));
    let given: Vec<(&str, &str, String)> = given.chain(seed).collect();
    for (later, (path, value, shown)) in given.iter().enumerate() {
        let first = given[..later].iter().find(|(known, old, _)| known == path && old != value);
        if let Some((_, _, first)) = first {
            let (one, other) = (quote(first), quote(shown));
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
    Ok(Library { models, ..shipped::library() })
}

/// The name of the model file at `path`, and a library that finds it and its neighbours first.
pub(super) fn beside(mut library: Library, path: &Path) -> (Library, String) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    library.models.insert(0, folder.unwrap_or(Path::new(".")).to_path_buf());
    (library, path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
}

/// The plan, after everything there is to say about it was written.
pub(super) fn load(terminal: Terminal, request: &Request) -> Result<Plan, Failure> {
    let (plan, diagnostics) = plan::load(request);
    if !diagnostics.is_empty() {
        terminal.diagnostics(&diagnostics);
    }
    let plan = plan.ok_or_else(|| Failure::Said(diagnostics.exit_code()))?;
    if plan.points.iter().any(|point| point.workload.runs_real_processes()) {
        mpi_library::provide()?;
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(set: &[&str], seed: Option<u64>, contradiction: Option<&str>) {
        let given: Vec<_> = set.iter().map(|one| ("--set", *one)).collect();
        match (no_contradiction(&given, seed), contradiction) {
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
