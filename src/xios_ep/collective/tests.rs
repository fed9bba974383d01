use super::*;
use crate::rank_map::Place;
use engine::streams::{Stream, Streams};

fn all(root: Rank) -> [Collective; 10] {
    [
        Collective::Barrier,
        Collective::Bcast { root },
        Collective::Gather { root },
        Collective::Scatter { root },
        Collective::Reduce { root },
        Collective::Allgather,
        Collective::Allreduce,
        Collective::Alltoall,
        Collective::Scan,
        Collective::Exscan,
    ]
}

fn random_counts(stream: &mut Stream) -> Vec<u32> {
    let processes = 1 + stream.below(5);
    (0..processes).map(|_| 1 + u32::try_from(stream.below(4)).unwrap()).collect()
}

// claim: xep-coll-pattern
#[test]
fn mpi_has_one_participant_for_each_process() {
    let mut stream = Streams::new(5).stream("plans", 0);
    for _ in 0..100 {
        let counts = random_counts(&mut stream);
        let map = RankMap::from_counts(&counts);
        let root = Rank(u32::try_from(stream.below(u64::from(map.size()))).unwrap());
        for collective in all(root) {
            let plan = Plan::new(collective, &map).unwrap();
            assert_eq!(plan.participants().len(), counts.len());
            for (process, caller) in (0..).zip(plan.participants()) {
                let place = map.place(caller).unwrap();
                assert_eq!(place.process, process);
                // The master, unless the root lives here and takes its place.
                assert!(place.local == 0 || collective.root() == Some(caller));
            }
            check_hands(&plan, &map);
        }
    }
}

/// Every endpoint but the caller hands data over exactly once and gets it exactly once, in the
/// steps that the collective has.
fn check_hands(plan: &Plan, map: &RankMap) {
    for process in &plan.processes {
        let mut others = map.locals(process.process).to_vec();
        others.retain(|rank| *rank != process.caller);
        let none = Vec::new();
        let (gathered, served) = match plan.collective {
            Collective::Bcast { .. } | Collective::Scatter { .. } => (&none, &others),
            Collective::Gather { .. } | Collective::Reduce { .. } => (&others, &none),
            Collective::Barrier
            | Collective::Allgather
            | Collective::Allreduce
            | Collective::Alltoall
            | Collective::Scan
            | Collective::Exscan => (&others, &others),
        };
        assert_eq!((&process.gathered, &process.served), (gathered, served));
    }
}

// claim: xep-bcast-mpiroot
// claim: xep-bcast-rootproc
#[test]
fn the_root_calls_mpi_for_its_process() {
    let map = RankMap::from_counts(&[3; 4]);
    let plan = Plan::new(Collective::Bcast { root: Rank(4) }, &map).unwrap();
    assert_eq!(plan.mpi_root, Some(1));
    let callers: Vec<u32> = plan.participants().map(|rank| rank.0).collect();
    assert_eq!(callers, [0, 4, 6, 9]);
    assert_eq!(plan.processes[1].served, [Rank(3), Rank(5)]);
    assert!(plan.processes.iter().all(|process| process.gathered.is_empty()));
}

#[test]
fn a_root_that_is_no_endpoint_is_refused() {
    let map = RankMap::from_counts(&[3; 4]);
    let error = Plan::new(Collective::Reduce { root: Rank(12) }, &map).unwrap_err();
    assert_eq!(error.to_string(), "root 12 is out of range: the communicator has 12 endpoints");
}

#[test]
fn processes_without_endpoints_take_no_part() {
    let plan = Plan::new(Collective::Allreduce, &RankMap::from_counts(&[2, 0, 1])).unwrap();
    let processes: Vec<u32> = plan.processes.iter().map(|process| process.process).collect();
    assert_eq!(processes, [0, 2]);
}

/// MPI's allreduce among callers: what each contributed, combined in process order.
fn among_callers(contributed: Vec<Option<String>>) -> String {
    contributed.into_iter().flatten().collect()
}

// claim: xep-allreduce
#[test]
fn allreduce_combines_at_masters_then_among_them_then_copies_out() {
    let map = RankMap::from_counts(&[3; 4]);
    let plan = Plan::new(Collective::Allreduce, &map).unwrap();
    assert_eq!(plan.participants().len(), 4);
    assert!(plan.processes.iter().all(|p| p.gathered.len() == 2 && p.served.len() == 2));
    let values: Vec<u64> = (0..12).map(|rank| 1 << rank).collect();
    let contributed: Vec<u64> = by_process(&map, &values)
        .iter()
        .map(|own| local_reduce(own, |a, b| a + b).unwrap())
        .collect();
    assert_eq!(contributed, [0b111, 0b111 << 3, 0b111 << 6, 0b111 << 9]);
    assert_eq!(contributed.iter().sum::<u64>(), values.iter().sum::<u64>());
}

/// Joining texts is associative but not commutative: the order of ranks must survive.
#[test]
fn three_steps_give_the_sequential_result_in_rank_order() {
    let mut stream = Streams::new(6).stream("reductions", 0);
    for _ in 0..100 {
        let map = RankMap::from_counts(&random_counts(&mut stream));
        assert!(map.is_process_ordered());
        let values: Vec<String> = (0..map.size()).map(|rank| format!("{rank} ")).collect();
        let join = |a: String, b: &String| a + b;
        let own = by_process(&map, &values);
        let contributed: Vec<_> = own.iter().map(|own| local_reduce(own, join)).collect();
        assert_eq!(among_callers(contributed.clone()), values.concat());
        let (mut scan, mut exscan) = (Vec::new(), Vec::new());
        for (process, own) in own.iter().enumerate() {
            let below = among_callers(contributed[..process].to_vec());
            let before = (process > 0).then_some(&below);
            scan.extend(local_scan(own, before, join));
            exscan.extend(local_exscan(own, before, join));
        }
        for rank in 0..values.len() {
            assert_eq!(scan[rank], values[..=rank].concat());
            let below = (rank > 0).then(|| values[..rank].concat());
            assert_eq!(exscan[rank], below);
        }
    }
}

#[test]
fn joined_parts_come_back_in_rank_order_even_where_places_do_not() {
    let place = |local, process| Place { local, process };
    let places = vec![place(1, 1), place(0, 0), place(0, 1), place(1, 0)];
    let map = RankMap::new(places, 2).unwrap();
    let values = ["a", "b", "c", "d"];
    let own = by_process(&map, &values);
    assert_eq!(own, [["b", "d"], ["c", "a"]]);
    assert_eq!(by_rank(&map, &own), values);
    assert_eq!(local_reduce::<u32>(&[], |a, b| a + b), None);
    assert_eq!(local_exscan::<u32>(&[], None, |a, b| a + b), []);
}
