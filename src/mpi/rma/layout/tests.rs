//! Addresses, bounds, and attached memory.

use super::*;

fn segments() -> Vec<Segment> {
    vec![
        Segment { base: 1000, size: 80, unit: 8 },
        Segment { base: 5000, size: 10, unit: 1 },
        Segment { base: 0, size: 0, unit: 4 },
    ]
}

/// claim: rma-sem-disp
#[test]
fn an_address_is_the_base_and_so_many_units() {
    for layout in [Layout::created(segments()), Layout::allocated(segments())] {
        let layout = layout.expect("it fits");
        assert_eq!(layout.address(Rank(0), 0, 80), Ok(1000));
        assert_eq!(layout.address(Rank(0), 9, 8), Ok(1072));
        assert_eq!(layout.address(Rank(1), 9, 1), Ok(5009));
        assert_eq!(layout.address(Rank(1), 10, 0), Ok(5010));
        assert_eq!(layout.address(Rank(2), 0, 0), Ok(0));
    }
}

// row: F9
#[test]
fn what_lies_outside_is_named() {
    let layout = Layout::created(segments()).expect("it fits");
    assert_eq!(
        layout.address(Rank(0), 9, 9).unwrap_err().to_string(),
        "9 B at displacement 9 (of 8 B each) are not all in the window of target 0, which has 80 B"
    );
    assert_eq!(
        layout.address(Rank(3), 0, 1).unwrap_err().to_string(),
        "target 3 does not exist: the window has 3 ranks"
    );
    for (displacement, bytes) in [(u64::MAX, 1), (1 << 61, 8), (10, 1), (0, 81), (0, u64::MAX)] {
        let error = layout.address(Rank(0), displacement, bytes);
        assert!(matches!(error, Err(LayoutError::Bounds { .. })), "{displacement} {bytes}");
    }
    let endless = vec![Segment { base: u64::MAX, size: 1, unit: 1 }];
    assert_eq!(Layout::created(endless), Err(TooLarge { rank: Rank(0) }));
}

/// Offsets of the segments of these sizes in a shared window.
fn offsets(sizes: &[u64], spacing: Spacing) -> Vec<u64> {
    let segments: Vec<(u64, u32)> = sizes.iter().map(|size| (*size, 1)).collect();
    let layout = Layout::shared(4096, &segments, spacing).expect("it fits");
    assert_eq!(layout.flavour(), Flavour::Shared);
    let base = |rank| layout.segment(Rank(rank)).expect("a rank").base - 4096;
    (0..u32::try_from(sizes.len()).unwrap()).map(base).collect()
}

/// claim: rma-sem-shm-offsets
#[test]
fn contiguous_segments_begin_at_the_sum_of_those_before() {
    for sizes in [[0, 1, 4097], [4097, 0, 1], [1, 4097, 0], [7, 7, 7]] {
        let sums = [0, sizes[0], sizes[0] + sizes[1]];
        assert_eq!(offsets(&sizes, Spacing::Contiguous), sums, "{sizes:?}");
    }
}

/// claim: rma-sem-shm-noncontig
#[test]
fn segments_with_the_hint_begin_on_pages_of_one_region() {
    assert_eq!(offsets(&[0, 1, 4097], Spacing::Pages(4096)), [0, 0, 4096]);
    assert_eq!(offsets(&[4097, 1, 0], Spacing::Pages(4096)), [0, 8192, 12288]);
    assert_eq!(offsets(&[4096, 4096, 1], Spacing::Pages(4096)), [0, 4096, 8192]);
    let endless = [(u64::MAX - 5000, 1), (1, 1)];
    let layout = Layout::shared(0, &endless, Spacing::Pages(4096));
    assert_eq!(layout.map(|_| ()), Ok(()));
    let endless = [(u64::MAX, 1), (1, 1)];
    assert_eq!(Layout::shared(0, &endless, Spacing::Pages(4096)), Err(TooLarge { rank: Rank(1) }));
}

/// claim: rma-sem-dyn-attach
#[test]
fn a_dynamic_window_has_what_is_attached() {
    let mut layout = Layout::dynamic();
    assert_eq!(layout.address(Rank(77), 5000, 8), Ok(5000), "the displacement is the address");
    let beyond = LayoutError::Address { target: Rank(0), address: u64::MAX, bytes: 8 };
    assert_eq!(layout.address(Rank(0), u64::MAX, 8), Err(beyond));
    let attached = layout.attached().expect("it is dynamic");
    let nowhere = AttachError::NotAttached { address: 5000, bytes: 8 };
    assert_eq!(attached.check(5000, 8), Err(nowhere));
    assert_eq!(
        nowhere.to_string(),
        "memory is not attached: 8 B at address 5000 are not all in the window"
    );
    assert_eq!(attached.attach(4096, 1000), Ok(()));
    assert_eq!(attached.check(5000, 8), Ok(()));
    assert_eq!(attached.check(5092, 8), Err(AttachError::NotAttached { address: 5092, bytes: 8 }));
    assert_eq!(attached.attach(5096, 10), Ok(()));
    assert_eq!(attached.check(5092, 8), Ok(()), "two pieces without a gap");
    assert_eq!(attached.detach(4096), Ok(()));
    assert_eq!(attached.check(5092, 8), Err(AttachError::NotAttached { address: 5092, bytes: 8 }));
    assert_eq!(attached.detach(4096), Err(AttachError::Unknown { address: 4096 }));
    assert!(attached.pieces().eq(std::iter::once(5096..5106)));
    let mut created = Layout::created(segments()).expect("it fits");
    assert_eq!(created.attached(), None);
}

#[test]
fn memory_is_attached_once() {
    let mut attached = Attached::default();
    assert_eq!(attached.attach(100, 50), Ok(()));
    for (address, bytes) in [(100, 50), (90, 11), (149, 1), (120, 5), (0, 1000)] {
        let overlap = AttachError::Overlap { address, bytes, other: 100 };
        assert_eq!(attached.attach(address, bytes), Err(overlap));
    }
    assert_eq!(attached.attach(150, 1), Ok(()));
    assert_eq!(attached.attach(90, 10), Ok(()));
    for (address, bytes) in [(7, 0), (u64::MAX, 2)] {
        let none = AttachError::NoMemory { address, bytes };
        assert_eq!(attached.attach(address, bytes), Err(none));
    }
    assert_eq!(attached.pieces().len(), 3);
}

/// claim: rma-sem-win-op
#[test]
fn only_dynamic_windows_do_without_a_table_of_all_processes() {
    let of = |ranks: usize| {
        let segments = vec![Segment { base: 0, size: 8, unit: 8 }; ranks];
        Layout::created(segments).expect("it fits").state_bytes()
    };
    let entry = (of(2) - of(1), of(1000) - of(0));
    assert_eq!(entry, (24, 24_000), "base, size and unit of each process");
    let mut dynamic = Layout::dynamic();
    assert_eq!(dynamic.state_bytes(), of(0));
    for piece in 0..10 {
        dynamic.attached().expect("dynamic").attach(100 * piece, 50).expect("apart");
    }
    assert_eq!(dynamic.state_bytes(), of(0) + 160, "start and end of each piece");
}
