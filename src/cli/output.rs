//! Output files that options name: checks before the run, and writing.
//!
//! An output never replaces an input of the command. A regular file appears whole or not at all; a device or a
//! pipe is written to, and a symbolic link stays one.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::programs::is_program;
use super::terminal::{Failure, Problem};
use experiment::store::{StoreError, check_writable, place, write_atomically};
use form::codes;
use form::diagnostic::quote;

/// The most symbolic links that lead to one file.
const MOST_LINKS: usize = 40;

/// A file that an option names.
#[derive(Debug)]
pub(super) struct Output {
    /// As it was given.
    path: PathBuf,
    /// Where links lead.
    target: PathBuf,
}

/// Refuses the folder of `option` where a file of one of these names in it would replace one of the files that the
/// command reads.
pub(super) fn keeps_inputs(
    option: &str,
    folder: &Path,
    names: impl IntoIterator<Item = String>,
    inputs: &[PathBuf],
) -> Result<(), Failure> {
    for name in names {
        let path = folder.join(&name);
        let output = Output { target: followed(&path), path };
        if let Some(input) = inputs.iter().find(|input| output.is(input)) {
            let [folder, input] = [folder, input].map(|path| quote(&path.display().to_string()));
            let what = format!(
                "`{option} {folder}` would replace `{input}`, which this command reads, by its own `{name}`"
            );
            return Err(Problem::new(&codes::USAGE, what).help("name another folder").into());
        }
    }
    Ok(())
}

impl Output {
    /// The file of `option`, checked before the work whose result it will hold; `inputs` are the files
    /// that the command reads.
    pub(super) fn new(option: &str, path: &Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let output = Self { path: path.to_owned(), target: followed(path) };
        if let Some(input) = inputs.iter().find(|input| output.is(input)) {
            let [path, input] = [path, input].map(|path| quote(&path.display().to_string()));
            let what =
                format!("`{option} {path}` would replace `{input}`, which this command reads");
            return Err(Problem::new(&codes::USAGE, what).help("name another file").into());
        }
        if output.is_file() {
            output.keeps_programs(option)?;
            check_writable(&output.target)?;
        }
        Ok(output)
    }

    /// Refuses to replace a program: a shell or another program that this command runs may be about to start it.
    fn keeps_programs(&self, option: &str) -> Result<(), Failure> {
        if !is_program(&self.target) {
            return Ok(());
        }
        let path = quote(&self.path.display().to_string());
        let what = format!("`{option} {path}` would replace a program: that file is executable");
        let help = "name another file, or remove that one first";
        Err(Problem::new(&codes::USAGE, what).help(help).into())
    }

    /// Refuses a second option that names the same file.
    pub(super) fn differs(&self, other: &Self, options: [&str; 2]) -> Result<(), Failure> {
        if !self.is_file() || !self.is(&other.path) {
            return Ok(());
        }
        let [first, second] = options;
        let shown = quote(&self.path.display().to_string());
        let what = format!("`{first}` and `{second}` both name `{shown}`");
        Err(Problem::new(&codes::USAGE, what).help("give each a file of its own").into())
    }

    /// The path as it was given.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        if self.is_file() {
            return Ok(write_atomically(&self.target, bytes)?);
        }
        let opened = OpenOptions::new().append(true).open(&self.path);
        let written = opened.and_then(|mut file| file.write_all(bytes));
        let failed = |why| StoreError::Io { action: "write", path: self.path.clone(), why };
        Ok(written.map_err(failed)?)
    }

    /// Whether it is, or will be, a regular file; what the system shows below `/dev` and `/proc` is open
    /// already, even where it is one.
    fn is_file(&self) -> bool {
        let of_system = ["/dev", "/proc"].iter().any(|folder| self.path.starts_with(folder));
        // A directory is refused where it is to be written.
        let found = fs::metadata(&self.target);
        !of_system && found.map_or(true, |found| found.is_file() || found.is_dir())
    }

    /// Whether `path` names this file, by whatever way and name.
    fn is(&self, path: &Path) -> bool {
        let path = followed(path);
        place(&self.target) == place(&path) || is_linked(&self.target, &path)
    }
}

/// Where symbolic links lead, whether anything is there or not.
fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(to) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    path
}

/// Whether two names are hard links to one file.
#[cfg(unix)]
fn is_linked(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let number = |path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    number(one).is_some_and(|one| number(other) == Some(one))
}

/// Whether two names are hard links to one file: where that is unknown, none are.
#[cfg(not(unix))]
fn is_linked(_: &Path, _: &Path) -> bool {
    false
}
