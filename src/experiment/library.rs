//! Where files come from: next to the scenario, from `--models DIR`, or from what ships with the program.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::shipped::Shipped;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, SourceId, Span, quote};
use form::json::{self, Node, Value};
use form::shape::export::SCHEMA_OF_EDITORS;
use form::shape::nearest;

/// The most bytes of a scenario or model, where no option raises it.
pub const MAX_BYTES: u64 = 64 << 20;

/// Where to look for what a scenario names.
#[derive(Clone, Debug)]
pub struct Library {
    /// Directories of models, in the order in which they are searched.
    pub models: Vec<PathBuf>,
    /// The most bytes of one file.
    pub max_bytes: u64,
    /// Files that have a name wherever the command runs.
    pub shipped: Shipped,
}

impl Default for Library {
    fn default() -> Self {
        Self { models: Vec::new(), max_bytes: MAX_BYTES, shipped: Shipped::default() }
    }
}

/// The models of this checkout, for tests of this layer: what ships lies above it.
#[cfg(test)]
pub(crate) fn of_this_checkout() -> Library {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models").into();
    Library { models: vec![models], ..Library::default() }
}

/// A file that was found and read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its text, for positions.
    pub source: SourceId,
    /// Its content.
    pub tree: Node,
    /// The bytes as they were read.
    pub bytes: Vec<u8>,
    /// Whether it is (equal to) a file that ships with the program.
    pub shipped: bool,
    /// The name without directory and extension, or the name under which it ships.
    pub name: String,
}

/// The scenario that `given` names: a path, else a shipped scenario's name.
pub fn scenario(diagnostics: &mut Diagnostics, library: &Library, given: &str) -> Option<Loaded> {
    let path = Path::new(given);
    if fs::symlink_metadata(path).is_err() {
        let name = given.strip_prefix("scenarios/").unwrap_or(given);
        let name = name.strip_suffix(".json").unwrap_or(name);
        if let Some(text) = library.shipped.scenarios.find(name) {
            return parse(diagnostics, library, given, text.as_bytes().to_vec(), name);
        }
    }
    let bytes = read(diagnostics, library.shipped, path, library.max_bytes)?;
    parse(diagnostics, library, given, bytes, &scenario_name(path))
}

/// A scenario that is no file: `shown` is what reports call it.
pub fn given(
    diagnostics: &mut Diagnostics,
    library: &Library,
    shown: &str,
    text: &str,
) -> Option<Loaded> {
    parse(diagnostics, library, shown, text.as_bytes().to_vec(), &scenario_name(Path::new(shown)))
}

/// The file that a scenario in `folder` names. A user who runs a scenario of somebody else reads no file
/// for it that lies elsewhere than the scenario, or than the command runs.
pub fn named_file(
    diagnostics: &mut Diagnostics,
    folder: &Path,
    (node, path): (&Node, &str),
) -> Option<PathBuf> {
    let name = node.text().unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    let from_root = |path: &Path| without_dots(&here.join(path));
    let wanted = from_root(&folder.join(name));
    if [from_root(folder), here.clone()].iter().any(|around| wanted.starts_with(around)) {
        return Some(folder.join(name));
    }
    let found = format!("`{}` lies elsewhere", quote(name));
    let allowed =
        "a file below the folder of the scenario, or below the one where the command runs";
    let one = Diagnostic::error(&codes::ELSEWHERE, node.span, path, found, allowed);
    diagnostics
        .push(one.help("copy it beside the scenario, or run the command from a folder above"));
    None
}

/// The file that a file names, beside it or from where the command runs; below one of these folders only.
pub(crate) fn beside(file: &Path, name: &str) -> Option<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let around = [folder, Path::new("")];
    around.into_iter().find_map(|folder| {
        let path = folder.join(name);
        let wanted = without_dots(&here.join(&path));
        let is_below = wanted.starts_with(without_dots(&here.join(folder)));
        (is_below && path.is_file()).then_some(path)
    })
}

/// A path without `.` and `..`, as it is written: no link is followed.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

