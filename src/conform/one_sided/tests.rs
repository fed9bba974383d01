//! The recorded cases through the library under random orders of events, for every way to set it.

use super::*;
use crate::{Cases, Simulated, Vectors, judge};
use shipped::SHIPPED;

const RECORDED: &str = include_str!("../../../tests/vectors/rma.json");

fn recorded() -> Vectors {
    Vectors::read(RECORDED, SHIPPED).expect("the recorded file is in order")
}

#[test]
fn the_simulators_library_conforms_in_every_setting() {
    let vectors = recorded();
    let schedules = 3 * SETTINGS.len() as u64;
    let verdict = judge(&vectors, &Simulated { seed: 1 }, schedules);
    assert_eq!(verdict.to_string(), "240 passed, 0 failed");
    let Cases::OneSided(cases) = &vectors.cases else { panic!("another family") };
    let suit = |settings: &Settings| cases.iter().filter(|case| case.suits(settings)).count();
    let counts: Vec<usize> = SETTINGS.iter().map(suit).collect();
    assert!(counts.iter().all(|count| *count >= 20), "cases for each setting: {counts:?}");
}

/// A case of two ranks in which rank 0 puts 1, 2 and 3 to element 0 of rank 1 in one step, with
/// these between them.
fn puts(sync: &str, between: &str) -> Result<Vectors, String> {
    let put = |value: u32| {
        format!(r#"{{"origin":0,"op":"put","target":1,"disp":0,"count":1,"data":[{value}]}}"#)
    };
    let flush = format!(r#"{{"origin":0,{between}}}"#);
    let ops = [put(1), flush.clone(), put(2), flush, put(3)].join(",");
    let text = format!(
        r#"{{"family":"rma","schema":1,"mpi":"M","seed":0,"cases":[{{"id":3,"ranks":2,
        "window":{{"flavour":"create","type":"int64","elements":[1,1],"disp_unit":8,
        "init":[[0],[0]]}},"steps":[{{"sync":"{sync}","ops":[{ops}]}}],
        "fetched":[[null,null,null,null,null]],"final":[[0],[3]]}}]}}"#
    );
    Vectors::read(&text, SHIPPED).map_err(|why| why.to_string())
}

#[test]
fn flushes_are_done_where_they_stand_in_every_step_of_locks() {
    for sync in ["lock_shared", "lock_exclusive", "lock_many", "lock_all"] {
        for flush in [r#""op":"flush","target":1"#, r#""op":"flush_all""#] {
            let vectors = puts(sync, flush).unwrap();
            let schedules = SETTINGS.len() as u64;
            let verdict = judge(&vectors, &Simulated { seed: 1 }, schedules);
            assert_eq!(verdict.to_string(), "1 passed, 0 failed", "{sync}, {flush}");
        }
    }
}

#[test]
fn flushes_that_no_epoch_takes_in_are_refused() {
    for sync in ["fence", "pscw"] {
        let why = puts(sync, r#""op":"flush_all""#).unwrap_err();
        assert!(why.contains("case 3: a flush stands in a step of locks"), "{why}");
    }
    let other = r#""op":"flush_all"},{"origin":1,"op":"flush_all""#;
    let why = puts("lock_shared", other).unwrap_err();
    assert!(why.contains("`flush_all` of rank 1, which locks no target"), "{why}");
}

/// A case of two ranks in which rank 0 puts and then gets, with this as `fetched`.
fn fetches(fetched: &str) -> Result<Vectors, String> {
    let text = format!(
        r#"{{"family":"rma","schema":1,"mpi":"M","seed":0,"cases":[{{"id":3,"ranks":2,
        "window":{{"flavour":"create","type":"int64","elements":[1,1],"disp_unit":8,
        "init":[[0],[7]]}},"steps":[{{"sync":"fence","ops":[
        {{"origin":1,"op":"put","target":0,"disp":0,"count":1,"data":[5]}},
        {{"origin":0,"op":"get","target":1,"disp":0,"count":1}},
        {{"origin":0,"op":"get","target":"proc_null","disp":0,"count":1}}]}},
        {{"sync":"exclusive_rmw","target":0,"disp":0,"add":[1,1]}}],
        "fetched":{fetched},"final":[[7],[7]]}}]}}"#
    );
    Vectors::read(&text, SHIPPED).map_err(|why| why.to_string())
}

#[test]
fn what_an_operation_fetches_is_named_and_nothing_else_is() {
    for (fetched, verdict) in [
        ("[[null,[7],null],null]", "1 passed, 0 failed"),
        ("[[null,[8],null],null]", "0 passed, 1 failed"),
    ] {
        let found = judge(&fetches(fetched).unwrap(), &Simulated { seed: 1 }, 1);
        assert!(found.to_string().contains(verdict), "{fetched}: {found}");
    }
    for (fetched, why) in [
        ("[]", "`fetched` needs one entry for each step"),
        ("[[null,[7],null]]", "`fetched` needs one entry for each step"),
        ("[null,null]", "`fetched[0]` needs one entry for each operation"),
        ("[[],null]", "`fetched[0]` needs one entry for each operation"),
        ("[[null],null]", "`fetched[0]` needs one entry for each operation"),
        ("[[null,null,null],null]", "`fetched[0][1]` is missing"),
        ("[[null,[],null],null]", "`fetched[0][1]` has not as many elements"),
        ("[[[5],[7],null],null]", "`fetched[0][0]` is of an operation that fetches nothing"),
        ("[[null,[7],null],[]]", "`fetched[1]` is null for `exclusive_rmw`"),
    ] {
        let found = fetches(fetched).unwrap_err();
        assert!(found.contains(&format!("case 3: {why}")), "{fetched}: {found}");
    }
}
