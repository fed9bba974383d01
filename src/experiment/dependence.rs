//! Which claims hang on numbers without a measurement.
//!
//! `mpisim sensitivity --save` runs a scenario with each assumed number at both ends of its range. Where
//! that changes a verdict, the claim is undecided: the range holds models that meet it and models that
//! do not. What was found is kept in `traces/sensitivity`, and belongs to the run with its digest.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::results::{ClaimResult, Dependence};
use super::shipped::Shipped;
use super::store::{StoreError, create_folder_of, write_atomically};

/// Where the files lie, from the root of a checkout.
const FOLDER: &str = "traces/sensitivity";

/// The claims of one scenario that hang on assumed numbers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dependences {
    /// Version of this shape: 1.
    pub schema: u32,
    /// The scenario's path under `scenarios/` without `.json`.
    pub scenario: String,
    /// Digest of the run whose numbers were varied.
    pub digest: String,
    /// How many numbers were varied.
    pub varied: usize,
    /// The claims that depend on numbers.
    pub claims: Vec<Dependence>,
}

impl Dependences {
    /// The dependences known of a scenario: of this checkout, else those built into the program.
    pub fn of(scenario: &str, shipped: Shipped) -> Option<Self> {
        let kept = std::fs::read_to_string(path(scenario)).ok();
        let built = || shipped.sensitivities.find(scenario).map(str::to_owned);
        serde_json::from_str(&kept.or_else(built)?).ok()
    }

    /// Writes the file whole or not at all; says where.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    ///
    /// # Panics
    ///
    /// Never: texts and counts are JSON.
    pub fn write(&self) -> Result<PathBuf, StoreError> {
        let path = path(&self.scenario);
        create_folder_of(&path)?;
        let text = serde_json::to_string_pretty(self).expect("texts and counts are JSON");
        write_atomically(&path, format!("{text}\n").as_bytes())?;
        Ok(path)
    }
}

/// The file of a scenario, from the root of a checkout.
fn path(scenario: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{scenario}.json"))
}

/// Tells each claim of a run the numbers that it hangs on, where those of this very run are known.
pub fn mark(claims: &mut [ClaimResult], shipped: Shipped, scenario: &str, digest: &str) {
    let found = Dependences::of(scenario, shipped);
    let Some(found) = found.filter(|found| found.digest == digest) else {
        return;
    };
    for claim in claims {
        let own = found.claims.iter().filter(|one| one.claim == claim.id);
        claim.undecided = own.cloned().collect();
    }
}
