//! The structures of `include/mel_plugin.h`, as C lays them out. A test compares the two.

use std::ffi::{c_char, c_int, c_void};

/// The version of the interface: `MEL_PLUGIN_VERSION`.
pub const VERSION: u32 = 1;
/// The function that a plugin has.
pub const INIT: &str = "mel_plugin_init";

/// `MEL_PLUGIN_MPI_FUNCTION`.
pub const MPI_FUNCTION: i32 = 0;
/// `MEL_PLUGIN_PHASE`.
pub const PHASE: i32 = 1;
/// `MEL_PLUGIN_REGION`.
pub const REGION: i32 = 2;
/// `MEL_PLUGIN_FINALIZED`.
pub const FINALIZED: i32 = 0;
/// `MEL_PLUGIN_ABORTED`.
pub const ABORTED: i32 = 1;
/// `MEL_PLUGIN_EXITED`.
pub const EXITED: i32 = 2;

/// `struct mel_plugin_function`.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Function {
    pub name: *const c_char,
    pub kind: i32,
}

/// `struct mel_plugin_variable`.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Variable {
    pub number: u32,
    pub of_mpi: i32,
    pub name: *const c_char,
    pub description: *const c_char,
    pub class_name: *const c_char,
    pub object: *const c_char,
}

/// `struct mel_plugin_sample`.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Sample {
    pub variable: *const Variable,
    pub time: f64,
    pub value: f64,
    pub count: u64,
    pub elements: *const f64,
}

/// `struct mel_plugin_interrupt`.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Interrupt {
    pub time: f64,
    pub number: u64,
}

/// `struct mel_plugin_end`.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct End {
    pub time: f64,
    pub how: i32,
}

/// `struct mel_plugin_control`.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Control {
    pub name: *const c_char,
    pub value: *const c_char,
    pub read_back: *const c_char,
    pub has_value: i32,
    pub outcome: *const c_char,
}

/// `struct mel_plugin_calls`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Calls {
    pub calls: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub seconds: f64,
    pub run_seconds: f64,
}

/// `struct mel_plugin_services`.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Services {
    pub size: usize,
    pub version: u32,
    pub rank: i32,
    pub ranks: i32,
    pub plugin: *mut c_void,
    pub read: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut f64, c_int) -> c_int>,
    pub set: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> c_int>,
    pub metadata: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> c_int>,
    pub warn: Option<unsafe extern "C" fn(*mut c_void, *const c_char)>,
    pub calls: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut Calls) -> c_int>,
}

/// `struct mel_plugin_callbacks`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header has the words")]
pub struct Callbacks {
    pub size: usize,
    pub version: u32,
    pub data: *mut c_void,
    pub variables: *const c_char,
    pub function_registration: Option<unsafe extern "C" fn(*mut c_void, *const Function)>,
    pub atomic_event_registration: Option<unsafe extern "C" fn(*mut c_void, *const Variable)>,
    pub atomic_event_trigger: Option<unsafe extern "C" fn(*mut c_void, *const Sample)>,
    pub interrupt_trigger: Option<unsafe extern "C" fn(*mut c_void, *const Interrupt)>,
    pub end_of_execution: Option<unsafe extern "C" fn(*mut c_void, *const End)>,
    pub control_set: Option<unsafe extern "C" fn(*mut c_void, *const Control)>,
}

/// `mel_plugin_init`.
pub type Init = unsafe extern "C" fn(*const Services, *mut Callbacks, c_int, *mut *mut c_char) -> c_int;

impl Callbacks {
    /// As a plugin gets them: it hears nothing.
    pub const NONE: Callbacks = Callbacks {
        size: 0,
        version: 0,
        data: std::ptr::null_mut(),
        variables: std::ptr::null(),
        function_registration: None,
        atomic_event_registration: None,
        atomic_event_trigger: None,
        interrupt_trigger: None,
        end_of_execution: None,
        control_set: None,
    };

