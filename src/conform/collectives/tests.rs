//! The recorded collectives by every algorithm; and files that are none.

use super::super::{Cases, Simulated, Vectors, judge, matching, one_sided, programs};
use super::*;
use collectives::Kind;
use shipped::SHIPPED;

const RECORDED: [&str; 4] = [
    include_str!("../../../tests/vectors/collectives_p2.json"),
    include_str!("../../../tests/vectors/collectives_p3.json"),
    include_str!("../../../tests/vectors/collectives_p4.json"),
    include_str!("../../../tests/vectors/collectives_p6.json"),
];

fn cases(vectors: &Vectors) -> &[Case] {
    let Cases::Collectives(cases) = &vectors.cases else { panic!("another family") };
    cases
}

#[test]
fn the_simulators_library_conforms_by_every_algorithm() {
    let mut used = Vec::new();
    for recorded in RECORDED {
        let vectors = Vectors::read(recorded, SHIPPED).expect("the recorded file is in order");
        assert_eq!(vectors.library, "MPICH 4.0.2");
        let verdict = judge(&vectors, &Simulated { seed: 1 }, 3);
        assert_eq!(verdict.to_string(), "90 passed, 0 failed");
        for algorithm in cases(&vectors).iter().flat_map(Case::algorithms) {
            if !used.contains(&algorithm) {
                used.push(algorithm);
            }
        }
    }
    // Barriers move nothing that could be recorded.
    let moving = Algorithm::ALL.iter().filter(|one| one.kind() != Kind::Barrier).count();
    assert_eq!(used.len(), moving, "{used:?}");
}

/// A world that does as it should, and then changes one byte.
struct Careless {
    rank: usize,
}

impl matching::World for Careless {
    fn run(
        &self,
        _: &language::program::Programs,
        _: u64,
    ) -> Result<Box<dyn super::super::Finished>, String> {
        Err("only collectives".to_owned())
    }
}

impl one_sided::World for Careless {}

impl programs::World for Careless {}

impl World for Careless {
    fn collective(&self, ranks: &[Taking], schedule: u64) -> Result<Vec<Vec<u8>>, String> {
        let mut found = Simulated { seed: 1 }.collective(ranks, schedule)?;
        if let Some(byte) = found[self.rank].last_mut() {
            *byte ^= 1;
        }
        Ok(found)
    }
}

#[test]
fn one_wrong_byte_is_found_and_named() {
    let vectors = Vectors::read(RECORDED[1], SHIPPED).expect("the recorded file is in order");
    let verdict = judge(&vectors, &Careless { rank: 1 }, 1);
    let defined = |case: &&Case| case.ranks[1].result.as_ref().is_some_and(|it| !it.is_empty());
    assert_eq!(verdict.mismatches.len(), cases(&vectors).iter().filter(defined).count());
    let text = verdict.to_string();
    assert!(text.contains(", schedule 0: `result[1] by "), "{text}");
}

fn file(case: &str) -> String {
    format!(
        r#"{{"family":"collectives","schema":1,"mpi":"M","seed":1,"ranks":2,"affine_modulus":7,
        "cases":[{case}]}}"#
    )
}

const REDUCE: &str = r#"{"id":3,"ranks":2,"op":"reduce","type":"int32","count":1,"root":1,
    "reduce_op":"sum","inputs":[[1],[2]],"result":[null,[3]]}"#;

#[track_caller]
fn check_unreadable(text: &str, message: &str) {
    assert_eq!(Vectors::read(text, SHIPPED).expect_err("a wrong file").to_string(), message);
}

#[test]
fn files_that_are_no_vectors_are_refused() {
    let swap = |from: &str, to: &str| file(&REDUCE.replacen(from, to, 1));
    let verdict =
        judge(&Vectors::read(&file(REDUCE), SHIPPED).expect("good"), &Simulated { seed: 1 }, 2);
    assert!(verdict.is_pass(), "{verdict}");
    for (text, message) in [
        (swap("\"sum\"", "\"avg\""), "case 3: operator `avg` is not known"),
        (swap("\"sum\"", "\"affine\""), "case 3: `affine` is not defined on these elements"),
        (swap("\"root\":1", "\"root\":2"), "case 3: `root` is 2 of 2 ranks"),
        (swap("[[1],[2]]", "[[1]]"), "case 3: `inputs` needs one list for each rank"),
        (
            swap("[[1],[2]]", "[[1],[2,3]]"),
            "case 3: the input of rank 1 has not as many elements as needed",
        ),
        (swap("[[1],[2]]", "[[1],[3000000000]]"), "case 3: a number does not fit its type"),
        (swap("[null,[3]]", "[null]"), "case 3: `result` needs one entry for each rank"),
        (swap("[3]]", "[3,4]]"), "case 3: `result[1]` is not as long as the result buffer"),
        (
            swap("[null,[3]]", "[null,[]]"),
            "case 3: `result[1]` is not as long as the result buffer",
        ),
        (
            swap("[null,[3]]", "[null,null]"),
            "case 3: `result[1]` is missing: rank 1 of `reduce` has one",
        ),
        (
            swap("\"reduce\"", "\"allreduce\""),
            "case 3: `result[0]` is missing: rank 0 of `allreduce` has one",
        ),
        (
            swap("\"reduce\"", "\"exscan\"").replace("[null,[3]]", "[null,null]"),
            "case 3: `result[1]` is missing: rank 1 of `exscan` has one",
        ),
        (
            swap("\"count\":1", "\"count\":9999999999"),
            "case 3: 9999999999 elements are more than a vector holds",
        ),
        (swap("\"reduce\"", "\"reduces\""), "case 3: operation `reduces` is not known"),
        (swap("\"reduce_op\":\"sum\",", ""), "case 3: `reduce` needs `reduce_op`"),
        (
            file(REDUCE).replace("\"affine_modulus\":7", "\"affine_modulus\":0"),
            "`ranks` and `affine_modulus` are needed: numbers from 1, the ranks up to 256",
        ),
    ] {
        check_unreadable(&text, message);
    }
}

/// The first rank of an exclusive scan has no result, and here it is the only one.
#[test]
fn a_collective_without_any_result_is_refused() {
    let alone = r#"{"id":3,"ranks":1,"op":"exscan","type":"int32","count":1,"reduce_op":"sum",
        "inputs":[[1]],"result":[null]}"#;
    let text = file(alone).replacen("\"ranks\":2", "\"ranks\":1", 1);
    check_unreadable(&text, "case 3: nothing is tested: it has no call, or no outcome");
}

/// A receive buffer that has no room for what is received.
#[test]
fn a_result_buffer_that_is_too_small_is_refused() {
    let text = file(
        r#"{"id":3,"ranks":2,"op":"allgatherv","type":"int32","count":1,"counts":[1,1],
        "inputs":[[1],[2]],"recv_elements":0,"recv_fill":0,"result":[[],[]]}"#,
    );
    check_unreadable(&text, "case 3: `recv_elements` is less than rank 0 receives");
}
