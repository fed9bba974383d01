//! Any text is a scenario or is refused with a report that has a place; nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpisim::experiment::plan::{Request, load};
use mpisim::shipped;

fuzz_target!(|text: &str| {
    let (scenario, text) = ("fuzz.json".to_owned(), Some(text.to_owned()));
    let request = Request { scenario, library: shipped::library(), text, ..Request::default() };
    let (plan, diagnostics) = load(&request);
    assert_eq!(plan.is_none(), diagnostics.has_errors(), "a plan exactly if there is no error");
    let said = diagnostics.human();
    assert_eq!(said.is_empty(), diagnostics.is_empty());
    assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
});
