//! From parameter kinds to Rust types.
//!
//! A kind says what a parameter means, from which follow its C type in the plain and in the
//! large-count function, and the type of the field that hooks see.

use anyhow::{Result, bail};
use serde::Deserialize;

/// A parameter as described.
#[derive(Deserialize)]
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Mostly a boolean, in places the word "true".
    #[serde(default)]
    constant: serde_json::Value,
    #[serde(default)]
    pub(crate) length: Option<serde_json::Value>,
    #[serde(default)]
    pub(crate) param_direction: String,
    #[serde(default)]
    pointer: Option<bool>,
    #[serde(default)]
    pub(crate) large_only: bool,
    #[serde(default)]
    suppress: String,
}

impl Described {
    /// Whether the C function has this parameter.
    pub(crate) fn in_c(&self) -> bool {
        !self.is_variadic() && !self.suppress.split(' ').any(|word| word == "c_parameter")
    }

    /// Whether it stands for any number of arguments.
    pub(crate) fn is_variadic(&self) -> bool {
        self.kind == "VARARGS"
    }

    /// Whether the Fortran subroutine has this parameter.
    pub(crate) fn in_fortran(&self) -> bool {
        !self.suppress.split(' ').any(|word| word == "f90_parameter")
    }

    /// Whether its type differs in the large-count function.
    pub(crate) fn is_poly(&self) -> bool {
        self.kind.starts_with("POLY")
    }

    fn is_constant(&self) -> bool {
        self.constant == true || self.constant == "true"
    }

    /// Whether C passes an address: an output, an in-out parameter, or an array.
    pub(crate) fn by_address(&self) -> bool {
        let array = self.length.is_some();
        match self.pointer {
            Some(false) => array,
            Some(true) => true,
            None => array || matches!(self.param_direction.as_str(), "out" | "inout"),
        }
    }
}

/// The type of a parameter, in C and as a field.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Type {
    /// In the signature of the C function, spelled in Rust.
    pub(crate) c: String,
    /// In the struct of arguments.
    pub(crate) field: String,
}

