//! All processes come together, and the first one says who does what.
//!
//! Each makes its file and a note `hello-N` that names it. Process 0 waits for the notes of all and answers with the plan, which names all
//! files. What an earlier try has left in the folder is of nobody who is there: process 0 removes it, whoever finds its own note removed
//! writes it again, and a plan that does not name one's own file is not for oneself.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use mel_log::{access, regular_file};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::group::{LOOK, SIGNS, Signs, Together};
use super::life::{Identity, Watch};
use super::outbox::{Outbox, Reader};
use super::plan::{Hello, Plan};

/// So often one tries to write its first files.
const TRIES: usize = 20;

/// How processes meet.
#[derive(Clone, Copy, Debug)]
pub struct Meeting<'a> {
    /// The folder, which is theirs alone.
    pub folder: &'a Path,
    /// The number of this process, and how many there are.
    pub process: u32,
    /// How many there are.
    pub size: u32,
    /// How long one waits for another that gives no sign of life.
    pub patience: Duration,
}

impl Meeting<'_> {
    /// Meets the others. `begin` is called in process 0 when all are there, and told whether an earlier try was left unfinished; it says how many
    /// ranks there are, and which of them have logs. `None`: process 0 does not begin, and has said why.
    ///
    /// # Errors
    /// The folder cannot be written, not all processes come, or `begin` fails.
    pub fn begin(
        self,
        begin: impl FnOnce(bool) -> anyhow::Result<(u32, Vec<u32>)>,
    ) -> anyhow::Result<Option<Together>> {
        let hello = Hello::here(self.process);
        let was_left = self.process == 0 && self.tidy()?;
        // Process 0 may be removing what was left.
        let mut came = self.come(&hello);
        for _ in 0..TRIES {
            if came.is_err() {
                thread::sleep(LOOK);
                came = self.come(&hello);
            }
        }
        let outbox = came.map_err(|error| anyhow!("cannot write {}: {error}", self.folder.display()))?;
        let signs = Signs::of(Arc::clone(&outbox), self.patience);
        let (plan, begun) = match self.process {
            0 => self.gather(was_left, begin),
            _ => match self.await_plan(&hello) {
                Ok(plan) => (plan, Ok(())),
                Err(error) => (Plan::default(), Err(error)),
            },
        };
        let together = Together {
            folder: self.folder.to_owned(),
            process: self.process,
            size: self.size,
            patience: self.patience,
            outbox,
            plan,
            failure: Mutex::default(),
            signs,
        };
        begun?;
        Ok(Some(together).filter(|together| !together.plan.is_refused))
    }

    fn hello_of(&self, process: u32) -> PathBuf {
        self.folder.join(format!("hello-{process}"))
    }

    /// Removes what an earlier try has left; whether it has. One that goes on is an error.
    fn tidy(&self) -> anyhow::Result<bool> {
        if !self.folder.exists() {
            return Ok(false);
        }
        let Some(first) = read::<Hello>(&self.hello_of(0)) else {
            // Others of this try may be there already.
            let had_plan = self.folder.join("plan").exists();
            self.remove_contents()?;
            return Ok(had_plan);
        };
        let mut reader = Reader::new(&self.folder.join(&first.outbox), 0);
        let is_gone = reader.is_gone();
        let mut watch = Watch::new(first.identity.clone());
        let patience = 3 * SIGNS;
        let _ = watch.is_over(&reader, patience);
        let bytes = reader.bytes();
        while !is_gone && !watch.is_over(&reader, patience) {
            thread::sleep(LOOK);
            reader.read();
            if reader.bytes() > bytes {
                let Identity { host, pid, .. } = first.identity;
                bail!(
                    "process {pid} on {host} is writing this trace; wait for its end, or choose another place with -o"
                );
            }
        }
        self.remove_contents()?;
        Ok(true)
    }

    fn remove_contents(&self) -> anyhow::Result<()> {
        let failed = || format!("cannot remove what an earlier try has left in {}", self.folder.display());
        for entry in fs::read_dir(self.folder).with_context(failed)?.flatten() {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(failed);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes the file of this process and its note, or makes them again.
    fn come(&self, hello: &Hello) -> io::Result<Arc<Outbox>> {
        access::create_directories(self.folder)?;
        let outbox = Outbox::create(&self.folder.join(&hello.outbox))?;
        write(&self.hello_of(self.process), hello)?;
        Ok(Arc::new(outbox))
    }

    /// What process 0 does until all can begin.
    fn gather(
        &self,
        was_left: bool,
        begin: impl FnOnce(bool) -> anyhow::Result<(u32, Vec<u32>)>,
    ) -> (Plan, anyhow::Result<()>) {
        let mut plan = Plan::default();
        let begun = self.all_come().and_then(|all| {
            plan.all = all;
            begin(was_left)
        });
        let begun = begun.map(|(world, ranks)| {
            plan.world = world;
            plan = std::mem::take(&mut plan).with_threads();
            let of = |process| {
                let range = plan.ranks(process);
                ranks.iter().filter(|rank| range.contains(rank)).count() as u32
            };
            plan.logs = (0..self.size).map(of).collect();
        });
        if begun.is_err() {
            plan.is_refused = true;
            // Those that are there, so that they do not wait.
            let there = |process| read(&self.hello_of(process)).unwrap_or_default();
            plan.all = (0..self.size).map(there).collect();
        }
        let path = self.folder.join("plan");
        let written =
            write(&path, &plan).map_err(|error| anyhow!("cannot write {}: {error}", path.display()));
        (plan, begun.and(written))
    }

    /// The notes of all.
    fn all_come(&self) -> anyhow::Result<Vec<Hello>> {
        let mut all: Vec<Option<Hello>> = vec![None; self.size as usize];
        let mut last = Instant::now();
        loop {
            // A client of NFS that lists a folder hears of what is new in it.
            let _ = fs::read_dir(self.folder).map(Iterator::count);
            for (process, hello) in (0..).zip(&mut all).filter(|(_, hello)| hello.is_none()) {
                *hello = read(&self.hello_of(process));
                if hello.is_some() {
                    last = Instant::now();
                }
            }
            let Some(missing) = all.iter().position(Option::is_none) else {
                return Ok(all.into_iter().flatten().collect());
            };
            let has_ended =
                |hello: &Option<Hello>| hello.as_ref().is_some_and(|hello| hello.identity.has_ended());
            if let Some(process) = all.iter().position(has_ended) {
                bail!("process {process} of {} has ended before all others came; start all again", self.size);
            }
            if last.elapsed() > self.patience {
                bail!(
                    "the launcher speaks of {} processes, and {} of them have come within {} s (process {missing} has not): \
                     is each of them `mel convert`, and does each node see {}? --alone converts with one process",
                    self.size,
                    all.iter().flatten().count(),
                    self.patience.as_secs_f64().ceil(),
                    self.folder.parent().unwrap_or(self.folder).display(),
                );
            }
            thread::sleep(LOOK);
        }
    }

    /// The plan of process 0.
    fn await_plan(&self, hello: &Hello) -> anyhow::Result<Plan> {
        let mut first = None::<(Hello, Reader, Watch)>;
        let mut alone = Instant::now();
        loop {
            let _ = fs::read_dir(self.folder).map(Iterator::count);
            let plan = read::<Plan>(&self.folder.join("plan"));
            if let Some(plan) = plan.filter(|plan| plan.all.get(self.process as usize) == Some(hello)) {
                return Ok(plan);
            }
            if read(&self.hello_of(self.process)).as_ref() != Some(hello) {
                let _ = self.come(hello);
            }
            let now = read::<Hello>(&self.hello_of(0));
            if now.as_ref() != first.as_ref().map(|(known, ..)| known) {
                first = now.map(|now| {
                    let reader = Reader::new(&self.folder.join(&now.outbox), 0);
                    (now.clone(), reader, Watch::new(now.identity))
                });
            }
            let lives = first
                .as_mut()
                .is_some_and(|(_, reader, watch)| !reader.is_gone() && !watch.is_over(reader, self.patience));
            if lives {
                alone = Instant::now();
            } else if alone.elapsed() > self.patience {
                bail!(
                    "process 0 of {} has not come, or has ended: the others cannot begin without it; start all again",
                    self.size
                );
            }
            thread::sleep(LOOK);
        }
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&regular_file::read(path).ok()?).ok()
}

/// Others find the whole of it, or nothing.
fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let part = path.with_extension("part");
    access::replace(&part)?.write_all(&serde_json::to_vec(value)?)?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests;
