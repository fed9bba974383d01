//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::error::StoreError;

/// Name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// Name of the journal of a run that is not finished.
pub const JOURNAL: &str = "points.journal";
/// Name of the lock file of a run that is at work.
pub const LOCK: &str = "run.lock";
/// Ending of the name under which a file is written before it is renamed: one that no file of a user has.
pub(super) const TEMPORARY: &str = ".mpisim-tmp";

/// A file to be written into the results directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OutputFile {
    /// Its name: one component, not hidden.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Refuses names that lead out of the directory or stand for a file of the store itself.
pub(super) fn check_name(name: &str) -> Result<(), StoreError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let own = [MANIFEST, JOURNAL, LOCK].contains(&name);
    let good = !name.is_empty() && name.len() <= 200 && name.chars().all(plain);
    if good && !own && !name.starts_with('.') && !name.ends_with(TEMPORARY) {
        return Ok(());
    }
    Err(StoreError::BadName(name.to_owned()))
}

/// Whether a file at `path` could be written, checked before the work whose result it will hold.
///
/// # Errors
///
/// [`StoreError::Io`] with what the operating system says.
pub fn check_writable(path: &Path) -> Result<(), StoreError> {
    let temporary = temporary(path);
    let failed = |why| StoreError::io("write", path, why);
    if path.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    File::create(&temporary).map_err(failed)?;
    remove_if_exists(&temporary)
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(TEMPORARY);
    PathBuf::from(name)
}

/// Creates the directory of a file that is to be written.
///
/// # Errors
///
/// [`StoreError::Io`] with what the operating system says.
pub fn create_folder_of(path: &Path) -> Result<(), StoreError> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|why| StoreError::io("create the directory", folder, why))
}

/// Writes a file whole or not at all: under a temporary name, synced, renamed.
///
/// # Errors
///
/// [`StoreError::Io`] with what the operating system says.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = temporary(path);
    let file = File::create(&temporary);
    write_and_rename(file, &temporary, path, bytes)
}

/// The same where other processes may write this file at the same moment: each under a temporary
/// name of its own, of which the last to be renamed stays. What a killed one had started stays as well.
///
/// # Errors
///
/// [`StoreError::Io`] with what the operating system says.
pub(super) fn write_among_others(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut number = 0_u64;
    loop {
        let temporary = temporary(&path.with_added_extension(number.to_string()));
        match File::create_new(&temporary) {
            Err(why) if why.kind() == ErrorKind::AlreadyExists => number += 1,
            file => return write_and_rename(file, &temporary, path, bytes),
        }
    }
}

fn write_and_rename(
    file: std::io::Result<File>,
    temporary: &Path,
    path: &Path,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let written = file.and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(why) = written.and_then(|()| fs::rename(temporary, path)) {
        // The first error is the one to tell; that the rest cannot be removed either is no news.
        let _ = fs::remove_file(temporary);
        let why = std::io::Error::new(why.kind(), format!("{why} ({} bytes needed)", bytes.len()));
        return Err(StoreError::io("write", path, why));
    }
    Ok(())
}

/// The one name of a file, which may not be there yet.
pub fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).unwrap_or_default();
    folder.join(path.file_name().unwrap_or_default())
}

/// The content of a file, or `None` where there is no such file.
pub(super) fn read_if_exists(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) => Err(StoreError::io("read", path, why)),
    }
}

/// Removes a file; that there is none is as good.
pub(super) fn remove_if_exists(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != ErrorKind::NotFound => Err(StoreError::io("remove", path, why)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes renames in the directory survive a loss of power.
pub(super) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(|why| StoreError::io("sync", path, why))
}

/// The first entry of a directory by name, apart from `ignored`; `None` where it is empty or
/// does not exist.
pub(super) fn first_entry(path: &Path, ignored: &[&str]) -> Result<Option<String>, StoreError> {
    let failed = |why| StoreError::io("list", path, why);
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(why)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        // A first journal that a kill stopped before its rename holds nothing.
        let begun = name == format!("{JOURNAL}{TEMPORARY}");
        if !begun && !ignored.contains(&name.as_str()) {
            names.push(name);
        }
    }
    Ok(names.into_iter().min())
}
