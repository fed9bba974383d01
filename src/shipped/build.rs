//! Lists the machine models, scenarios, baselines and sensitivities that ship with the program, so that
//! they are compiled in.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let root = here.join("../..").canonicalize()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let mut code = String::new();
    let folders = [
        ("MODELS", "models"),
        ("SCENARIOS", "scenarios"),
        ("BASELINES", "traces/baselines/main"),
        ("SENSITIVITIES", "traces/sensitivity"),
    ];
    for (name, folder) in folders {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        let mut files = Vec::new();
        collect(&root.join(folder), &mut files)?;
        files.sort();
        writeln!(code, "/// Name and text of each file under `{folder}/`.").expect("in memory");
        writeln!(code, "pub(super) const {name}: &[(&str, &str)] = &[").expect("in memory");
        for file in files {
            let short = file.strip_prefix(root.join(folder)).expect("below the folder");
            let short = short.with_extension("").to_string_lossy().replace('\\', "/");
            writeln!(code, "    ({short:?}, include_str!({:?})),", file.display().to_string())
                .expect("in memory");
        }
        writeln!(code, "];").expect("in memory");
    }
    fs::write(out.join("files.rs"), code)
}

/// Every JSON file below `folder`; none where it does not exist.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}
