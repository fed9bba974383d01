//! A machine on which one resource costs more or less: what would it be worth to make it faster?
//!
//! A resource is a group of parameters. A factor of 1/2 halves its times and costs per byte and doubles
//! its rates; sizes, counts and shares stay as they are.

use super::profile::{PARAMETERS, Profile};
use super::value::{Kind, Ratio};

/// A group of parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Group {
    /// Its name on the command line.
    pub name: &'static str,
    /// Beginnings of the paths of its parameters.
    paths: &'static [&'static str],
}

/// Every group; a parameter is in one of them at most.
pub static GROUPS: &[Group] = &[
    Group { name: "library", paths: &["mpi.step_", "mpi.rma_target_handler"] },
    Group { name: "matching", paths: &["mpi.match_per_elem_"] },
    Group { name: "polling", paths: &["mpi.poll_per_channel", "hca.cqe_poll"] },
    Group { name: "lock", paths: &["mpi.lock_"] },
    Group {
        name: "posting",
        paths: &["hca.post_overhead", "hca.repost_overhead", "hca.doorbell_write"],
    },
    Group { name: "copy", paths: &["mem.", "cache.l2_tile_copy_bw"] },
    Group {
        name: "lines",
        paths: &["coh.", "cache.l1d_latency", "cache.l2_latency", "cache.l3_latency"],
    },
    Group { name: "kernel", paths: &["os.syscall", "cma.", "knem.", "xpmem."] },
    Group { name: "threads", paths: &["os.thread_"] },
    Group { name: "pcie", paths: &["pcie."] },
    Group {
        name: "hca",
        paths: &[
            "hca.msg_rate_",
            "hca.wqe_fetch",
            "hca.rnr_back_off",
            "hca.mem_reg_",
            "hca.loopback_bw",
        ],
    },
    Group { name: "link", paths: &["link."] },
    Group { name: "gpu", paths: &["gpu."] },
];

impl Group {
    /// The group of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        GROUPS.iter().find(|group| group.name == name)
    }

    /// The names of all groups, as a sentence lists them.
    pub fn names() -> String {
        GROUPS.iter().map(|group| group.name).collect::<Vec<_>>().join(", ")
    }

    fn has(&self, path: &str) -> bool {
        self.paths.iter().any(|begin| path.starts_with(begin))
    }
}

/// So many smallest steps of a parameter, where its cost is another one. Rates are at least one step.
///
/// # Panics
///
/// When the result has no 64 bits: the factor is checked before.
fn scaled(kind: Kind, steps: u64, factor: Ratio) -> u64 {
    /// Encoding: a ratio is in millionths.
    const ONE: u128 = 1_000_000;
    let (steps, factor) = (u128::from(steps), u128::from(factor.as_ppm()));
    let scaled = match kind {
        Kind::Time | Kind::CostPerByte => (steps * factor).div_ceil(ONE),
        Kind::Bandwidth | Kind::Rate | Kind::Frequency => {
            (steps * ONE / factor).max(u128::from(steps > 0))
        }
        Kind::Bytes | Kind::Count | Kind::Ratio | Kind::Flag => steps,
    };
    u64::try_from(scaled).expect("factors lie between 1/1000 and 1000")
}

impl Profile {
    /// The same machine, where everything of `group` costs `factor` times as much.
    ///
    /// # Panics
    ///
    /// When the factor is zero.
    #[must_use]
    pub fn with_cost(&self, group: &Group, factor: Ratio) -> Self {
        assert!(factor.as_ppm() > 0, "a cost of nothing has no rate");
        let steps = PARAMETERS.iter().zip(self.steps()).map(|(parameter, steps)| {
            let change = |steps| scaled(parameter.kind, steps, factor);
            if group.has(parameter.path) { steps.map(change) } else { steps }
        });
        Self::from_steps(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_in_one_group_at_most_and_no_path_is_stale() {
        for parameter in PARAMETERS {
            let groups = GROUPS.iter().filter(|group| group.has(parameter.path));
            assert!(groups.count() <= 1, "{}", parameter.path);
        }
        for group in GROUPS {
            assert_eq!(Group::named(group.name), Some(group));
            for path in group.paths {
                let known = PARAMETERS.iter().any(|known| known.path.starts_with(path));
                assert!(known, "{}: {path}", group.name);
            }
        }
    }

    #[test]
    fn half_the_cost_is_half_the_time_and_twice_the_rate() {
        let half = Ratio::from_ppm(500_000);
        assert_eq!(scaled(Kind::Time, 7, half), 4, "rounded up: nothing becomes free");
        assert_eq!(scaled(Kind::CostPerByte, 10, half), 5);
        assert_eq!(scaled(Kind::Bandwidth, 10, half), 20);
        assert_eq!(scaled(Kind::Count, 10, half), 10);
        assert_eq!(scaled(Kind::Rate, 1, Ratio::from_ppm(4_000_000)), 1, "a rate stays a rate");
        assert_eq!(scaled(Kind::Bandwidth, 0, half), 0, "what is not there stays away");
    }
}
