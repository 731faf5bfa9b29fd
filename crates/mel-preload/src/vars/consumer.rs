//! The consumer that samples performance variables, where some are wanted, and there is a table.

use std::sync::OnceLock;

use mel_log::Definition;
use mel_log::profile::Ended;
use mpi_abi::Abi;
use mpi_intercept::{Call, FunctionId, Hook, Wants};
use mpit_sources::calls::Observer;
use mpit_sources::rma;

use super::sampler::{Sampler, Wanted};
use crate::config::Config;
use crate::consumer::{Consumer, Parts};
use crate::registry::Registry;
use crate::state::Run;

struct Variables {
    abi: &'static Abi,
    config: &'static Config,
    registry: &'static Registry,
}

static SAMPLER: OnceLock<Sampler> = OnceLock::new();

/// Who samples in this process.
pub(crate) fn sampler() -> Option<&'static Sampler> {
    SAMPLER.get()
}

/// The consumer that samples variables.
pub(crate) fn consumer(&Parts { abi, config, registry, .. }: &Parts) -> Option<&'static dyn Consumer> {
    config.vars.is_some().then(|| Box::leak(Box::new(Variables { abi, config, registry })) as &dyn Consumer)
}

impl Consumer for Variables {
    fn hooks(&'static self) -> Vec<&'static dyn Hook> {
        vec![self]
    }

    fn observers(&'static self) -> Vec<&'static dyn Observer> {
        sampler().into_iter().map(|sampler| sampler as &dyn Observer).collect()
    }

    fn window_observers(&'static self) -> Vec<&'static dyn rma::Observer> {
        sampler().into_iter().map(|sampler| sampler as &dyn rma::Observer).collect()
    }

    fn begin(&'static self, run: &'static Run) {
        let (Some(choice), Some(table)) = (self.config.vars.clone(), run.table.clone()) else { return };
        let log = run.samples();
        let define = Box::new(move |definition: &Definition| {
            self.registry.define(definition);
            log.iter().for_each(|log| log.define(definition));
        });
        let wanted = Wanted { choice, every: self.config.every, table, log, define };
        SAMPLER.get_or_init(|| Sampler::new(self.abi, wanted));
    }

    fn start(&'static self, run: Option<&'static Run>) {
        if let (Some(sampler), Some(run)) = (sampler(), run) {
            sampler.begin(run.rank == 0);
        }
    }

    fn finish(&self, ended: Ended) {
        match sampler() {
            Some(sampler) if ended == Ended::Finalised => sampler.finish(),
            Some(sampler) => sampler.finish_alone(),
            None => {}
        }
    }

    fn counted(&self) -> Option<&'static str> {
        Some("vars")
    }
}

impl Hook for Variables {
    fn wants(&self, function: FunctionId) -> Wants {
        match function {
            FunctionId::Comm_free | FunctionId::Comm_disconnect | FunctionId::Win_free => Wants::Enter,
            _ => Wants::Nothing,
        }
    }

    fn enter(&self, _: FunctionId, call: &mut Call<'_>) {
        if let Some(sampler) = sampler() {
            sampler.enter(call);
        }
    }

    fn attend(&self) {
        if let Some(sampler) = sampler() {
            sampler.attend();
        }
    }
}
