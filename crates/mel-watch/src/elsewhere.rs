//! Ranks whose directory is on a disk of another node: `mel gather` has them set variables there, and tells what came of it.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use mel_log::control;
use mel_log::setting::Setting;
use serde::{Deserialize, Serialize};

use super::setting::{self, Told};
use crate::gather::supervisor::last_line;
use crate::gather::word;

/// So much longer than ranks a node is waited for: its launcher has to start there.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node, and what asks it: the words of a command, which takes further ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its name.
    pub host: String,
    /// The command that starts `mel gather DIR` there.
    pub words: Vec<String>,
}

/// What a node tells: which ranks it could ask, and what came of each setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The ranks that can be asked there.
    pub ranks: Vec<u32>,
    /// What those said that a setting was for.
    pub told: Vec<Told>,
}

impl Report {
    /// Asks the ranks in this directory.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn of(directory: &Path, settings: &[Setting]) -> anyhow::Result<Report> {
        let ranks = control::ranks(directory);
        let told = setting::ask(directory, &ranks, settings)?;
        Ok(Report { ranks, told })
    }
}

impl Elsewhere {
    /// Has the ranks of that node set them, and waits for what they say.
    ///
    /// # Errors
    /// The node could not be asked; in a few words.
    pub fn ask(&self, settings: &[Setting]) -> Result<Report, String> {
        let (command, words) = self.words.split_first().ok_or("--gather has no words")?;
        let asked = settings.iter().flat_map(|setting| ["--ask".to_owned(), encoded(setting)]);
        let child = Command::new(command)
            .args(words.iter().cloned().chain(asked))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let child = child.map_err(|error| format!("{command}: {error}"))?;
        let text = output(child)?;
        serde_json::from_str(&text)
            .map_err(|_| "what it told makes no sense: is it the same version of mel?".into())
    }
}

/// What a command writes, if it succeeds in time.
fn output(mut child: Child) -> Result<String, String> {
    let (mut out, complaint) = (child.stdout.take(), child.stderr.take().map(last_line));
    let (tells, told) = channel();
    let read = move || {
        let mut text = String::new();
        let _ = out.as_mut().map(|out| out.read_to_string(&mut text));
        let _ = tells.send(text);
    };
    thread::Builder::new().name("elsewhere".into()).spawn(read).map_err(|error| error.to_string())?;
    let text = match told.recv_timeout(setting::PATIENCE + PATIENCE) {
        Ok(text) => text,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err("no answer".into());
        }
    };
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(text);
    }
    let complaint = complaint.and_then(|complaint| complaint.join().ok()).unwrap_or_default();
    Err(if complaint.is_empty() { status.to_string() } else { complaint })
}

/// A setting as a word that no shell on the way changes.
fn encoded(setting: &Setting) -> String {
    word::encoded(setting.whole().as_bytes())
}

/// The setting that such a word is.
///
/// # Errors
/// It is none, in a few words.
pub fn decoded(word: &str) -> Result<Setting, String> {
    let text = String::from_utf8(word::decoded(word)?).map_err(|error| error.to_string())?;
    text.parse().map_err(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_arrives_as_it_was_whatever_is_in_it() {
        for text in ["a=1", "mel_no_calls=MPI_Test*,MPI_Iprobe@0,4-7", "b=it's $HOME & \"x\" %41 ä@3"] {
            let setting: Setting = text.parse().unwrap();
            let word = encoded(&setting);
            let arrived = decoded(&word).unwrap();
            assert_eq!((arrived.to_string(), arrived.ranks()), (setting.to_string(), setting.ranks()));
        }
        assert!(decoded("a%4").is_err() && decoded("a%zz=1").is_err() && decoded("nothing").is_err());
    }

    #[test]
    fn a_node_that_cannot_be_asked_says_why() {
        let node = |words: &[&str]| Elsewhere {
            host: "node".into(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        };
        let settings = ["a=1".parse().unwrap()];
        let error = node(&["/no/such/command"]).ask(&settings).unwrap_err();
        assert!(error.contains("/no/such/command"), "{error}");
        let error =
            node(&["sh", "-c", "echo one >&2; echo 'no such host' >&2; exit 1"]).ask(&settings).unwrap_err();
        assert_eq!(error, "no such host");
        // More than a pipe holds, before anything on its standard output.
        let chatty = "i=0; while [ $i -lt 3000 ]; do echo 'a line of a login message of some host' >&2; i=$((i+1)); done; exit 1";
        let error = node(&["sh", "-c", chatty]).ask(&settings).unwrap_err();
        assert!(error.contains("login message"), "{error}");
        let error = node(&["echo", "hello"]).ask(&settings).unwrap_err();
        assert!(error.contains("same version"), "{error}");
    }
}