/// The name of a scenario: its path below the last folder `scenarios`, without extension. It leads to no
/// folder further up, since results and baselines are written where it says.
fn scenario_name(path: &Path) -> String {
    let mut folders: Vec<String> = Vec::new();
    for part in path.parent().into_iter().flat_map(Path::components) {
        match part {
            Component::Normal(name) => folders.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => drop(folders.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    let below = folders.iter().rposition(|folder| folder == "scenarios").map(|at| at + 1);
    let below = &folders[below.unwrap_or(folders.len())..];
    let leads_nowhere = |name: &&OsStr| *name == "." || *name == "..";
    let name = path.file_stem().filter(|name| !leads_nowhere(name));
    let name = name.or(path.file_name()).unwrap_or(OsStr::new("scenario"));
    let name = name.to_string_lossy().into_owned();
    below.iter().cloned().chain([name]).collect::<Vec<_>>().join("/")
}

/// The model called `name`: next to the scenario, in the directories given, or one that ships.
///
/// `asked` is where the name stands, for the report when there is none.
pub fn model(
    diagnostics: &mut Diagnostics,
    library: &Library,
    beside: Option<&Path>,
    name: &str,
    (asked, field): (Span, &str),
) -> Option<Loaded> {
    let file = format!("{name}.json");
    let folders = beside.into_iter().chain(library.models.iter().map(PathBuf::as_path));
    for folder in folders {
        let path = folder.join(&file);
        if fs::symlink_metadata(&path).is_ok() {
            let bytes = read(diagnostics, library.shipped, &path, library.max_bytes)?;
            let shown = path.display().to_string();
            return parse(diagnostics, library, &shown, bytes, name);
        }
    }
    if let Some(text) = library.shipped.models.find(name) {
        let shown = format!("models/{name}.json");
        return parse(diagnostics, library, &shown, text.as_bytes().to_vec(), name);
    }
    let known: Vec<&str> = library.shipped.models.names().collect();
    let ships = if known.is_empty() {
        "no model ships with this program".to_owned()
    } else {
        format!("those that ship are {}", known.join(", "))
    };
    let one = Diagnostic::error(
        &codes::UNKNOWN_MODEL,
        asked,
        field,
        format!("there is no machine model `{}`", quote(name)),
        ships,
    );
    diagnostics.push(match nearest(name, known.iter().copied()) {
        Some(near) => one.help(format!("did you mean `{near}`?")),
        None => one.help("put the model next to the scenario, or name its directory by `--models`"),
    });
    None
}

/// Text and tree of `bytes`.
fn parse(
    diagnostics: &mut Diagnostics,
    library: &Library,
    shown: &str,
    bytes: Vec<u8>,
    name: &str,
) -> Option<Loaded> {
    let source = json::decode(diagnostics, shown, &bytes)?;
    let mut tree = json::parse(diagnostics, source)?;
    if let Value::Object(members) = &mut tree.value {
        // Editors look there for the form of the file; it says nothing to this program.
        members.retain(|member| member.key != SCHEMA_OF_EDITORS || member.node.text().is_none());
    }
    let text = diagnostics.text(source);
    let shipped = library.shipped.models.texts().any(|shipped| shipped == text);
    Some(Loaded { source, tree, bytes, shipped, name: name.to_owned() })
}

fn report(diagnostics: &mut Diagnostics, path: &Path, one: impl FnOnce(Span) -> Diagnostic) {
    let source = diagnostics.add_source(path.display().to_string(), "");
    diagnostics.push(one(Span { source, start: 0, end: 0 }));
}

/// The bytes of the file at `path`, or a report, which may name a scenario that ships instead.
pub fn read(
    diagnostics: &mut Diagnostics,
    shipped: Shipped,
    path: &Path,
    limit: u64,
) -> Option<Vec<u8>> {
    match read_limited(path, limit) {
        Ok(bytes) => {
            diagnostics.has_read(path);
            Some(bytes)
        }
        Err(problem) => {
            report(diagnostics, path, |span| problem.diagnostic(span, shipped, path, limit));
            None
        }
    }
}

enum Problem {
    Missing,
    Directory,
    Link(String),
    TooLarge,
    Io(String),
}

/// The file at `path`, to be read as a stream, or a report.
pub fn open(diagnostics: &mut Diagnostics, shipped: Shipped, path: &Path) -> Option<fs::File> {
    match opened(path, u64::MAX) {
        Ok(file) => {
            diagnostics.has_read(path);
            Some(file)
        }
        Err(problem) => {
            report(diagnostics, path, |span| problem.diagnostic(span, shipped, path, u64::MAX));
            None
        }
    }
}

fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, Problem> {
    let file = opened(path, limit)?;
    let mut bytes = Vec::new();
    let io = |error: std::io::Error| Problem::Io(error.to_string());
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > limit { Err(Problem::TooLarge) } else { Ok(bytes) }
}

fn opened(path: &Path, limit: u64) -> Result<fs::File, Problem> {
    let io = |error: &std::io::Error| Problem::Io(error.to_string());
    let missing = [std::io::ErrorKind::NotFound, std::io::ErrorKind::NotADirectory];
    let link = fs::symlink_metadata(path).map_err(|error| {
        if missing.contains(&error.kind()) { Problem::Missing } else { io(&error) }
    })?;
    let meta = fs::metadata(path).map_err(|error| {
        if link.is_symlink() {
            let target =
                fs::read_link(path).map_or_else(|_| String::new(), |to| to.display().to_string());
            Problem::Link(format!("it leads to `{}`: {error}", quote(&target)))
        } else {
            io(&error)
        }
    })?;
    if meta.is_dir() {
        return Err(Problem::Directory);
    }
    if meta.is_file() && meta.len() > limit {
        return Err(Problem::TooLarge);
    }
    fs::File::open(path).map_err(|error| io(&error))
}

impl Problem {
    fn diagnostic(self, span: Span, shipped: Shipped, path: &Path, limit: u64) -> Diagnostic {
        let error = |code, found: String, allowed: String| {
            Diagnostic::error(code, span, "", found, allowed)
        };
        match self {
            Self::Missing => missing(span, shipped, path),
            Self::Directory => {
                let inside = files_of(path, "json".as_ref());
                let one = error(
                    &codes::DIRECTORY,
                    "the path is a directory".to_owned(),
                    "a file is needed".to_owned(),
                );
                match inside.as_slice() {
                    [] => one.help("no JSON file lies in it"),
                    some => one.help(format!(
                        "in it lie {}",
                        some.iter().take(5).cloned().collect::<Vec<_>>().join(", ")
                    )),
                }
            }
            Self::Link(what) => error(
                &codes::DANGLING,
                format!("the symbolic link leads nowhere; {what}"),
                "a file is needed".to_owned(),
            ),
            Self::TooLarge => error(
                &codes::TOO_LARGE,
                format!("the file has more than {limit} bytes"),
                format!("at most {} are read", units::Bytes::new(limit)),
            )
            .help("a program of this length is better made by a workload kind"),
            Self::Io(what) => error(
                &codes::IO,
                format!("the file cannot be read: {what}"),
                "a readable file is needed".to_owned(),
            ),
        }
    }
}

fn missing(span: Span, shipped: Shipped, path: &Path) -> Diagnostic {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let searched = format!("the directory searched is `{}`", quote(&folder.display().to_string()));
    let one = Diagnostic::error(&codes::NO_FILE, span, "", "there is no such file", searched);
    let inside = files_of(folder, path.extension().unwrap_or("json".as_ref()));
    let name =
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let names = shipped.scenarios.names();
    let other = path.extension().is_some_and(|extension| extension != "json");
    match nearest(&name, inside.iter().map(String::as_str)) {
        Some(near) => {
            one.help(format!("did you mean `{}`?", quote(&folder.join(near).display().to_string())))
        }
        None if other => one.help("name a file that exists, from where the command runs"),
        None => match nearest(&path.with_extension("").to_string_lossy(), names) {
            Some(near) => one.help(format!("a scenario `{near}` ships with the program")),
            None => one.help("`mpisim list` names the scenarios that ship with the program"),
        },
    }
}

/// The names of the files in `folder` that end so, sorted.
fn files_of(folder: &Path, end: &OsStr) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == end))
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_named_by_its_path_below_scenarios() {
        let name = |path: &str| scenario_name(Path::new(path));
        assert_eq!(name("scenarios/endpoints/fig03.json"), "endpoints/fig03");
        assert_eq!(name("/a/scenarios/b/c.json"), "b/c");
        assert_eq!(name("mine.json"), "mine");
        assert_eq!(name("../x/mine.json"), "mine");
        assert_eq!(name("scenarios"), "scenarios");
        assert_eq!(name("scenarios/a/./b.c.json"), "a/b.c");
    }

    #[test]
    fn no_name_of_a_scenario_leads_upwards() {
        let name = |path: &str| scenario_name(Path::new(path));
        assert_eq!(name("scenarios/a/../../zz.json"), "zz");
        assert_eq!(name("scenarios/a/../zz.json"), "zz");
        assert_eq!(name("scenarios/a/../b/zz.json"), "b/zz");
        assert_eq!(name("../../scenarios/../../../../zz.json"), "zz");
        assert_eq!(name("scenarios/...json"), "...json");
        assert_eq!(name("scenarios/..json"), "..json");
        assert_eq!(name("scenarios/.."), "scenario");
        assert_eq!(name("/"), "scenario");
    }

    #[cfg(unix)]
    #[test]
    fn an_endless_input_stops_at_the_limit() {
        let mut all = Diagnostics::new();
        assert!(read(&mut all, Shipped::default(), Path::new("/dev/zero"), 1 << 16).is_none());
        assert_eq!(all.exit_code(), 5);
    }
}
