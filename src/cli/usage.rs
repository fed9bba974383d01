//! Reading the command line, and reporting its mistakes.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _};

use super::args::{Arguments, Color, ErrorFormat};
use super::terminal::{Problem, Terminal, to_stderr};
use form::codes;
use form::shape::nearest;

/// The arguments of this process, or the exit code after the reason was written.
pub(super) fn parse() -> Result<Arguments, u8> {
    let mut given: Vec<OsString> = std::env::args_os().collect();
    as_mpiexec(&mut given);
    let color = match value_of(&given, "--color").as_deref() {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    };
    let matches = Arguments::command().color(color).try_get_matches_from(&given);
    matches.and_then(|matches| Arguments::from_arg_matches(&matches)).map_err(|error| {
        say(&error, &given);
        u8::try_from(error.exit_code()).unwrap_or(2)
    })
}

/// `exec -np 4` is what users of `mpiexec` write for `exec -n 4`. What follows the program is its own.
fn as_mpiexec(given: &mut [OsString]) {
    let program = Arguments::command();
    let Some(exec) = program.find_subcommand("exec") else { return };
    let takes_value = |word: &str| {
        let mut options = exec.get_arguments().chain(program.get_arguments());
        let is = |one: &&clap::Arg| {
            one.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long))
                || one.get_short().is_some_and(|short| word == format!("-{short}"))
        };
        options.find(is).is_some_and(|one| one.get_action().takes_values())
    };
    let Some(at) = given.iter().position(|one| one == "exec") else { return };
    let mut words = given[at + 1..].iter_mut();
    while let Some(word) = words.next() {
        if *word == "-np" {
            *word = "-n".into();
        }
        let word = word.to_string_lossy();
        if !word.starts_with('-') || word == "--" {
            return;
        }
        if takes_value(&word) {
            words.next();
        }
    }
}

/// The first value of an option, as far as it is text.
fn value_of(given: &[OsString], option: &str) -> Option<String> {
    values_of(given, option).into_iter().next()
}

/// Every value of an option, as far as they are text; nothing after `--` is an option.
fn values_of(given: &[OsString], option: &str) -> Vec<String> {
    let texts = || given.iter().map(|one| one.to_string_lossy()).take_while(|one| one != "--");
    let separate = texts().zip(texts().skip(1)).filter(|(one, _)| one == option);
    let joined =
        texts().filter_map(|one| Some(one.strip_prefix(option)?.strip_prefix('=')?.to_owned()));
    separate.map(|(_, value)| value.into_owned()).chain(joined).collect()
}

fn say(error: &clap::Error, given: &[OsString]) {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let missing = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let json = value_of(given, "--error-format").as_deref() == Some("json");
    if let Some(what) = twice(error, given) {
        let form = if json { ErrorFormat::Json } else { ErrorFormat::Human };
        let help = "give it once; `mpisim COMMAND --help` lists the options";
        let problem = Problem::new(&codes::USAGE, what).help(help);
        return Terminal::new(form, Color::Auto).problem(&problem);
    }
    if json && !asked && !missing {
        let text = error.to_string();
        let what = text.lines().next().unwrap_or_default();
        let help = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty());
        let help = help.collect::<Vec<_>>().join("; ");
        let problem = Problem::new(&codes::USAGE, what.trim_start_matches("error: ")).help(help);
        return Terminal::new(ErrorFormat::Json, Color::Never).problem(&problem);
    }
    if asked || missing {
        // If the help cannot be written, an error cannot be written either.
        let _ = error.print();
        return;
    }
    if let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && ["--json", "--csv", "--junit"].contains(&found.as_str())
    {
        let what = format!("there is no option `{found}`");
        let help =
            format!("the form of the output is `--format {}`", found.trim_start_matches('-'));
        let problem = Problem::new(&codes::USAGE, what).help(help);
        return Terminal::new(ErrorFormat::Human, Color::Auto).problem(&problem);
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let near = near_command(error).map_or_else(String::new, |near| format!("help: {near}\n"));
    to_stderr(&format!("error[{}] {text}{near}", codes::USAGE.code));
}

/// The command that was meant, where the library that reads the options has no idea.
fn near_command(error: &clap::Error) -> Option<String> {
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let program = Arguments::command();
    let near = nearest(found, program.get_subcommands().map(clap::Command::get_name))?;
    Some(format!("did you mean `{near}`?"))
}

/// An option that was given more than once, with its values.
fn twice(error: &clap::Error, given: &[OsString]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let (one, other) = (text(ContextKind::InvalidArg)?, text(ContextKind::PriorArg)?);
    if error.kind() != ErrorKind::ArgumentConflict || one != other {
        return None;
    }
    let option = one.split_whitespace().next()?;
    let values = values_of(given, option);
    if values.is_empty() {
        return Some(format!("`{option}` is given twice"));
    }
    let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    Some(format!("`{option}` is given {} times, with {}", values.len(), values.join(" and ")))
}
