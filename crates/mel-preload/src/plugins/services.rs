//! What plugins may ask for: C functions, each with the plugin that asks. Control variables that they set while the program runs: those of
//! the MPI and those of MEL.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use mel_log::control::Verdict;
use mel_log::setting::Setting as Wanted;
use mel_plugin::raw;

use super::shared::{Setting, Shared};
use super::teller::Outcome;
use crate::{settings, warn};

/// So many lines of one plugin are written on standard error.
const MOST_WARNINGS: u32 = 100;

/// Who asks. Stays as long as the process.
pub(super) struct Asker {
    /// What the plugin is called.
    pub(super) title: String,
    /// Its place among the plugins.
    pub(super) place: usize,
    pub(super) shared: &'static Shared,
    warned: AtomicU32,
}

impl Asker {
    pub(super) fn new(title: &str, place: usize, shared: &'static Shared) -> &'static Asker {
        Box::leak(Box::new(Asker { title: title.to_owned(), place, shared, warned: AtomicU32::new(0) }))
    }

    /// The services for this one, which stay, too.
    pub(super) fn services(&'static self, rank: i32, ranks: i32) -> &'static raw::Services {
        Box::leak(Box::new(raw::Services {
            size: size_of::<raw::Services>(),
            version: raw::VERSION,
            rank,
            ranks,
            plugin: std::ptr::from_ref(self).cast_mut().cast(),
            read: Some(read),
            set: Some(set),
            metadata: Some(metadata),
            warn: Some(write),
            calls: Some(calls),
        }))
    }
}

/// Answers, whatever goes wrong. Without a plugin, or with what is no text, there is no answer.
///
/// # Safety
///
/// `plugin` is null or that of the services; `text` is null or ends with a zero.
unsafe fn answer(
    plugin: *mut c_void,
    text: *const c_char,
    answer: impl FnOnce(&Asker, &str) -> Option<c_int>,
) -> c_int {
    if plugin.is_null() || text.is_null() {
        return -1;
    }
    // SAFETY: the services point to an asker that stays.
    let asker = unsafe { &*plugin.cast_const().cast::<Asker>() };
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    match catch_unwind(AssertUnwindSafe(|| answer(asker, &text))) {
        Ok(answer) => answer.unwrap_or(-1),
        Err(panic) => {
            // Its destructor might panic in turn.
            std::mem::forget(panic);
            -1
        }
    }
}

unsafe extern "C" fn read(plugin: *mut c_void, name: *const c_char, values: *mut f64, room: c_int) -> c_int {
    // SAFETY: the plugin has these from us.
    unsafe {
        answer(plugin, name, |asker, name| {
            let last = asker.shared.last(name);
            let count = last.len().min(usize::try_from(room).ok()?);
            if count > 0 && values.is_null() {
                return None;
            }
            for (place, value) in last.iter().take(count).enumerate() {
                // SAFETY: the plugin gives room for so many.
                values.add(place).write(*value);
            }
            c_int::try_from(last.len()).ok()
        })
    }
}

unsafe extern "C" fn set(plugin: *mut c_void, name: *const c_char, value: *const c_char) -> c_int {
    if value.is_null() {
        return -1;
    }
    // SAFETY: the plugin gives two texts.
    unsafe {
        answer(plugin, name, |asker, name| {
            let value = CStr::from_ptr(value).to_string_lossy().into_owned();
            let setting = Setting { plugin: asker.place, name: name.to_owned(), value };
            asker.shared.set(setting).then_some(0)
        })
    }
}

unsafe extern "C" fn metadata(plugin: *mut c_void, name: *const c_char, value: *const c_char) -> c_int {
    if value.is_null() {
        return -1;
    }
    // SAFETY: the plugin gives two texts.
    unsafe {
        answer(plugin, name, |asker, name| {
            let value = CStr::from_ptr(value).to_string_lossy();
            asker.shared.tell(&asker.title, name, &value).then_some(0)
        })
    }
}

unsafe extern "C" fn write(plugin: *mut c_void, line: *const c_char) {
    // SAFETY: the plugin has these from us, and gives a text.
    unsafe {
        answer(plugin, line, |asker, line| {
            match asker.warned.fetch_add(1, Ordering::Relaxed) {
                0..MOST_WARNINGS => warn(&format!("{}: {}", asker.title, line.trim_end())),
                MOST_WARNINGS => warn(&format!("{}: no more lines of this plugin are shown", asker.title)),
                // It does not come around again.
                _ => asker.warned.store(MOST_WARNINGS + 1, Ordering::Relaxed),
            }
            Some(0)
        })
    };
}

unsafe extern "C" fn calls(plugin: *mut c_void, function: *const c_char, calls: *mut raw::Calls) -> c_int {
    if calls.is_null() {
        return -1;
    }
    // SAFETY: the plugin has these from us, and gives room for the answer.
    unsafe {
        answer(plugin, function, |asker, function| {
            calls.write((asker.shared.calls)(function)?);
            Some(0)
        })
    }
}

/// Sets a variable and reads it back. In a hook, where the program may call MPI.
pub(super) fn set_control(setting: &Setting) -> Outcome {
    let (verdict, line) = match wanted(setting) {
        Some(wanted) => {
            let outcome = settings::set(&wanted);
            (outcome.verdict, outcome.text)
        }
        None => (Verdict::Refused, "not set: that is no name and value of a control variable".to_owned()),
    };
    let has_value = matches!(verdict, Verdict::Set | Verdict::WithoutEffect);
    let (name, value) = (setting.name.clone(), setting.value.clone());
    let read_back = if has_value { value.clone() } else { String::new() };
    Outcome { name, value, read_back, has_value, line }
}

/// As users write it, where that is the same.
fn wanted(setting: &Setting) -> Option<Wanted> {
    let wanted: Wanted = format!("{}={}", setting.name, setting.value).parse().ok()?;
    (wanted.name == setting.name && wanted.value == setting.value).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_answered_with_no() {
        let shared: &'static Shared =
            Box::leak(Box::new(Shared::new(Box::new(|_| panic!("a fault of ours")))));
        let services = Asker::new("p", 0, shared).services(0, 1);
        let (null, name) = (std::ptr::null(), c"a".as_ptr());
        let mut of = raw::Calls::default();
        // SAFETY: texts, null pointers and room, as the header says.
        unsafe {
            assert_eq!(read(std::ptr::null_mut(), name, std::ptr::null_mut(), 0), -1);
            assert_eq!(set(services.plugin, name, null), -1);
            assert_eq!(set(services.plugin, null, name), -1);
            assert_eq!(metadata(services.plugin, c"n".as_ptr(), null), -1);
            assert_eq!(calls(services.plugin, name, &raw mut of), -1, "a panic ends there");
            shared.keep("a", &[3.0, 1.0, 2.0]);
            let mut room = [0.0; 1];
            assert_eq!(read(services.plugin, name, room.as_mut_ptr(), 1), 2);
            assert_eq!(read(services.plugin, name, room.as_mut_ptr(), -1), -1);
            assert_eq!(read(services.plugin, name, std::ptr::null_mut(), 5), -1);
            assert_eq!(room, [1.0]);
        }
    }

    #[test]
    fn a_value_is_taken_as_it_is_or_not_at_all() {
        let of = |name: &str, value: &str| {
            wanted(&Setting { plugin: 0, name: name.into(), value: value.into() }).map(|wanted| wanted.value)
        };
        assert_eq!(of("a", "me@there"), Some("me@there".into()));
        assert_eq!(of("a", "1,2"), Some("1,2".into()));
        // A value for some ranks only, several settings, no name.
        assert_eq!((of("a", "1@0"), of("a", "1;b=2"), of("", "1"), of("a=1", "2")), (None, None, None, None));
    }
}
