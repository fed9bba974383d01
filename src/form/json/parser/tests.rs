//! Laws of the reader, and tables A and B of malformed texts.

use super::super::decode;
use super::*;

fn read(bytes: &[u8]) -> (Option<Node>, Diagnostics) {
    let mut all = Diagnostics::new();
    let tree = decode(&mut all, "t.json", bytes).and_then(|source| parse(&mut all, source));
    (tree, all)
}

/// The first diagnostic has this code, position and path.
#[track_caller]
fn check_refused(bytes: &[u8], code: &str, line: usize, column: usize, path: &str) -> Diagnostics {
    let (_, all) = read(bytes);
    let sorted = all.sorted();
    assert!(!sorted.is_empty(), "accepted: {}", String::from_utf8_lossy(bytes));
    let first = sorted[0];
    let position = all.position(first.span);
    assert_eq!(
        (first.code.code, position.line, position.column, first.path.as_str()),
        (code, line, column, path),
        "{}",
        all.human()
    );
    all
}

#[track_caller]
fn check_accepted(text: &str) -> Node {
    let (tree, all) = read(text.as_bytes());
    assert!(all.is_empty(), "{}", all.human());
    tree.expect("a text without errors has a tree")
}

#[test]
fn values_and_keys_know_their_place() {
    let tree = check_accepted("{ \"a\": [1, true, \"x\\u00e9\\ud83d\\ude00\"], \"b\": {} }");
    let members = tree.members().unwrap();
    assert_eq!((members[0].key_span.start, members[0].key_span.end), (2, 5));
    let list = members[0].node.elements().unwrap();
    assert_eq!(list[2].text(), Some("xé😀"));
    assert_eq!((list[1].span.start, list[1].span.end), (11, 15));
    assert!(tree.get("b").unwrap().members().unwrap().is_empty());
}

#[test]
fn what_is_unclosed_is_named_by_its_opening() {
    check_refused(b"{\n \"a\": [1, 2", "E0201", 2, 7, "a");
    check_refused(b"{ \"a\": \"xy", "E0201", 1, 8, "a");
    check_refused(b"{ \"a\": \"x\n\" }", "E0201", 1, 8, "a");
    check_refused(b"  { \"a\": 1,", "E0201", 1, 3, "");
    check_refused(b"{ \"a\":", "E0201", 1, 1, "a");
    check_refused(b"{ \"a\"", "E0201", 1, 1, "");
}

#[test]
fn commas_are_reported_where_they_are_or_should_be() {
    check_refused(b"{ \"a\": 1, }", "E0202", 1, 9, "");
    check_refused(b"{ \"l\": [1, 2,\n] }", "E0202", 1, 13, "l");
    check_refused(b"{ \"a\": 1\n  \"b\": 2 }", "E0203", 1, 9, "");
    check_refused(b"[1 2]", "E0203", 1, 3, "");
    check_refused(b"{,}", "E0208", 1, 2, "");
}

#[test]
fn several_errors_come_at_once() {
    let (tree, all) = read(b"{ a: 01, 'b': .5, // c\n \"d\": 1, \"d\": 2, }");
    assert!(tree.is_some());
    let codes: Vec<_> = all.sorted().iter().map(|one| one.code.code).collect();
    assert_eq!(codes, ["E0205", "E0210", "E0205", "E0210", "E0204", "E0209", "E0202"]);
}

#[test]
fn duplicate_keys_show_both_places() {
    let all = check_refused(b"{ \"a\": 1,\n  \"a\": 2 }", "E0209", 2, 3, "a");
    assert!(all.human().contains("note: t.json:1:3: it occurs first here"), "{}", all.human());
}

#[test]
fn comments_and_quotes_are_named() {
    let all = check_refused(b"{ /* x */ \"a\": 1 }", "E0204", 1, 3, "");
    assert!(all.human().contains("\"note\""));
    check_refused(b"{ \"a\": 'x' }", "E0205", 1, 8, "a");
    check_refused(b"{ a: 1 }", "E0205", 1, 3, "");
}

#[test]
fn text_after_the_end_is_shown() {
    let all = check_refused(b"{} trailing text that is long enough", "E0206", 1, 4, "");
    assert!(all.human().contains("`trailing text that i`"), "{}", all.human());
    let all = check_refused(b"{}\n{}", "E0206", 2, 1, "");
    assert!(all.human().contains("one document per file"));
}

#[test]
fn depth_is_limited_without_a_deep_stack() {
    let deep = "[".repeat(100_000);
    check_refused(deep.as_bytes(), "E0207", 1, 65, "");
    let fits = format!("{}{}", "[".repeat(64), "]".repeat(64));
    check_accepted(&fits);
}

