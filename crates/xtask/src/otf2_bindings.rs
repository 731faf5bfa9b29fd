//! The bindings of `otf2-sys` to libotf2, made by bindgen from the headers that are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

#[path = "../../otf2-sys/build/functions.rs"]
mod functions;

/// Where the bindings lie, from the root of the checkout.
pub(crate) const FILE: &str = "crates/otf2-sys/src/bindings.rs";

/// The installed headers.
pub(crate) struct Headers {
    include: PathBuf,
    /// Their version, as they say it.
    pub(crate) version: String,
}

impl Headers {
    /// Where `otf2-config` says that they are, or in the system's folder.
    pub(crate) fn find() -> Result<Headers> {
        let program = std::env::var_os("OTF2_CONFIG").unwrap_or_else(|| "otf2-config".into());
        let output = Command::new(program).arg("--cflags").output().map(|output| output.stdout);
        let flags = String::from_utf8_lossy(&output.unwrap_or_default()).into_owned();
        let named = flags.split_whitespace().filter_map(|word| word.strip_prefix("-I")).map(PathBuf::from);
        let include = named
            .chain(["/usr/include".into()])
            .find(|include| include.join("otf2/otf2.h").is_file())
            .context("otf2/otf2.h was not found: install libotf2-trace-dev")?;
        let text = std::fs::read_to_string(include.join("otf2/OTF2_GeneralDefinitions.h"))?;
        let version = version(&text).context("the headers of OTF2 do not say their version")?.to_owned();
        Ok(Headers { include, version })
    }

    /// The text of the bindings.
    pub(crate) fn bindings(&self) -> Result<String> {
        let header = self.include.join("otf2/otf2.h");
        let builder = functions::FUNCTIONS
            .iter()
            .fold(bindgen::builder(), |builder, function| builder.allowlist_function(function))
            .header(header.display().to_string())
            .clang_arg(format!("-I{}", self.include.display()))
            .allowlist_type("OTF2_.*")
            .allowlist_var("OTF2_VERSION.*")
            // A `va_list` is passed on, never read. As a parameter it is one pointer wide on
            // x86-64 (an array that decays), AArch64 (a large structure, passed by reference), RISC-V
            // and POWER (a pointer by definition).
            .blocklist_type(".*va_list.*")
            .raw_line("// Written by `cargo xtask otf2-bindings`; do not edit.")
            .raw_line("pub type va_list = *mut __va_list_tag;")
            .raw_line("pub type __va_list_tag = ::std::ffi::c_void;")
            .dynamic_library_name("Otf2")
            .dynamic_link_require_all(true)
            .wrap_unsafe_ops(true)
            .generate_cstr(true)
            .prepend_enum_name(false)
            .generate_comments(false)
            .layout_tests(true)
            .formatter(bindgen::Formatter::Prettyplease);
        // bindgen panics where it finds no libclang.
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.generate())) {
            Ok(bindings) => Ok(bindings?.to_string()),
            Err(_) => bail!("libclang was not found: install libclang-dev, or set LIBCLANG_PATH"),
        }
    }
}

/// The version of the headers that the bindings at `path` were made from.
pub(crate) fn of_bindings(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let (_, rest) = text.split_once("OTF2_VERSION: &::std::ffi::CStr")?;
    Some(rest.split_once("c\"")?.1.split_once('"')?.0.to_owned())
}

/// What a header defines as `OTF2_VERSION`.
fn version(header: &str) -> Option<&str> {
    let line = header.lines().find_map(|line| line.strip_prefix("#define OTF2_VERSION "))?;
    Some(line.trim().trim_matches('"'))
}
