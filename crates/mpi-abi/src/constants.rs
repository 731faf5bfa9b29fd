//! MPI's constants, one table for each family.
//!
//! MPICH and the standard ABI fix numbers; Open MPI's predefined objects are searched by name, because
//! the dynamic linker may have copied them into the executable.

use std::ffi::{CStr, c_int, c_void};

use mpi_functions::REDUCTIONS;

use crate::{
    Comm, Datatype, Errhandler, Group, Info, Message, Op, Request, StatusPtr, ToolConstants, Win, next,
};

/// The values of `MPI_THREAD_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadLevels {
    /// `MPI_THREAD_SINGLE`
    pub single: c_int,
    /// `MPI_THREAD_FUNNELED`
    pub funneled: c_int,
    /// `MPI_THREAD_SERIALIZED`
    pub serialized: c_int,
    /// `MPI_THREAD_MULTIPLE`
    pub multiple: c_int,
}

macro_rules! constants {
    ($($field:ident: $type:ty = $name:literal),* $(,)?) => {
        /// The constants of the MPI in this process, each named as in MPI, in lower case.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Constants {
            $(#[doc = concat!("`", $name, "`")] pub $field: $type,)*
            /// The values of `MPI_THREAD_*`.
            pub thread: ThreadLevels,
            /// The numbers of the tool information interface.
            pub tool: ToolConstants,
        }

        impl Constants {
            /// Name in MPI and value of every constant except the thread levels, handles and
            /// addresses as machine words: for tests and for reports of problems.
            pub fn each(&self, mut f: impl FnMut(&'static str, i64)) {
                $(f($name, Value::value(self.$field));)*
                f("MPI_THREAD_SINGLE", self.thread.single.into());
                f("MPI_THREAD_FUNNELED", self.thread.funneled.into());
                f("MPI_THREAD_SERIALIZED", self.thread.serialized.into());
                f("MPI_THREAD_MULTIPLE", self.thread.multiple.into());
                self.tool.each(f);
            }
        }
    };
}

constants! {
    comm_world: Comm = "MPI_COMM_WORLD",
    comm_self: Comm = "MPI_COMM_SELF",
    comm_null: Comm = "MPI_COMM_NULL",
    request_null: Request = "MPI_REQUEST_NULL",
    message_null: Message = "MPI_MESSAGE_NULL",
    message_no_proc: Message = "MPI_MESSAGE_NO_PROC",
    group_null: Group = "MPI_GROUP_NULL",
    group_empty: Group = "MPI_GROUP_EMPTY",
    win_null: Win = "MPI_WIN_NULL",
    datatype_null: Datatype = "MPI_DATATYPE_NULL",
    byte: Datatype = "MPI_BYTE",
    char: Datatype = "MPI_CHAR",
    int: Datatype = "MPI_INT",
    int32: Datatype = "MPI_INT32_T",
    uint32: Datatype = "MPI_UINT32_T",
    int64: Datatype = "MPI_INT64_T",
    uint64: Datatype = "MPI_UINT64_T",
    double: Datatype = "MPI_DOUBLE",
    unsigned: Datatype = "MPI_UNSIGNED",
    unsigned_long: Datatype = "MPI_UNSIGNED_LONG",
    unsigned_long_long: Datatype = "MPI_UNSIGNED_LONG_LONG",
    count: Datatype = "MPI_COUNT",
    sum: Op = "MPI_SUM",
    max: Op = "MPI_MAX",
    min: Op = "MPI_MIN",
    no_op: Op = "MPI_NO_OP",
    prod: Op = "MPI_PROD",
    land: Op = "MPI_LAND",
    lor: Op = "MPI_LOR",
    lxor: Op = "MPI_LXOR",
    band: Op = "MPI_BAND",
    bor: Op = "MPI_BOR",
    bxor: Op = "MPI_BXOR",
    minloc: Op = "MPI_MINLOC",
    maxloc: Op = "MPI_MAXLOC",
    replace: Op = "MPI_REPLACE",
    info_null: Info = "MPI_INFO_NULL",
    errors_return: Errhandler = "MPI_ERRORS_RETURN",
    any_source: c_int = "MPI_ANY_SOURCE",
    any_tag: c_int = "MPI_ANY_TAG",
    proc_null: c_int = "MPI_PROC_NULL",
    root: c_int = "MPI_ROOT",
    undefined: c_int = "MPI_UNDEFINED",
    status_ignore: StatusPtr = "MPI_STATUS_IGNORE",
    statuses_ignore: StatusPtr = "MPI_STATUSES_IGNORE",
    in_place: *mut c_void = "MPI_IN_PLACE",
    bottom: *mut c_void = "MPI_BOTTOM",
    comm_type_shared: c_int = "MPI_COMM_TYPE_SHARED",
    lock_exclusive: c_int = "MPI_LOCK_EXCLUSIVE",
    lock_shared: c_int = "MPI_LOCK_SHARED",
    mode_noprecede: c_int = "MPI_MODE_NOPRECEDE",
    mode_nosucceed: c_int = "MPI_MODE_NOSUCCEED",
    success: c_int = "MPI_SUCCESS",
    err_in_status: c_int = "MPI_ERR_IN_STATUS",
    err_pending: c_int = "MPI_ERR_PENDING",
    err_truncate: c_int = "MPI_ERR_TRUNCATE",
    combiner_struct: c_int = "MPI_COMBINER_STRUCT",
    ident: c_int = "MPI_IDENT",
    congruent: c_int = "MPI_CONGRUENT",
    cart: c_int = "MPI_CART",
    graph: c_int = "MPI_GRAPH",
    dist_graph: c_int = "MPI_DIST_GRAPH",
    similar: c_int = "MPI_SIMILAR",
    unequal: c_int = "MPI_UNEQUAL",
    max_library_version_string: usize = "MPI_MAX_LIBRARY_VERSION_STRING",
    max_processor_name: usize = "MPI_MAX_PROCESSOR_NAME",
    max_object_name: usize = "MPI_MAX_OBJECT_NAME",
    max_error_string: usize = "MPI_MAX_ERROR_STRING",
}

impl Constants {
    /// The place of a predefined operation in [`REDUCTIONS`]; `None` of one that the program has made.
    #[must_use]
    pub fn reduction(&self, op: Op) -> Option<usize> {
        let all: [Op; REDUCTIONS.len()] = [
            self.sum,
            self.prod,
            self.min,
            self.max,
            self.land,
            self.lor,
            self.lxor,
            self.band,
            self.bor,
            self.bxor,
            self.minloc,
            self.maxloc,
            self.replace,
            self.no_op,
        ];
        all.iter().position(|known| *known == op)
    }
}

// SAFETY: the pointers among the constants are addresses to compare with, never to dereference.
unsafe impl Send for Constants {}
// SAFETY: the pointers are only compared, and nothing changes after construction.
unsafe impl Sync for Constants {}

trait Value {
    fn value(self) -> i64;
}

macro_rules! value_of_handle {
    ($($type:ty),*) => {$(impl Value for $type {
        fn value(self) -> i64 {
            self.0 as i64
        }
    })*};
}

value_of_handle!(Comm, Datatype, Errhandler, Group, Info, Message, Op, Request, StatusPtr, Win);

impl Value for c_int {
    fn value(self) -> i64 {
        self.into()
    }
}

impl Value for usize {
    fn value(self) -> i64 {
        self as i64
    }
}

impl Value for *mut c_void {
    fn value(self) -> i64 {
        self as i64
    }
}

const LEVELS: ThreadLevels = ThreadLevels { single: 0, funneled: 1, serialized: 2, multiple: 3 };

const fn address(word: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(word)
}

/// MPICH 3.1 and later, and all that share its binary interface.
pub(crate) const MPICH: Constants = Constants {
    comm_world: Comm(0x4400_0000),
    comm_self: Comm(0x4400_0001),
    comm_null: Comm(0x0400_0000),
    request_null: Request(0x2c00_0000),
    message_null: Message(0x2c00_0000),
    message_no_proc: Message(0x6c00_0000),
    group_null: Group(0x0800_0000),
    group_empty: Group(0x4800_0000),
    win_null: Win(0x2000_0000),
    datatype_null: Datatype(0x0c00_0000),
    byte: Datatype(0x4c00_010d),
    char: Datatype(0x4c00_0101),
    int: Datatype(0x4c00_0405),
    int32: Datatype(0x4c00_0439),
    uint32: Datatype(0x4c00_043d),
    int64: Datatype(0x4c00_083a),
    uint64: Datatype(0x4c00_083e),
    double: Datatype(0x4c00_080b),
    unsigned: Datatype(0x4c00_0406),
    unsigned_long: Datatype(0x4c00_0808),
    unsigned_long_long: Datatype(0x4c00_0819),
    count: Datatype(0x4c00_0845),
    sum: Op(0x5800_0003),
    max: Op(0x5800_0001),
    min: Op(0x5800_0002),
    no_op: Op(0x5800_000e),
    prod: Op(0x5800_0004),
    land: Op(0x5800_0005),
    lor: Op(0x5800_0007),
    lxor: Op(0x5800_0009),
    band: Op(0x5800_0006),
    bor: Op(0x5800_0008),
    bxor: Op(0x5800_000a),
    minloc: Op(0x5800_000b),
    maxloc: Op(0x5800_000c),
    replace: Op(0x5800_000d),
    info_null: Info(0x1c00_0000),
    errors_return: Errhandler(0x5400_0001),
    any_source: -2,
    any_tag: -1,
    proc_null: -1,
    root: -3,
    undefined: -32766,
    status_ignore: StatusPtr(address(1)),
    statuses_ignore: StatusPtr(address(1)),
    in_place: address(usize::MAX),
    bottom: address(0),
    comm_type_shared: 1,
    lock_exclusive: 234,
    lock_shared: 235,
    mode_noprecede: 8192,
    mode_nosucceed: 16384,
    success: 0,
    err_in_status: 17,
    err_pending: 18,
    err_truncate: 14,
    combiner_struct: 12,
    ident: 0,
    congruent: 1,
    cart: 2,
    graph: 1,
    dist_graph: 3,
    similar: 2,
    unequal: 3,
    max_library_version_string: 8192,
    max_processor_name: 128,
    max_object_name: 128,
    max_error_string: 512,
    thread: LEVELS,
    tool: ToolConstants::MPICH,
};

/// The ABI of MPI-5.
pub(crate) const STANDARD: Constants = Constants {
    comm_world: Comm(0x101),
    comm_self: Comm(0x102),
    comm_null: Comm(0x100),
    request_null: Request(0x180),
    message_null: Message(0x128),
    message_no_proc: Message(0x129),
    group_null: Group(0x108),
    group_empty: Group(0x109),
    win_null: Win(0x110),
    datatype_null: Datatype(0x200),
    byte: Datatype(0x247),
    char: Datatype(0x243),
    int: Datatype(0x209),
    int32: Datatype(0x250),
    uint32: Datatype(0x251),
    int64: Datatype(0x258),
    uint64: Datatype(0x259),
    double: Datatype(0x214),
    unsigned: Datatype(0x20d),
    unsigned_long: Datatype(0x20e),
    unsigned_long_long: Datatype(0x20f),
    count: Datatype(0x202),
    sum: Op(0x21),
    max: Op(0x23),
    min: Op(0x22),
    no_op: Op(0x3d),
    prod: Op(0x24),
    land: Op(0x30),
    lor: Op(0x31),
    lxor: Op(0x32),
    band: Op(0x28),
    bor: Op(0x29),
    bxor: Op(0x2a),
    minloc: Op(0x38),
    maxloc: Op(0x39),
    replace: Op(0x3c),
    info_null: Info(0x130),
    errors_return: Errhandler(0x143),
    any_source: -1,
    any_tag: -2,
    proc_null: -3,
    root: -4,
    undefined: -32766,
    status_ignore: StatusPtr(address(0)),
    statuses_ignore: StatusPtr(address(0)),
    in_place: address(1),
    bottom: address(0),
    comm_type_shared: 221,
    lock_exclusive: 301,
    lock_shared: 302,
    mode_noprecede: 2048,
    mode_nosucceed: 16384,
    success: 0,
    err_in_status: 19,
    err_pending: 18,
    err_truncate: 15,
    combiner_struct: 110,
    ident: 201,
    congruent: 202,
    cart: 211,
    graph: 212,
    dist_graph: 213,
    similar: 203,
    unequal: 204,
    max_library_version_string: 8192,
    max_processor_name: 256,
    max_object_name: 128,
    max_error_string: 512,
    thread: ThreadLevels { single: 0, funneled: 1024, serialized: 2048, multiple: 4096 },
    tool: ToolConstants::STANDARD,
};

/// Open MPI 4 and 5: numbers as in its `mpi.h`, objects by their addresses in this process.
///
/// `None` when an object is missing, which means another library than these.
pub(crate) fn open_mpi() -> Option<Constants> {
    let object = |name: &CStr| {
        let address = next::symbol(name);
        (!address.is_null()).then_some(address as usize)
    };
    Some(Constants {
        comm_world: Comm(object(c"ompi_mpi_comm_world")?),
        comm_self: Comm(object(c"ompi_mpi_comm_self")?),
        comm_null: Comm(object(c"ompi_mpi_comm_null")?),
        request_null: Request(object(c"ompi_request_null")?),
        message_null: Message(object(c"ompi_message_null")?),
        message_no_proc: Message(object(c"ompi_message_no_proc")?),
        group_null: Group(object(c"ompi_mpi_group_null")?),
        group_empty: Group(object(c"ompi_mpi_group_empty")?),
        win_null: Win(object(c"ompi_mpi_win_null")?),
        datatype_null: Datatype(object(c"ompi_mpi_datatype_null")?),
        byte: Datatype(object(c"ompi_mpi_byte")?),
        char: Datatype(object(c"ompi_mpi_char")?),
        int: Datatype(object(c"ompi_mpi_int")?),
        int32: Datatype(object(c"ompi_mpi_int32_t")?),
        uint32: Datatype(object(c"ompi_mpi_uint32_t")?),
        int64: Datatype(object(c"ompi_mpi_int64_t")?),
        uint64: Datatype(object(c"ompi_mpi_uint64_t")?),
        double: Datatype(object(c"ompi_mpi_double")?),
        unsigned: Datatype(object(c"ompi_mpi_unsigned")?),
        unsigned_long: Datatype(object(c"ompi_mpi_unsigned_long")?),
        unsigned_long_long: Datatype(object(c"ompi_mpi_unsigned_long_long")?),
        count: Datatype(object(c"ompi_mpi_count")?),
        sum: Op(object(c"ompi_mpi_op_sum")?),
        max: Op(object(c"ompi_mpi_op_max")?),
        min: Op(object(c"ompi_mpi_op_min")?),
        no_op: Op(object(c"ompi_mpi_op_no_op")?),
        prod: Op(object(c"ompi_mpi_op_prod")?),
        land: Op(object(c"ompi_mpi_op_land")?),
        lor: Op(object(c"ompi_mpi_op_lor")?),
        lxor: Op(object(c"ompi_mpi_op_lxor")?),
        band: Op(object(c"ompi_mpi_op_band")?),
        bor: Op(object(c"ompi_mpi_op_bor")?),
        bxor: Op(object(c"ompi_mpi_op_bxor")?),
        minloc: Op(object(c"ompi_mpi_op_minloc")?),
        maxloc: Op(object(c"ompi_mpi_op_maxloc")?),
        replace: Op(object(c"ompi_mpi_op_replace")?),
        info_null: Info(object(c"ompi_mpi_info_null")?),
        errors_return: Errhandler(object(c"ompi_mpi_errors_return")?),
        any_source: -1,
        any_tag: -1,
        proc_null: -2,
        root: -4,
        undefined: -32766,
        status_ignore: StatusPtr(address(0)),
        statuses_ignore: StatusPtr(address(0)),
        in_place: address(1),
        bottom: address(0),
        comm_type_shared: 0,
        lock_exclusive: 1,
        lock_shared: 2,
        mode_noprecede: 2,
        mode_nosucceed: 16,
        success: 0,
        err_in_status: 18,
        err_pending: 19,
        err_truncate: 15,
        combiner_struct: 11,
        ident: 0,
        congruent: 1,
        cart: 1,
        graph: 2,
        dist_graph: 3,
        similar: 2,
        unequal: 3,
        max_library_version_string: 256,
        max_processor_name: 256,
        max_object_name: 64,
        max_error_string: 256,
        thread: LEVELS,
        tool: ToolConstants::OPEN_MPI,
    })
}
