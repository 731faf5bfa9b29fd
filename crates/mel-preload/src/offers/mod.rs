//! What is told where this library is asked outside of a program: by the command, which opens it and calls [`mel_offers`]. The questions
//! and answers: [`mel_log::offers`].
//!
//! - `events`: which event types there are.
//! - `variables`: this library's variables, and those of an MPI library.
//! - `library`: an MPI library is opened, and initialised for a moment.
//! - `hold`, `reach`: two processes try to share memory, as ranks of one node do.

mod events;
mod library;
mod variables;

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use mel_log::offers::{Entry, Reached, Say};
use mpit_events::Clock;
use mpit_sources::transport::memory;
use mpit_sources::transport::segment::{Address, Segment};
use serde::Serialize;

/// Gives answers to whoever asked.
struct Answers {
    say: Say,
    context: *mut c_void,
}

impl Answers {
    fn text(&self, is_wrong: bool, text: &str) {
        // SAFETY: the caller of `mel_offers` has promised that this may be called until that returns.
        unsafe { (self.say)(self.context, is_wrong, text.as_ptr(), text.len()) }
    }

    /// # Errors
    /// It cannot be written as JSON.
    fn give(&self, answer: &impl Serialize) -> Result<(), String> {
        self.text(false, &serde_json::to_string(answer).map_err(|error| error.to_string())?);
        Ok(())
    }
}

// The type that the command calls it by.
const _: Entry = mel_offers;

/// Answers a question: [`mel_log::offers`]. Not inside a program that uses MPI, and at most one question about an MPI library in a process.
///
/// # Safety
/// `words` leads to `number` C strings; `say` may be called with `context` until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mel_offers(
    words: *const *const c_char,
    number: usize,
    say: Say,
    context: *mut c_void,
) -> c_int {
    let answers = Answers { say, context };
    // SAFETY: the caller promises as many C strings.
    let words = (0..number).map(|place| unsafe { CStr::from_ptr(*words.add(place)) });
    let words: Vec<&OsStr> = words.map(|word| OsStr::from_bytes(word.to_bytes())).collect();
    let answered = catch_unwind(AssertUnwindSafe(|| answer(&words, &answers)));
    match answered.unwrap_or_else(|_| Err("libmel.so has failed to answer".into())) {
        Ok(()) => 0,
        Err(error) => {
            answers.text(true, &error);
            1
        }
    }
}

fn answer(words: &[&OsStr], answers: &Answers) -> Result<(), String> {
    let Some((question, rest)) = words.split_first() else { return Err("nothing is asked".into()) };
    let text: Vec<&str> = rest.iter().filter_map(|word| word.to_str()).collect();
    match (question.to_str().unwrap_or_default(), rest) {
        ("events", []) => answers.give(&events::all(None)?),
        ("events", [path]) => answers.give(&events::all(Some(library::ask(Path::new(path))?))?),
        ("variables", []) => variables::ours().try_for_each(|variable| answers.give(&variable)),
        ("variables", [path]) => variables::of_library(Path::new(path), answers),
        ("setting", [_, _]) if text.len() == 2 => answers.give(&variables::why_not(text[0], text[1])),
        ("library", [path]) => answers.give(&library::ask(Path::new(path))?.library),
        ("clock", []) => answers.give(&(Clock::best() == Clock::Tsc)),
        ("hold", []) => hold(answers),
        ("reach", _) => reach(&text, answers),
        _ => {
            Err(format!("libmel.so does not know what `{}` is; it is of another version", question.display()))
        }
    }
}

/// Bytes of the memory that is shared for a try.
const BYTES: usize = 4096;

/// Has memory to share, says where, and stays until the end of standard input.
///
/// # Errors
/// The system has no such memory.
fn hold(answers: &Answers) -> Result<(), String> {
    let segment = Segment::create(BYTES).map_err(|error| format!("memfd_create: {error}"))?;
    let address = segment.address().ok_or("memory without an address")?;
    answers.give(&address.words())?;
    let read = io::stdin().read_to_end(&mut Vec::new());
    read.map(|_| ()).map_err(|error| error.to_string())
}

/// Tries to reach what another process [holds](hold).
///
/// # Errors
/// This is no address.
fn reach(words: &[&str], answers: &Answers) -> Result<(), String> {
    let words: Vec<i32> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let words = words.try_into().map_err(|_| "an address has other numbers")?;
    let address = Address::of_words(words);
    let why_not_shared = Segment::open(address, BYTES).err().map(|error| error.to_string());
    answers.give(&Reached { why_not_shared, may_be_read: memory::system_allows(address.pid) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    /// What is answered, and whether it is an error.
    fn asked(words: &[&str]) -> (c_int, Vec<String>) {
        unsafe extern "C" fn say(context: *mut c_void, _: bool, text: *const u8, bytes: usize) {
            // SAFETY: as it is called below.
            let said = unsafe { &mut *context.cast::<Vec<String>>() };
            // SAFETY: as many bytes.
            let text = unsafe { std::slice::from_raw_parts(text, bytes) };
            said.push(String::from_utf8(text.to_vec()).unwrap());
        }
        let words: Vec<CString> = words.iter().map(|word| CString::new(*word).unwrap()).collect();
        let pointers: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        let mut said: Vec<String> = Vec::new();
        // SAFETY: as many C strings; what is said goes to a list that lives.
        let code = unsafe { mel_offers(pointers.as_ptr(), pointers.len(), say, (&raw mut said).cast()) };
        (code, said)
    }

    #[test]
    fn questions_are_answered() {
        let (code, said) = asked(&["events"]);
        assert_eq!((code, said.len()), (0, 1));
        let events: mel_log::offers::Events = serde_json::from_str(&said[0]).unwrap();
        assert_eq!((events.types.len(), events.mpi), (30, None));
        assert_eq!(events.all_backends, ["model", "peruse"]);
        let (code, said) = asked(&["variables"]);
        assert!(code == 0 && said.len() > 30, "{} variables", said.len());
        assert_eq!(asked(&["setting", "mel_recording", "off"]), (0, vec!["null".into()]));
    }

    #[test]
    fn what_cannot_be_answered_is_said() {
        assert_eq!(asked(&[]), (1, vec!["nothing is asked".into()]));
        let (code, said) = asked(&["library", "/bin/no-such-library"]);
        assert!(code == 1 && said[0].starts_with("cannot open /bin/no-such-library: "), "{said:?}");
        let (code, said) = asked(&["what"]);
        assert!(code == 1 && said[0].contains("`what`"), "{said:?}");
    }
}
