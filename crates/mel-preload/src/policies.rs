//! Policies: control variables of the MPI are set while the program runs, when something is so in this process.
//!
//! All is done at the entry of an MPI call, on the program's thread: where the MPI may be called, and at most once in an interval. Between
//! that a call costs a load, a reading of the clock and a branch; without policies there is no hook. Each action is read back, told in a line
//! and kept in the profile table. Nothing is set twice while it would be the same.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mel_log::Definition;
use mel_log::profile::Ended;
use mel_log::setting::Setting;
use mel_log::settings::POLICY;
use mel_rules::expr::{Quantities, Value};
use mel_rules::policy::Policy;
use mpi_abi::{Abi, Handle as _, questions};
use mpi_intercept::{Call, FunctionId, Hook, Wants};
use mpit_events::{BindKind, Clock, Ticks};
use mpit_events_entry_points::reading::{Bound, Reading};

use crate::consumer::{Consumer, Parts, wants_entries};
use crate::registry::Registry;
use crate::state::Run;
use crate::{settings, warn};

/// So many lines of a policy are told in each process; the profile has all.
const LINES: u32 = 5;

/// So many actions of a policy are kept in the profile.
const KEPT: u32 = 1000;

/// Applies policies in this process. Lives as long as the process.
pub(crate) struct Policies {
    abi: &'static Abi,
    clock: Clock,
    /// Ticks between two looks.
    every: u64,
    /// When the next look is due, in ticks.
    next: AtomicU64,
    pid: u32,
    /// Where actions are kept.
    registry: &'static Registry,
    applied: Mutex<Applied>,
}

/// Used by one thread at a time, in an MPI call.
struct Applied {
    list: Vec<State>,
    variables: Vec<(String, Bound)>,
    reading: Option<Reading>,
    started: Ticks,
    rank: f64,
    ranks: f64,
}

struct State {
    policy: Policy,
    /// Whether it applied when it was last looked at.
    held: bool,
    /// What it has set last.
    set: Vec<(String, String)>,
    actions: u32,
    /// Whether it cannot be judged here, which was told.
    given_up: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Policies {
    /// Those of the configuration, if it has any. Nothing is looked at before [`Consumer::start`].
    fn of(&Parts { abi, config, registry, .. }: &Parts) -> Option<Policies> {
        let list = match Policy::decode(config.policy.as_deref()?) {
            Ok(list) => list,
            Err(error) => {
                warn(&format!("{POLICY} is not understood, and no policy is applied: {error}"));
                return None;
            }
        };
        let clock = Clock::best();
        let state = |policy| State { policy, held: false, set: Vec::new(), actions: 0, given_up: false };
        let applied = Applied {
            list: list.into_iter().map(state).collect(),
            variables: Vec::new(),
            reading: None,
            started: clock.now(),
            rank: 0.0,
            ranks: 0.0,
        };
        Some(Policies {
            abi,
            every: (config.every.as_secs_f64().max(0.001) * clock.ticks_per_second() as f64) as u64,
            clock,
            next: AtomicU64::new(u64::MAX),
            pid: std::process::id(),
            registry,
            applied: Mutex::new(applied),
        })
    }

    /// MPI is initialised: variables are found, and the first look is due at the next call.
    fn find(&self) {
        let world = self.abi.world();
        let mut applied = lock(&self.applied);
        let applied = &mut *applied;
        applied.rank = questions::comm_rank(world).map_or(0.0, f64::from);
        applied.ranks = questions::comm_size(world).map_or(0.0, f64::from);
        let reading = Reading::open(self.abi);
        let wanted: Vec<String> =
            applied.list.iter().flat_map(|state| state.policy.variables()).map(str::to_owned).collect();
        for number in 0..reading.count() {
            let Some(variable) = reading.describe(number).filter(|variable| wanted.contains(&variable.name))
            else {
                continue;
            };
            let object = match variable.bind {
                BindKind::None => None,
                // What stands for the world may be freed.
                BindKind::Comm if !self.abi.has_adopted_a_world() => Some(world.word()),
                _ => continue,
            };
            if let Some(bound) = reading.bind(&variable, object) {
                applied.variables.push((variable.name, bound));
            }
        }
        applied.reading = Some(reading);
        self.next.store(0, Ordering::Release);
    }

    #[cold]
    fn look(&self, now: u64, seen: u64) {
        let next = now.saturating_add(self.every);
        // Another thread of the program looks; or this is a child that knows no MPI.
        if self.next.compare_exchange(seen, next, Ordering::AcqRel, Ordering::Relaxed).is_err()
            || self.pid != std::process::id()
        {
            return;
        }
        let Ok(mut applied) = self.applied.try_lock() else { return };
        let Applied { list, variables, started, rank, ranks, .. } = &mut *applied;
        let mut values: Vec<(String, Vec<f64>)> = Vec::new();
        for (name, bound) in variables {
            let mut elements = Vec::new();
            if bound.read(&mut elements) && values.iter().all(|(known, _)| known != name) {
                values.push((name.clone(), elements));
            }
        }
        let time = now.saturating_sub(started.0) as f64 / self.clock.ticks_per_second() as f64;
        let moment = Moment { values, rank: *rank, ranks: *ranks, time };
        for state in list.iter_mut().filter(|state| !state.given_up) {
            state.apply(&moment, now, self.registry);
        }
    }
}

impl State {
    fn apply(&mut self, moment: &Moment, now: u64, registry: &Registry) {
        let holds = match self.policy.when.eval(moment) {
            Ok(value) => value == Value::Switch(true),
            Err(error) => return self.give_up(&error.to_string(), moment),
        };
        let held = std::mem::replace(&mut self.held, holds);
        let assignments = match (holds, held) {
            (true, _) => &self.policy.set,
            (false, true) => &self.policy.otherwise,
            (false, false) => return,
        };
        let mut wanted = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            match assignment.text(moment) {
                Ok(value) => wanted.push((assignment.name.clone(), value)),
                Err(error) => return self.give_up(&error.to_string(), moment),
            }
        }
        if wanted == self.set {
            return;
        }
        for (name, value) in wanted.iter().filter(|one| !self.set.contains(one)) {
            let outcome = match format!("{name}={value}").parse::<Setting>() {
                Ok(setting) => format!("{setting}: {}", settings::set(&setting).text),
                Err(why) => format!("{name}={value}: not set: {why}"),
            };
            self.actions += 1;
            if self.actions <= LINES {
                let time = moment.time;
                warn(&format!(
                    "policy \"{}\" on rank {} after {time:.1} s: {outcome}",
                    self.policy.name, moment.rank
                ));
            }
            if self.actions <= KEPT {
                registry.define(&Definition::Action { at: now, policy: self.policy.name.clone(), outcome });
            }
        }
        self.set = wanted;
    }

