//! Finds the installed libotf2, generates the bindings to it and decides how it is linked.
//!
//! `OTF2_SYS_LINK=static|dynamic` overrules the choice, `OTF2_CONFIG` names another `otf2-config`.

mod functions;
mod install;
mod table;

use std::{env, error::Error, fs, path::Path, process::ExitCode};

use functions::FUNCTIONS;
use install::Install;

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=OTF2_SYS_LINK");
    println!("cargo::rerun-if-env-changed=OTF2_CONFIG");
    println!("cargo::rustc-check-cfg=cfg(otf2_static)");

    let install = Install::find()?;
    let out = env::var("OUT_DIR")?;
    let out = Path::new(&out);
    generate_bindings(&install, &out.join("bindings.rs"))?;

    let archive = match env::var("OTF2_SYS_LINK").as_deref() {
        Ok("dynamic") => None,
        Ok("static") => Some(install.static_library().ok_or(
            "OTF2_SYS_LINK=static, but no libotf2.a is installed. Remedy: install it \
             (Debian, Ubuntu: apt install libotf2-trace-dev) or set OTF2_SYS_LINK=dynamic",
        )?),
        Ok(other) => {
            return Err(format!("OTF2_SYS_LINK is '{other}', but must be 'static' or 'dynamic'").into());
        }
        Err(_) => install.static_library(),
    };
    match archive {
        Some(directory) => {
            println!("cargo::rustc-cfg=otf2_static");
            println!("cargo::rustc-link-search=native={}", directory.display());
            println!("cargo::rustc-link-lib=static=otf2");
            fs::write(out.join("static_table.rs"), table::from_static(FUNCTIONS))?;
        }
        None => println!("cargo::rustc-env=OTF2_SYS_LIBRARIES={}", install.shared_library_names().join(":")),
    }
    Ok(())
}

fn generate_bindings(install: &Install, target: &Path) -> Result<(), Box<dyn Error>> {
    let header = install.header.to_str().ok_or("the path of otf2.h is not valid UTF-8")?;
    let builder = FUNCTIONS
        .iter()
        .fold(bindgen::builder(), |builder, function| builder.allowlist_function(function))
        .header(header)
        .clang_arg(format!("-I{}", install.include.display()))
        .allowlist_type("OTF2_.*")
        .allowlist_var("OTF2_VERSION.*")
        // A `va_list` is passed on, never read. As a parameter it is one pointer wide on
        // x86-64 (an array that decays), AArch64 (a large structure, passed by reference), RISC-V
        // and POWER (a pointer by definition).
        .blocklist_type(".*va_list.*")
        .raw_line("pub type va_list = *mut __va_list_tag;")
        .raw_line("pub type __va_list_tag = ::std::ffi::c_void;")
        .dynamic_library_name("Otf2")
        .dynamic_link_require_all(true)
        .wrap_unsafe_ops(true)
        .generate_cstr(true)
        .prepend_enum_name(false)
        .generate_comments(false)
        .layout_tests(true)
        .formatter(bindgen::Formatter::None);

    // bindgen panics where it finds no libclang; that deserves a sentence that helps.
    let generate = std::panic::AssertUnwindSafe(|| builder.generate());
    let reason = match std::panic::catch_unwind(generate) {
        Ok(Ok(bindings)) => return Ok(bindings.write_to_file(target)?),
        Ok(Err(error)) => error.to_string().trim_end().to_owned(),
        Err(_) => "libclang was not found".to_owned(),
    };
    Err(format!(
        "no bindings to libotf2: {reason}. Remedy: install libclang with its headers \
         (Debian, Ubuntu: apt install libclang-dev) or set LIBCLANG_PATH"
    )
    .into())
}
