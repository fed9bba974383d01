//! Every command that a document shows is run by the real binary, and what it prints is compared
//! with what the document says that it prints.
//!
//! A command is a line of a fenced block that begins with `$`, or that names a program in a block
//! without such lines. What follows a `$` line, up to the next one, is its output; nothing: only the
//! exit status counts. `...` or `…` leaves out the rest of a line's part, and alone on a line any
//! number of lines. A block whose head names a file (```` ```json race.json ````, ```` ```c ring.c ````) is that file.
//! Commands in running text are run too, unless they name no file of a clone (`SCENARIO`): then their
//! flags must exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::binary::{Answer, Scratch, program};

/// Beginnings of commands that end with another status than 0.
const EXITS: [(&str, i32); 11] = [
    ("mpisim exec -n 3 --machine broadwell-edr -- ./exchange", 1),
    ("mpisim run scenarios/examples/allreduce_knc.json --set limits.memory", 5),
    ("mpisim explore race.json", 1),
    ("mpisim explore pool.json", 1),
    ("mpisim run hello.json --set", 1),
    ("mpisim run overlap.json", 1),
    ("mpisim check scenarios/a --models changed --metrics", 0),
    ("mpisim check scenarios/a --models changed", 1),
    ("mpisim diff examples/ping_pong_broadwell", 1),
    ("mpisim diff intra.json", 1),
    ("mpisim diff examples/programs/jacobi.json", 1),
];

/// Commands that take more than seconds in a debug build: `.ci/run release-tests` runs their blocks.
const SLOW: [&str; 4] = [
    "endpoints/fig03_message_rate",
    "mpisim sensitivity",
    "tests/vectors/datatypes_random.json",
    "mpisim fit --machine models/ref-node-ucx.json",
];

/// Commands that are not run, and why.
const EXCLUDED: [(&str, &str); 9] = [
    ("cargo test", "the tests are what runs here"),
    ("cargo bench", "a benchmark measures the machine that it runs on"),
    ("cargo install", "it builds the program that runs here"),
    (".ci/", "it runs these tests"),
    ("python3", "nothing here needs Python, but who draws a trace for a document"),
    ("MPICC=", "it builds mpi4py, for minutes"),
    ("mpisim exec -n 4 --machine broadwell-edr -- python3", "it needs mpi4py"),
    ("valgrind", "a tool that a clone does not have"),
    ("mpisim check --save-baseline main", "minutes; `.ci/run figures` compares all baselines"),
];

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What stands for something that a reader chooses.
const PLACEHOLDERS: [&str; 9] =
    ["SCENARIO", "FILE", "DIR", "NAME", "PROTOCOL", "TOKEN", "CODE", "COMMAND", "..."];

#[test]
fn documented_commands_do_what_the_documents_show() {
    assert!(check_documents("quick", |block| !is_slow(block)) > 20, "few commands were found");
}

#[test]
#[ignore = "slow in debug builds: `.ci/run release-tests`"]
fn slow_documented_commands_do_what_the_documents_show() {
    assert!(check_documents("slow", is_slow) >= SLOW.len(), "few commands were found");
}

#[test]
fn no_entry_of_the_lists_is_stale() {
    let blocks: Vec<Block> = documents().iter().flat_map(|path| blocks(path)).collect();
    let texts: Vec<&str> =
        blocks.iter().flat_map(Block::commands).map(|shown| shown.text).collect();
    let said = |needle: &str| texts.iter().any(|text| text.contains(needle));
    let excluded = EXCLUDED.iter().map(|(needle, _)| needle);
    for needle in SLOW.iter().chain(excluded).chain(EXITS.iter().map(|(needle, _)| needle)) {
        assert!(said(needle), "no document shows `{needle}`");
    }
}

#[test]
fn what_is_left_out_stands_for_anything_and_nothing_else_does() {
    let printed = "states  4\nmemory  about 50 KiB\n\nverified\n";
    assert!(shows("states  4\nmemory  ...\n\nverified", printed));
    assert!(shows("states  4\n…\nverified", printed));
    assert!(shows("...\nverified", printed));
    assert!(shows("states  4\n...", printed));
    assert!(!shows("states  4", printed), "lines at the end are missing");
    assert!(!shows("states  5\n...", printed), "a number differs");
    assert!(!shows("...\nmemory", printed), "a line goes on");
    assert!(!shows("...\nverified\n...\nstates  4", printed), "the order differs");
}

