//! `mpisim cc`, and where MPI programs find header and library.
//!
//! The compiler's name and the folders are the user's environment, as they are for every compiler: no result
//! depends on them.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::PoisonError;

use super::terminal::{self, Failure, Outcome, Problem};
use ::exec::output::Output;
use ::exec::{CLOCK, HEADER, LIBRARY};
use form::codes;

/// Names a folder with another MPI library (`lib/libmpi_abi.so.1`, `include/mpi.h`), for packagers.
const ELSEWHERE: &str = "MPISIM_MPI";

/// `mpicc` and `mpicxx`: they need nothing of mpisim but the folder that they lie in.
const WRAPPER: &str = "\
#!/bin/sh
folder=$(CDPATH= cd -- \"$(dirname -- \"$0\")/..\" && pwd)
if [ \"$1\" = -show ]; then
    echo COMPILER -I\"$folder/include\" -L\"$folder/lib\" -lmpi_abi
    exit
fi
exec COMPILER -I\"$folder/include\" \"$@\" -L\"$folder/lib\" -lmpi_abi
";

/// Runs the user's C compiler with our header and library, or prints that command or their folder.
pub(super) fn cc((show, names_folder): (bool, bool), arguments: &[String]) -> Outcome {
    let folder = installed()?;
    if names_folder {
        terminal::print(&format!("{}\n", folder.display()))?;
        return Ok(0);
    }
    let named = env::var_os("MPISIM_CC").or_else(|| env::var_os("CC"));
    let named = named.map(|name| name.to_string_lossy().into_owned());
    // Where `mpicc` or `mpisim cc` stands in for the compiler, as in a makefile, it must not call itself.
    let is_wrapper = |name: &String| {
        let word = name.split_whitespace().next();
        word.is_none_or(|word| word.ends_with("mpicc") || word.ends_with("mpisim"))
    };
    let compiler = named.filter(|name| !is_wrapper(name)).unwrap_or_else(|| "cc".to_owned());
    let mut words: Vec<String> = compiler.split_whitespace().map(str::to_owned).collect();
    words.push(format!("-I{}", folder.join("include").display()));
    words.extend(arguments.iter().cloned());
    words.push(format!("-L{}", folder.join("lib").display()));
    words.push("-lmpi_abi".to_owned());
    if show {
        terminal::print(&format!("{}\n", words.join(" ")))?;
        return Ok(0);
    }
    // Nothing of ours is left to do: the compiler takes this process's place.
    let error = Command::new(&words[0]).args(&words[1..]).exec();
    let what = format!("the C compiler `{}` cannot be run: {error}", words[0]);
    Err(Problem::new(&codes::USAGE, what).help("set CC to the compiler's name").into())
}

/// Puts the MPI library where the programs of a plan find it.
pub(super) fn provide() -> Result<(), Failure> {
    let folder = installed()?;
    workloads::exec::LIBRARY.get_or_init(|| folder.join("lib"));
    Ok(())
}

/// The output of ranks that start from now on goes there.
pub(super) fn print(output: Output) {
    *workloads::exec::OUTPUT.lock().unwrap_or_else(PoisonError::into_inner) = output;
}

/// The folder with header, library, `mpicc` and pkg-config file: written once, named by what is in it.
fn installed() -> Result<PathBuf, Failure> {
    if let Some(folder) = env::var_os(ELSEWHERE) {
        return Ok(PathBuf::from(folder));
    }
    let folder = cache().join(format!("mpi-{}", content()));
    if folder.join("complete").exists() {
        return Ok(folder);
    }
    install(&folder).map_err(|error| {
        let what = format!(
            "the MPI library for programs cannot be written to {}: {error}",
            folder.display()
        );
        let help = format!("set {ELSEWHERE} to a folder that has one");
        Failure::from(Problem::new(&codes::OUTPUT, what).help(&help))
    })?;
    Ok(folder)
}

fn cache() -> PathBuf {
    let base = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    base.or_else(home).unwrap_or_else(env::temp_dir).join("mpisim")
}

/// A name for the content of header and library.
fn content() -> String {
    let parts = [LIBRARY, CLOCK, HEADER.as_bytes(), WRAPPER.as_bytes()];
    engine::Digest::of_digests(parts.map(engine::Digest::of_bytes)).to_string()
}

/// Writes all beside the folder, and moves it to its place: two programs that do so at once both have it.
fn install(folder: &Path) -> io::Result<()> {
    let draft = folder.with_extension(format!("{}", std::process::id()));
    for part in ["lib/pkgconfig", "include", "bin"] {
        fs::create_dir_all(draft.join(part))?;
    }
    fs::write(draft.join("lib/libmpi_abi.so.1"), LIBRARY)?;
    fs::write(draft.join("lib").join(workloads::exec::CLOCK_FILE), CLOCK)?;
    std::os::unix::fs::symlink("libmpi_abi.so.1", draft.join("lib/libmpi_abi.so"))?;
    fs::write(draft.join("include/mpi.h"), HEADER)?;
    for (name, compiler) in [("mpicc", "${MPISIM_CC:-cc}"), ("mpicxx", "${MPISIM_CXX:-c++}")] {
        let wrapper = draft.join("bin").join(name);
        fs::write(&wrapper, WRAPPER.replace("COMPILER", compiler))?;
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
    }
    let pkgconfig = format!(
        "prefix={}\nName: mpi\nDescription: MPI 5.0 of mpisim\nVersion: {}\nCflags: -I${{prefix}}/include\n\
         Libs: -L${{prefix}}/lib -lmpi_abi\n",
        folder.display(),
        env!("CARGO_PKG_VERSION"),
    );
    fs::write(draft.join("lib/pkgconfig/mpi.pc"), pkgconfig)?;
    fs::write(draft.join("complete"), "")?;
    match fs::rename(&draft, folder) {
        Err(_) if folder.join("complete").exists() => fs::remove_dir_all(&draft),
        moved => moved,
    }
}
