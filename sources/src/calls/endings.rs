//! Requests that start again or end: what that means for the model, for observers, and for the table.

use mpi_abi::{Datatype, StatusPtr};
use mpit_events::Ticks;

use super::frame;
use super::requests::{Active, FollowedSend, Persistent, Stage, Tracked};
use super::tracker::{Ending, Work};
use crate::matching::{CommIndex, Completion, EAGER_LIMIT, Event, ReceiveIndex, Sink};
use crate::progress_model::Awaits;

impl Work<'_> {
    /// A started persistent request.
    pub(crate) fn start(&mut self, handle: usize) -> Option<(usize, Tracked)> {
        let tracked = self.state.requests.get(handle)?;
        let place = match tracked {
            Tracked::Persistent(place) => place,
            Tracked::Collective { comm, request, .. } => {
                let active = Tracked::Collective { comm, request, stage: Stage::Active };
                self.state.requests.insert(handle, active);
                let during = self.during(Ticks(0));
                self.notify_of_collective(|observer| observer.collective_requested(comm.0, request, during));
                return Some((handle, active));
            }
            _ => return None,
        };
        let Persistent { comm, peer, tag, bytes, sends, .. } = *self.state.requests.persistent(place);
        let active = if sends {
            self.send(comm, peer, tag, bytes, false).map(|(comm, request, bytes)| Active::Send {
                comm,
                request,
                bytes,
            })
        } else {
            let posted = self.post(comm, peer, tag, false, self.tracker.now());
            posted.map(|(receive, comm, request)| Active::Receive { receive, comm, request })
        };
        self.state.requests.persistent(place).active = active;
        Some((handle, tracked))
    }

    /// What the call that waits for this request may wait for, besides an envelope.
    #[inline]
    pub(crate) fn awaits_request(&mut self, tracked: Tracked) -> Awaits {
        match tracked {
            Tracked::Send { bytes, .. } => self.awaits(bytes),
            Tracked::Persistent(place) => {
                let Persistent { sends, bytes, .. } = *self.state.requests.persistent(place);
                if sends { self.awaits(bytes) } else { Awaits::Receives }
            }
            Tracked::Probed { .. }
            | Tracked::Duplicate { .. }
            | Tracked::Silent { .. }
            | Tracked::Collective { .. } => Awaits::Others,
            Tracked::Receive { .. } => Awaits::Receives,
        }
    }

    /// Whether this request is of a receive.
    pub(crate) fn is_receive(&mut self, pending: &frame::Pending) -> bool {
        match pending.tracked {
            Tracked::Receive { .. } | Tracked::Silent { .. } => true,
            Tracked::Persistent(place) => !self.state.requests.persistent(place).sends,
            _ => false,
        }
    }

    /// The application's completion call, entered at this time, says that this request, of which the table still knows, is
    /// complete.
    pub(crate) fn completed(&mut self, pending: &frame::Pending, status: Option<StatusPtr>, entered: Ticks) {
        if let Some(identity) = pending.tracked.identity() {
            self.state.requests.forget(pending.handle, identity);
        }
        self.ended(pending, status, entered);
    }

    /// A request is complete that was taken out of the table, in a call that was entered at this time.
    #[inline(always)]
    pub(crate) fn ended(&mut self, pending: &frame::Pending, status: Option<StatusPtr>, entered: Ticks) {
        if let Tracked::Receive { receive, comm, request, source, tag } = pending.tracked {
            let ending = status.map_or_else(|| Ending::asked_for(source, tag), Ending::Status);
            self.ends_request(receive);
            return self.received((receive, comm, request), ending, false);
        }
        self.ended_otherwise(pending, status, entered);
    }

    #[inline(never)]
    fn ended_otherwise(&mut self, pending: &frame::Pending, status: Option<StatusPtr>, entered: Ticks) {
        match pending.tracked {
            Tracked::Receive { .. } => {}
            Tracked::Silent { receive, comm, request, source, tag } => {
                let is_known = status.is_some() && source >= 0 && tag >= 0;
                let real = if is_known { Completion::Message { source, tag } } else { Completion::Unknown };
                self.ends_request(receive);
                self.received_as((receive, comm, request), real, None, false);
            }
            Tracked::Send { comm, request, bytes } => {
                self.send_ended((comm, request, bytes), status);
                self.state.engine.free(self.sink, comm, request);
            }
            Tracked::Collective { comm, request, stage } => {
                if stage == Stage::Active {
                    let idle = Tracked::Collective { comm, request, stage: Stage::Idle };
                    self.state.requests.insert(pending.handle, idle);
                }
                if stage != Stage::Idle {
                    let during = self.during(entered);
                    self.notify_of_collective(|observer| {
                        observer.collective_completed(comm.0, request, during);
                    });
                }
            }
            Tracked::Probed { comm, request, bytes } => {
                self.probed_received((comm, request, bytes), status, false);
            }
            Tracked::Persistent(place) => match self.state.requests.persistent(place).active.take() {
                Some(Active::Receive { receive, comm, request }) => {
                    let ending = status.map_or(Ending::Unknown, Ending::Status);
                    self.received((receive, comm, request), ending, false);
                }
                Some(Active::Send { comm, request, bytes }) => {
                    self.send_ended((comm, request, bytes), status);
                }
                None => {}
            },
            Tracked::Duplicate { context, new } => {
                self.state.requests.remove(pending.handle);
                // SAFETY: the address that the application gave for the new handle, which MPI has
                // filled: the request is complete.
                let handle = unsafe { mpi_abi::HandlePtr::<mpi_abi::Comm>::new(new as *mut _).read() };
                self.follow(handle, context);
            }
        }
    }

    /// The request of a receive ends with it, which is about to be complete.
    #[inline(always)]
    pub(crate) fn ends_request(&mut self, receive: ReceiveIndex) {
        if self.sink.wants(Event::Free) {
            self.state.engine.ends_request(receive);
        }
    }

    /// A nonblocking send is complete, or cancelled.
    pub(crate) fn send_ended(&mut self, (comm, request, bytes): FollowedSend, status: Option<StatusPtr>) {
        self.state.engine.transferred(self.sink, comm, request, bytes);
        let is_cancelled = self.state.cancels
            // SAFETY: the status of a request that is complete, in this MPI's layout.
            && status.is_some_and(|status| unsafe { status.cancelled(self.tracker.abi) });
        if is_cancelled {
            self.notify_of_message(|observer| observer.cancelled(comm.0, request));
        } else {
            self.notify_of_message(|observer| observer.send_completed(comm.0, request));
        }
    }

    /// Tells that a request was tested and is not complete.
    #[cold]
    pub(crate) fn notify_tested(&mut self, tracked: Tracked) {
        let (comm, request) = match tracked {
            Tracked::Receive { comm, request, .. }
            | Tracked::Silent { comm, request, .. }
            | Tracked::Probed { comm, request, .. }
            | Tracked::Send { comm, request, .. }
            | Tracked::Collective { comm, request, stage: Stage::Once | Stage::Active } => (comm, request),
            Tracked::Persistent(place) => match self.state.requests.persistent(place).active {
                Some(Active::Receive { comm, request, .. } | Active::Send { comm, request, .. }) => {
                    (comm, request)
                }
                None => return,
            },
            Tracked::Collective { .. } | Tracked::Duplicate { .. } => return,
        };
        self.notify_of_message(|observer| observer.tested(comm.0, request));
    }

    /// The receive of a probed message is complete.
    pub(crate) fn probed_received(
        &mut self,
        (comm, request, bytes): (CommIndex, u64, u64),
        status: Option<StatusPtr>,
        blocking: bool,
    ) {
        self.state.engine.transferred(self.sink, comm, request, bytes);
        self.state.engine.free(self.sink, comm, request);
        if self.tracker.wants_messages()
            && let Some(status) = status
        {
            let notified = (!blocking).then_some(request);
            self.notify_received(comm, notified, self.completion(status), Some(status), None);
        }
    }

    /// Size of `count` elements in bytes; `None` for a call that MPI will refuse. MPICH takes no elements of no datatype.
    #[inline]
    pub(crate) fn bytes(&mut self, count: i64, datatype: Datatype) -> Option<u64> {
        let abi = self.tracker.abi;
        if count < 0 || datatype == abi.constants.datatype_null && (count > 0 || !abi.is_mpich()) {
            return None;
        }
        Some(self.state.sizes.of(count, datatype))
    }

    /// What a call waits for that completes a send of this size, and makes progress meanwhile.
    pub(crate) fn awaits(&self, bytes: u64) -> Awaits {
        if bytes <= self.tracker.parameters().waits_above {
            Awaits::Receives
        } else if bytes <= EAGER_LIMIT {
            Awaits::Buffers
        } else {
            Awaits::Others
        }
    }
}
