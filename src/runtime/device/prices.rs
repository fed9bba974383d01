//! What packing costs on a machine, as a library finds out before it chooses a method.

use calls::packing::Prices;
use hardware::gpu::Shape;
use hardware::profile::Profile;
use units::{Bandwidth, PS_PER_S, TimeDelta};

/// The prices of a machine; `None` where it has no GPU.
///
/// A price is the number of bytes that the bus carries meanwhile, so that everything is a number of
/// bytes, as in the packets that are counted.
pub fn prices(profile: &Profile) -> Option<Prices> {
    let shape = Shape::of(profile)?;
    let gpu = &profile.gpu;
    let on_bus = |time| carried(shape.bus, time);
    let traffic = u128::from(profile.mem.copy_traffic);
    let core = u128::from(profile.mem.core_copy_bw_dram.as_bit_per_s()) * traffic;
    let core_ppm = u128::from(shape.bus.as_bit_per_s()) * 1_000_000 / core;
    let memory = u128::from(shape.memory_bw.as_bit_per_s());
    let memory_ppm = u128::from(shape.bus.as_bit_per_s()) * 1_000_000 / memory;
    Some(Prices {
        call: on_bus(shape.copy_latency + shape.read_latency),
        slice: on_bus(shape.memory_latency + shape.write_latency),
        launch: on_bus(shape.launch_latency + gpu.kernel_expected?),
        parting: on_bus(gpu.kernel_expected_parting?),
        issue_ppm: issue_ppm(&shape, gpu.kernel_expected_parting?),
        payload: shape.payload,
        header: shape.write_overhead,
        slow_packet: on_bus(shape.rows.unaligned),
        request: on_bus(shape.read_latency.scaled(1, u64::from(shape.copy_reads))),
        aligned: shape.rows.align,
        transaction: shape.transaction,
        memory_ppm: u64::try_from(memory_ppm).unwrap_or(u64::MAX),
        line: profile.cache.line.as_u64(),
        copy_traffic: u64::from(profile.mem.copy_traffic),
        core_ppm: u64::try_from(core_ppm).unwrap_or(u64::MAX),
    })
}

/// Issue slots that a primitive takes where threads diverge: its warp issues one instruction after
/// the other for `parting`, and all SMs issue at once. In millionths of a byte of the bus.
fn issue_ppm(shape: &Shape, parting: TimeDelta) -> u64 {
    let instructions = parting.as_ps() / shape.instruction_latency.as_ps().max(1);
    let slots = u128::from(shape.issue_rate.as_hz()) * u128::from(shape.sms);
    let bytes = u128::from(shape.bus.as_bit_per_s()) / 8 * u128::from(instructions);
    u64::try_from(bytes * 1_000_000 / (slots * u128::from(shape.warp))).unwrap_or(u64::MAX)
}

/// Whole bytes that pass in a time.
fn carried(rate: Bandwidth, time: TimeDelta) -> u64 {
    let bits = u128::from(rate.as_bit_per_s()) * u128::from(time.as_ps());
    u64::try_from(bits / 8 / u128::from(PS_PER_S)).unwrap_or(u64::MAX)
}
