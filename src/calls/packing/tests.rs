//! Which calls a method makes.

use super::boxes::{Joined, pieces};
use super::*;
use mpi::datatype::{Datatype, Order, Primitive};

fn layout(datatype: Datatype, count: u64) -> Layout {
    Layout::new(datatype, count).unwrap()
}

fn double() -> Datatype {
    Datatype::named(Primitive::Double)
}

fn calls(method: Method, layout: &Layout) -> usize {
    method.calls(layout, Task::Pack).unwrap().len()
}

#[test]
fn a_vector_is_one_set_of_rows() {
    let vector = layout(Datatype::vector(100, 2, 8, &double()).unwrap(), 1);
    let [piece] = pieces(&vector, Joined::Slices).unwrap()[..] else { panic!("one piece") };
    assert_eq!((piece.rows, piece.width, piece.pitch, piece.slices), (100, 16, 64, 1));
    assert_eq!(calls(Method::Memcpy2d, &vector), 1);
    assert_eq!(calls(Method::Blockwise, &vector), 100);
    assert_eq!(calls(Method::Points, &vector), 200);
    assert_eq!(calls(Method::DeviceVector, &vector), 2);
    assert_eq!(Method::PerField.calls(&vector, Task::Pack), Err(Refusal::NoStruct));
}

#[test]
fn a_box_of_four_dimensions_takes_a_call_for_each_slice_of_the_slowest() {
    let sizes = [8; 4];
    let part = [4, 3, 2, 5];
    let datatype = Datatype::subarray(&sizes, &part, &[1, 1, 1, 1], Order::C, &double()).unwrap();
    let array = layout(datatype, 1);
    let boxes = pieces(&array, Joined::Slices).unwrap();
    assert_eq!(boxes.len(), 4);
    assert!(boxes.iter().all(|piece| (piece.slices, piece.rows, piece.width) == (3, 2, 40)));
    assert_eq!(calls(Method::Memcpy2d, &array), 12);
    assert_eq!(calls(Method::Blockwise, &array), 24);
    assert_eq!(Method::DeviceVector.calls(&array, Task::Pack), Err(Refusal::NoRows));
}

#[test]
fn a_struct_takes_a_call_for_each_member() {
    let named = |primitive| Datatype::named(primitive);
    let members =
        [double(), named(Primitive::Float), named(Primitive::Int32), named(Primitive::Char)];
    let made = Datatype::structure(&[1, 1, 1, 1], &[0, 8, 12, 16], &members).unwrap();
    let many = layout(Datatype::resized(0, 24, &made).unwrap(), 50);
    let all = Method::PerField.calls(&many, Task::Pack).unwrap();
    let widths: Vec<(u64, u64)> = all
        .iter()
        .map(|call| match call {
            DeviceCall::Copy { width, rows, .. } => (*width, *rows),
            DeviceCall::Kernel { .. } | DeviceCall::Host { .. } => panic!("copies only"),
        })
        .collect();
    assert_eq!(widths, [(8, 50), (4, 50), (4, 50), (1, 50)]);
    let scattered = Datatype::vector(2, 1, 2, &double()).unwrap();
    let made = Datatype::structure(&[1], &[0], &[scattered]).unwrap();
    let refused = Method::PerField.calls(&layout(made, 1), Task::Pack);
    assert_eq!(refused, Err(Refusal::Scattered(0)));
}

#[test]
fn rows_that_go_back_or_overlap_are_no_set_of_rows() {
    for (blocklength, stride) in [(1, -3), (1, 0), (2, 1)] {
        let vector = layout(Datatype::vector(10, blocklength, stride, &double()).unwrap(), 1);
        assert_eq!(pieces(&vector, Joined::Slices).unwrap().len(), 10, "{blocklength} {stride}");
    }
    // Slices 100 B apart, with rows 512 B apart in them: no box of the driver's.
    let rows = Datatype::hvector(4, 1, 512, &double()).unwrap();
    let apart = |bytes| layout(Datatype::hvector(3, 1, bytes, &rows).unwrap(), 1);
    assert_eq!(pieces(&apart(100), Joined::Slices).unwrap().len(), 3);
    assert_eq!(pieces(&apart(2_100), Joined::Slices).unwrap().len(), 3);
    assert_eq!(pieces(&apart(2_560), Joined::Slices).unwrap().len(), 1);
    let made = Datatype::structure(&[1], &[0], &[double()]).unwrap();
    let narrow = layout(Datatype::resized(0, 4, &made).unwrap(), 5);
    assert_eq!(Method::PerField.calls(&narrow, Task::Pack), Err(Refusal::Pitch(4)));
}

