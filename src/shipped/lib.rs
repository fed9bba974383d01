//! The machine models, scenarios, baselines and sensitivities that ship with the program.
//!
//! They are compiled in, above the layers that read them: a baseline that moves compiles this package anew, and the
//! program.

use experiment::library::Library;
use experiment::shipped::{Files, Shipped};

mod files {
    include!(concat!(env!("OUT_DIR"), "/files.rs"));
}

/// All that ships.
pub const SHIPPED: Shipped = Shipped {
    models: Files(files::MODELS),
    scenarios: Files(files::SCENARIOS),
    baselines: Files(files::BASELINES),
    sensitivities: Files(files::SENSITIVITIES),
};

/// A library in which models and scenarios that ship have names.
pub fn library() -> Library {
    Library { shipped: SHIPPED, ..Library::default() }
}

#[cfg(test)]
mod tests {
    use experiment::fresh::{kinds, scenario};
    use experiment::plan::{Request, load};

    use super::library;

    #[test]
    fn every_kind_of_workload_has_a_scenario_that_is_accepted() {
        for kind in kinds() {
            let text = scenario(kind, None, &library());
            let request = Request {
                scenario: "new".to_owned(),
                library: library(),
                text: Some(text.clone()),
                ..Request::default()
            };
            assert!(load(&request).0.is_some(), "{}:\n{text}", kind.name);
        }
    }
}
