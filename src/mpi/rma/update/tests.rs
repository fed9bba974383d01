//! Contents of memory after operations, and their results.

use super::*;

fn int32(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[track_caller]
fn check_update(update: Update, target: &[i32], origin: &[i32], expected: &[i32]) {
    let (mut memory, origin) = (int32(target), int32(origin));
    let mut old = vec![0xAA; memory.len()];
    update.fetch(&origin, &mut memory, &mut old);
    assert_eq!(memory, int32(expected), "{update:?}");
    assert_eq!(old, int32(target), "{update:?} gives what was there");
    let mut by_element = int32(target);
    for (origin, target) in origin.chunks_exact(4).zip(by_element.chunks_exact_mut(4)) {
        update.apply(origin, target);
    }
    assert_eq!(by_element, memory, "{update:?} element by element is the same");
}

/// claim: rma-sem-fop
#[test]
fn an_update_gives_back_the_old_elements() {
    let by = |operator| Update::reduce(operator, Datatype::Int32).expect("it is defined");
    let (target, origin) = ([7, 0, i32::MAX], [3, -2, 1]);
    check_update(Update::Replace, &target, &origin, &origin);
    check_update(Update::NoOp, &target, &origin, &target);
    check_update(by(Operator::Sum), &target, &origin, &[10, -2, i32::MIN]);
    check_update(by(Operator::Prod), &target, &origin, &[21, 0, i32::MAX]);
    check_update(by(Operator::Max), &target, &origin, &[7, 0, i32::MAX]);
    check_update(by(Operator::Min), &target, &origin, &[3, -2, 1]);
    check_update(by(Operator::Land), &target, &origin, &[1, 0, 1]);
    check_update(by(Operator::Lor), &target, &origin, &[1, 1, 1]);
    check_update(by(Operator::Lxor), &target, &origin, &[0, 1, 0]);
    check_update(by(Operator::Band), &target, &origin, &[3, 0, 1]);
    check_update(by(Operator::Bor), &target, &origin, &[7, -2, i32::MAX]);
    check_update(by(Operator::Bxor), &target, &origin, &[4, -2, i32::MAX - 1]);
}

#[test]
fn a_replace_takes_elements_of_any_type() {
    let mut memory = 1.5_f64.to_le_bytes();
    Update::Replace.apply(&f64::NAN.to_le_bytes(), &mut memory);
    assert_eq!(memory, f64::NAN.to_le_bytes(), "no arithmetic is done");
}

#[test]
fn an_update_is_by_a_predefined_operator_on_its_types() {
    let operator = Operator::Affine { modulus: 7 };
    assert_eq!(
        Update::reduce(operator, Datatype::Int64Pair),
        Err(UpdateError::UserDefined { operator })
    );
    for operator in Operator::ALL {
        for datatype in Datatype::ALL {
            let made = Update::reduce(operator, datatype).is_ok();
            let user = matches!(operator, Operator::Affine { .. });
            assert_eq!(made, operator.takes(datatype) && !user, "{operator} {datatype:?}");
        }
    }
    let error = Update::reduce(Operator::Band, Datatype::Double).unwrap_err();
    assert_eq!(error.to_string(), "band is not defined on double");
}

/// claim: rma-sem-acc-basic
#[test]
fn an_accumulate_has_one_basic_type() {
    use Datatype::{Double, Int32};
    assert_eq!(basic_type([Int32, Int32, Int32]), Ok(Int32));
    let mixed = basic_type([Int32, Int32, Double, Int32]).unwrap_err();
    assert_eq!(mixed, UpdateError::MixedTypes { first: Int32, other: Double });
    assert_eq!(
        mixed.to_string(),
        "one accumulate has elements of both int32 and double; it needs one basic type"
    );
    assert_eq!(basic_type([]), Err(UpdateError::NoType));
}

/// claim: rma-sem-cas
#[test]
fn a_swap_is_done_where_the_element_equals_and_gives_it_back() {
    let mut old = [0xAA; 8];
    for (there, compare, swapped) in [(5_i64, 5_i64, true), (5, 6, false), (-1, -1, true)] {
        let mut target = there.to_le_bytes();
        let origin = 9_i64.to_le_bytes();
        let answer = compare_and_swap(
            Datatype::Int64,
            &compare.to_le_bytes(),
            &origin,
            &mut target,
            &mut old,
        );
        assert_eq!(answer, Ok(swapped));
        assert_eq!(i64::from_le_bytes(target), if swapped { 9 } else { there });
        assert_eq!(i64::from_le_bytes(old), there);
    }
    for datatype in Datatype::ALL {
        let length = usize::try_from(datatype.width()).unwrap();
        let (zero, one) = (vec![0; length], vec![1; length]);
        let (mut target, mut old) = (zero.clone(), zero.clone());
        let answer = compare_and_swap(datatype, &zero, &one, &mut target, &mut old);
        if datatype.is_integer() {
            assert_eq!((answer, target), (Ok(true), one));
        } else {
            assert_eq!((answer, target), (Err(UpdateError::NoSwap { datatype }), zero));
        }
    }
}
