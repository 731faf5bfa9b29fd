//! Gives the library its own name as soname, so that programs linked to it find it wherever it lies.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpit_events.so");
}
