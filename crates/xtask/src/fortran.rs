//! How Fortran calls a function: its names, and what becomes of each argument on its way to the
//! fields that hooks see.
//!
//! Fortran passes addresses: of integers where C passes numbers and handles, and of hidden lengths
//! for its strings, by value, behind all else. The conversions named here are the types of
//! `crates/intercept/src/fortran/convert.rs`.

use anyhow::{Context, Result};

use crate::types::{Base, Described, Type, base, field};

/// A function as Fortran knows it.
pub(crate) struct Fortran {
    /// The names that get a wrapper of their own, behind the layer of Fortran that each belongs to:
    /// `F77` is that of `mpif.h` and `use mpi`, `F08` that of `use mpi_f08`.
    pub(crate) names: Vec<String>,
    /// The arguments before `ierror`.
    pub(crate) parameters: Vec<Parameter>,
    /// Fields of the C function that Fortran has no argument for.
    pub(crate) absent: Vec<String>,
    /// How many of the arguments are strings, each with a hidden length.
    pub(crate) strings: usize,
}

/// An argument.
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The type that converts it.
    pub(crate) conversion: String,
    /// The argument that holds the number of elements, where the conversion asks for it.
    pub(crate) count: Option<String>,
}

/// Functions with a second procedure for pointers of type `C_PTR` in the module `mpi`.
const C_PTR: [&str; 4] =
    ["MPI_Alloc_mem", "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_shared_query"];

/// A new handle that the caller's variable gets only when a request is complete: functions and
/// their parameter. A hook may remember where it will be.
const LATE: [(&str, &str); 2] = [("MPI_Comm_idup", "newcomm"), ("MPI_Comm_idup_with_info", "newcomm")];

/// The function of this description in Fortran. `f08`: the module `mpi_f08` has it. `removed`: MPI-3
/// removed it, and its Fortran form has default integers where C has `MPI_Aint`.
pub(crate) fn of(name: &str, described: &[Described], f08: bool, removed: bool) -> Result<Fortran> {
    let lower = name.to_lowercase();
    let mut names = vec![format!("F77 {lower}_")];
    if f08 {
        names.push(format!("F08 {lower}_f08_"));
    }
    if C_PTR.contains(&name) {
        names.push(format!("F77 {lower}_cptr_"));
    }
    let in_c = || described.iter().filter(|one| one.in_c() && !one.large_only);
    let parameters = in_c()
        .filter(|one| one.in_fortran())
        .map(|one| parameter(name, described, one, removed).with_context(|| format!("{name}, {}", one.name)))
        .collect::<Result<_>>()?;
    let absent = in_c().filter(|one| !one.in_fortran()).map(|one| field(&one.name)).collect();
    let strings = in_c().filter(|one| one.in_fortran() && one.kind.starts_with("STRING"));
    let strings = strings.filter(|one| !one.kind.ends_with("LENGTH")).count();
    Ok(Fortran { names, parameters, absent, strings })
}

fn parameter(function: &str, all: &[Described], one: &Described, removed: bool) -> Result<Parameter> {
    let (conversion, count) = conversion(function, all, one, removed)?;
    Ok(Parameter { name: field(&one.name), conversion, count })
}

/// The conversion of an argument, and the argument that counts its elements.
fn conversion(
    function: &str,
    all: &[Described],
    one: &Described,
    removed: bool,
) -> Result<(String, Option<String>)> {
    let seen = Type::of(one, false)?.field;
    let as_it_is = format!("AsItIs<{seen}>");
    let unread = format!("Unread<{seen}>");
    let single = one.length.is_none();
    let output = one.param_direction == "out";
    let simple = |conversion: &str| Ok((conversion.to_owned(), None));
    match base(one, false)? {
        Base::Number(..) if one.by_address() => match one.kind.as_str() {
            "LOGICAL" if single => simple("Flag"),
            "INDEX" if single => simple("Index"),
            // A default integer is narrower.
            _ if removed && seen.ends_with("isize") => simple(&unread),
            "INDEX" if one.name == "array_of_indices" => Ok(("Indices".into(), Some("outcount".into()))),
            _ => simple(&as_it_is),
        },
        Base::Number("c_int", "c_int") => simple("Int"),
        Base::Number("c_int", _) => simple("Count"),
        Base::Number("isize", _) if removed => simple("AintOfInteger"),
        Base::Number(_, "isize") => simple("Aint"),
        Base::Number(..) => simple("Large"),
        Base::Handle(name) if !one.by_address() => simple(&format!("Value<{name}>")),
        Base::Handle(name) if single && LATE.contains(&(function, &one.name)) => {
            simple(&format!("LateHandle<{name}>"))
        }
        Base::Handle(name) if single && output => simple(&format!("NewHandle<{name}>")),
        Base::Handle(name) if single => simple(&format!("OneHandle<{name}>")),
        Base::Handle(name) if !output => match counted_by(all, one) {
            Some(count) => Ok((format!("Handles<{name}>"), Some(count))),
            None => simple(&unread),
        },
        Base::Handle(_) | Base::Text(_) => simple(&unread),
        Base::Status => simple("Status"),
        Base::Buffer if one.kind == "BUFFER" => simple(&format!("Buffer<{seen}>")),
        Base::Buffer | Base::Function => simple(&as_it_is),
    }
}

/// The argument that holds the length of an array, where one alone does.
fn counted_by(all: &[Described], array: &Described) -> Option<String> {
    let length = array.length.as_ref()?.as_str()?;
    let count = all.iter().find(|one| one.name == length && !one.by_address())?;
    Some(field(&count.name))
}