#[test]
fn numbers_keep_their_json_form() {
    for (text, form) in [("01", "1"), ("+5", "5"), ("0x1F", "31"), (".5", "0.5"), ("5.", "5")] {
        let all = check_refused(format!("[{text}]").as_bytes(), "E0210", 1, 2, "[0]");
        assert!(all.human().contains(&format!("help: write `{form}`")), "{}", all.human());
    }
    let long = format!("[{}]", "9".repeat(5_000_000));
    check_refused(long.as_bytes(), "E0211", 1, 2, "[0]");
    for text in ["0", "-0", "1.25e-3", "10E+2", "123456789012345678901234567890"] {
        check_accepted(text);
    }
}

#[test]
fn unknown_words_are_left_to_the_reader_of_the_field() {
    for word in ["NaN", "Infinity", "-Infinity", "crossbar"] {
        let tree = check_accepted(&format!("{{ \"a\": {word} }}"));
        assert!(matches!(&tree.get("a").unwrap().value, Value::Word(found) if found == word));
    }
}

#[test]
fn texts_with_control_characters_or_half_characters_are_refused() {
    check_refused(b"[\"a\x00b\"]", "E0213", 1, 4, "[0]");
    check_refused(b"[\"a\x1bb\"]", "E0213", 1, 4, "[0]");
    check_refused(b"[\"\\ud800\"]", "E0215", 1, 3, "[0]");
    check_refused(b"[\"\\udc00x\"]", "E0215", 1, 3, "[0]");
    check_refused(b"[\"\\ud800\\ud800\"]", "E0215", 1, 3, "[0]");
    check_refused(b"[\"\\x41\"]", "E0214", 1, 3, "[0]");
    check_refused(b"[\"\\u12g4\"]", "E0214", 1, 3, "[0]");
}

#[test]
fn files_that_are_not_json_are_named() {
    check_refused(b"", "E0104", 1, 1, "");
    check_refused(b" \n\t ", "E0104", 1, 1, "");
    check_refused(b"\xff\xfe{\x00}\x00", "E0106", 1, 1, "");
    check_refused(b"{\x00}\x00", "E0106", 1, 1, "");
    check_refused(b"\x00{\x00}", "E0106", 1, 1, "");
    check_refused(b"\x1f\x8b\x08", "E0109", 1, 1, "");
    check_refused(b"PK\x03\x04", "E0109", 1, 1, "");
    for yaml in ["schema: 1\n", "---\na: 1\n", "# c\n- a\n", "title:\n  x: 1"] {
        let all = check_refused(yaml.as_bytes(), "E0110", 1, 1, "");
        assert!(all.human().contains("YAML"), "{}", all.human());
    }
    for toml in ["schema = 1\n", "[workload]\nsize = 1", "# c\n[[a.b]]"] {
        let all = check_refused(toml.as_bytes(), "E0110", 1, 1, "");
        assert!(all.human().contains("TOML"), "{}", all.human());
    }
}

#[test]
fn a_byte_order_mark_is_only_a_warning() {
    let (tree, all) = read(b"\xef\xbb\xbf{}");
    assert!(tree.is_some() && !all.has_errors());
    assert_eq!(all.sorted()[0].code.code, "E0105");
}

#[test]
fn invalid_utf8_names_byte_offset_and_field() {
    let all = check_refused(b"{ \"a\": { \"b\": \"x\xffy\" } }", "E0107", 1, 17, "a.b");
    assert!(all.human().contains("byte 0xff at offset 16"), "{}", all.human());
}

#[test]
fn too_many_values_hit_a_limit() {
    let text = format!("[{}1]", "1,".repeat(MAX_VALUES));
    let (_, all) = read(text.as_bytes());
    assert_eq!(all.exit_code(), 5);
}

proptest::proptest! {
    /// Whatever the bytes: no panic, and either a tree or a report.
    #[test]
    fn any_bytes_give_a_tree_or_a_report(bytes in proptest::collection::vec(0_u8..=255, 0..60)) {
        let (tree, all) = read(&bytes);
        proptest::prop_assert!(tree.is_some() || all.has_errors());
        let _ = (all.human(), all.json());
    }

    /// The same for texts made of JSON's own pieces.
    #[test]
    fn any_json_like_text_gives_a_tree_or_a_report(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "1", "-0", "1e5", "true", "null", "\\u12",
                "'", "//", "/*", "é", "\r", "\n", " ", "NaN", "\\ud800", "01",
            ]),
            0..24,
        ),
    ) {
        let text: String = parts.concat();
        let (tree, all) = read(text.as_bytes());
        proptest::prop_assert!(tree.is_some() || all.has_errors());
        let _ = (all.human(), all.json());
    }
}
