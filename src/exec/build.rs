//! Makes the header, the function numbers and the MPI library that programs link, from the tables in `abi/`; and the
//! library with simulated clocks.
//!
//! Cargo does not install shared libraries beside a binary, so the binary carries them: `rustc` makes them here.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[path = "abi.rs"]
#[allow(dead_code, reason = "a module of the library, too")]
mod abi;
#[path = "abi/arguments.rs"]
mod arguments;

fn main() {
    for file in [
        "abi.rs",
        "abi/arguments.rs",
        "abi/functions.txt",
        "abi/callbacks.txt",
        "abi/constants.txt",
        "wire.rs",
        "client/lib.rs",
        "client/clock.rs",
        "client/sleep.rs",
    ] {
        println!("cargo::rerun-if-changed={file}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let write = |name: &str, text: String| {
        let path = out.join(name);
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    };
    write("mpi.h", abi::header());
    write("functions.rs", abi::numbers() + &arguments::families());
    write("arguments.rs", arguments::arguments());
    write("calls.rs", arguments::calls());
    write("dispatch.rs", arguments::dispatch());
    let functions = write("client.rs", abi::client());
    let library = |source: &str, name: &str, file: &str| {
        let status = Command::new(env::var_os("RUSTC").expect("cargo sets it"))
            .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", name])
            .arg("--target")
            .arg(env::var_os("TARGET").expect("cargo sets it"))
            .args(["-C", "opt-level=2", "-C", "panic=abort", "-C", "strip=symbols"])
            .args(["-C", "force-frame-pointers=yes"])
            .args(["-C", &format!("link-arg=-Wl,-soname,{file}")])
            .arg(source)
            .arg("-o")
            .arg(out.join(file))
            .env("MPISIM_FUNCTIONS", &functions)
            .status()
            .expect("rustc runs");
        assert!(status.success(), "{file} was not made");
    };
    library("client/lib.rs", "mpi_abi", "libmpi_abi.so.1");
    library("client/clock.rs", "mpisim_clock", "libmpisim_clock.so");
}
