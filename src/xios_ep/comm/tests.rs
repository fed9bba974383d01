use super::*;
use engine::streams::Streams;

fn parts(counts: &[u32]) -> Vec<Part<u64>> {
    let map = layout(counts, Empty::Allowed).unwrap();
    Part::all(Comm(0), &Arc::new(map))
}

// claim: xep-create-order
// claim: xep-sizes
// claim: xep-comm-fields
#[test]
fn ranks_follow_the_parent_s_order_and_sizes_add_up() {
    let mut stream = Streams::new(3).stream("endpoint counts", 0);
    for _ in 0..200 {
        let processes = 1 + stream.below(6);
        let mut counts: Vec<u32> =
            (0..processes).map(|_| u32::try_from(stream.below(5)).unwrap()).collect();
        counts[0] = counts[0].max(1);
        let parts = parts(&counts);
        validate(&parts).unwrap();
        let handles: Vec<&Handle<u64>> = parts.iter().flat_map(|part| &part.handles).collect();
        let ranks: Vec<u32> = handles.iter().map(|handle| handle.endpoint.rank).collect();
        let total = counts.iter().sum();
        let size = u32::try_from(counts.len()).unwrap();
        assert_eq!(ranks, (0..total).collect::<Vec<_>>(), "{counts:?}");
        assert!(handles.iter().all(|handle| handle.endpoint.size == total));
        for (part, process) in parts.iter().zip(0_u32..) {
            let before: u32 = counts[..process as usize].iter().sum();
            for (handle, thread) in part.handles.iter().zip(0..) {
                assert_eq!(handle.endpoint.rank, before + thread);
                assert_eq!(handle.process, Pair { rank: process, size });
                assert_eq!(handle.local, Pair { rank: thread, size: counts[process as usize] });
            }
        }
    }
}

// claim: xep-create-thread
// claim: xep-ex-4x3-groups
// claim: xep-ex-4x3-rankmap11
#[test]
fn thread_i_of_each_process_uses_handle_i() {
    let parts = parts(&[3; 4]);
    let ranks = |part: &Part<u64>| -> Vec<u32> {
        part.handles.iter().map(|handle| handle.endpoint.rank).collect()
    };
    let groups: Vec<Vec<u32>> = parts.iter().map(ranks).collect();
    assert_eq!(groups, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]);
    for part in &parts {
        let threads: Vec<u32> = part.handles.iter().map(|handle| handle.local.rank).collect();
        assert_eq!(threads, [0, 1, 2]);
    }
    let place = parts[0].rank_map.place(Rank(11)).unwrap();
    assert_eq!((place.local, place.process), (2, 3));
}

#[test]
fn a_process_without_endpoints_is_refused_unless_allowed() {
    let refused = |counts: &[u32], empty| layout(counts, empty).unwrap_err().to_string();
    assert_eq!(
        refused(&[2, 0, 1], Empty::Refused),
        "process 1 asks for 0 endpoints; each process needs one unless 0 is allowed"
    );
    assert_eq!(
        refused(&[0, 0], Empty::Allowed),
        "all 2 processes ask for 0 endpoints; a communicator has one at least"
    );
    assert_eq!(
        refused(&[u32::MAX, 1], Empty::Refused),
        "4294967296 endpoints are more than ranks can number"
    );
    let parts = parts(&[2, 0, 1]);
    assert_eq!(validate(&parts), Ok(()));
    assert!(parts[1].handles.is_empty());
    assert_eq!(parts[2].handles[0].endpoint, Pair { rank: 2, size: 3 });
    assert_eq!(parts[0].rank_map.processes().collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_communicator_of_mpi_has_the_same_shape() {
    let parts: Vec<Part<u64>> =
        (0..3).map(|rank| Part::plain(Comm(0), Pair { rank, size: 3 })).collect();
    validate(&parts).unwrap();
    for (part, rank) in parts.iter().zip(0..) {
        assert!(!part.is_endpoint);
        assert_eq!(part.handles.len(), 1);
        assert_eq!(part.handles[0].endpoint, Pair { rank, size: 3 });
        assert_eq!(part.handles[0].process, part.handles[0].endpoint);
    }
}

/// Each field bent once: none of them is unguarded.
#[test]
fn a_bent_field_is_seen() {
    type Bend = fn(&mut Vec<Part<u64>>);
    let bends: [(&str, Bend); 11] = [
        ("the flag", |parts| parts[1].is_endpoint = false),
        ("the parent", |parts| parts[1].parent = Comm(1)),
        ("the barrier", |parts| parts[1].barrier = LocalBarrier::new(3)),
        ("the buffer", |parts| parts[1].buffer = LocalBuffer::new(1)),
        ("the rank map", |parts| parts[1].rank_map = Arc::new(RankMap::from_counts(&[3, 1]))),
        ("the parent's size", |parts| {
            parts.pop();
        }),
        ("the list of handles", |parts| {
            parts[1].handles.pop();
        }),
        ("their order", |parts| parts[1].handles.swap(0, 1)),
        ("the process pair", |parts| parts[1].handles[0].process.rank = 0),
        ("the endpoint pair", |parts| parts[1].handles[0].endpoint.rank = 0),
        ("the endpoint size", |parts| parts[1].handles[0].endpoint.size = 5),
    ];
    for (what, bend) in bends {
        let mut parts = parts(&[2, 2]);
        bend(&mut parts);
        let broken = validate(&parts).expect_err(what);
        assert!(!broken.what.is_empty());
    }
}

#[test]
fn nobody_leaves_the_barrier_before_the_last_enters() {
    let mut barrier = LocalBarrier::new(3);
    for round in 0..3 {
        assert_eq!(barrier.enter(2), Ok(Entered::Waits { until: round + 1 }));
        assert_eq!(barrier.enter(0), Ok(Entered::Waits { until: round + 1 }));
        assert_eq!(barrier.enter(2), Err(EnteredTwice { local: 2 }));
        assert_eq!(barrier.opened(), round);
        assert_eq!(barrier.enter(1), Ok(Entered::Opens));
        assert_eq!(barrier.opened(), round + 1);
    }
    assert_eq!(LocalBarrier::new(1).enter(0), Ok(Entered::Opens));
}

#[test]
fn the_buffer_has_a_slot_for_each_thread() {
    let mut buffer = LocalBuffer::new(2);
    buffer.put(1, b"abc");
    assert_eq!((buffer.slot(0), buffer.slot(1)), (Some(&[][..]), Some(&b"abc"[..])));
    assert_eq!(buffer.slot(2), None);
}
