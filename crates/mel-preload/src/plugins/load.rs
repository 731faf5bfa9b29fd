//! Finds a plugin, opens it, and asks what it wants to hear.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use mel_log::plugin_list::PluginName;
use mel_plugin::raw;

use super::services::Asker;
use super::shared::Shared;

/// A plugin that runs.
#[derive(Debug)]
pub(super) struct Plugin {
    pub(super) title: String,
    pub(super) callbacks: raw::Callbacks,
    /// The variables that it wants to be sampled, as it has written them.
    pub(super) variables: String,
}

// SAFETY: the callbacks are called by one thread at a time, which is what plugins are promised.
unsafe impl Send for Plugin {}
// SAFETY: nothing but these callbacks is changed by their use.
unsafe impl Sync for Plugin {}

/// Room for the callbacks of a plugin that was built for another version and believes that they are larger.
#[repr(C, align(16))]
struct Room {
    callbacks: raw::Callbacks,
    _more: [u8; 4096],
}

/// Opens a plugin. In `MPI_Init*`, on the thread that calls it.
///
/// # Errors
/// Why it does not run, for the user.
pub(super) fn load(
    name: &PluginName,
    directories: &str,
    (place, shared): (usize, &'static Shared),
    (rank, ranks): (i32, i32),
) -> Result<Plugin, String> {
    let path = name.find(directories)?;
    let asker = Asker::new(name.title(), place, shared);
    let init = open(&path).map_err(|why| format!("plugin {}: {why}", name.name))?;
    // As C programs have them: they may keep pointers to these.
    let words = std::iter::once(&name.name).chain(&name.arguments);
    let words: Vec<*mut c_char> =
        words.map(|word| CString::new(word.as_str()).unwrap_or_default().into_raw()).collect();
    let count = c_int::try_from(words.len()).unwrap_or(0);
    let words: &'static mut [*mut c_char] =
        Box::leak(words.into_iter().chain([std::ptr::null_mut()]).collect::<Box<[_]>>());
    let mut room = Room { callbacks: raw::Callbacks::NONE, _more: [0; 4096] };
    // SAFETY: the function of this name has this signature; all that is given stays, but for the room, which it fills now.
    let code =
        unsafe { init(asker.services(rank, ranks), &raw mut room.callbacks, count, words.as_mut_ptr()) };
    accept(name.title(), code, &room.callbacks).map_err(|why| format!("plugin {}: {why}", name.name))
}

/// What a plugin's initialisation has come to.
fn accept(title: &str, code: c_int, callbacks: &raw::Callbacks) -> Result<Plugin, String> {
    if code != 0 {
        return Err(format!("it does not want to run (mel_plugin_init has returned {code})"));
    }
    if let Some(objection) = callbacks.objection() {
        return Err(objection);
    }
    let variables = match callbacks.variables.is_null() {
        true => String::new(),
        // SAFETY: of this version it is null or a text that ends with a zero.
        false => unsafe { CStr::from_ptr(callbacks.variables) }.to_string_lossy().into_owned(),
    };
    Ok(Plugin { title: title.to_owned(), callbacks: *callbacks, variables })
}

/// The function of a shared object by which it begins.
fn open(path: &Path) -> Result<raw::Init, String> {
    // Without a slash the linker would look elsewhere.
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: a path that ends with a zero. What the object does when it is loaded is what the user wants.
    let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if object.is_null() {
        return Err(format!("it cannot be loaded: {}", last_error()));
    }
    let name = CString::new(raw::INIT).unwrap_or_default();
    // SAFETY: an object that is open, and a name that ends with a zero.
    let found = unsafe { libc::dlsym(object, name.as_ptr()) };
    if found.is_null() {
        return Err(format!("it has no function {}: it is no plugin of MEL", raw::INIT));
    }
    // SAFETY: what has this name has this signature: that makes it a plugin.
    Ok(unsafe { std::mem::transmute::<*mut std::ffi::c_void, raw::Init>(found) })
}

fn last_error() -> String {
    // SAFETY: the text is there until the next function of the linker is called by this thread.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "for no reason given".into();
    }
    // SAFETY: not null, so a text that ends with a zero; this thread calls no function of the linker before it is copied.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shared() -> &'static Shared {
        Box::leak(Box::new(Shared::new(Box::new(|_| None))))
    }

    /// A plugin of this source text, loaded.
    fn loaded(text: &str, arguments: &[&str]) -> Result<Plugin, String> {
        let directory = tempfile::tempdir().unwrap();
        let (source, file) = (directory.path().join("a.c"), directory.path().join("libtry.so"));
        std::fs::write(&source, text).unwrap();
        let mut command = std::process::Command::new("cc");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        command.args(["-Wall", "-Werror", "-shared", "-fPIC", "-I"]).arg(include).arg("-o").arg(&file);
        assert!(command.arg(&source).status().unwrap().success());
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        let name = PluginName { name: "try".into(), arguments };
        load(&name, directory.path().to_str().unwrap(), (0, shared()), (3, 4))
    }

    #[test]
    fn a_plugin_says_what_it_wants() {
        let text = r#"
            #include <mel_plugin.h>
            #include <string.h>
            static void ticked(void *data, const struct mel_plugin_interrupt *interrupt) { (void)data; (void)interrupt; }
            int mel_plugin_init(const struct mel_plugin_services *mel, struct mel_plugin_callbacks *callbacks, int argc, char **argv)
            {
                if (mel->size != sizeof *mel || mel->version != MEL_PLUGIN_VERSION || mel->rank != 3 || mel->ranks != 4)
                    return 1;
                if (argc != 3 || strcmp(argv[0], "try") || strcmp(argv[1], "a") || strcmp(argv[2], "b=1") || argv[3])
                    return 2;
                if (callbacks->size || callbacks->interrupt_trigger)
                    return 3;
                callbacks->version = MEL_PLUGIN_VERSION;
                callbacks->size = sizeof *callbacks;
                callbacks->variables = "mel_*";
                callbacks->interrupt_trigger = ticked;
                return 0;
            }"#;
        let plugin = loaded(text, &["a", "b=1"]).unwrap();
        assert_eq!((&*plugin.title, &*plugin.variables), ("try", "mel_*"));
        assert!(plugin.callbacks.interrupt_trigger.is_some() && plugin.callbacks.end_of_execution.is_none());
        assert!(loaded(text, &[]).unwrap_err().contains("mel_plugin_init has returned 2"));
    }

    #[test]
    fn what_is_no_plugin_is_refused_with_a_reason() {
        assert!(
            loaded("int other(void) { return 0; }", &[]).unwrap_err().contains("no function mel_plugin_init")
        );
        let larger = r#"
            #include <mel_plugin.h>
            #include <string.h>
            int mel_plugin_init(const struct mel_plugin_services *mel, struct mel_plugin_callbacks *callbacks, int argc, char **argv)
            {
                (void)mel; (void)argc; (void)argv;
                memset(callbacks, 0x5a, 3000);
                callbacks->version = MEL_PLUGIN_VERSION;
                return 0;
            }"#;
        assert!(loaded(larger, &[]).unwrap_err().contains("bytes instead of"));
        let silent = "int mel_plugin_init(void) { return 0; }";
        assert!(loaded(silent, &[]).unwrap_err().contains("version 0"));
        let missing = PluginName::parse("./no-such.so").unwrap();
        let why = load(&missing, "", (0, shared()), (0, 1)).unwrap_err();
        assert!(why.contains("no such file"), "{why}");
        let text = PluginName::parse("/etc/passwd").unwrap();
        assert!(load(&text, "", (0, shared()), (0, 1)).unwrap_err().contains("cannot be loaded"));
    }

    proptest! {
        /// Whatever a plugin has written there, nothing of it is used but where version and size are right.
        #[test]
        fn callbacks_of_another_shape_are_refused(bytes in proptest::collection::vec(any::<u8>(), size_of::<raw::Callbacks>()), version in 0u32..3) {
            let mut callbacks = raw::Callbacks::NONE;
            // SAFETY: numbers and pointers of any value; none of them is followed, and none is called.
            callbacks.size = usize::from_ne_bytes(bytes[..8].try_into().unwrap());
            callbacks.version = version;
            callbacks.variables = usize::from_ne_bytes(bytes[24..32].try_into().unwrap()) as *const c_char;
            prop_assume!(callbacks.size != size_of::<raw::Callbacks>() || version != raw::VERSION);
            prop_assert!(accept("p", 0, &callbacks).is_err());
        }
    }
}
