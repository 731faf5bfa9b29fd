//! Compiles the MPI that the C functions find behind them, and links it behind the target.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=mock_mpi.c");
    println!("cargo:rerun-if-changed=build.rs");
    let directory = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets it"));
    // The name must not be one of the standard ABI: this is of MPICH's.
    let library = directory.join("libmock_mpi.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg("mock_mpi.c");
    assert!(command.status().expect("a C compiler").success(), "{command:?} failed");
    // No function of it is called by name, so that the linker would leave it out.
    println!("cargo:rustc-link-arg-bin=entry_points=-Wl,--no-as-needed");
    println!("cargo:rustc-link-arg-bin=entry_points={}", library.display());
    println!("cargo:rustc-link-arg-bin=entry_points=-Wl,-rpath,{}", directory.display());
}
