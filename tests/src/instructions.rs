//! Instructions of MEL's own, counted by callgrind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Where the instructions of our libraries' calls are counted in full: the C library, and what finds the thread's variables.
const HELPERS: [&str; 3] = ["/libc.so", "/ld-linux", "/libm.so"];
/// Calls of the C library in which a thread waits: other threads run meanwhile, and callgrind counts what they do for the call.
const WAITING: [&str; 3] = ["pthread_cond_", "sem_", "syscall"];

/// Our instructions in a dump of callgrind: those in the library of which the name ends so, and those of the C library that it calls; none of MPI, neither those
/// of the program's calls nor those of ours. And what the dump is called.
fn counted(dump: &str, library: &str) -> (String, u64) {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut trigger = String::new();
    let (mut object, mut callee, mut of_call, mut waits) = ("", None, false, false);
    let mut functions: BTreeMap<&str, &str> = BTreeMap::new();
    let mut sum = 0;
    // `(7) name` the first time, `(7)` from then on.
    fn named<'a>(names: &mut BTreeMap<&'a str, &'a str>, text: &'a str) -> &'a str {
        let (number, name) = text.split_once(' ').unwrap_or((text, ""));
        names
            .entry(number)
            .and_modify(|known| *known = if name.is_empty() { known } else { name })
            .or_insert(name)
    }
    for line in dump.lines() {
        if let Some(text) = line.strip_prefix("desc: Trigger: Client Request: ") {
            trigger = text.to_owned();
        } else if let Some(text) = line.strip_prefix("ob=") {
            object = named(&mut names, text);
        } else if let Some(text) = line.strip_prefix("cob=") {
            callee = Some(named(&mut names, text));
        } else if let Some(text) = line.strip_prefix("fn=") {
            named(&mut functions, text);
        } else if let Some(text) = line.strip_prefix("cfn=") {
            let function = named(&mut functions, text);
            waits = WAITING.iter().any(|name| function.contains(name));
        } else if line.starts_with("calls=") {
            of_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost: u64 = line.split_whitespace().nth(1).and_then(|cost| cost.parse().ok()).unwrap_or(0);
            let callee = callee.take();
            // The cost of a call is that of all that the callee does.
            let counts = match std::mem::take(&mut of_call) {
                false => true,
                true => {
                    let is_helper = |callee: &str| HELPERS.iter().any(|helper| callee.contains(helper));
                    !std::mem::take(&mut waits) && callee.is_some_and(is_helper)
                }
            };
            if object.ends_with(library) && counts {
                sum += cost;
            }
        }
    }
    (trigger, sum)
}

/// By what the dumps are called that a run under callgrind has left in a folder, as `dump.PROCESS.NUMBER`: the instructions in the library
/// of this name, of the process that has most of them.
///
/// # Panics
///
/// If the folder cannot be read.
pub fn in_dumps(folder: &Path, library: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("dump.")) {
            let (trigger, sum) = counted(&fs::read_to_string(&path).expect("a dump is text"), library);
            if !trigger.is_empty() {
                let most: &mut u64 = found.entry(trigger).or_default();
                *most = sum.max(*most);
            }
        }
    }
    found
}
