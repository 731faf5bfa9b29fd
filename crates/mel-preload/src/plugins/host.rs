//! The plugins of this process, from `MPI_Init*` to the end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crossbeam_queue::ArrayQueue;
use mel_log::Definition;
use mel_log::choice::Choice;
use mel_log::profile::Ended;
use mel_log::table::layout::STOPPED;
use mel_plugin::raw;
use mpi_intercept::own_thread::OwnThread;
use mpi_intercept::{Call, FunctionId, Hook, Wants};
use mpit_events::Clock;
use smallvec::SmallVec;

use super::load::{Plugin, load};
use super::services;
use super::shared::Shared;
use super::teller::{Message, Teller};
use crate::config::Config;
use crate::consumer::{Consumer, Parts, wants_entries};
use crate::registry::Registry;
use crate::state::Run;
use crate::warn;

/// So much may wait to be told.
const INBOX: usize = 16 * 1024;
/// How often the thread looks, where nobody wakes it.
const LOOKS: Duration = Duration::from_secs(1);
/// How long the end of the run waits for plugins.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs the plugins. Lives as long as the process.
pub(crate) struct Host {
    plugins: &'static [Plugin],
    shared: &'static Shared,
    /// The variables that plugins want to be sampled.
    wanted: Vec<Choice>,
    /// The process that it belongs to.
    pid: u32,
    /// By function: whether there is nothing to tell of its calls, as it was told, or nobody wants to hear it.
    seen: Box<[AtomicBool]>,
    inbox: ArrayQueue<Message>,
    lost: AtomicU64,
    /// How a definition is written, on a thread that may call MPI.
    define: Box<dyn Fn(&Definition) + Send + Sync>,
    /// Held by the thread that does what plugins have asked for.
    attending: Mutex<()>,
    /// Whether the thread is to look now; whether it is to end.
    wanted_now: (Mutex<(bool, bool)>, Condvar),
    thread: OnceLock<OwnThread>,
}

static HOST: OnceLock<&'static Host> = OnceLock::new();

/// The plugins of this process, if there are any.
#[inline]
pub(crate) fn host() -> Option<&'static Host> {
    HOST.get().copied()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads what the user has asked for.
fn begin(config: &'static Config, registry: &'static Registry, run: &'static Run) {
    let calls = Box::new(move |function: &str| calls_of(config, run, function));
    let define = Box::new(|definition: &Definition| registry.define(definition));
    let shared: &'static Shared = Box::leak(Box::new(Shared::new(calls)));
    let mut plugins = Vec::new();
    for name in &config.plugins {
        let of = (plugins.len(), shared);
        match load(name, &config.plugins_path, of, (run.rank, run.size)) {
            Ok(plugin) => plugins.push(plugin),
            Err(why) => {
                // What is so on some ranks only is in the profile.
                shared.tell(name.title(), "not running", &why);
                if run.rank == 0 {
                    warn(&format!("{why}; the program runs without it"));
                }
            }
        }
    }
    let host = Host::new(plugins, shared, (run.started.0, Clock::best().ticks_per_second()), define);
    if run.rank == 0 {
        host.complaints().iter().for_each(|line| warn(line));
    }
    let _ = HOST.set(host);
}

