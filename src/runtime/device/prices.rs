//! What packing costs on a machine, as a library finds out before it chooses a method.

use hardware::gpu::Shape;
use hardware::profile::Profile;
use protocols::packing::Prices;
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
    Some(Prices {
        call: on_bus(shape.copy_latency + shape.read_latency),
        slice: on_bus(shape.memory_latency + shape.write_latency),
        launch: on_bus(shape.launch_latency + gpu.kernel_expected?),
        parting: on_bus(gpu.kernel_expected_parting?),
        payload: shape.payload,
        header: shape.write_overhead,
        slow_packet: on_bus(shape.rows.unaligned),
        request: on_bus(shape.read_latency.scaled(1, u64::from(shape.copy_reads))),
        aligned: shape.rows.align,
        line: profile.cache.line.as_u64(),
        copy_traffic: u64::from(profile.mem.copy_traffic),
        core_ppm: u64::try_from(core_ppm).unwrap_or(u64::MAX),
    })
}

/// Whole bytes that pass in a time.
fn carried(rate: Bandwidth, time: TimeDelta) -> u64 {
    let bits = u128::from(rate.as_bit_per_s()) * u128::from(time.as_ps());
    u64::try_from(bits / 8 / u128::from(PS_PER_S)).unwrap_or(u64::MAX)
}