    fn give_up(&mut self, why: &str, moment: &Moment) {
        self.given_up = true;
        if moment.rank == 0.0 {
            warn(&format!(
                "policy \"{}\" is not applied: {why} (`mel vars` lists the variables)",
                self.policy.name
            ));
        }
    }
}

/// What is known at a look.
struct Moment {
    values: Vec<(String, Vec<f64>)>,
    rank: f64,
    ranks: f64,
    time: f64,
}

impl Quantities for Moment {
    fn get(&self, name: &str, argument: Option<&str>) -> Option<Value> {
        Some(match (name, argument) {
            ("variable", Some(variable)) => {
                Value::List(self.values.iter().find(|(known, _)| known == variable)?.1.clone())
            }
            ("rank", None) => Value::Number(self.rank),
            ("ranks", None) => Value::Number(self.ranks),
            ("time", None) => Value::Number(self.time),
            _ => return None,
        })
    }
}

impl Hook for Policies {
    fn wants(&self, function: FunctionId) -> Wants {
        wants_entries(function)
    }

    #[inline]
    fn enter(&self, _: FunctionId, _: &mut Call<'_>) {
        let next = self.next.load(Ordering::Relaxed);
        if next == u64::MAX {
            return;
        }
        let now = self.clock.now().0;
        if now >= next {
            self.look(now, next);
        }
    }
}

/// The consumer that applies policies.
pub(crate) fn consumer(parts: &Parts) -> Option<&'static dyn Consumer> {
    Policies::of(parts).map(|policies| Box::leak(Box::new(policies)) as &dyn Consumer)
}

impl Consumer for Policies {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        vec![self]
    }

    fn start(&'static self, _: Option<&'static Run>) {
        self.find();
    }

    fn finish(&self, ended: Ended) {
        if ended != Ended::Finalised {
            return;
        }
        self.next.store(u64::MAX, Ordering::Release);
        let Ok(mut applied) = self.applied.try_lock() else { return };
        applied.variables.iter_mut().for_each(|(_, bound)| bound.end());
        applied.variables.clear();
        if let Some(mut reading) = applied.reading.take() {
            reading.close();
        }
    }
}
