//! `mpisim cc`, and where MPI programs find header and library.
//!
//! The compiler's name and the folders are the user's environment, as they are for every compiler: no result
//! depends on them.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::PoisonError;

use super::terminal::{self, Failure, Outcome, Problem};
use ::exec::output::Output;
use ::exec::{CLOCK, HEADER, LIBRARY};
use form::codes;
use nix::unistd::geteuid;

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

/// The folder with header, library, `mpicc` and pkg-config file, named by what is in it: what is not there, or not as it
/// should be, is written.
fn installed() -> Result<PathBuf, Failure> {
    if let Some(folder) = env::var_os(ELSEWHERE) {
        return Ok(PathBuf::from(folder));
    }
    let folder = cache().join(format!("mpi-{}", content()));
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
    let named = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = named("XDG_CACHE_HOME");
    let base = base.or_else(|| named("HOME").map(|home| home.join(".cache")));
    match base {
        Some(base) => base.join("mpisim"),
        // The folder for temporary files is that of all users.
        None => env::temp_dir().join(format!("mpisim-{}", geteuid())),
    }
}

/// A name for the content of header and library.
fn content() -> String {
    let parts = [LIBRARY, CLOCK, HEADER.as_bytes(), WRAPPER.as_bytes()];
    engine::Digest::of_digests(parts.map(engine::Digest::of_bytes)).to_string()
}

/// Writes what is not there. Each file comes to its place whole: programs that run have the old one, and two that write at
/// once write the same.
fn install(folder: &Path) -> io::Result<()> {
    let parts = ["lib/pkgconfig", "include", "bin"].map(|part| folder.join(part));
    let mut folders: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    folders.extend([parts[0].parent(), Some(folder), folder.parent()].into_iter().flatten());
    for part in &parts {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(part)?;
    }
    folders.into_iter().try_for_each(own)?;
    let lib = folder.join("lib");
    provide_file(&lib.join("libmpi_abi.so.1"), LIBRARY, 0o644)?;
    provide_file(&lib.join(workloads::exec::CLOCK_FILE), CLOCK, 0o644)?;
    provide_link(&lib.join("libmpi_abi.so"), "libmpi_abi.so.1")?;
    provide_file(&folder.join("include/mpi.h"), HEADER.as_bytes(), 0o644)?;
    for (name, compiler) in [("mpicc", "${MPISIM_CC:-cc}"), ("mpicxx", "${MPISIM_CXX:-c++}")] {
        let wrapper = WRAPPER.replace("COMPILER", compiler);
        provide_file(&folder.join("bin").join(name), wrapper.as_bytes(), 0o755)?;
    }
    let pkgconfig = format!(
        "prefix={}\nName: mpi\nDescription: MPI 5.0 of mpisim\nVersion: {}\nCflags: -I${{prefix}}/include\n\
         Libs: -L${{prefix}}/lib -lmpi_abi\n",
        folder.display(),
        env!("CARGO_PKG_VERSION"),
    );
    provide_file(&lib.join("pkgconfig/mpi.pc"), pkgconfig.as_bytes(), 0o644)
}

/// Refuses a folder of another user, and takes from others the right to write to the user's own: ranks
/// would load what they put there.
fn own(folder: &Path) -> io::Result<()> {
    const OTHERS: u32 = 0o022;
    let (link, about) = (fs::symlink_metadata(folder)?, fs::metadata(folder)?);
    let own = geteuid().as_raw();
    if link.uid() != own || about.uid() != own {
        return Err(io::Error::other(format!(
            "{} belongs to another user, whose library ranks would load",
            folder.display()
        )));
    }
    let mode = about.permissions().mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(mode & !OTHERS))
}

/// Writes a file, unless it is there as it should be.
fn provide_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let is_there = fs::symlink_metadata(path)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o777 == mode);
    if is_there && fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    replace(path, |draft| {
        fs::write(draft, bytes)?;
        fs::set_permissions(draft, fs::Permissions::from_mode(mode))
    })
}

/// Makes a link, unless it is there.
fn provide_link(path: &Path, to: &str) -> io::Result<()> {
    if fs::read_link(path).is_ok_and(|found| found == Path::new(to)) {
        return Ok(());
    }
    replace(path, |draft| std::os::unix::fs::symlink(to, draft))
}

/// Makes what comes to a place beside it; nothing stays of what fails.
fn replace(path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let draft = path.with_added_extension(format!("{}.draft", std::process::id()));
    let done = make(&draft).and_then(|()| fs::rename(&draft, path));
    if done.is_err() {
        // Where it cannot be removed, either, the error says enough.
        let _ = fs::remove_file(&draft);
    }
    done
}
