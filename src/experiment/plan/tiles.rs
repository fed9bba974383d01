//! The workload of tiles: its lists and numbers, and what they say together.

use super::{Addressing, DEFAULT_TIME, place};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use units::TimeDelta;
use workloads::tiles::{EVEN, MOST, Tiles};

/// The tiles of a checked workload; reports where they contradict each other.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node) -> Tiles {
    let before = counts(node, "tiles").expect("the key is required");
    let migrate_after = node.get("migrate_after").filter(|after| after.number().is_some());
    let migrate_after = migrate_after.map(Node::as_count);
    let after = counts(node, "tiles_after");
    let steps = node.count("steps").expect("the key is required");
    let narrow = |steps| u32::try_from(steps).expect("the shape limits the steps");
    let fitting = check_migration(diagnostics, node, (&before, after.as_deref()), migrate_after);
    let tiles = Tiles {
        after: if fitting { after.unwrap_or_else(|| before.clone()) } else { before.clone() },
        before,
        steps: narrow(steps),
        migrate_after: migrate_after.map(|after| narrow(after.min(steps))),
        halo: node.bytes("size").unwrap_or_default().as_u64(),
        data: node.bytes("tile_size").unwrap_or_default().as_u64(),
        compute: node.time("compute").unwrap_or_default(),
        imbalance: node.billionths("imbalance").unwrap_or(EVEN),
    };
    check_products(diagnostics, node, &tiles);
    tiles
}

fn counts(node: &Node, key: &str) -> Option<Vec<u16>> {
    let list = node.get(key)?.elements().expect("the tree was checked against its shape");
    let count = |count: &Node| u16::try_from(count.as_count()).expect("the shape limits the tiles");
    Some(list.iter().map(count).collect())
}

/// Whether what stands behind a migration fits what stands before it.
fn check_migration(
    diagnostics: &mut Diagnostics,
    node: &Node,
    (before, after): (&[u16], Option<&[u16]>),
    migrate_after: Option<u64>,
) -> bool {
    let mut refuse = |key: &str, found: String, allowed: &str| {
        let span = node.get(key).map_or(node.span, |field| field.span);
        let path = format!("workload.{key}");
        diagnostics.push(Diagnostic::error(&codes::CONTRADICTION, span, path, found, allowed));
        false
    };
    let steps = node.count("steps").unwrap_or(0);
    if let Some(at) = migrate_after.filter(|at| *at > steps) {
        let found = format!("tiles move after {at} steps of {steps}");
        return refuse("migrate_after", found, "at most as many as `workload.steps`, or `never`");
    }
    let Some(after) = after else {
        return migrate_after.is_none()
            || refuse(
                "migrate_after",
                "tiles move, and nothing says where to".to_owned(),
                "`workload.tiles_after` must list the tiles of each process",
            );
    };
    if after.len() != before.len() {
        let found = format!("{} processes have tiles after the migration", after.len());
        return refuse("tiles_after", found, "as many as in `workload.tiles` are needed");
    }
    let sum = |counts: &[u16]| counts.iter().copied().map(u32::from).sum::<u32>();
    let (old, new) = (sum(before), sum(after));
    old == new
        || refuse(
            "tiles_after",
            format!("{old} tiles become {new}"),
            "tiles move; none is made or lost",
        )
}

/// Bytes and time of all steps must fit 64 bits.
fn check_products(diagnostics: &mut Diagnostics, node: &Node, tiles: &Tiles) {
    let (count, steps) = (u128::from(tiles.count()), u128::from(tiles.steps));
    let most = u128::from(tiles.imbalance.max(EVEN)) * u128::from(tiles.compute.as_ps());
    let time = (most / u128::from(EVEN)).saturating_mul(u128::from(MOST) * steps);
    let halos = u128::from(tiles.halo) * 2 * count * steps;
    let bytes = halos.saturating_add(u128::from(tiles.data) * count);
    let limit = u128::from(DEFAULT_TIME.as_ps());
    let (key, found, allowed) = if time > limit {
        let time = TimeDelta::from_ps(u64::try_from(time).unwrap_or(u64::MAX));
        (
            "compute",
            format!("all steps of {MOST} tiles take {time}"),
            "at most 200 days can be counted",
        )
    } else if bytes > u128::from(u64::MAX) {
        ("size", format!("all steps move {bytes} bytes"), "at most 2^64 bytes can be counted")
    } else {
        return;
    };
    let span = node.get(key).map_or(node.span, |field| field.span);
    let path = format!("workload.{key}");
    diagnostics.push(Diagnostic::error(&codes::PRODUCT, span, path, found, allowed).related(
        node.get("steps").map_or(node.span, |steps| steps.span),
        "the steps are given here",
    ));
}

/// Every tile needs an endpoint that can be made anew.
pub(super) fn check_addressing(diagnostics: &mut Diagnostics, tree: &Node, addressing: Addressing) {
    let (path, found, allowed) = match addressing {
        Addressing::Endpoints(own) if own.at_start => (
            "ranks.endpoints.creation",
            "endpoints are there from the start",
            "tiles are dynamic endpoints, which can be made anew",
        ),
        Addressing::Endpoints(_) => return,
        Addressing::Process | Addressing::Duplicated | Addressing::EndpointLibrary => (
            "ranks.addressing",
            "tiles share the rank of their process",
            "each is an endpoint: `endpoints` or `multiplexed` is needed",
        ),
    };
    let at = place(tree, path);
    diagnostics.push(Diagnostic::error(&codes::CONTRADICTION, at, path, found, allowed));
}
