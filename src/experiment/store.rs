//! The results directory: whole points only, whatever happens to the run.
//!
//! ```text
//!   open ── lock ──▶ running ──append──▶ points.journal (one checked line per point)
//!                       │
//!                     finish ──▶ files under temporary names, synced, renamed
//!                                manifest.json last, then the journal goes
//! ```
//!
//! Until a run finishes, the results of the run before it stay as they are. What a kill leaves
//! behind is either those results, or a journal of whole points that a resumed run completes to
//! the same bytes. Nothing that the manifest (or the journal) does not list is ever replaced or
//! removed.
//!
//! Left out: detection of a second writer on another host where the file system does not carry
//! locks between hosts; a lock file of another host is refused, never taken over.

mod error;
mod files;
mod journal;
mod lock;
mod manifest;
mod spread;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::results::{PointResult, RunResult};

pub use error::StoreError;
pub use files::{
    JOURNAL, LOCK, MANIFEST, OutputFile, check_writable, create_folder_of, place, write_atomically,
};
pub use manifest::{FileEntry, Manifest, RunIdentity};
pub use spread::{Spread, SweepRequest};

pub use manifest::first_difference;

use files::{TEMPORARY, read_if_exists, sync_directory};
use journal::{Journal, Recovered};
use lock::Lock;

/// Whether points of an interrupted run are kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// All points are run; an unfinished run of the same scenario is dropped.
    Fresh,
    /// Points of an unfinished run of the same scenario, version and seed are kept.
    Resume,
}

/// The outcome of opening a results directory.
#[derive(Debug)]
pub enum Opening {
    /// The directory is locked and ready; the notes are for the user.
    Ready(Store, Vec<String>),
    /// A finished run of exactly this scenario is there, untouched.
    NothingToDo(Manifest),
}

/// A results directory that is locked by this run.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    identity: RunIdentity,
    journal: Journal,
    done: Vec<PointResult>,
    /// Files of earlier runs, by the manifest and the journal: ours to replace.
    ours: BTreeSet<String>,
    /// Held until the store is dropped.
    lock: Lock,
}

/// The contents of a directory before a run.
struct Found {
    manifest: Option<Manifest>,
    journal: Option<Recovered>,
}

impl Store {
    /// Checks that `directory` is ours to write, creates it where it does not exist, locks it, and
    /// reads what an unfinished run left.
    ///
    /// `planned` are the names of the files that [`Store::finish`] will write: a file of such a
    /// name that is not ours is found before the run, not after it.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; nothing is changed then, except that the directory may have been
    /// created.
    pub fn open(
        directory: &Path,
        identity: RunIdentity,
        mode: Mode,
        planned: &[String],
    ) -> Result<Opening, StoreError> {
        planned.iter().try_for_each(|name| files::check_name(name))?;
        check_owner(directory, &identity, &look(directory)?)?;
        std::fs::create_dir_all(directory)
            .map_err(|why| StoreError::io("create the directory", directory, why))?;
        let (lock, note) = Lock::acquire(&directory.join(LOCK))?;
        let mut notes: Vec<String> = note.into_iter().collect();
        // Looked at again: another run may have ended between the first look and the lock.
        let found = look(directory)?;
        check_owner(directory, &identity, &found)?;
        let ours = owned(&found);
        check_planned(directory, planned, &ours)?;
        if mode == Mode::Resume
            && found.journal.is_none()
            && let Some(manifest) = &found.manifest
        {
            identity.check_same(&manifest.identity(), directory)?;
            match manifest.first_damage(directory)? {
                None => {
                    // A later run may have been killed before its first point.
                    remove_temporaries(directory, &ours)?;
                    return Ok(Opening::NothingToDo(manifest.clone()));
                }
                Some(name) => {
                    notes.push(format!("{name} is not as the manifest says: all points run again"));
                }
            }
        }
        let kept = match (mode, found.journal) {
            (Mode::Resume, journal) => journal,
            (Mode::Fresh, Some(journal)) if !journal.points.is_empty() => {
                let points = points_of("an unfinished run", journal.points.len());
                notes.push(format!("{points} dropped (no --resume)"));
                None
            }
            (Mode::Fresh, _) => None,
        };
        let (journal, done) = start(directory, &identity, kept, &ours, &mut notes)?;
        let store = Self { directory: directory.to_owned(), identity, journal, done, ours, lock };
        Ok(Opening::Ready(store, notes))
    }

