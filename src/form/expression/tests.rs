use super::{Expression, Failure, Reason, Type, Variable, Wrong};

const NAMES: [Variable<'_>; 4] = [
    Variable { name: "rank", of: Type::Integer },
    Variable { name: "size", of: Type::Integer },
    Variable { name: "slow", of: Type::Truth },
    Variable { name: "step", of: Type::Time },
];
/// Rank 3 of 8, slow, with steps of 2 ns.
const VALUES: [i64; 4] = [3, 8, 1, 2_000];

fn value(text: &str) -> i64 {
    Expression::new(text, &NAMES).unwrap().value(&VALUES).unwrap()
}

fn wrong(text: &str) -> Wrong {
    Expression::new(text, &NAMES).unwrap_err()
}

#[test]
fn operators_bind_as_in_c() {
    for (text, expected) in [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("-2 * -3", 6),
        ("rank * rank + 1", 10),
        ("1 + 1 == 2", 1),
        ("!slow || rank == 3 && size > rank", 1),
        ("rank < 2 ? 10 : rank < 4 ? 20 : 30", 20),
        ("min(rank, 2) + max(size, 9)", 11),
        ("abs(rank - size)", 5),
        ("true != false", 1),
        ("-7", -7),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn division_rounds_down_and_remainders_have_the_sign_of_the_divisor() {
    for (left, right) in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, 5), (-1, 8)] {
        let quotient = value(&format!("{left} / {right}"));
        let rest = value(&format!("{left} % {right}"));
        assert_eq!(quotient * right + rest, left, "{left}, {right}");
        assert!(rest == 0 || (rest < 0) == (right < 0), "{left} % {right} = {rest}");
        assert!(rest.abs() < right.abs());
    }
    assert_eq!(value("(0 - 1) % size"), 7);
}

#[test]
fn literals_have_units() {
    assert_eq!(value("8 KiB"), 8_192);
    assert_eq!(value("2*1.5 KiB"), 3_072);
    assert_eq!(value("3 * 10 us"), 30_000_000);
    assert_eq!(value("step + 1 ns"), 3_000);
    assert_eq!(value("step / 1 ns"), 2);
    let of = |text| Expression::new(text, &NAMES).unwrap().of();
    assert_eq!(of("4 * step"), Type::Time);
    assert_eq!(of("step / step"), Type::Integer);
    assert_eq!(of("step < 1 us"), Type::Truth);
    assert_eq!(of("2 KiB"), Type::Integer);
}

/// The side that is not chosen is not evaluated.
#[test]
fn conditions_guard_what_they_choose() {
    assert_eq!(value("rank == 0 ? 1 / 0 : 5"), 5);
    assert_eq!(value("rank == 0 && 1 / 0 == 1"), 0);
    assert_eq!(value("rank == 3 || 1 / 0 == 1"), 1);
}

#[test]
fn failures_have_their_place() {
    let failure = |text: &str| Expression::new(text, &NAMES).unwrap().value(&VALUES).unwrap_err();
    let at = |at, reason| Failure { at, reason };
    assert_eq!(failure("1 + size / (rank - 3)"), at(9..10, Reason::DivisionByZero));
    assert_eq!(failure("size % (rank - 3)"), at(5..6, Reason::DivisionByZero));
    assert_eq!(failure("9223372036854775807 + 1"), at(20..21, Reason::Overflow));
    assert_eq!(failure("(0 - 9223372036854775807 - 1) / (0-1)"), at(30..31, Reason::Overflow));
    assert_eq!(failure("-(0 - 9223372036854775807 - 1)"), at(0..1, Reason::Overflow));
}

#[test]
fn what_is_no_expression_is_told_with_its_place() {
    for (text, at, found) in [
        ("", 0..0, "the end of the expression"),
        ("rank +", 6..6, "the end of the expression"),
        ("rank size", 5..9, "`size`"),
        ("(rank", 5..5, "the end of the expression"),
        ("ranks + 1", 0..5, "the name `ranks`"),
        ("sqrt(4)", 0..4, "the function `sqrt`"),
        ("min(1)", 5..6, "`)`"),
        ("3 lightyears", 0..12, "`3 lightyears`"),
        ("1.5", 0..3, "the number 1.5"),
        ("rank = 3", 5..6, "`=`"),
        ("rank $ 3", 5..6, "the character `$`"),
        ("1 < 2 < 3", 6..7, "`<`"),
        ("slow + 1", 0..4, "`slow` is true or false"),
        ("1 + slow", 4..8, "`slow` is true or false"),
        ("rank ? 1 : 2", 0..4, "`rank` is a whole number"),
        ("slow ? 1 : step", 11..15, "`step` is a time"),
        ("step + 1", 7..8, "`1` is a whole number"),
        ("step * step", 5..6, "a time multiplied by a time"),
        ("!rank", 1..5, "`rank` is a whole number"),
    ] {
        let wrong = wrong(text);
        assert_eq!((wrong.at.clone(), &*wrong.found), (at, found), "{text}: {wrong:?}");
    }
}

#[test]
fn depth_is_bounded() {
    assert_eq!(value(&format!("{}1{}", "(".repeat(30), ")".repeat(30))), 1);
    assert!(wrong(&"(".repeat(900)).found.contains("nested too deeply"));
    assert!(wrong(&"-".repeat(900)).found.contains("nested too deeply"));
    assert!(wrong(&"1+".repeat(600)).found.contains("1200 bytes"));
    assert_eq!(value(&format!("{}1", "1+".repeat(400))), 401);
}
