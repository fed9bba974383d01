//! What if one resource cost another factor: the same points on another machine.
//!
//! A critical path tells what the time was spent on; it does not tell what would be gained, since
//! another path may be nearly as long, and a rate depends on more than one message. So the gain is
//! measured: every point runs again.

use std::sync::Arc;

use super::plan::Plan;
use form::machine::Machine;
use hardware::value::Ratio;
use hardware::what_if::Group;

/// A resource and a factor of its cost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WhatIf {
    /// The resource.
    pub group: &'static Group,
    /// How many times as much it costs.
    pub factor: Ratio,
}

/// Factors in millionths.
const FACTORS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000;

impl WhatIf {
    /// Reads `resource=factor`, such as `pcie=0.5`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and what is allowed, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, factor) = text.split_once('=').ok_or("`resource=factor` is needed")?;
        let group = Group::named(name.trim()).ok_or_else(|| {
            let (name, names) = (name.trim(), Group::names());
            format!("there is no resource `{name}`; one of {names} is needed")
        })?;
        let factor =
            Ratio::parse(factor.trim()).filter(|factor| FACTORS.contains(&factor.as_ppm()));
        let factor = factor.ok_or("a factor from 0.001 to 1000 is needed, such as 0.5")?;
        Ok(Self { group, factor })
    }

    /// The same plan on machines with this cost.
    #[must_use]
    pub fn of(self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        let mut made: Vec<(Arc<Machine>, Arc<Machine>)> = Vec::new();
        for point in &mut plan.points {
            let known = made.iter().find(|(old, _)| Arc::ptr_eq(old, &point.machine));
            if let Some((_, new)) = known {
                point.machine = Arc::clone(new);
                continue;
            }
            let mut machine = Machine::clone(&point.machine);
            machine.profile = machine.profile.with_cost(self.group, self.factor);
            let new = Arc::new(machine);
            made.push((Arc::clone(&point.machine), Arc::clone(&new)));
            point.machine = new;
        }
        plan.claims.clear();
        plan
    }

    /// As it was written.
    pub fn in_words(self) -> String {
        format!("{}={}", self.group.name, self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_and_a_factor_are_read_or_refused_with_what_is_allowed() {
        for text in ["pcie=0.5", "link=2", "lock=0.001"] {
            assert_eq!(WhatIf::parse(text).unwrap().in_words(), text);
        }
        let cases = [
            ("pcie", "resource=factor"),
            ("pci=0.5", "library, matching"),
            ("pcie=0", "from 0.001 to 1000"),
            ("pcie=-1", "from 0.001 to 1000"),
            ("pcie=half", "from 0.001 to 1000"),
        ];
        for (text, part) in cases {
            let why = WhatIf::parse(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
