//! Finds the installed libotf2 and decides how it is linked.
//!
//! `OTF2_SYS_LINK=static|dynamic` overrules the choice, `OTF2_CONFIG` names another `otf2-config`.

mod functions;
mod install;

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
            fs::write(out.join("static_table.rs"), table_from_static(FUNCTIONS))?;
        }
        None => println!("cargo::rustc-env=OTF2_SYS_LIBRARIES={}", install.shared_library_names().join(":")),
    }
    Ok(())
}

/// Rust source of `Otf2::from_static`, for the structure that bindgen generates.
///
/// bindgen knows how to fill its table from a shared library only. Here each field takes the
/// address of the symbol of its name; the field's type is the one that bindgen read in the header.
fn table_from_static(functions: &[&str]) -> String {
    let symbols: String = functions.iter().map(|name| format!("fn {name}();\n")).collect();
    let fields: String = functions
        .iter()
        .map(|name| {
            format!(
                "// SAFETY: the symbol and the type of the field come from the same header.\n\
                 {name}: unsafe {{ ::std::mem::transmute(symbols::{name} as *const ()) }},\n"
            )
        })
        .collect();
    format!(
        "mod symbols {{\n unsafe extern \"C\" {{\n{symbols}}}\n}}\n\
         impl Otf2 {{\n\
         pub(crate) fn from_static() -> Self {{\n\
         Self {{\n__library: ::libloading::os::unix::Library::this().into(),\n{fields}}}\n}}\n}}\n"
    )
    .replace("fn OTF2", "pub(super) fn OTF2")
}