impl Host {
    /// Starts the thread that tells these plugins, if there are any.
    fn new(
        plugins: Vec<Plugin>,
        shared: &'static Shared,
        clock: (u64, u64),
        define: Box<dyn Fn(&Definition) + Send + Sync>,
    ) -> &'static Host {
        let plugins: &'static [Plugin] = Vec::leak(plugins);
        let hears = plugins.iter().any(|plugin| plugin.callbacks.function_registration.is_some());
        let lists = plugins.iter().map(|plugin| &plugin.variables).filter(|list| !list.is_empty());
        let host: &'static Host = Box::leak(Box::new(Host {
            plugins,
            shared,
            wanted: lists.filter_map(|list| Choice::new(list, "").ok()).collect(),
            pid: std::process::id(),
            seen: FunctionId::all().map(|_| AtomicBool::new(!hears)).collect(),
            inbox: ArrayQueue::new(if plugins.is_empty() { 1 } else { INBOX }),
            lost: AtomicU64::new(0),
            define,
            attending: Mutex::default(),
            wanted_now: (Mutex::new((false, false)), Condvar::new()),
            thread: OnceLock::new(),
        }));
        if plugins.is_empty() {
            return host;
        }
        match OwnThread::start("mel-plugins", move || host.run(Teller::new(plugins, shared, clock))) {
            Ok(thread) => _ = host.thread.set(thread),
            Err(error) => warn(&format!("plugins get no data: {error}")),
        }
        host
    }

    /// What is wrong with what plugins want, for the user.
    fn complaints(&self) -> Vec<String> {
        let of = |plugin: &Plugin| {
            let error = Choice::new(&plugin.variables, "").err()?;
            Some(format!("plugin {}: its variables are not sampled: {error}", plugin.title))
        };
        self.plugins.iter().filter_map(of).collect()
    }

    /// What the thread does.
    fn run(&self, mut teller: Teller) {
        let (wanted, changed) = &self.wanted_now;
        loop {
            let ends = {
                let guard = lock(wanted);
                let waits = |state: &mut (bool, bool)| !state.0 && !state.1;
                let waited = changed.wait_timeout_while(guard, LOOKS, waits);
                let (mut guard, _) = waited.unwrap_or_else(PoisonError::into_inner);
                guard.0 = false;
                guard.1
            };
            while let Some(message) = self.inbox.pop() {
                teller.tell(message);
            }
            if ends {
                return;
            }
        }
    }

    fn push(&self, message: Message) {
        if self.thread.get().is_some() && self.inbox.push(message).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Wakes the thread; where it is `over`, for the last time.
    fn wake(&self, over: bool) {
        let (wanted, changed) = &self.wanted_now;
        {
            let mut state = lock(wanted);
            *state = (true, state.1 || over);
        }
        changed.notify_all();
    }

    /// Whether a plugin wants this variable to be sampled.
    pub(crate) fn wants(&self, variable: &str) -> bool {
        self.wanted.iter().any(|choice| choice.wants(&[variable]))
    }

    /// The program enters a call.
    #[inline]
    fn enter(&self, function: FunctionId) {
        if self.seen.get(function as usize).is_some_and(|seen| !seen.load(Ordering::Relaxed)) {
            self.first(function);
        }
        if self.shared.attends.load(Ordering::Relaxed) {
            self.attend(false);
        }
    }

    /// A function is called for the first time.
    #[cold]
    fn first(&self, function: FunctionId) {
        if self.pid != std::process::id() {
            return;
        }
        if let Some(seen) =
            self.seen.get(function as usize).filter(|seen| !seen.swap(true, Ordering::Relaxed))
        {
            let _ = seen;
            self.push(Message::Function(function.name()));
        }
    }

    /// The program has begun a region for the first time.
    pub(crate) fn region(&self, path: &str) {
        if self.pid == std::process::id() {
            self.push(Message::Region(path.to_owned()));
        }
    }

    /// The sampler has taken up a variable.
    pub(crate) fn variable(&self, definition: &Definition) {
        self.push(Message::Variable(Box::new(definition.clone())));
    }

    /// The sampler has read a variable: the only value, or the sum and elements. For any thread.
    pub(crate) fn sampled(&self, number: u32, at: u64, values: &[f64]) {
        self.push(Message::Sample(number, at, SmallVec::from_slice(values)));
    }

    /// The sampling interval has passed.
    pub(crate) fn interrupt(&self, at: u64) {
        self.push(Message::Interrupt(at));
        self.wake(false);
    }

    /// Does what plugins have asked for. Where the program may call MPI; where `closes`, MPI is not called, and it is the last time.
    #[cold]
    fn attend(&self, closes: bool) {
        if self.pid != std::process::id() {
            return;
        }
        // Another thread of the program does.
        let Ok(_attending) = self.attending.try_lock() else { return };
        let (settings, lines) = self.shared.take(closes);
        lines.iter().for_each(|line| (self.define)(line));
        for setting in settings {
            let title = self.plugins.get(setting.plugin).map_or("", |plugin| &plugin.title);
            let mut outcome = super::teller::Outcome {
                name: setting.name.clone(),
                value: setting.value.clone(),
                line: "not set: the program made no MPI call after this".into(),
                ..Default::default()
            };
            if !closes {
                outcome = services::set_control(&setting);
            }
            (self.define)(&Definition::Told {
                plugin: title.to_owned(),
                name: setting.name.clone(),
                value: format!("{}: {}", setting.value, outcome.line),
            });
            self.push(Message::Control(setting.plugin, Box::new(outcome)));
        }
    }

    /// The run is over, in this way: plugins are told, and what they have asked for is done as far as it can be.
    fn finish(&self, how: i32) {
        if self.pid != std::process::id() {
            return;
        }
        if how == raw::FINALIZED {
            self.enter(FunctionId::Finalize);
            self.attend(false);
        }
        if let Some(thread) = self.thread.get() {
            self.push(Message::End(Clock::best().now().0, how));
            self.wake(true);
            if !thread.ends_within(PATIENCE) {
                warn(&format!(
                    "a plugin has not returned for {} seconds: it is left alone",
                    PATIENCE.as_secs()
                ));
            }
        }
        self.attend(true);
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            warn(&format!("plugins were too slow: they were not told of {lost} samples and other things"));
        }
    }
}

