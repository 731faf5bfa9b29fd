//! What the log knows of the program's communicators and windows: their definitions, the registrations on them, and which of
//! them are left out.

use std::sync::Once;
use std::sync::atomic::Ordering;

use mpi_abi::Comm;
use mpit_events::{BindKind, EventIndex, Registration, Token};
use mpit_sources::calls::{Communicator, Observer};
use mpit_sources::rma;

use crate::described;
use crate::full::or_warn_once;
use crate::state::{Logged, Run, Session};
use crate::trace::windows::object;
use crate::trace::{Recorder, events};
use crate::warn::warn;
use mel_log::format::NO_OBJECT;
use mel_log::launcher::is_first_rank;
use mel_log::{Definition, Members};

impl Observer for Session {
    /// Handles for all listed types, for each communicator as it comes (the paper, section 5.2).
    fn communicator_created(&self, communicator: &Communicator) {
        if let Some(profiler) = &self.profiler {
            profiler.forget_place(communicator.index);
        }
        let Some(Run { recorder: Some(recorder), tracer, .. }) = self.run.get() else { return };
        let number = self.numbers.fetch_add(1, Ordering::Relaxed).min(u32::from(NO_OBJECT)) as u16;
        let described = described::now(self.queue_events.model(), communicator);
        if number == NO_OBJECT {
            warn_of_many();
        } else {
            recorder.define(&described.definition(number));
        }
        let hidden = self.hides(&described.name, number);
        if let Some(tracer) = tracer {
            tracer.set_number(communicator.index, communicator.token.0, number);
            tracer.set_hidden(communicator.index, communicator.token.0, hidden);
        }
        let handles = if hidden { Vec::new() } else { self.listen_on(recorder, communicator, number) };
        let logged = Logged { communicator: *communicator, number, hidden, handles };
        self.logged_communicators().insert(communicator.token, logged);
    }

    /// A program may make and free any number of communicators.
    fn communicator_freed(&self, communicator: &Communicator) {
        self.logged_communicators().remove(&communicator.token);
        if let Some(Run { tracer: Some(tracer), .. }) = self.run.get() {
            tracer.forget_number(communicator.token.0);
        }
    }
}

impl rma::Observer for Session {
    /// Handles for all listed types, for each window as it comes.
    fn window_created(&self, created: &rma::Created<'_>) {
        let Some(Run { recorder: Some(recorder), tracer, .. }) = self.run.get() else { return };
        let index = object(created.window);
        // As its communicator is.
        let hidden = self.logged_communicators().get(&created.comm).is_some_and(|logged| logged.hidden);
        if let Some(tracer) = tracer {
            tracer.set_window_hidden(created.window, created.token.0, hidden);
        }
        if hidden {
            return;
        }
        if index != NO_OBJECT {
            let members = Members::from_ranks(created.members.iter().copied());
            recorder.define(&Definition::Window { index, members });
        }
        for &event in self.logged() {
            let Some(event_type) = self.core.event_type(event) else { continue };
            if event_type.bind == BindKind::Win
                && let Some(handle) =
                    or_warn_once(events::listen(recorder, self.core, event, Some(created.token), index))
            {
                self.on_windows().entry(created.window).or_default().push(handle);
            }
        }
    }

    /// A program may make and free any number of windows.
    fn window_freed(&self, window: u32, _: Token) {
        let handles = self.on_windows().remove(&window);
        for handle in handles.into_iter().flatten() {
            let _ = self.core.free(handle, None);
        }
    }
}

/// In a line, once, from the first rank.
fn warn_of_many() {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        if is_first_rank() {
            warn("the program makes more than 65 535 communicators: what the log records on later ones names none");
        }
    });
}

impl Session {
    /// Whether the user does not want to see the communicator of this name.
    fn hides(&self, name: &str, number: u16) -> bool {
        let comms = &self.config.comms;
        !comms.is_all() && !comms.wants(&[name, &number.to_string()])
    }

    /// Registrations of all listed types on a communicator.
    fn listen_on(
        &self,
        recorder: &'static Recorder,
        communicator: &Communicator,
        number: u16,
    ) -> Vec<Registration> {
        let is_bound = |event: &&EventIndex| {
            self.core.event_type(**event).is_some_and(|event_type| event_type.bind == BindKind::Comm)
        };
        let listen = |event: &EventIndex| {
            events::listen(recorder, self.core, *event, Some(communicator.token), number)
        };
        self.logged().iter().filter(is_bound).filter_map(|event| or_warn_once(listen(event))).collect()
    }

    /// The communicator has a name now.
    pub(super) fn define_again(&self, comm: Comm) {
        let Some(Run { recorder: Some(recorder), tracer, .. }) = self.run.get() else { return };
        let mut communicators = self.logged_communicators();
        let Some(logged) = communicators.get_mut(&Token(comm.0 as u64)) else { return };
        let Logged { communicator, number, hidden, handles } = logged;
        let described = described::now(self.queue_events.model(), communicator);
        if *number != NO_OBJECT {
            recorder.define(&described.definition(*number));
        }
        let hides = self.hides(&described.name, *number);
        if std::mem::replace(hidden, hides) == hides {
            return;
        }
        if let Some(tracer) = tracer {
            tracer.set_hidden(communicator.index, communicator.token.0, hides);
        }
        if hides {
            for handle in handles.drain(..) {
                let _ = self.core.free(handle, None);
            }
        } else {
            *handles = self.listen_on(recorder, communicator, *number);
        }
    }
}