    /// Why these are not those of this version; `None` where they are. Nothing else in them is looked at before that.
    pub fn objection(&self) -> Option<String> {
        let (size, version) = (size_of::<Callbacks>(), VERSION);
        if self.version != version {
            let theirs = self.version;
            return Some(format!(
                "it was built for version {theirs} of mel_plugin.h, and this is version {version}: build it again"
            ));
        }
        (self.size != size).then(|| {
            let theirs = self.size;
            format!("its callbacks have {theirs} bytes instead of {size}: set callbacks->size, or build it again with this mel_plugin.h")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;
    use std::process::Command;

    #[test]
    fn other_versions_and_sizes_are_refused() {
        let right = Callbacks { size: size_of::<Callbacks>(), version: VERSION, ..Callbacks::NONE };
        assert_eq!(right.objection(), None);
        for version in (0..64).chain([u32::MAX]).filter(|version| *version != VERSION) {
            assert!(Callbacks { version, ..right }.objection().unwrap().contains("version"));
        }
        for size in (0..4096).chain([usize::MAX]).filter(|size| *size != right.size) {
            assert!(Callbacks { size, ..right }.objection().unwrap().contains("bytes"), "{size}");
        }
    }

    /// Sizes, and where each field is, as the C compiler has them.
    #[test]
    fn the_header_lays_out_the_same() {
        let mut expected = Vec::new();
        let mut lines = String::new();
        macro_rules! same {
            ($rust:ident, $c:literal, $($field:ident),*) => {
                expected.push(size_of::<$rust>());
                lines += concat!("printf(\"%zu\\n\", sizeof(struct ", $c, "));\n");
                $(
                    expected.push(offset_of!($rust, $field));
                    lines += concat!("printf(\"%zu\\n\", offsetof(struct ", $c, ", ", stringify!($field), "));\n");
                )*
            };
        }
        same!(Function, "mel_plugin_function", name, kind);
        same!(Variable, "mel_plugin_variable", number, of_mpi, name, description, class_name, object);
        same!(Sample, "mel_plugin_sample", variable, time, value, count, elements);
        same!(Interrupt, "mel_plugin_interrupt", time, number);
        same!(End, "mel_plugin_end", time, how);
        same!(Control, "mel_plugin_control", name, value, read_back, has_value, outcome);
        same!(Calls, "mel_plugin_calls", calls, bytes_sent, bytes_received, seconds, run_seconds);
        same!(
            Services,
            "mel_plugin_services",
            size,
            version,
            rank,
            ranks,
            plugin,
            read,
            set,
            metadata,
            warn,
            calls
        );
        same!(
            Callbacks,
            "mel_plugin_callbacks",
            size,
            version,
            data,
            variables,
            function_registration,
            atomic_event_registration,
            atomic_event_trigger,
            interrupt_trigger,
            end_of_execution,
            control_set
        );
        let directory = tempfile::tempdir().unwrap();
        let (source, program) = (directory.path().join("a.c"), directory.path().join("a"));
        let text = format!(
            "#include <mel_plugin.h>\n#include <stdio.h>\nint main(void) {{\n{lines}printf(\"%d\\n\", MEL_PLUGIN_VERSION);\nreturn 0; }}\n"
        );
        std::fs::write(&source, text).unwrap();
        let include = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        for (compiler, language) in [("cc", "-std=c99"), ("c++", "-xc++")] {
            let mut command = Command::new(compiler);
            command.args([language, "-Wall", "-Wextra", "-Werror", "-I"]).arg(&include).arg(&source);
            let status = command.arg("-o").arg(&program).status();
            assert!(status.unwrap().success(), "{compiler}");
            let output = Command::new(&program).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let found: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
            let expected: Vec<usize> = expected.iter().copied().chain([VERSION as usize]).collect();
            assert_eq!(found, expected, "{compiler}");
        }
    }
}
