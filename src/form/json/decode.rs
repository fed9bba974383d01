//! From bytes to text: other encodings, compressed files and other formats are refused by name.

use super::super::codes;
use super::super::diagnostic::{Diagnostic, Diagnostics, SourceId, Span, quote};
use super::parser::path_at_end;

/// Registers `bytes` as the text of `name`; `None` with a report where they are not a JSON text.
///
/// A byte-order mark is skipped with a warning.
pub fn decode(diagnostics: &mut Diagnostics, name: &str, bytes: &[u8]) -> Option<SourceId> {
    if let Some((found, allowed, code)) = recognise(bytes) {
        let source = diagnostics.add_source(name, "");
        let one = Diagnostic::error(code, at(source, 0, 0), "", found, allowed.0).help(allowed.1);
        diagnostics.push(one);
        return None;
    }
    let (bytes, marked) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => (rest, true),
        None => (bytes, false),
    };
    let source = match std::str::from_utf8(bytes) {
        Ok(text) => diagnostics.add_source(name, text),
        Err(error) => {
            invalid_utf8(diagnostics, name, bytes, &error);
            return None;
        }
    };
    if marked {
        let one = Diagnostic::error(
            &codes::BOM,
            at(source, 0, 0),
            "",
            "the file begins with a byte-order mark, which is skipped",
            "UTF-8 needs none",
        );
        diagnostics.push(one.help("save the file as UTF-8 without it").warning());
    }
    check_format(diagnostics, source)
}

fn at(source: SourceId, start: usize, end: usize) -> Span {
    let offset = |at: usize| u32::try_from(at).expect("inputs are at most 64 MiB");
    Span { source, start: offset(start), end: offset(end) }
}

type Advice = (&'static str, &'static str);

/// Bytes that are no UTF-8 JSON at all.
pub fn recognise(bytes: &[u8]) -> Option<(String, Advice, codes::Code)> {
    let packed = [
        (&b"\x1f\x8b"[..], "gzip", "unpack it with `gunzip`"),
        (b"PK\x03\x04", "zip", "unpack it with `unzip`"),
        (b"\x28\xb5\x2f\xfd", "zstd", "unpack it with `unzstd`"),
        (b"\xfd7zXZ\x00", "xz", "unpack it with `unxz`"),
        (b"BZh", "bzip2", "unpack it with `bunzip2`"),
    ];
    for (magic, format, help) in packed {
        if bytes.starts_with(magic) {
            let found = format!("the file is compressed ({format})");
            return Some((found, ("plain JSON is needed", help), &codes::COMPRESSED));
        }
    }
    if bytes.starts_with(b"\x7fELF") {
        let advice = (
            "a scenario is needed",
            "`mpisim exec -n N --machine NAME -- PROGRAM` runs a program; orders of its calls are explored where \
             they are written as a scenario",
        );
        return Some(("the file is a program".to_owned(), advice, &codes::ENCODING));
    }
    let encoding = match bytes {
        [0xff, 0xfe, 0, 0, ..] => "UTF-32, little endian",
        [0, 0, 0xfe, 0xff, ..] => "UTF-32, big endian",
        [0xff, 0xfe, ..] => "UTF-16, little endian",
        [0xfe, 0xff, ..] => "UTF-16, big endian",
        [first, 0, second, 0, ..] if *first != 0 && *second != 0 => "UTF-16, little endian",
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => "UTF-16, big endian",
        _ => return None,
    };
    let found = format!("the file is encoded as {encoding}");
    let advice = ("UTF-8 is required", "convert it with `iconv -f UTF-16 -t UTF-8`");
    Some((found, advice, &codes::ENCODING))
}

fn invalid_utf8(
    diagnostics: &mut Diagnostics,
    name: &str,
    bytes: &[u8],
    error: &std::str::Utf8Error,
) {
    let offset = error.valid_up_to();
    let source = diagnostics.add_source(name, String::from_utf8_lossy(bytes));
    let prefix = &diagnostics.text(source)[..offset];
    let path = path_at_end(prefix);
    let found = format!("the byte 0x{:02x} at offset {offset} is not UTF-8", bytes[offset]);
    let one = Diagnostic::error(
        &codes::INVALID_UTF8,
        at(source, offset, offset + 1),
        path,
        found,
        "the file must be UTF-8",
    );
    diagnostics.push(one.help("a file in Latin-1 is converted by `iconv -f LATIN1 -t UTF-8`"));
}

/// Refuses empty files and other formats by their first words.
fn check_format(diagnostics: &mut Diagnostics, source: SourceId) -> Option<SourceId> {
    let text = diagnostics.text(source);
    let trimmed = text.trim_start();
    if trimmed.is_empty() {
        let found =
            if text.is_empty() { "the file is empty" } else { "the file is empty but for blanks" };
        let one = Diagnostic::error(
            &codes::EMPTY,
            at(source, 0, 0),
            "",
            found,
            "one JSON object is needed",
        );
        diagnostics.push(one.help("`mpisim list` names scenarios to begin with"));
        return None;
    }
    let start = text.len() - trimmed.len();
    let format = other_format(trimmed);
    if format.is_empty() {
        return Some(source);
    }
    let first = trimmed.lines().next().unwrap_or("");
    let found = format!("`{}` looks like {format}", quote(first.trim_end()));
    let span = at(source, start, start + first.len());
    let one = Diagnostic::error(&codes::OTHER_FORMAT, span, "", found, "JSON is expected");
    diagnostics.push(one.help("`mpisim schema` prints the form of a scenario"));
    None
}

/// The name of another format that `text` seems to be in; empty for JSON.
fn other_format(text: &str) -> &'static str {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .unwrap_or("");
    let name = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.\"'".contains(&byte))
            && !part.starts_with('"')
    };
    if line.starts_with('<') {
        return "XML";
    }
    if line == "---" || line.starts_with("%YAML") || line.starts_with("- ") {
        return "YAML";
    }
    if let Some(inside) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let table = inside.trim_matches(['[', ']']);
        let letter = table.starts_with(|c: char| c.is_ascii_alphabetic());
        return if letter && name(table) && !matches!(table, "true" | "false" | "null") {
            "TOML"
        } else {
            ""
        };
    }
    if line.split_once('=').is_some_and(|(key, _)| name(key.trim())) {
        return "TOML";
    }
    if line
        .split_once(':')
        .is_some_and(|(key, rest)| name(key) && (rest.is_empty() || rest.starts_with(' ')))
    {
        return "YAML";
    }
    ""
}
