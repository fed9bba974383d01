//! The journal: one line per record, each with a checksum, so that a torn last line is recognised.
//!
//! ```text
//!   <16 hexadecimal digits of BLAKE3 over the rest> <record as JSON>\n
//! ```
//!
//! The first record says what runs; then come points in the order they completed, and at the end
//! the names of the files about to be written. Values are kept as the bits of their number.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::files::{sync_directory, write_atomically};
use super::lock::is_still;
use super::manifest::RunIdentity;
use crate::results::{Metric, PointResult, ResourceUse, Spent, Transient, Unfired, unit};
use units::TimeDelta;

/// Hexadecimal digits of a checksum.
const CHECKSUM: usize = 16;

/// One line of the journal.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Record {
    Run(RunIdentity),
    Point(PointRecord),
    Files(BTreeSet<String>),
}

#[derive(Deserialize, Serialize)]
struct PointRecord {
    index: usize,
    params: Vec<(String, String)>,
    digest: String,
    metrics: Vec<MetricRecord>,
    resources: Vec<ResourceRecord>,
    /// Part and picoseconds.
    spent: Vec<(String, u64)>,
    failure: Option<String>,
    limited: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unfired: Vec<Unfired>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transient: Option<TransientRecord>,
}

/// Times in picoseconds.
#[derive(Deserialize, Serialize)]
struct TransientRecord {
    halves: Option<[u64; 2]>,
    once: Option<[u64; 2]>,
    mend: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct MetricRecord {
    name: String,
    /// Bits of the value: no decimal stands between two runs.
    bits: u64,
    unit: String,
}

#[derive(Deserialize, Serialize)]
struct ResourceRecord {
    name: String,
    busy_ps: u64,
    elapsed_ps: u64,
    bytes: u64,
    packets: u64,
    queue_max: u64,
}

impl From<&PointResult> for PointRecord {
    fn from(point: &PointResult) -> Self {
        let metric = |metric: &Metric| MetricRecord {
            name: metric.name.clone(),
            bits: metric.value.to_bits(),
            unit: metric.unit.to_owned(),
        };
        let resource = |used: &ResourceUse| ResourceRecord {
            name: used.name.clone(),
            busy_ps: used.busy.as_ps(),
            elapsed_ps: used.elapsed.as_ps(),
            bytes: used.bytes,
            packets: used.packets,
            queue_max: used.queue_max,
        };
        let times = |times: [TimeDelta; 2]| times.map(TimeDelta::as_ps);
        let transient = |transient: &Transient| TransientRecord {
            halves: transient.halves.map(times),
            once: transient.once.map(times),
            mend: transient.mend.clone(),
        };
        Self {
            index: point.index,
            params: point.params.clone(),
            digest: point.digest.clone(),
            metrics: point.metrics.iter().map(metric).collect(),
            resources: point.resources.iter().map(resource).collect(),
            spent: point.spent.iter().map(|one| (one.part.clone(), one.time.as_ps())).collect(),
            failure: point.failure.clone(),
            limited: point.limited,
            exit_status: point.exit_status,
            unfired: point.unfired.clone(),
            transient: point.transient.as_ref().map(transient),
        }
    }
}

impl From<PointRecord> for PointResult {
    fn from(record: PointRecord) -> Self {
        let metric = |metric: MetricRecord| Metric {
            name: metric.name,
            value: f64::from_bits(metric.bits),
            unit: unit(&metric.unit),
        };
        let resource = |used: ResourceRecord| ResourceUse {
            name: used.name,
            busy: TimeDelta::from_ps(used.busy_ps),
            elapsed: TimeDelta::from_ps(used.elapsed_ps),
            bytes: used.bytes,
            packets: used.packets,
            queue_max: used.queue_max,
        };
        let times = |times: [u64; 2]| times.map(TimeDelta::from_ps);
        let transient = |record: TransientRecord| Transient {
            halves: record.halves.map(times),
            once: record.once.map(times),
            mend: record.mend,
        };
        let spent = |(part, ps)| Spent { part, time: TimeDelta::from_ps(ps) };
        Self {
            index: record.index,
            params: record.params,
            digest: record.digest,
            metrics: record.metrics.into_iter().map(metric).collect(),
            resources: record.resources.into_iter().map(resource).collect(),
            spent: record.spent.into_iter().map(spent).collect(),
            failure: record.failure,
            limited: record.limited,
            exit_status: record.exit_status,
            unfired: record.unfired,
            transient: record.transient.map(transient),
            explanation: None,
        }
    }
}

/// An open journal; every record is on the disk when its call returns.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole records.
    whole: u64,
}

impl Journal {
    /// Replaces the journal by one that holds what runs and which files are ours.
    pub(super) fn create(
        path: &Path,
        identity: &RunIdentity,
        ours: &BTreeSet<String>,
    ) -> Result<Self, StoreError> {
        let mut head = line(&Record::Run(identity.clone()));
        head.push_str(&line(&Record::Files(ours.clone())));
        write_atomically(path, head.as_bytes())?;
        if let Some(directory) = path.parent() {
            sync_directory(directory)?;
        }
        Self::reopen(path, head.len())
    }

    /// Opens a journal and cuts it after its whole records.
    pub(super) fn reopen(path: &Path, whole: usize) -> Result<Self, StoreError> {
        let failed = |why| StoreError::io("open", path, why);
        let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        let mut journal = Self { path: path.to_owned(), file, whole: whole as u64 };
        journal.rewind().map_err(failed)?;
        Ok(journal)
    }

    /// Cuts whatever stands after the whole records.
    fn rewind(&mut self) -> std::io::Result<()> {
        self.file.set_len(self.whole)?;
        self.file.seek(SeekFrom::Start(self.whole)).map(|_| ())
    }

