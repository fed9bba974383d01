//! Bytes that go from one device to another are counted where they cross, once, with the headers of
//! their packets.

use std::path::Path;

use crate::explain::{point_of, scenarios};
use mpisim::calls::packing::{Method, Task};
use mpisim::engine::Keep;
use mpisim::experiment::plan::Point;
use mpisim::experiment::results::PointResult;
use mpisim::experiment::run::run_point;
use mpisim::protocols::contract::Process;
use mpisim::runtime::causes::Message;

/// Raw bytes over all resources of this name, whatever their node.
fn over(result: &PointResult, name: &str) -> u64 {
    let of = result.resources.iter().filter(|used| used.name.ends_with(name));
    of.map(|used| used.bytes).sum()
}

#[test]
fn bytes_cross_each_boundary_once_in_every_scenario() {
    let mut names = Vec::new();
    scenarios(Path::new("scenarios"), &mut names);
    let mut checked = [0; 2];
    for name in names {
        let point = point_of(&name, &[]);
        let (result, recorded) = run_point(&point, Keep::Messages).unwrap();
        let messages = recorded.unwrap().messages;
        checked[0] += usize::from(check_bus_of_gpu(&name, &point, &result));
        checked[1] += usize::from(check_bus_of_hca(&name, &point, &result, &messages));
    }
    assert!(checked[0] >= 15 && checked[1] >= 50, "{checked:?}");
}

/// Whatever packs them, packed bytes cross the bus of the GPU once, with the header of each TLP: as many
/// as they need at least, and one for each primitive at most.
fn check_bus_of_gpu(name: &str, point: &Point, result: &PointResult) -> bool {
    let Some(packing) = point.workload.packing() else { return false };
    let Some(metric) = result.metric("bus_bytes") else { return false };
    let (pcie, gpu) = (&point.machine.profile.pcie, &point.machine.profile.gpu);
    let overhead = match packing.task {
        Task::Pack => pcie.tlp_overhead,
        Task::Unpack => pcie.completion_overhead,
    };
    let header = (overhead + pcie.dllp_overhead_per_tlp).as_u64();
    let crossed = over(result, "GPU 0 PCIe to host") + over(result, "GPU 0 PCIe from host");
    assert_eq!(metric.value.to_bits(), to_f64(crossed).to_bits(), "{name}");
    let encoding = &packing.layout.encoding;
    if packing.method == Method::WholeExtent {
        assert!(crossed > encoding.packed(), "{name}: {crossed}");
    } else if packing.method == Method::Cpu {
        assert_eq!(crossed, 0, "{name}");
    } else {
        let headers = crossed - encoding.packed();
        let packets = headers / header;
        let least = encoding.packed().div_ceil(gpu.pcie_payload.as_u64());
        assert!((least..=encoding.primitives()).contains(&packets), "{name}: {packets}");
        assert_eq!(headers % header, 0, "{name}: {crossed} of {}", encoding.packed());
    }
    true
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a scenario")]
fn to_f64(bytes: u64) -> f64 {
    bytes as f64
}

/// What an HCA moves crosses the bus on both sides: payload and headers once, and a doorbell with its
/// WQE, or a completion, at most.
fn check_bus_of_hca(name: &str, point: &Point, result: &PointResult, messages: &[Message]) -> bool {
    let (pcie, hca) = (&point.machine.profile.pcie, &point.machine.profile.hca);
    let ways = [("PCIe to HCA", pcie.completion_overhead), ("PCIe from HCA", pcie.tlp_overhead)];
    let node = |process: Process| point.placement.node_of(process.0, point.nodes);
    let far = || messages.iter().filter(|message| node(message.from) != node(message.to));
    if far().next().is_none() {
        return false;
    }
    for (way, overhead) in ways {
        let header = (overhead + pcie.dllp_overhead_per_tlp).as_u64();
        let packets = |bytes: u64| bytes.div_ceil(pcie.mps.as_u64());
        let least: u64 = far().map(|one| one.bytes + packets(one.bytes) * header).sum();
        let beside = hca.doorbell_bytes + hca.wqe_bytes + hca.cqe_bytes;
        let most = least + far().count() as u64 * (beside.as_u64() + 3 * header);
        let raw = over(result, way);
        assert!((least..=most).contains(&raw), "{name} {way}: {raw} of {least} to {most}");
    }
    true
}