/// The documents of a clone.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let single = ["README.md", "CONTRIBUTING.md", "notebooks/README.md"];
    let mut all: Vec<PathBuf> = single.iter().map(|name| root.join(name)).collect();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            // Decisions are never edited; the reference is written from the program.
            if path.is_dir() && !path.ends_with("adr") && !path.ends_with("reference") {
                folders.push(path);
            } else if path.extension().is_some_and(|suffix| suffix == "md") {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

/// Runs the commands of some blocks of each document, in a clone for each; answers how many. Tests of
/// different names run side by side.
#[track_caller]
fn check_documents(name: &str, chosen: fn(&Block) -> bool) -> usize {
    let check = |path: PathBuf| {
        let every = blocks(&path);
        let all: Vec<&Block> = every.iter().filter(|block| chosen(block)).collect();
        let commands: Vec<_> = all
            .iter()
            .flat_map(|block| block.commands().into_iter().map(move |shown| (block, shown)))
            .collect();
        if commands.is_empty() {
            return (0, Vec::new());
        }
        let clone = clone_for(name, path.strip_prefix(ROOT).unwrap());
        for block in &every {
            let file = ["json ", "c "].into_iter().find_map(|kind| block.head.strip_prefix(kind));
            if let Some(name) = file {
                clone.write(name, &block.text);
            }
        }
        let wrong = commands.iter().filter_map(|(block, shown)| {
            let complaint = check_command(&clone, block, shown).err()?;
            Some(format!("{}:{}: `{}`: {complaint}", block.file, block.line, shown.text))
        });
        (commands.len(), wrong.collect())
    };
    let (found, wrong): (Vec<usize>, Vec<Vec<String>>) = std::thread::scope(|scope| {
        let each = documents().into_iter().map(|path| scope.spawn(move || check(path)));
        let each: Vec<_> = each.collect();
        each.into_iter().map(|thread| thread.join().expect("it has said why")).unzip()
    });
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    found.iter().sum()
}

/// A home directory with what a clone has that commands read.
fn clone_for(name: &str, document: &Path) -> Scratch {
    let document = document.display().to_string().replace(['/', '.'], "-");
    let scratch = Scratch::new(&format!("documented-{name}-{document}"));
    for folder in ["scenarios", "models", "traces", "tests/vectors", "examples"] {
        copy_folder(&Path::new(ROOT).join(folder), &scratch.path(folder));
    }
    scratch
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else {
            fs::copy(&path, &copy).unwrap();
        }
    }
}

/// A fenced block, or a piece of code in running text.
struct Block {
    file: String,
    line: usize,
    /// What stands behind the fence; for code in running text nothing.
    head: String,
    fenced: bool,
    text: String,
}

/// A command, and what the document says that it prints.
struct Shown<'a> {
    text: &'a str,
    output: String,
}

impl Block {
    fn commands(&self) -> Vec<Shown<'_>> {
        let with_output = self.text.lines().any(|line| line.starts_with("$ "));
        let mut all: Vec<Shown<'_>> = Vec::new();
        for line in self.text.lines() {
            if let Some(text) = line.strip_prefix("$ ") {
                all.push(Shown { text, output: String::new() });
            } else if with_output {
                let Some(last) = all.last_mut() else { continue };
                last.output.push_str(line);
                last.output.push('\n');
            } else if is_program(line) {
                // A remark may stand behind it.
                let text = line.split("  ").next().unwrap();
                all.push(Shown { text, output: String::new() });
            }
        }
        all
    }
}

fn is_program(line: &str) -> bool {
    ["mpisim ", "cargo ", ".ci/", "valgrind "].iter().any(|program| line.starts_with(program))
}

fn is_slow(block: &Block) -> bool {
    SLOW.iter().any(|needle| block.commands().iter().any(|shown| shown.text.contains(needle)))
}

/// All blocks of a document, in their order.
fn blocks(path: &Path) -> Vec<Block> {
    let file = path.strip_prefix(ROOT).unwrap().display().to_string();
    let mut all: Vec<Block> = Vec::new();
    let mut inside = false;
    for (line, text) in (1..).zip(fs::read_to_string(path).unwrap().lines()) {
        let block = |head: &str, fenced, text: &str| Block {
            file: file.clone(),
            line,
            head: head.to_owned(),
            fenced,
            text: text.to_owned(),
        };
        if let Some(head) = text.strip_prefix("```") {
            inside = !inside;
            if inside {
                all.push(block(head, true, ""));
            }
        } else if inside {
            let open = all.last_mut().unwrap();
            // A command may go on in the next line.
            let goes_on = open.text.ends_with("\\\n");
            if goes_on {
                open.text.truncate(open.text.len() - 2);
            }
            open.text.push_str(if goes_on { text.trim_start() } else { text });
            open.text.push('\n');
        } else {
            let code = text.split('`').skip(1).step_by(2);
            let commands = code.filter(|code| is_program(code));
            all.extend(commands.map(|code| block("", false, code)));
        }
    }
    assert!(!inside, "{file}: a fence is open");
    all
}

/// Does what a command asks for; else says why not.
fn check_command(clone: &Scratch, block: &Block, shown: &Shown<'_>) -> Result<(), String> {
    if EXCLUDED.iter().any(|(begin, _)| shown.text.starts_with(begin)) {
        check_names(shown.text)
    } else if is_mention(block, shown.text) {
        check_flags(clone, shown.text)
    } else {
        check_run(clone, shown)
    }
}