/// Copies of the whole extent, and the core's work, by the bytes that a copy moves.
fn moved(layout: &Layout, task: Task) -> Vec<Option<u64>> {
    let calls = Method::WholeExtent.calls(layout, task).unwrap();
    let bytes = |call: &DeviceCall| match *call {
        DeviceCall::Copy { width, rows, slices, .. } => Some(width * rows * slices),
        DeviceCall::Host { .. } => None,
        DeviceCall::Kernel { .. } => panic!("no kernel"),
    };
    calls.iter().map(bytes).collect()
}

// `gpu-pack` Sec. 1: 8 B of every 512 B; claim: gpu-sec1-naive-whole
#[test]
fn the_whole_extent_is_sixty_four_times_what_is_wanted() {
    let blocks = 4_096;
    let vector = layout(Datatype::vector(blocks, 1, 64, &double()).unwrap(), 1);
    let [Some(copied), None] = moved(&vector, Task::Pack)[..] else { panic!("a copy, a core") };
    // Nothing is behind the last block.
    assert_eq!(copied + (512 - 8), 64 * vector.encoding.packed());
    assert_eq!(moved(&vector, Task::Unpack), [Some(copied), None, Some(copied)]);
    let below = Datatype::hindexed_block(1, &[-800, 100], &double()).unwrap();
    assert_eq!(moved(&layout(below, 1), Task::Pack), [Some(908), None]);
}

/// Calls of some 6 us, kernels of some 12 us, slow rows of 25 ns and reads of 26 ns beside a bus of 8 GB/s;
/// a core copies 2.4 GB/s.
const PRICES: Prices = Prices {
    call: 48 << 10,
    slice: 5 << 10,
    launch: 96 << 10,
    parting: 160 << 10,
    issue_ppm: 8_000_000,
    payload: 128,
    header: 28,
    slow_packet: 200,
    request: 206,
    aligned: 32,
    transaction: 128,
    memory_ppm: 76_190,
    line: 64,
    copy_traffic: 3,
    core_ppm: 1_166_667,
};

/// The cheap method is chosen: the same layout goes another way where calls, rows or kernels cost
/// less.
#[test]
fn the_automatic_choice_follows_the_prices() {
    let rows = layout(Datatype::vector(1 << 10, 1, 64, &double()).unwrap(), 1);
    let slow = Prices { memory_ppm: 20_000_000, ..PRICES };
    for (prices, expected) in [
        (PRICES, "kernel"),
        (Prices { slow_packet: 30, ..PRICES }, "memcpy2d"),
        (Prices { launch: 8 << 20, ..PRICES }, "device_vector"),
        (Prices { launch: 8 << 20, ..slow }, "memcpy2d"),
        (Prices { launch: 8 << 20, slow_packet: 2_000, ..slow }, "whole_extent"),
        (Prices { launch: 8 << 20, slow_packet: 2_000, core_ppm: 100_000_000, ..slow }, "memcpy2d"),
    ] {
        let chosen = Method::Automatic.chosen(&rows, Task::Pack, &prices);
        assert_eq!(chosen.name(), expected, "{prices:?}");
    }
}

#[test]
fn the_automatic_choice_follows_the_layout() {
    let vector = |count, blocklength, stride| {
        layout(Datatype::vector(count, blocklength, stride, &double()).unwrap(), 1)
    };
    let named = |primitive| Datatype::named(primitive);
    let members = [double(), named(Primitive::Int32), named(Primitive::Char)];
    let record = Datatype::structure(&[1, 1, 1], &[0, 8, 12], &members).unwrap();
    let records = layout(Datatype::resized(0, 24, &record).unwrap(), 1 << 16);
    for (layout, task, expected) in [
        (layout(Datatype::contiguous(1 << 20, &double()).unwrap(), 1), Task::Pack, "blockwise"),
        (vector(1 << 16, 1, 64), Task::Pack, "kernel"),
        (vector(1 << 16, 16, 64), Task::Pack, "memcpy2d"),
        (vector(256, 1, 3), Task::Pack, "whole_extent"),
        (records.clone(), Task::Pack, "device_vector"),
        (records, Task::Unpack, "device_vector"),
    ] {
        let chosen = Method::Automatic.chosen(&layout, task, &PRICES);
        assert_eq!(chosen.name(), expected);
        assert_eq!(Method::Automatic.calls(&layout, task), Err(Refusal::Unchosen));
    }
    assert_eq!(Method::Points.chosen(&vector(2, 1, 2), Task::Pack, &PRICES), Method::Points);
}

#[test]
fn unpacking_is_packing_backwards() {
    let vector = layout(Datatype::vector(3, 1, 2, &double()).unwrap(), 1);
    for method in Method::ALL {
        let Ok(forth) = method.calls(&vector, Task::Pack) else { continue };
        if matches!(method, Method::WholeExtent | Method::Automatic) {
            continue;
        }
        let mut back = method.calls(&vector, Task::Unpack).unwrap();
        back.reverse();
        assert_eq!(back.into_iter().map(DeviceCall::backwards).collect::<Vec<_>>(), forth);
    }
}
