//! Finds the installed libotf2 and decides how it is linked.
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
