use super::*;

const STATES: [State<u32>; 3] = [State::Send { mpi: 5 }, State::Pending, State::Matched { mpi: 6 }];

fn request(state: State<u32>) -> Request<u32> {
    Request { state, datatype: 8, comm: Comm(3), source: Some(Rank(4)), tag: Some(7) }
}

/// All steps of a call; `finds` says in which check the message is found, `flag` what MPI's test
/// says.
fn steps(call: Call, state: State<u32>, finds: Option<usize>, flag: bool) -> Vec<Advice<u32>> {
    let (mut request, mut heard) = (request(state), Event::Called);
    let (mut made, mut checks) = (Vec::new(), 0);
    loop {
        let next = step(call, &request, heard).unwrap();
        made.push(next);
        heard = match next {
            Advice::Check => {
                checks += 1;
                if Some(checks) == finds {
                    request.matched(9, Rank(4), 7).unwrap();
                }
                Event::Checked
            }
            Advice::MpiTest(_) => Event::Tested { flag },
            Advice::MpiWait(_) => Event::Waited,
            Advice::Return { .. } => return made,
        };
        assert!(made.len() < 20, "the call ends");
    }
}

// claim: xep-req-type1
// claim: xep-req-type2
// claim: xep-req-type3
#[test]
fn types_are_three() {
    let kinds = STATES.map(|state| request(state).kind());
    assert_eq!(kinds, [Type::Send, Type::Pending, Type::Matched]);
    assert_eq!(kinds.map(|kind| kind as u8), [1, 2, 3]);
    let printed = kinds.map(|kind| kind.to_string());
    assert_eq!(printed[0], "type 1: nonblocking send");
    assert_eq!(printed[1], "type 2: pending nonblocking receive, message not found yet");
    assert_eq!(printed[2], "type 3: nonblocking receive whose message was matched");
}

// claim: xep-req-fields
#[test]
fn a_request_holds_what_the_document_lists() {
    let Request { state, datatype, comm, source, tag } = request(State::Send { mpi: 5 });
    assert_eq!((datatype, comm, source, tag), (8, Comm(3), Some(Rank(4)), Some(7)));
    assert_eq!(request(state).mpi(), Some(5));
    assert_eq!(STATES.map(|state| request(state).mpi()), [Some(5), None, Some(6)]);
}

// claim: xep-test1
// claim: xep-test3
#[test]
fn test_on_types_1_and_3_is_mpi_s_test() {
    for (state, mpi) in [(STATES[0], 5), (STATES[2], 6)] {
        for flag in [false, true] {
            let expected = [Advice::MpiTest(mpi), Advice::Return { flag }];
            assert_eq!(steps(Call::Test, state, None, flag), expected);
        }
    }
}

// claim: xep-test2
#[test]
fn test_on_type_2_checks_once_and_else_says_false() {
    let missed = [Advice::Check, Advice::Return { flag: false }];
    assert_eq!(steps(Call::Test, State::Pending, None, true), missed);
    assert_eq!(steps(Call::Test, State::Pending, Some(2), true), missed, "one round only");
}

// claim: xep-test2to3
#[test]
fn a_receive_that_is_matched_in_a_test_is_tested_in_that_call() {
    for flag in [false, true] {
        let expected = [Advice::Check, Advice::MpiTest(9), Advice::Return { flag }];
        assert_eq!(steps(Call::Test, State::Pending, Some(1), flag), expected);
    }
}

// claim: xep-wait1
// claim: xep-wait3
#[test]
fn wait_on_types_1_and_3_is_mpi_s_wait() {
    for (state, mpi) in [(STATES[0], 5), (STATES[2], 6)] {
        let expected = [Advice::MpiWait(mpi), Advice::Return { flag: true }];
        assert_eq!(steps(Call::Wait, state, None, false), expected);
    }
}

// claim: xep-wait2
#[test]
fn wait_on_type_2_checks_until_the_message_is_found() {
    for rounds in 1..10 {
        let made = steps(Call::Wait, State::Pending, Some(rounds), false);
        let (checks, rest) = made.split_at(rounds);
        assert!(checks.iter().all(|step| *step == Advice::Check));
        assert_eq!(rest, [Advice::MpiWait(9), Advice::Return { flag: true }]);
    }
    // Without a message it goes on for ever.
    let pending = request(State::Pending);
    assert_eq!(step(Call::Wait, &pending, Event::Checked), Ok(Advice::Check));
}

/// Every pair of type and news: a request of type 2 never completes, and no type but 2 changes.
#[test]
fn only_type_2_changes_and_only_types_1_and_3_complete() {
    let news = [
        Event::Called,
        Event::Checked,
        Event::Tested { flag: true },
        Event::Tested { flag: false },
        Event::Waited,
    ];
    for (state, heard) in STATES.into_iter().flat_map(|state| news.map(|heard| (state, heard))) {
        for call in [Call::Test, Call::Wait] {
            let request = request(state);
            let next = step(call, &request, heard);
            if request.kind() == Type::Pending {
                assert_ne!(next, Ok(Advice::Return { flag: true }), "{heard:?}");
                assert!(!matches!(next, Ok(Advice::MpiTest(_) | Advice::MpiWait(_))));
            } else {
                assert_ne!(next, Ok(Advice::Check), "{heard:?}");
            }
        }
    }
    for state in [STATES[0], STATES[2]] {
        let mut request = request(state);
        let refused = RequestError::NotPending { found: request.kind() };
        assert_eq!(request.matched(9, Rank(4), 7), Err(refused));
        assert_eq!(request.state, state);
    }
    let completed = step(Call::Wait, &request(State::Pending), Event::Waited).unwrap_err();
    assert_eq!(
        completed.to_string(),
        "Waited was heard of a request of type 2: pending nonblocking receive, message not found \
         yet"
    );
}

#[test]
fn a_matched_receive_knows_its_message() {
    let mut any = Request { source: None, tag: None, ..request(State::Pending) };
    assert_eq!(any.wanted(), Wanted::ANYTHING);
    any.matched(9, Rank(2), 5).unwrap();
    assert_eq!((any.source, any.tag, any.mpi()), (Some(Rank(2)), Some(5), Some(9)));
    let mut exact = request(State::Pending);
    for (source, tag) in [(Rank(5), 7), (Rank(4), 8)] {
        let refused = RequestError::NotWanted { source_rank: source, tag };
        assert_eq!(exact.matched(9, source, tag), Err(refused));
        assert_eq!(exact.kind(), Type::Pending);
    }
}
