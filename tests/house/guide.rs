//! Rust that a guide quotes stands in the sources, word for word.

use std::fs;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const GUIDES: [&str; 4] = [
    "docs/guide/add-a-call.md",
    "docs/guide/add-a-protocol.md",
    "docs/guide/add-a-topology.md",
    "docs/guide/add-a-workload.md",
];

/// A quoted block: the file that its head names, and its lines.
struct Quote {
    file: String,
    text: String,
}

fn quotes(guide: &str) -> Vec<Quote> {
    let mut all: Vec<Quote> = Vec::new();
    let mut inside = false;
    for line in guide.lines() {
        if let Some(file) = line.strip_prefix("```rust ") {
            all.push(Quote { file: file.to_owned(), text: String::new() });
            inside = true;
        } else if line == "```" {
            inside = false;
        } else if inside {
            let quote = all.last_mut().expect("a block has begun");
            quote.text.push_str(line);
            quote.text.push('\n');
        }
    }
    all
}

/// Whether the parts of a quote, between lines `// ...`, stand in a file in this order.
fn stands_in(quote: &str, source: &str) -> bool {
    let mut rest = source;
    quote.split("// ...\n").all(|part| {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
        true
    })
}

#[test]
fn every_line_of_rust_in_the_guides_stands_in_the_sources() {
    for page in GUIDES {
        let guide = fs::read_to_string(Path::new(ROOT).join(page)).expect("the guide is there");
        let quotes = quotes(&guide);
        assert!(quotes.len() > 3, "{page} quotes a file in pieces");
        assert_eq!(quotes.len(), guide.matches("```rust").count(), "each block names its file");
        for Quote { file, text } in quotes {
            let source =
                fs::read_to_string(Path::new(ROOT).join(&file)).expect("a file of the sources");
            assert!(stands_in(&text, &source), "{page} quotes lines that {file} lacks:\n{text}");
        }
    }
}

#[test]
fn a_quote_that_differs_is_seen() {
    let source = "fn a() {\n    one();\n    two();\n    three();\n}\n";
    assert!(stands_in("    one();\n// ...\n    three();\n", source));
    assert!(!stands_in("    one();\n    three();\n", source));
    assert!(!stands_in("    three();\n// ...\n    one();\n", source));
}
