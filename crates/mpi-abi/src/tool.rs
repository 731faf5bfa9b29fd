//! The numbers of MPI's tool information interface (`MPI_T_*`), one table for each family.
//!
//! Families whose header is older than the events have no numbers for some of them: those are given
//! here, and `mpit_events.h` gives programs the same.

use std::ffi::c_int;

macro_rules! tool_constants {
    ($($field:ident = $name:literal),*; $($list:ident: $count:literal = [$($item:literal),* $(,)?]),* $(,)?) => {
        /// Error codes and enumerations of the tool information interface, each named as in MPI, in
        /// lower case and without `MPI_T_`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct ToolConstants {
            $(#[doc = concat!("`", $name, "`")] pub $field: c_int,)*
            $(#[doc = concat!("In order:" $(, " `", $item, "`")*)] pub $list: [c_int; $count],)*
        }

        impl ToolConstants {
            /// Name and value of every constant except `MPI_T_BIND_MPI_SESSION`, which is newer
            /// than the headers of most MPIs.
            pub fn each(&self, mut f: impl FnMut(&'static str, i64)) {
                $(f($name, self.$field.into());)*
                $([$($item),*].into_iter().zip(self.$list).for_each(|(name, value)| f(name, value.into()));)*
            }
        }
    };
}

tool_constants! {
    err_arg = "MPI_ERR_ARG",
    err_intern = "MPI_ERR_INTERN",
    err_memory = "MPI_T_ERR_MEMORY",
    err_not_initialized = "MPI_T_ERR_NOT_INITIALIZED",
    err_invalid_index = "MPI_T_ERR_INVALID_INDEX",
    err_invalid_handle = "MPI_T_ERR_INVALID_HANDLE",
    err_out_of_handles = "MPI_T_ERR_OUT_OF_HANDLES",
    err_invalid = "MPI_T_ERR_INVALID",
    err_invalid_name = "MPI_T_ERR_INVALID_NAME",
    err_not_supported = "MPI_T_ERR_NOT_SUPPORTED",
    err_invalid_session = "MPI_T_ERR_INVALID_SESSION",
    err_pvar_no_startstop = "MPI_T_ERR_PVAR_NO_STARTSTOP",
    err_pvar_no_write = "MPI_T_ERR_PVAR_NO_WRITE",
    err_pvar_no_atomic = "MPI_T_ERR_PVAR_NO_ATOMIC",
    err_cvar_set_not_now = "MPI_T_ERR_CVAR_SET_NOT_NOW",
    err_cvar_set_never = "MPI_T_ERR_CVAR_SET_NEVER";
    cb_safety: 4 = [
        "MPI_T_CB_REQUIRE_NONE",
        "MPI_T_CB_REQUIRE_MPI_RESTRICTED",
        "MPI_T_CB_REQUIRE_THREAD_SAFE",
        "MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE",
    ],
    source_order: 2 = ["MPI_T_SOURCE_ORDERED", "MPI_T_SOURCE_UNORDERED"],
    verbosity: 9 = [
        "MPI_T_VERBOSITY_USER_BASIC",
        "MPI_T_VERBOSITY_USER_DETAIL",
        "MPI_T_VERBOSITY_USER_ALL",
        "MPI_T_VERBOSITY_TUNER_BASIC",
        "MPI_T_VERBOSITY_TUNER_DETAIL",
        "MPI_T_VERBOSITY_TUNER_ALL",
        "MPI_T_VERBOSITY_MPIDEV_BASIC",
        "MPI_T_VERBOSITY_MPIDEV_DETAIL",
        "MPI_T_VERBOSITY_MPIDEV_ALL",
    ],
    bind: 12 = [
        "MPI_T_BIND_NO_OBJECT",
        "MPI_T_BIND_MPI_COMM",
        "MPI_T_BIND_MPI_DATATYPE",
        "MPI_T_BIND_MPI_ERRHANDLER",
        "MPI_T_BIND_MPI_FILE",
        "MPI_T_BIND_MPI_GROUP",
        "MPI_T_BIND_MPI_OP",
        "MPI_T_BIND_MPI_REQUEST",
        "MPI_T_BIND_MPI_WIN",
        "MPI_T_BIND_MPI_MESSAGE",
        "MPI_T_BIND_MPI_INFO",
    ],
    scope: 7 = [
        "MPI_T_SCOPE_CONSTANT",
        "MPI_T_SCOPE_READONLY",
        "MPI_T_SCOPE_LOCAL",
        "MPI_T_SCOPE_GROUP",
        "MPI_T_SCOPE_GROUP_EQ",
        "MPI_T_SCOPE_ALL",
        "MPI_T_SCOPE_ALL_EQ",
    ],
    pvar_class: 10 = [
        "MPI_T_PVAR_CLASS_STATE",
        "MPI_T_PVAR_CLASS_LEVEL",
        "MPI_T_PVAR_CLASS_SIZE",
        "MPI_T_PVAR_CLASS_PERCENTAGE",
        "MPI_T_PVAR_CLASS_HIGHWATERMARK",
        "MPI_T_PVAR_CLASS_LOWWATERMARK",
        "MPI_T_PVAR_CLASS_COUNTER",
        "MPI_T_PVAR_CLASS_AGGREGATE",
        "MPI_T_PVAR_CLASS_TIMER",
        "MPI_T_PVAR_CLASS_GENERIC",
    ],
}

/// `N` numbers that follow each other.
const fn from<const N: usize>(first: c_int) -> [c_int; N] {
    let mut numbers = [first; N];
    let mut index = 1;
    while index < N {
        numbers[index] = numbers[index - 1] + 1;
        index += 1;
    }
    numbers
}

impl ToolConstants {
    pub(crate) const MPICH: Self = Self {
        err_arg: 12,
        err_intern: 16,
        err_memory: 59,
        err_not_initialized: 60,
        err_invalid_index: 62,
        err_invalid_handle: 64,
        err_out_of_handles: 65,
        err_invalid: 74,
        err_invalid_name: 73,
        err_not_supported: 78,
        err_invalid_session: 67,
        err_pvar_no_startstop: 70,
        err_pvar_no_write: 71,
        err_pvar_no_atomic: 72,
        err_cvar_set_not_now: 68,
        err_cvar_set_never: 69,
        cb_safety: from(0),
        source_order: from(0),
        verbosity: from(221),
        bind: from(9700),
        scope: from(60438),
        pvar_class: from(240),
    };

    pub(crate) const OPEN_MPI: Self = Self {
        err_arg: 13,
        err_intern: 17,
        err_memory: 54,
        err_not_initialized: 55,
        err_invalid_index: 57,
        err_invalid_handle: 59,
        err_out_of_handles: 60,
        err_invalid: 72,
        err_invalid_name: 73,
        err_not_supported: 80,
        err_invalid_session: 62,
        err_pvar_no_startstop: 65,
        err_pvar_no_write: 66,
        err_pvar_no_atomic: 67,
        err_cvar_set_not_now: 63,
        err_cvar_set_never: 64,
        cb_safety: from(0),
        source_order: from(0),
        verbosity: from(0),
        bind: from(0),
        scope: from(0),
        pvar_class: from(0),
    };

    /// Those of version 6 and later: `MPI_T_ERR_NOT_SUPPORTED` is 82 there, and 80 is `MPI_ERR_ERRHANDLER`.
    pub(crate) const OPEN_MPI_6: Self = Self { err_not_supported: 82, ..Self::OPEN_MPI };

    /// Those of the ABI of MPI-5, also for a process whose MPI is not known.
    pub const STANDARD: Self = Self {
        err_arg: 13,
        err_intern: 17,
        err_memory: 1005,
        err_not_initialized: 1003,
        err_invalid_index: 1007,
        err_invalid_handle: 1010,
        err_out_of_handles: 1012,
        err_invalid: 1006,
        err_invalid_name: 1011,
        err_not_supported: 1004,
        err_invalid_session: 1009,
        err_pvar_no_startstop: 1017,
        err_pvar_no_write: 1016,
        err_pvar_no_atomic: 1018,
        err_cvar_set_not_now: 1014,
        err_cvar_set_never: 1015,
        cb_safety: [0x00, 0x03, 0x0f, 0x3f],
        source_order: from(1),
        verbosity: [0x09, 0x0a, 0x0c, 0x11, 0x12, 0x14, 0x21, 0x22, 0x24],
        bind: from(1),
        scope: from(1),
        pvar_class: from(1),
    };
}