    pub(super) fn append_point(&mut self, point: &PointResult) -> Result<(), StoreError> {
        self.append(&Record::Point(point.into()))
    }

    pub(super) fn append_files(&mut self, names: &BTreeSet<String>) -> Result<(), StoreError> {
        self.append(&Record::Files(names.clone()))
    }

    fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        // What is written into a file without a name is lost.
        if !is_still(&self.path, &self.file) {
            return Err(StoreError::Gone { path: self.path.clone() });
        }
        let line = line(record);
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(why) = written {
            // A part of a line may stand there: later records must not follow it.
            let _ = self.rewind();
            let why = format!("{why} ({} bytes needed)", line.len());
            return Err(StoreError::io("append to", &self.path, std::io::Error::other(why)));
        }
        self.whole += line.len() as u64;
        Ok(())
    }
}

fn checksum(record: &[u8]) -> String {
    blake3::hash(record).to_hex()[..CHECKSUM].to_owned()
}

fn line(record: &Record) -> String {
    let json = serde_json::to_string(record).expect("strings and whole numbers are JSON");
    format!("{} {json}\n", checksum(json.as_bytes()))
}

/// A point as one checked line of its own.
pub(super) fn point_line(point: &PointResult) -> String {
    line(&Record::Point(point.into()))
}

/// The point of a whole line; `None` where its checksum is wrong.
pub(super) fn parse_point(line: &[u8]) -> Option<PointResult> {
    match parse(line)? {
        Record::Point(point) => Some(point.into()),
        Record::Run(_) | Record::Files(_) => None,
    }
}

/// The contents of a journal.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) identity: RunIdentity,
    pub(super) points: Vec<PointResult>,
    /// Files that the run, or one before it, wrote.
    pub(super) files: BTreeSet<String>,
    /// Bytes of whole records.
    pub(super) whole: usize,
    /// Bytes of a torn last record.
    pub(super) torn: usize,
}

/// Reads a journal up to a torn last record.
///
/// A record that is wrong and not the last was not torn by a kill: that is damage, and refused.
pub(super) fn recover(bytes: &[u8], path: &Path) -> Result<Recovered, StoreError> {
    let damaged =
        |offset, why: &str| StoreError::Damaged { path: path.to_owned(), offset, why: why.into() };
    let (mut whole, mut identity, mut points) = (0, None, Vec::new());
    let mut files = BTreeSet::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let last = whole + line.len() == bytes.len();
        match (parse(line), last) {
            (Some(Record::Run(run)), _) if identity.is_none() => identity = Some(run),
            (Some(Record::Point(point)), _) if identity.is_some() => points.push(point.into()),
            (Some(Record::Files(names)), _) if identity.is_some() => files.extend(names),
            (Some(_), _) => return Err(damaged(whole, "a record out of place")),
            (None, true) => break,
            (None, false) => return Err(damaged(whole, "the checksum of the record is wrong")),
        }
        whole += line.len();
    }
    let identity = identity.ok_or_else(|| damaged(0, "it does not begin with what runs"))?;
    Ok(Recovered { identity, points, files, whole, torn: bytes.len() - whole })
}

/// The record of a whole line with the right checksum.
fn parse(line: &[u8]) -> Option<Record> {
    let line = line.strip_suffix(b"\n")?;
    let (found, json) = line.split_at_checked(CHECKSUM)?;
    let json = json.strip_prefix(b" ")?;
    if found != checksum(json).as_bytes() {
        return None;
    }
    serde_json::from_slice(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_with_the_bytes_needed() {
        let path = Path::new("/dev/full");
        if !path.exists() {
            return;
        }
        let file = OpenOptions::new().write(true).open(path).unwrap();
        let mut journal = Journal { path: path.to_owned(), file, whole: 0 };
        let found = journal.append_files(&BTreeSet::new()).unwrap_err();
        assert_eq!(found.exit_code(), 4);
        assert!(found.to_string().contains("bytes needed"), "{found}");
    }

    proptest::proptest! {
        #[test]
        fn every_record_reads_back_as_it_was_written(
            bits: u64, name: String, why: Option<String>, busy: u64, index: usize,
        ) {
            let point = PointRecord {
                index,
                params: vec![(name.clone(), name.clone())],
                digest: name.clone(),
                metrics: vec![MetricRecord { name: name.clone(), bits, unit: "us".into() }],
                resources: vec![ResourceRecord {
                    name,
                    busy_ps: busy,
                    elapsed_ps: u64::MAX,
                    bytes: bits,
                    packets: 0,
                    queue_max: 1,
                }],
                spent: vec![("waiting".into(), bits)],
                failure: why,
                limited: index % 2 == 1,
                exit_status: (index == 2).then_some(3),
                unfired: vec![Unfired { fault: index, kind: "crash".into(), why: "late".into() }],
                transient: Some(TransientRecord {
                    halves: (index % 2 == 0).then_some([bits, busy]),
                    once: Some([busy, bits]),
                    mend: Some("workload.warmup".into()),
                }),
            };
            let before = serde_json::to_value(&point).unwrap();
            let written = line(&Record::Point(point));
            assert_eq!(written.matches('\n').count(), 1, "one line");
            let Some(Record::Point(read)) = parse(written.as_bytes()) else {
                panic!("a point was written")
            };
            assert_eq!(PointResult::from(read).metrics[0].value.to_bits(), bits);
            let Some(Record::Point(read)) = parse(written.as_bytes()) else {
                panic!("a point was written")
            };
            assert_eq!(serde_json::to_value(&read).unwrap(), before);
        }
    }
}