/// What the calls of a function were.
fn calls_of(config: &Config, run: &Run, function: &str) -> Option<raw::Calls> {
    let function = FunctionId::all().find(|known| known.name() == function)? as u16;
    let rows = run.table.as_ref().filter(|_| config.call_profile)?.rows();
    let seconds = |ticks: u64| ticks as f64 / rows.ticks_per_second.max(1) as f64;
    let run_ticks = Clock::best().now().0.saturating_sub(rows.runs_since).saturating_sub(rows.stopped);
    let mut calls = raw::Calls { run_seconds: seconds(run_ticks), ..raw::Calls::default() };
    for row in rows.contexts.iter().filter(|row| row.key.function == function && row.key.phase != STOPPED) {
        calls.calls += row.calls;
        calls.bytes_sent += row.sent;
        calls.bytes_received += row.received;
        calls.seconds += seconds(row.ticks);
    }
    Some(calls)
}

/// The consumer that tells plugins.
struct Plugins {
    config: &'static Config,
    registry: &'static Registry,
}

/// The consumer that tells plugins, where there are some.
pub(crate) fn consumer(&Parts { config, registry, .. }: &Parts) -> Option<&'static dyn Consumer> {
    (!config.plugins.is_empty()).then(|| Box::leak(Box::new(Plugins { config, registry })) as &dyn Consumer)
}

impl Consumer for Plugins {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        vec![self]
    }

    fn begin(&'static self, run: &'static Run) {
        begin(self.config, self.registry, run);
    }

    fn phase_named(&self, _: u16, name: &str) {
        if let Some(host) = host().filter(|host| host.pid == std::process::id()) {
            host.push(Message::Phase(name.to_owned()));
        }
    }

    fn finish(&self, ended: Ended) {
        if let Some(host) = host() {
            host.finish(match ended {
                Ended::Finalised => raw::FINALIZED,
                Ended::Aborted => raw::ABORTED,
                _ => raw::EXITED,
            });
        }
    }
}

impl Hook for Plugins {
    fn wants(&self, function: FunctionId) -> Wants {
        wants_entries(function)
    }

    #[inline]
    fn enter(&self, function: FunctionId, _: &mut Call<'_>) {
        if let Some(host) = host() {
            host.enter(function);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;
    use std::sync::Arc;

    fn shared() -> &'static Shared {
        Box::leak(Box::new(Shared::new(Box::new(|_| None))))
    }

    unsafe extern "C" fn counts(data: *mut c_void, _: *const raw::Function) {
        // SAFETY: the tests give a number that stays.
        unsafe { &*data.cast::<AtomicU64>() }.fetch_add(1, Ordering::Relaxed);
    }

    unsafe extern "C" fn counts_end(data: *mut c_void, _: *const raw::End) {
        // SAFETY: the tests give a number that stays.
        unsafe { &*data.cast::<AtomicU64>() }.fetch_add(1000, Ordering::Relaxed);
    }

    #[test]
    fn a_function_is_told_once_and_the_end_is_waited_for() {
        let heard: &'static AtomicU64 = Box::leak(Box::default());
        let callbacks = raw::Callbacks {
            data: std::ptr::from_ref(heard).cast_mut().cast(),
            function_registration: Some(counts),
            end_of_execution: Some(counts_end),
            ..raw::Callbacks::NONE
        };
        let plugin = Plugin { title: "p".into(), callbacks, variables: "mel_*".into() };
        let defined = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&defined);
        let shared = shared();
        let host =
            Host::new(vec![plugin], shared, (0, 1), Box::new(move |line| lock(&to).push(line.clone())));
        assert!(host.wants("mel_bytes_sent") && !host.wants("other"));
        for _ in 0..10 {
            host.enter(FunctionId::Send);
            host.enter(FunctionId::Recv);
        }
        shared.tell("p", "eager", "raise it");
        host.enter(FunctionId::Send);
        assert_eq!(lock(&defined).len(), 1, "done at the entry of a call");
        shared.tell("p", "eager", "leave it");
        shared.set(super::super::shared::Setting { plugin: 0, name: "a".into(), value: "1".into() });
        host.finish(raw::ABORTED);
        assert_eq!(heard.load(Ordering::Relaxed), 1002);
        let lines = lock(&defined).clone();
        assert_eq!(lines.len(), 3);
        assert!(
            matches!(&lines[2], Definition::Told { value, .. } if value.contains("not set: the program made no MPI call")),
            "{lines:?}"
        );
        assert!(!shared.tell("p", "late", "line"));
    }

    #[test]
    fn without_a_plugin_that_runs_nothing_is_told() {
        let host = Host::new(Vec::new(), shared(), (0, 1), Box::new(|_| ()));
        host.enter(FunctionId::Send);
        host.interrupt(1);
        host.finish(raw::FINALIZED);
        assert_eq!(host.lost.load(Ordering::Relaxed), 0);
    }
}
