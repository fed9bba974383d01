//! Makes the header, the function numbers and the MPI library that programs link, from the tables in `abi/`.
//!
//! Cargo does not install a shared library beside a binary, so the binary carries it: `rustc` makes it here.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[path = "abi.rs"]
#[allow(dead_code, reason = "a module of the library, too")]
mod abi;

fn main() {
    for file in [
        "abi.rs",
        "abi/functions.txt",
        "abi/callbacks.txt",
        "abi/constants.txt",
        "wire.rs",
        "client/lib.rs",
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
    write("functions.rs", abi::numbers());
    let functions = write("client.rs", abi::client());
    let library = out.join("libmpi_abi.so.1");
    let status = Command::new(env::var_os("RUSTC").expect("cargo sets it"))
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "mpi_abi"])
        .arg("--target")
        .arg(env::var_os("TARGET").expect("cargo sets it"))
        .args(["-C", "opt-level=2", "-C", "panic=abort", "-C", "strip=symbols"])
        .args(["-C", "link-arg=-Wl,-soname,libmpi_abi.so.1"])
        .arg("client/lib.rs")
        .arg("-o")
        .arg(&library)
        .env("MPISIM_FUNCTIONS", &functions)
        .status()
        .expect("rustc runs");
    assert!(status.success(), "the MPI library for programs was not made");
}
