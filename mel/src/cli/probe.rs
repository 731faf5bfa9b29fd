//! What `libmel.so` says outside of a program ([`mel_log::offers`]); and `mel probe`, which has that said in a process of its own. Not for
//! users.

use std::ffi::{CString, OsStr, OsString, c_char, c_void};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use mel_log::offers::{ENTRY, Entry};
use serde::de::DeserializeOwned;

use super::library;

/// What comes before an answer: an MPI library may print lines of its own.
pub const MARK: &str = "mel-probe ";

/// Tries one thing for `mel doctor` and `mel vars`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The question, in words
    #[arg(required = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Asks, and prints the answers.
///
/// # Errors
/// There is no answer.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let words: Vec<&OsStr> = args.words.iter().map(OsString::as_os_str).collect();
    ask(&words, &mut |answer| {
        // What an MPI library has printed may lack the end of its line. Who does not listen any more wants nothing.
        let mut out = io::stdout();
        let _ = write!(out, "\n{MARK}{answer}\n").and_then(|()| out.flush());
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The answers among what a process has printed, in order.
pub fn answers(printed: &str) -> impl Iterator<Item = &str> {
    printed.lines().filter_map(|line| line.strip_prefix(MARK))
}

/// The one answer to a question.
///
/// # Errors
/// There is no library, it is of another version, or it says what is wrong.
pub fn one<T: DeserializeOwned>(words: &[&OsStr]) -> anyhow::Result<T> {
    let mut all = several(words)?;
    all.pop().context("libmel.so does not answer")
}

/// The answers to a question.
///
/// # Errors
/// As [`one`].
pub fn several<T: DeserializeOwned>(words: &[&OsStr]) -> anyhow::Result<Vec<T>> {
    let mut said = Vec::new();
    ask(words, &mut |answer| said.push(serde_json::from_str(answer)))?;
    said.into_iter()
        .collect::<Result<_, _>>()
        .context("libmel.so answers in a way that this command does not know")
}

/// Has the library answer in this process. It stays open.
fn ask(words: &[&OsStr], take: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
    let (path, _) = library::find()?;
    let file = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a C string. The library does nothing before it is called.
    let opened = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if opened.is_null() {
        bail!(
            "{} cannot be opened: build MEL on this system or take a release for an older one (docs/install.md)",
            path.display()
        );
    }
    // SAFETY: an open library, and a C string.
    let entry = unsafe { libc::dlsym(opened, ENTRY.as_ptr()) };
    if entry.is_null() {
        bail!("{} is not of the version of this command; install both anew", path.display());
    }
    // SAFETY: the function of this name has this type.
    let entry = unsafe { std::mem::transmute::<*mut c_void, Entry>(entry) };
    let words: Vec<CString> =
        words.iter().map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
    let pointers: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    let mut said = Said { wrong: None, take };
    // SAFETY: as many C strings as are said; `said` lives until the function returns.
    let code = unsafe { entry(pointers.as_ptr(), pointers.len(), say, (&raw mut said).cast()) };
    if code == 0 { Ok(()) } else { Err(anyhow!(said.wrong.unwrap_or_default())) }
}

/// What the library says.
struct Said<'a> {
    /// What is wrong.
    wrong: Option<String>,
    take: &'a mut dyn FnMut(&str),
}

/// # Safety
/// As [`mel_log::offers::Say`]; `context` leads to a [`Said`].
unsafe extern "C" fn say(context: *mut c_void, is_wrong: bool, text: *const u8, bytes: usize) {
    // SAFETY: the caller promises that.
    let said = unsafe { &mut *context.cast::<Said<'_>>() };
    // SAFETY: as many bytes.
    let text = String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text, bytes) });
    if is_wrong {
        said.wrong = Some(text.into_owned());
    } else {
        (said.take)(&text);
    }
}
