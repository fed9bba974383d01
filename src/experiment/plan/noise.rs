//! Random disturbances: what is asked for, and what the machine has.

use super::super::schema::noise::{Disturbance, NoiseForm, OsNoise};
use super::values::Noise;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::machine::Machine;
use form::shape::path::place;
use form::typed::Object as _;
use units::TimeDelta;

/// The disturbances of a checked scenario; reports where its machine has none.
pub(super) fn read(diagnostics: &mut Diagnostics, tree: &Node, machine: &Machine) -> Noise {
    let form = NoiseForm::of(tree.get("noise"));
    let os = &machine.profile.os;
    let start_skew = match form.start_skew {
        Disturbance::Off => TimeDelta::ZERO,
        Disturbance::This(skew) => skew,
        Disturbance::OfTheMachine => {
            machine_has(diagnostics, tree, machine, "start_skew", "os.start_skew", os.start_skew)
        }
    };
    let os_noise = match form.os_noise {
        Disturbance::Off => None,
        Disturbance::This(noise) => Some(noise),
        Disturbance::OfTheMachine => {
            let mut own =
                |path, value| machine_has(diagnostics, tree, machine, "os_noise", path, value);
            let period = own("os.noise_period", os.noise_period);
            Some(OsNoise { period, length: own("os.noise_length", os.noise_length) })
        }
    };
    check_noise(diagnostics, tree, os_noise.as_ref());
    Noise { start_skew, os_noise }
}

/// A number of the machine that the scenario asks for.
fn machine_has(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    machine: &Machine,
    key: &str,
    parameter: &str,
    value: Option<TimeDelta>,
) -> TimeDelta {
    if value.is_none() {
        let path = format!("noise.{key}");
        diagnostics.push(
            Diagnostic::error(
                &codes::MODEL_INCOMPLETE,
                place(tree, &path),
                path,
                format!("the machine `{}` has no `{parameter}`", machine.name),
                "the machine must give it, or the scenario its own value",
            )
            .related(place(tree, "machine"), "the machine is given here"),
        );
    }
    value.unwrap_or_default()
}

fn check_noise(diagnostics: &mut Diagnostics, tree: &Node, noise: Option<&OsNoise>) {
    let Some(&OsNoise { period, length }) = noise else { return };
    if period == TimeDelta::ZERO || length < period {
        return;
    }
    diagnostics.push(
        Diagnostic::error(
            &codes::CONTRADICTION,
            place(tree, "noise.os_noise.length"),
            "noise.os_noise.length",
            format!("an interruption of {length} every {period} leaves no time to work"),
            "the length must be below the period",
        )
        .related(place(tree, "noise.os_noise.period"), "the period is given here"),
    );
}
