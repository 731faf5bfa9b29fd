//! Who raises the queue events in this process: the best that its MPI offers, or what the user wants.
//!
//! Both backends describe the same sixteen types. Which of them can raise events is known only when MPI is
//! initialised, so the types are added before and the choice is made then, the same in all processes.
//! Where both are wanted, for comparison, the names of the second one's types begin with its own name
//! (`model_pml_ob1_message_arrived`).

use std::fmt;
use std::sync::OnceLock;

use mel_settings::{PROGRESS, SOURCES};
use mpi_abi::{Abi, Family, pmpi, questions};
use mpi_intercept::Hook;
use mpit_events::{Core, Error};

use crate::between_calls::BetweenCalls;
use crate::calls::{Calls, Ob1Model, Observer, Part, Path};
use crate::matching::Truth;
use crate::peruse::{self, Peruse, Sends};

/// A producer of queue events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The model of ob1: on every MPI.
    Model,
    /// ob1 itself, where Open MPI was built with PERUSE and uses ob1.
    Peruse,
}

impl Backend {
    /// Its name, as `MPIT_SOURCES` has it.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Model => "model",
            Backend::Peruse => "peruse",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the user wants, from `MPIT_SOURCES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The backends by name, the first one's types without a prefix; none for the best there is.
    backends: Vec<Backend>,
    /// Whether events of the MPI's own ([`crate::native`]) are wanted.
    pub native: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Selection { backends: Vec::new(), native: true }
    }
}

impl Selection {
    /// What the environment asks for.
    ///
    /// # Errors
    /// A line for the user, where the value is not understood.
    pub fn from_environment() -> Result<Selection, String> {
        let value = std::env::var_os(SOURCES.name).unwrap_or_default();
        Selection::parse(&value.to_string_lossy())
    }

    /// Reads a list of names: `auto`, or some of `peruse`, `model` and `native`.
    ///
    /// # Errors
    /// A line for the user, where the list is not understood.
    pub fn parse(list: &str) -> Result<Selection, String> {
        let mut selection = Selection { backends: Vec::new(), native: false };
        let names = list.split([',', ' ', ':', ';']).filter(|name| !name.is_empty());
        let mut automatic = true;
        for name in names {
            automatic = name == "auto";
            match name {
                "auto" => {}
                "native" => selection.native = true,
                "model" => selection.backends.push(Backend::Model),
                "peruse" => selection.backends.push(Backend::Peruse),
                _ => {
                    return Err(format!("{SOURCES}={list}: {}", SOURCES.kind.remedy()));
                }
            }
        }
        if automatic {
            return Ok(Selection::default());
        }
        let mut known = Vec::new();
        selection.backends.retain(|backend| {
            !known.contains(backend) && {
                known.push(*backend);
                true
            }
        });
        Ok(selection)
    }
}

/// Whether PERUSE can be used here, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It can.
    Usable,
    /// The MPI was built without it.
    Absent,
    /// Another component than ob1 moves the messages.
    OtherPml(String),
}

impl Offer {
    /// What the MPI of this process offers, once it is initialised.
    pub fn find() -> Offer {
        if !Peruse::is_there() {
            return Offer::Absent;
        }
        match peruse::selected_pml() {
            Some(name) if name == "ob1" => Offer::Usable,
            name => Offer::OtherPml(name.unwrap_or_else(|| "which is not known".into())),
        }
    }
}

/// Why it can be used or not, as a part of a sentence.
impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offer::Usable => f.write_str("this MPI has PERUSE, and its pml is ob1"),
            Offer::Absent => f.write_str("this MPI has no PERUSE"),
            Offer::OtherPml(name) => write!(f, "this MPI has PERUSE, but its pml is {name} and not ob1"),
        }
    }
}

/// Which backends run, the first one's types without a prefix.
pub fn choose(selection: &Selection, offer: &Offer) -> Vec<Backend> {
    let usable = |backend: &Backend| *backend == Backend::Model || *offer == Offer::Usable;
    let chosen: Vec<Backend> = selection.backends.iter().copied().filter(usable).collect();
    match (chosen.is_empty(), offer) {
        (false, _) => chosen,
        (true, Offer::Usable) => vec![Backend::Peruse],
        (true, _) => vec![Backend::Model],
    }
}

/// The queue events of this process. Lives as long as the process.
pub struct QueueEvents {
    abi: &'static Abi,
    selection: Selection,
    model: Ob1Model,
    calls: &'static Calls,
    peruse: Option<&'static Peruse>,
    chosen: OnceLock<(Vec<Backend>, Offer)>,
}

/// How the events are to be followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// How envelopes travel.
    pub path: Path,
    /// Who takes in envelopes between MPI calls.
    pub between_calls: BetweenCalls,
    /// Whether observers want to know of messages.
    pub messages: bool,
    /// Whether nobody wants to know of more than communicators: no message is followed, and no events are raised.
    pub communicators_only: bool,
    /// Whether nobody in this process listens, so that nothing need be followed until somebody does.
    pub may_wait: bool,
}

impl QueueEvents {
    /// Adds the event types to `core`, before MPI is initialised.
    ///
    /// # Errors
    /// [`Error::OutOfHandles`] where the core has no room for them.
    pub fn new(abi: &'static Abi, core: &'static Core, selection: Selection) -> Result<Self, Error> {
        let prefix = |backend: Backend| match selection.backends.iter().position(|wanted| *wanted == backend)
        {
            Some(1) if Peruse::is_there() => format!("{backend}_"),
            _ => String::new(),
        };
        let wanted = |backend| selection.backends.is_empty() || selection.backends.contains(&backend);
        let peruse =
            if wanted(Backend::Peruse) { Peruse::find(abi, core, &prefix(Backend::Peruse))? } else { None };
        let model = Ob1Model::new(abi, core, &prefix(Backend::Model))?;
        Ok(QueueEvents { abi, selection, model, calls: model.hook(), peruse, chosen: OnceLock::new() })
    }

    /// The hooks that follow the application's calls, in the order of registration.
    pub fn hooks(&self) -> Vec<&'static dyn Hook> {
        let peruse = self.peruse.map(|peruse| &*Box::leak(Box::new(peruse)) as &'static dyn Hook);
        peruse.into_iter().chain([self.calls as _]).collect()
    }

    /// The last of them: the model's.
    pub fn calls(&self) -> &'static Calls {
        self.calls
    }

    /// The model, which also notifies of communicators and messages where others raise the events.
    pub fn model(&self) -> Ob1Model {
        self.model
    }

    /// ob1 itself, where it may be asked.
    pub(crate) fn peruse(&self) -> Option<&'static Peruse> {
        self.peruse
    }

    /// The backends that raise events; empty before [`start`](QueueEvents::start).
    pub fn backends(&self) -> &[Backend] {
        self.chosen.get().map_or(&[], |(backends, _)| backends)
    }

    /// Begins, at the end of `MPI_Init*`, all processes together, as the last thing there that communicates: the model
    /// follows from here. Gives lines for the user.
    ///
    /// # Errors
    /// Those of MPI; nothing is followed then.
    pub fn start(
        &self,
        mut observers: Vec<&'static dyn Observer>,
        following: Following,
    ) -> mpi_abi::Result<Vec<String>> {
        let mut lines = Vec::new();
        let constants = &self.abi.constants;
        let threads = pmpi::query_thread()? == constants.thread.multiple;
        let tells_sends = self.peruse.is_some_and(Peruse::observes_sends);
        let (mut backends, offer) = if following.communicators_only && !tells_sends {
            (Vec::new(), Offer::Absent)
        } else {
            self.agree()?
        };
        if following.communicators_only {
            backends.clear();
        }
        let tells_sends = tells_sends && offer == Offer::Usable;
        if let Some(peruse) = self.peruse.filter(|_| tells_sends || backends.contains(&Backend::Peruse)) {
            if !backends.contains(&Backend::Peruse) {
                peruse.only_sends();
            }
            match peruse.start(threads) {
                Ok(line) => lines.extend(line),
                Err(line) => {
                    if backends.contains(&Backend::Peruse) {
                        backends = vec![Backend::Model];
                    }
                    lines.push(line);
                }
            }
        }
        if let Some(peruse) = self.peruse.filter(|peruse| peruse.listens()) {
            // Last: others register on communicators as they hear of them.
            observers.push(Box::leak(Box::new(peruse)));
        }
        let wants_peruse = self.selection.backends.contains(&Backend::Peruse);
        if wants_peruse && !backends.contains(&Backend::Peruse) && !following.communicators_only {
            lines.push(format!("{offer}: the events are computed by the model of ob1"));
        }
        if threads {
            self.model.set_threads();
        }
        self.model.set_observers(observers);
        let raises = backends.contains(&Backend::Model);
        let part = match (raises, following.messages) {
            (true, _) => Part::Events,
            (false, true) => Part::Messages,
            (false, false) => Part::Communicators,
        };
        self.model.set_part(part);
        let _ = self.chosen.set((backends, offer));
        // Below that level one thread at a time completes what it has begun.
        let may_wait =
            following.may_wait && raises && !threads && following.between_calls == BetweenCalls::None;
        lines.extend(self.model.start(following.path, may_wait)?);
        if self.backends().contains(&Backend::Peruse) || tells_sends {
            // Nobody sends before all listen.
            pmpi::barrier(self.abi.world())?;
        }
        if raises {
            lines.extend(self.model.start_progress(following.between_calls));
        } else if following.between_calls != BetweenCalls::None && !following.communicators_only {
            lines.push(format!("{PROGRESS} is ignored: PERUSE reports ob1's own progress"));
        }
        // One process warns for all.
        if questions::comm_rank(self.abi.world())? != 0 {
            lines.clear();
        }
        Ok(lines)
    }

    /// The same choice in all processes.
    fn agree(&self) -> mpi_abi::Result<(Vec<Backend>, Offer)> {
        let mut offer = if self.peruse.is_some() { Offer::find() } else { Offer::Absent };
        // Only Open MPI may have PERUSE: elsewhere there is nothing to agree on.
        if self.abi.family == Family::OpenMpi {
            let mine = [i32::from(offer != Offer::Usable)];
            let mut any = [0];
            pmpi::allreduce(&mine, &mut any, self.abi.constants.max, self.abi.world())?;
            if any != [0] && offer == Offer::Usable {
                offer = Offer::Absent;
            }
        }
        Ok((choose(&self.selection, &offer), offer))
    }

    /// Lets somebody hear of each message that ob1 sends, the library's own too, where this MPI has PERUSE: the first who asks, before
    /// [`start`](QueueEvents::start), and in all processes.
    pub fn observe_sends(&self, sends: &'static dyn Sends) {
        self.peruse.into_iter().for_each(|peruse| peruse.observe_sends(sends));
    }

    /// Whether somebody hears of each message that ob1 sends.
    pub fn tells_sends(&self) -> bool {
        self.peruse.is_some_and(|peruse| peruse.observes_sends() && peruse.listens())
    }

    /// Ends, at the beginning of `MPI_Finalize`, all processes together. Gives what the truth check has
    /// found, where the model raises events.
    pub fn finish(&self) -> Truth {
        if let Some(peruse) = self.peruse {
            peruse.finish(true);
        }
        self.truth(self.model.finish())
    }

    /// Ends without the other processes and without MPI.
    pub fn finish_alone(&self) -> Truth {
        if let Some(peruse) = self.peruse {
            peruse.finish(false);
        }
        self.truth(self.model.finish_alone())
    }

    fn truth(&self, found: Truth) -> Truth {
        if self.backends().contains(&Backend::Model) { found } else { Truth::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(list: &str) -> Selection {
        Selection::parse(list).unwrap()
    }

    #[test]
    fn a_list_names_backends_in_order() {
        assert_eq!(selection(""), Selection::default());
        assert_eq!(selection("auto"), Selection::default());
        assert_eq!(selection("model,peruse").backends, [Backend::Model, Backend::Peruse]);
        assert_eq!(selection("peruse, peruse").backends, [Backend::Peruse]);
        assert!(!selection("model").native && selection("model,native").native && selection("").native);
        let complaint = Selection::parse("perusal").unwrap_err();
        assert_eq!(complaint, "MPIT_SOURCES=perusal: give auto, or some of peruse, model and native");
    }

    #[test]
    fn the_best_is_taken_unless_the_user_says_otherwise() {
        use Backend::{Model, Peruse};
        let ucx = Offer::OtherPml("ucx".into());
        assert_eq!(choose(&selection(""), &Offer::Usable), [Peruse]);
        assert_eq!(choose(&selection(""), &Offer::Absent), [Model]);
        assert_eq!(choose(&selection(""), &ucx), [Model]);
        assert_eq!(choose(&selection("model"), &Offer::Usable), [Model]);
        assert_eq!(choose(&selection("peruse"), &ucx), [Model]);
        assert_eq!(choose(&selection("peruse,model"), &Offer::Usable), [Peruse, Model]);
        assert_eq!(choose(&selection("model,peruse"), &Offer::Absent), [Model]);
        assert_eq!(ucx.to_string(), "this MPI has PERUSE, but its pml is ucx and not ob1");
    }
}