/// Whether a command only says how one is written.
fn is_mention(block: &Block, text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let open = |word: &&str| {
        PLACEHOLDERS.iter().any(|name| word.contains(name))
            || ["S", "A", "B"].contains(word)
            || word.contains('|')
    };
    words.iter().any(open) || (!block.fenced && words.len() < 3)
}

/// A command that is mentioned exists, and so do its flags.
fn check_flags(clone: &Scratch, text: &str) -> Result<(), String> {
    let text = text.replace('\\', "").replace(" COMMAND", " run");
    let words: Vec<&str> = text.split_whitespace().skip(1).collect();
    let family = ["sweep", "trace"].contains(&words[0]);
    let step = words.get(1).filter(|_| family).map(|word| word.split('|').next().unwrap());
    let command: Vec<&str> = words.iter().take(1).copied().chain(step).chain(["--help"]).collect();
    let help = clone.run(&command);
    let known = |flag: &str| help.out.split_whitespace().any(|w| w.trim_end_matches(',') == flag);
    let words = words.iter().map(|word| word.trim_matches(['[', ']']));
    let unknown: Vec<&str> = words.filter(|w| w.starts_with("--") && !known(w)).collect();
    if help.exit == 0 && unknown.is_empty() {
        return Ok(());
    }
    Err(format!("there is no {}{}", unknown.join(", "), help.err))
}

/// What is not run at least exists: test programs, their modules, benchmarks.
fn check_names(text: &str) -> Result<(), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let behind = |flag: &str, further: usize| {
        let at = words.iter().position(|word| *word == flag)? + further;
        words.get(at).filter(|word| !word.starts_with('-') && **word != "NAME")
    };
    let program = behind("--test", 1).map(|name| Path::new(ROOT).join("tests").join(name));
    let bench = behind("--bench", 1).map(|bench| format!("{ROOT}/benches/{bench}.rs"));
    let files = program.iter().map(|folder| folder.join("main.rs")).chain(bench.map(PathBuf::from));
    for file in files {
        if !file.exists() {
            return Err(format!("there is no {}", file.display()));
        }
    }
    let Some((folder, module)) = program.zip(behind("--test", 2)) else { return Ok(()) };
    let module = module.trim_end_matches("::");
    let main = fs::read_to_string(folder.join("main.rs")).unwrap();
    if main.contains(&format!("mod {module};")) {
        return Ok(());
    }
    Err(format!("there is no module {module} of {}", folder.display()))
}

/// Runs a command by a shell, and compares.
fn check_run(clone: &Scratch, shown: &Shown<'_>) -> Result<(), String> {
    let program = program();
    let program = program.display();
    let text = shown.text.replace("cargo run --release --", "mpisim");
    let script = format!("mpisim() {{ '{program}' \"$@\"; }}\n{text}");
    let mut shell = Command::new("sh");
    let answer = shell.args(["-ec", &script]).current_dir(&clone.0).env("HOME", &clone.0).output();
    let answer = Answer::from(answer.unwrap());
    let expected =
        EXITS.iter().find(|(text, _)| shown.text.starts_with(text)).map_or(0, |(_, exit)| *exit);
    let output = shown.output.trim_end();
    let both = format!("{}{}", answer.out, answer.err);
    if answer.exit != expected {
        Err(format!("exit status {}, expected {expected}\n{both}", answer.exit))
    } else if output.is_empty() || shows(output, &answer.out) || shows(output, &both) {
        Ok(())
    } else {
        Err(format!("it prints\n{both}--- and the document shows\n{output}"))
    }
}

/// Whether what was printed is what is shown, where nothing is left out.
fn shows(shown: &str, printed: &str) -> bool {
    let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    matches(&shown, &printed, |line| is_left_out(line), |line, other| fits(line, other))
}

fn is_left_out(line: &str) -> bool {
    ["...", "…"].contains(&line.trim())
}

/// Whether a line is what is shown, where no part is left out.
fn fits(shown: &str, line: &str) -> bool {
    let shown = shown.replace("...", "…");
    let shown: Vec<char> = shown.chars().collect();
    let line: Vec<char> = line.chars().collect();
    matches(&shown, &line, |letter| *letter == '…', |letter, other| letter == other)
}

/// Whether `items` are `pattern`, whose gaps stand for any number of items.
fn matches<T>(
    pattern: &[T],
    items: &[T],
    is_gap: impl Fn(&T) -> bool,
    same: impl Fn(&T, &T) -> bool,
) -> bool {
    // How many items the pattern so far may take.
    let mut reached = BTreeSet::from([0]);
    for part in pattern {
        reached = if is_gap(part) {
            reached.first().map(|&least| (least..=items.len()).collect()).unwrap_or_default()
        } else {
            let fits = |&at: &usize| items.get(at).is_some_and(|item| same(part, item));
            reached.iter().copied().filter(fits).map(|at| at + 1).collect()
        };
    }
    reached.contains(&items.len())
}