    /// The lock file, there as long as this store is.
    pub fn lock(&self) -> &Path {
        self.lock.path()
    }

    /// The points that need not be run, in order of their index.
    pub fn done(&self) -> &[PointResult] {
        &self.done
    }

    /// Keeps a point: after this returns it survives a kill and a loss of power.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`]; all points kept before stay readable.
    pub fn append(&mut self, point: &PointResult) -> Result<(), StoreError> {
        self.journal.append_point(point)
    }

    /// Writes the final files and the manifest, and removes what only an earlier run had.
    ///
    /// Every file is tried, so that a disk that is full for one loses no other. Where one fails,
    /// the journal stays and a resumed run completes the directory without running a point.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] with the files that could not be written, [`StoreError::Foreign`]
    /// where a file of such a name is not ours, [`StoreError::Io`].
    pub fn finish(
        mut self,
        result: &RunResult,
        files: &[OutputFile],
    ) -> Result<Manifest, StoreError> {
        let names: Vec<String> = files.iter().map(|file| file.name.clone()).collect();
        names.iter().try_for_each(|name| files::check_name(name))?;
        check_planned(&self.directory, &names, &self.ours)?;
        let all: BTreeSet<String> = self.ours.iter().chain(&names).cloned().collect();
        self.journal.append_files(&all)?;
        write_all(&self.directory, files)?;
        for name in self.ours.iter().filter(|name| !names.contains(name)) {
            files::remove_if_exists(&self.directory.join(name))?;
        }
        // The order on the disk is the order of these lines: files, manifest, end of the journal.
        sync_directory(&self.directory)?;
        let manifest = Manifest::new(&self.identity, result, files);
        write_atomically(&self.directory.join(MANIFEST), manifest.to_json().as_bytes())?;
        sync_directory(&self.directory)?;
        files::remove_if_exists(&self.directory.join(JOURNAL))?;
        sync_directory(&self.directory)?;
        Ok(manifest)
    }
}

/// Whether this is a directory with results: those of a run that has finished, or that left points.
pub fn is_results(directory: &Path) -> bool {
    manifest(directory).is_some() || directory.join(JOURNAL).is_file()
}

/// The manifest of a directory whose run has finished, where there is one that can be read.
pub fn manifest(directory: &Path) -> Option<Manifest> {
    let path = directory.join(MANIFEST);
    Manifest::parse(&std::fs::read(&path).ok()?, &path).ok()
}

/// The manifest of a directory whose run has finished, and the content of a file that it lists; changes
/// nothing.
///
/// # Errors
///
/// [`StoreError::Damaged`] where the file is not as the manifest says, [`StoreError::Io`].
pub fn finished(directory: &Path, name: &str) -> Result<(Manifest, String), StoreError> {
    let read = |name: &str| {
        let path = directory.join(name);
        std::fs::read(&path).map_err(|why| StoreError::io("read", &path, why))
    };
    let manifest = Manifest::parse(&read(MANIFEST)?, &directory.join(MANIFEST))?;
    let bytes = read(name)?;
    let damaged = |why: &str| {
        let (path, offset, why) = (directory.join(name), 0, why.to_owned());
        StoreError::Damaged { path, offset, why }
    };
    if !manifest.lists(name, &bytes) {
        return Err(damaged("it is not as the manifest says"));
    }
    let text = String::from_utf8(bytes).map_err(|_| damaged("it is not UTF-8"))?;
    Ok((manifest, text))
}

fn points_of(run: &str, count: usize) -> String {
    if count == 1 { format!("1 point of {run} is") } else { format!("{count} points of {run} are") }
}