/// What stands in memory or in a register, before it is known whether an address is passed.
pub(crate) enum Base {
    /// A number: its C type, and the type of its field when passed by value.
    Number(&'static str, &'static str),
    Handle(&'static str),
    Status,
    Buffer,
    Function,
    /// `char` behind this many pointers.
    Text(usize),
}

impl Type {
    /// The type of `described` in the plain (`large` false) or the large-count function.
    pub(crate) fn of(described: &Described, large: bool) -> Result<Self> {
        let constness = if described.is_constant() { "*const" } else { "*mut" };
        let same = |ty: String| Self { c: ty.clone(), field: ty };
        Ok(match base(described, large)? {
            Base::Number(c, _) if described.by_address() => same(format!("{constness} {c}")),
            Base::Number(c, field) => Self { c: c.into(), field: field.into() },
            Base::Handle(name) if described.by_address() => {
                Self { c: "*mut c_void".into(), field: format!("HandlePtr<{name}>") }
            }
            Base::Handle(name) => Self { c: "usize".into(), field: name.into() },
            Base::Status => Self { c: "*mut c_void".into(), field: "StatusPtr".into() },
            Base::Buffer => same(format!("{constness} c_void")),
            Base::Function => same("*const c_void".into()),
            Base::Text(1) => same(format!("{constness} c_char")),
            Base::Text(levels) => same(format!("{}c_char", "*mut ".repeat(levels))),
        })
    }
}

pub(crate) fn base(described: &Described, large: bool) -> Result<Base> {
    Ok(match described.kind.as_str() {
        "COMMUNICATOR" => Base::Handle("Comm"),
        "DATATYPE" => Base::Handle("Datatype"),
        "ERRHANDLER" => Base::Handle("Errhandler"),
        "FILE" => Base::Handle("File"),
        "GROUP" => Base::Handle("Group"),
        "INFO" => Base::Handle("Info"),
        "MESSAGE" => Base::Handle("Message"),
        "OPERATION" => Base::Handle("Op"),
        "REQUEST" => Base::Handle("Request"),
        "SESSION" => Base::Handle("Session"),
        "WINDOW" => Base::Handle("Win"),

        "STATUS" => Base::Status,

        "BUFFER" | "C_BUFFER" | "C_BUFFER2" | "C_BUFFER3" | "C_BUFFER4" | "EXTRA_STATE" | "EXTRA_STATE2"
        | "ATTRIBUTE_VAL" | "ATTRIBUTE_VAL_10" | "LOGICAL_VOID" => Base::Buffer,

        "FUNCTION" | "FUNCTION_SMALL" | "POLYFUNCTION" => Base::Function,

        "STRING" => Base::Text(1),
        "STRING_ARRAY" => Base::Text(2),
        "STRING_2DARRAY" | "ARGUMENT_LIST" => Base::Text(3),

        // Counts of both functions have the same field, so that hooks treat them alike.
        "POLYDISPLACEMENT_COUNT"
        | "POLYDTYPE_NUM_ELEM"
        | "POLYDTYPE_NUM_ELEM_NNI"
        | "POLYDTYPE_NUM_ELEM_PI"
        | "POLYNUM_BYTES"
        | "POLYNUM_BYTES_NNI"
        | "POLYNUM_PARAM_VALUES"
        | "POLYXFER_NUM_ELEM"
        | "POLYXFER_NUM_ELEM_NNI" => Base::Number(if large { "i64" } else { "c_int" }, "i64"),
        "POLYDISPLACEMENT" | "POLYRMA_DISPLACEMENT" => {
            Base::Number(if large { "isize" } else { "c_int" }, "i64")
        }
        "POLYDISPLACEMENT_AINT_COUNT"
        | "POLYDISPOFFSET"
        | "POLYDTYPE_PACK_SIZE"
        | "POLYDTYPE_STRIDE_BYTES"
        | "POLYLOCATION" => Base::Number(if large { "i64" } else { "isize" }, "i64"),

        // MPI_Aint
        "ALLOC_MEM_NUM_BYTES"
        | "DISPLACEMENT"
        | "DISPLACEMENT_NNI"
        | "LOCATION_SMALL"
        | "RMA_DISPLACEMENT_NNI"
        | "WINDOW_SIZE"
        | "WIN_ATTACH_SIZE" => Base::Number("isize", "isize"),

        // MPI_Offset and MPI_Count
        "OFFSET" | "GENERIC_DTYPE_COUNT" | "NUM_BYTES" | "XFER_NUM_ELEM" | "XFER_NUM_ELEM_NNI" => {
            Base::Number("i64", "i64")
        }

        "ACCESS_MODE"
        | "ARGUMENT_COUNT"
        | "ARRAY_LENGTH"
        | "ARRAY_LENGTH_NNI"
        | "ARRAY_LENGTH_PI"
        | "ASSERT"
        | "COLOR"
        | "COMBINER"
        | "COMM_COMPARISON"
        | "COMM_SIZE"
        | "COMM_SIZE_PI"
        | "COORDINATE"
        | "DEGREE"
        | "DIMENSION"
        | "DISTRIB_ENUM"
        | "DTYPE_DISTRIBUTION"
        | "ERROR_CLASS"
        | "ERROR_CODE"
        | "ERROR_CODE_SHOW_INTENT"
        | "FILE_DESCRIPTOR"
        | "GENERIC_DTYPE_INT"
        | "GROUP_COMPARISON"
        | "INDEX"
        | "INFO_VALUE_LENGTH"
        | "KEY"
        | "KEYVAL"
        | "KEY_INDEX"
        | "LOCK_TYPE"
        | "LOGICAL"
        | "LOGICAL_OPTIONAL"
        | "MATH"
        | "NUM_BYTES_SMALL"
        | "NUM_DIMS"
        | "ORDER"
        | "PARTITION"
        | "PROCESS_GRID_SIZE"
        | "PROFILE_LEVEL"
        | "RANK"
        | "RANK_NNI"
        | "SPLIT_TYPE"
        | "STRING_LENGTH"
        | "TAG"
        | "THREAD_LEVEL"
        | "TOPOLOGY_TYPE"
        | "TYPECLASS"
        | "TYPECLASS_SIZE"
        | "UPDATE_MODE"
        | "UPDATE_NUMBER"
        | "VERSION"
        | "WEIGHT" => Base::Number("c_int", "c_int"),

        // A new kind needs a decision by a person: a wrong width would corrupt arguments.
        kind => bail!("unknown parameter kind {kind}: add it to crates/xtask/src/types.rs"),
    })
}

/// A parameter's name as the name of a field.
pub(crate) fn field(name: &str) -> String {
    match name {
        "type" | "in" | "fn" | "mod" | "move" | "ref" | "use" | "where" | "match" => {
            format!("{name}_")
        }
        _ => name.to_lowercase(),
    }
}
