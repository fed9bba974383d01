//! Completions and manual pages, for every command that there is.

use crate::binary::Scratch;

/// The commands that the help of `words` lists.
fn inner(scratch: &Scratch, words: &[String]) -> Vec<String> {
    let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    let help = scratch.run(&arguments).check(0, &[]).out;
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Every command by its words, those inside others too.
fn all(scratch: &Scratch) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> =
        inner(scratch, &[]).into_iter().map(|name| vec![name]).collect();
    for outer in found.clone() {
        let names = inner(scratch, &outer);
        found.extend(names.into_iter().map(|name| vec![outer[0].clone(), name]));
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

#[test]
fn every_command_has_a_page_and_every_page_its_flags() {
    let scratch = Scratch::new("manual");
    scratch.run(&["man", "--out", "share/man1"]).check(0, &[]);
    let mut expected = vec!["mpisim.1".to_owned()];
    for words in all(&scratch) {
        let name = format!("mpisim-{}", words.join("-"));
        let arguments: Vec<&str> =
            ["man"].into_iter().chain(words.iter().map(String::as_str)).collect();
        let page = scratch.run(&arguments).check(0, &[]).out;
        let title = format!(".TH {name} 1");
        assert!(page.contains(&title), "{title}: {page}");
        assert!(page.contains("error\\-format"), "{name} has the flags of every command: {page}");
        expected.push(format!("{name}.1"));
    }
    let written = scratch.files("share/man1");
    let names: Vec<&String> = written.iter().map(|(name, _)| name).collect();
    expected.sort();
    assert_eq!(names, expected.iter().collect::<Vec<_>>());
    let run = written.iter().find(|(name, _)| name == "mpisim-run.1").unwrap();
    assert!(String::from_utf8_lossy(&run.1).contains("\\-\\-resume"));
}

#[test]
fn every_shell_completes_every_command() {
    let scratch = Scratch::new("completions");
    let commands = all(&scratch);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = scratch.run(&["completions", shell]).check(0, &[]).out;
        for words in &commands {
            assert!(script.contains(words.last().unwrap()), "{shell}: {words:?}");
        }
        assert!(script.contains("resume"), "{shell} completes flags");
    }
}

#[test]
fn a_page_of_no_command_is_refused_and_so_is_a_place_that_cannot_be_written() {
    let scratch = Scratch::new("no-manual");
    scratch.run(&["man", "fly"]).check(2, &["`mpisim` has no command `fly`", "it has run, "]);
    scratch.run(&["man", "sweep", "up"]).check(2, &["`mpisim-sweep` has no command `up`", "plan"]);
    scratch.write("file", "");
    scratch.run(&["man", "--out", "file/man1"]).check(4, &["cannot write manual pages to"]);
    scratch.run(&["man", "run", "--out", "man1"]).check(2, &["cannot be used with"]);
}