/// Reads manifest and journal, where they are; changes nothing.
fn look(directory: &Path) -> Result<Found, StoreError> {
    let manifest = match read_if_exists(&directory.join(MANIFEST))? {
        Some(bytes) => Some(Manifest::parse(&bytes, &directory.join(MANIFEST))?),
        None => None,
    };
    let journal = match read_if_exists(&directory.join(JOURNAL))? {
        Some(bytes) => Some(journal::recover(&bytes, &directory.join(JOURNAL))?),
        None => None,
    };
    Ok(Found { manifest, journal })
}

/// Refuses a directory that holds something else, or results of another scenario.
fn check_owner(directory: &Path, identity: &RunIdentity, found: &Found) -> Result<(), StoreError> {
    let manifest = found.manifest.as_ref().map(Manifest::identity);
    let journal = found.journal.as_ref().map(|journal| journal.identity.clone());
    for found in [&manifest, &journal].into_iter().flatten() {
        if identity.is_other(found) {
            return Err(StoreError::OtherScenario {
                directory: directory.to_owned(),
                found: found.shown_beside(identity),
                wanted: identity.shown_beside(found),
            });
        }
    }
    if manifest.or(journal).is_some() {
        return Ok(());
    }
    match files::first_entry(directory, &[LOCK])? {
        Some(entry) => Err(StoreError::NotOurs { directory: directory.to_owned(), entry }),
        None => Ok(()),
    }
}

/// The files that manifest and journal list.
fn owned(found: &Found) -> BTreeSet<String> {
    let manifest = found.manifest.iter().flat_map(|manifest| &manifest.files);
    let listed = manifest.map(|file| file.name.clone());
    let journal = found.journal.iter().flat_map(|journal| journal.files.iter().cloned());
    listed.chain(journal).filter(|name| files::check_name(name).is_ok()).collect()
}

/// Refuses to write over files that are not ours.
fn check_planned(
    directory: &Path,
    planned: &[String],
    ours: &BTreeSet<String>,
) -> Result<(), StoreError> {
    for name in planned.iter().filter(|name| !ours.contains(*name)) {
        let path = directory.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(StoreError::Foreign { path });
        }
    }
    Ok(())
}

/// Continues the journal of an unfinished run, or begins a new one.
fn start(
    directory: &Path,
    identity: &RunIdentity,
    kept: Option<Recovered>,
    ours: &BTreeSet<String>,
    notes: &mut Vec<String>,
) -> Result<(Journal, Vec<PointResult>), StoreError> {
    remove_temporaries(directory, ours)?;
    let path = directory.join(JOURNAL);
    let Some(mut recovered) = kept else {
        return Ok((Journal::create(&path, identity, ours)?, Vec::new()));
    };
    identity.check_same(&recovered.identity, directory)?;
    if recovered.torn > 0 {
        notes.push(format!(
            "the last record of {JOURNAL} is torn ({} bytes): its point is run again",
            recovered.torn
        ));
    }
    recovered.points.sort_by_key(|point| point.index);
    recovered.points.dedup_by_key(|point| point.index);
    let points = points_of("the interrupted run", recovered.points.len());
    notes.push(format!("{points} kept"));
    Ok((Journal::reopen(&path, recovered.whole)?, recovered.points))
}

/// Removes temporary files that a killed run left.
fn remove_temporaries(directory: &Path, ours: &BTreeSet<String>) -> Result<(), StoreError> {
    let own = [MANIFEST, JOURNAL].into_iter().chain(ours.iter().map(String::as_str));
    for name in own {
        files::remove_if_exists(&directory.join(format!("{name}{TEMPORARY}")))?;
    }
    Ok(())
}

/// Writes every file that can be written.
fn write_all(directory: &Path, files: &[OutputFile]) -> Result<(), StoreError> {
    let mut missing = Vec::new();
    for file in files {
        if let Err(why) = write_atomically(&directory.join(&file.name), &file.bytes) {
            missing.push((file.name.clone(), why.to_string()));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(StoreError::Missing { missing }) }
}

#[cfg(test)]
mod tests;
