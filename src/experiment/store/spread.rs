//! A sweep that many processes share: a directory with the plan and a file for each point.
//!
//! ```text
//!   sweep plan ──▶ plan.json ──▶ sweep point (any number, anywhere) ──▶ points/000/000042
//!                                                                          │ each whole or absent
//!                                      results directory ◀── sweep gather ─┘
//! ```
//!
//! A point's file appears whole or not at all, and the same point gives the same bytes: so a point
//! may be run twice, by two workers or after one was killed, and nothing is lost or mixed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::files::{first_entry, read_if_exists, write_among_others, write_atomically};
use super::journal::{parse_point, point_line};
use super::manifest::RunIdentity;
use crate::results::PointResult;

/// Name of the plan.
const PLAN: &str = "plan.json";
/// Name of the directory with the points.
const POINTS: &str = "points";
/// Points that share a directory.
const SHARED: usize = 1000;
/// Version of the plan's shape.
const FORMAT: u32 = 1;

/// The request, so that a worker can make it again.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SweepRequest {
    /// The scenario: an absolute path, or a shipped scenario's name.
    pub scenario: String,
    /// `path=value` of each option, in order.
    pub overrides: Vec<String>,
    /// A directory of models, absolute.
    pub models: Option<PathBuf>,
    /// The command of the request.
    pub command: String,
}

/// The plan's file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    schema: u32,
    points: usize,
    /// Points of one task.
    chunk: usize,
    asked: SweepRequest,
    identity: RunIdentity,
}

/// A directory of a shared sweep.
#[derive(Clone, Debug)]
pub struct Spread {
    directory: PathBuf,
    plan: PlanFile,
}

impl Spread {
    /// Writes the plan; one of the same sweep is kept with its points, whatever its chunks were.
    ///
    /// # Errors
    ///
    /// [`StoreError`] where the directory holds something else, or a plan of another scenario.
    ///
    /// # Panics
    ///
    /// Never: strings and numbers are JSON.
    pub fn create(
        directory: &Path,
        identity: RunIdentity,
        asked: SweepRequest,
        points: usize,
        chunk: usize,
    ) -> Result<Self, StoreError> {
        let path = directory.join(PLAN);
        if read_if_exists(&path)?.is_some() {
            let old = Self::open(directory)?;
            old.check(&identity, points)?;
        } else if let Some(entry) = first_entry(directory, &[])? {
            return Err(StoreError::NotOurs { directory: directory.to_owned(), entry });
        }
        let points_folder = directory.join(POINTS);
        std::fs::create_dir_all(&points_folder)
            .map_err(|why| StoreError::io("create the directory", &points_folder, why))?;
        let plan = PlanFile { schema: FORMAT, points, chunk, asked, identity };
        let text = serde_json::to_string_pretty(&plan).expect("strings and numbers are JSON");
        write_atomically(&path, text.as_bytes())?;
        Ok(Self { directory: directory.to_owned(), plan })
    }

    /// Reads the plan of a directory.
    ///
    /// # Errors
    ///
    /// [`StoreError`] where there is none, or it is damaged.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(PLAN);
        let missing = || {
            let why = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no plan");
            StoreError::io("read", &path, why)
        };
        let bytes = read_if_exists(&path)?.ok_or_else(missing)?;
        let plan: PlanFile = serde_json::from_slice(&bytes).map_err(|why| StoreError::Damaged {
            path: path.clone(),
            offset: 0,
            why: why.to_string(),
        })?;
        if plan.schema != FORMAT || plan.chunk == 0 {
            let why = format!("schema {} with chunks of {}", plan.schema, plan.chunk);
            return Err(StoreError::Damaged { path, offset: 0, why });
        }
        Ok(Self { directory: directory.to_owned(), plan })
    }

    /// The request.
    pub fn asked(&self) -> &SweepRequest {
        &self.plan.asked
    }

    /// Points of the sweep.
    pub fn points(&self) -> usize {
        self.plan.points
    }

    /// Tasks of the sweep.
    pub fn chunks(&self) -> usize {
        self.plan.points.div_ceil(self.plan.chunk)
    }

    /// The points of a task; none where there is no such task.
    pub fn chunk(&self, number: usize) -> std::ops::Range<usize> {
        let start = number.saturating_mul(self.plan.chunk).min(self.plan.points);
        start..start.saturating_add(self.plan.chunk).min(self.plan.points)
    }

    /// Refuses points of another scenario, version or seed, and another number of them than the
    /// scenario has.
    ///
    /// # Errors
    ///
    /// [`StoreError::Changed`] or [`StoreError::OtherVersion`] with the first difference,
    /// [`StoreError::Damaged`].
    pub fn check(&self, identity: &RunIdentity, points: usize) -> Result<(), StoreError> {
        if self.plan.identity.scenario != identity.scenario {
            return Err(StoreError::OtherScenario {
                directory: self.directory.clone(),
                found: self.plan.identity.scenario.clone(),
                wanted: identity.scenario.clone(),
            });
        }
        identity.check_same(&self.plan.identity, &self.directory)?;
        if self.plan.points != points {
            let why = format!("it says {} points, and the sweep has {points}", self.plan.points);
            return Err(StoreError::Damaged { path: self.directory.join(PLAN), offset: 0, why });
        }
        Ok(())
    }

    fn path(&self, index: usize) -> PathBuf {
        let folder = self.directory.join(POINTS).join(format!("{:03}", index / SHARED));
        folder.join(format!("{index:06}"))
    }

    /// A point, if its file is there and whole.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] where it is there and not whole: no kill leaves that.
    pub fn read(&self, index: usize) -> Result<Option<PointResult>, StoreError> {
        let path = self.path(index);
        let Some(bytes) = read_if_exists(&path)? else { return Ok(None) };
        if let Some(point) = parse_point(&bytes).filter(|point| point.index == index) {
            return Ok(Some(point));
        }
        let why = "the checksum of the point is wrong: remove the file and run it again";
        Err(StoreError::Damaged { path, offset: 0, why: why.to_owned() })
    }

    /// Keeps a point.
    ///
    /// # Errors
    ///
    /// [`StoreError::Gone`] where the plan is not there any more, [`StoreError::Io`].
    pub fn write(&self, point: &PointResult) -> Result<(), StoreError> {
        let plan = self.directory.join(PLAN);
        if !plan.exists() {
            return Err(StoreError::Gone { path: plan });
        }
        let path = self.path(point.index);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|why| StoreError::io("create the directory", folder, why))?;
        }
        write_among_others(&path, point_line(point).as_bytes())
    }

    /// Where the plan lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Every point that is there, in order, and the numbers of those that are not.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn gathered(&self) -> Result<(Vec<PointResult>, Vec<usize>), StoreError> {
        let (mut there, mut missing) = (Vec::new(), Vec::new());
        for index in 0..self.plan.points {
            match self.read(index)? {
                Some(point) => there.push(point),
                None => missing.push(index),
            }
        }
        Ok((there, missing))
    }
}
