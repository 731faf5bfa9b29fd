//! What a call waits for that is under way, and what has come meanwhile, seen by another thread.
//!
//! The thread in the call does nothing for it: copies of its memory are looked at, which are believed only if it was in the real function all
//! the while ([`UnderWay`]). Then the model has followed all until the entry of the call.

use std::mem::offset_of;

use mpi_abi::{Comm, Handle, Request};
use mpi_intercept::under_way::UnderWay;
use mpi_intercept::{FunctionId, args};

use super::frame::{Current, Frame, Pending};
use super::requests::{Active, Persistent, Requests, Tracked};
use super::session::Ob1Model;
use super::state::State;
use crate::fast_path::{Post, Posts};
use crate::matching::{Engine, Envelope, Message, Node, Receive};

/// The most entries of each list that are looked at.
const MOST: usize = 4096;

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A message to be received, or to be found by a probe.
    Receive,
    /// A message to be sent.
    Send,
    /// That of a root.
    Root,
}

/// How a communicator is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfComm {
    /// By the value of its handle.
    Handle(usize),
    /// By its [`Communicator::index`](super::Communicator::index).
    Index(u32),
}

/// Something that a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What it is.
    pub what: What,
    /// Its communicator.
    pub comm: OfComm,
    /// The rank of the peer, or of the root; negative for any.
    pub peer: i32,
    /// The tag; negative for any.
    pub tag: i32,
}

/// What a call waits for, and what has come meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glimpse {
    /// What it asks for, as far as that is known.
    pub asks: Vec<Asked>,
    /// Requests that it waits for of which more is not known: sends, and collective operations.
    pub others: u32,
    /// Messages that no receive has asked for before the call, those that have come since among them.
    pub unexpected: Vec<Envelope>,
}

impl Ob1Model {
    /// What this call waits for; `None` where it has ended, or nothing is known. On any thread of ours, outside of hooks; allocates.
    pub fn glimpse(self, call: &UnderWay) -> Option<Glimpse> {
        let tracker = self.tracker();
        let mut glimpse = Glimpse::default();
        // SAFETY: the arguments are of the function of the call.
        unsafe { self.of_arguments(call, &mut glimpse)? };
        // Where several threads call MPI, others change the model meanwhile.
        if !tracker.state.is_shared() {
            let state = tracker.state.place();
            let (messages, receives) =
                Engine::places(state.wrapping_byte_add(offset_of!(State, engine)).cast());
            // SAFETY: the lists of the model, which only the thread in the call changes.
            let messages: Vec<Node<Message>> = unsafe { call.copy_list(messages, MOST)? };
            let unexpected =
                messages.iter().filter_map(|node| node.value()).map(|message| *message.envelope());
            glimpse.unexpected.extend(unexpected);
            if !tracker.home().is_null() && completes(call.function()) {
                // SAFETY: as above.
                let receives: Vec<Node<Receive>> = unsafe { call.copy_list(receives, MOST)? };
                // SAFETY: the frame of the thread in the call, and the state.
                unsafe { self.of_requests(call, state, &receives, &mut glimpse)? };
            }
        }
        glimpse.unexpected.extend(tracker.waiting_in_ring(MOST));
        call.lasts().then_some(glimpse)
    }

    /// Messages that have come since this process made a call last. On any thread of ours; allocates.
    pub fn come_since(self) -> Vec<Envelope> {
        self.tracker().waiting_in_ring(MOST)
    }

    /// What the arguments say.
    ///
    /// # Safety
    /// None but that of the function: see [`UnderWay::arguments`].
    unsafe fn of_arguments(self, call: &UnderWay, glimpse: &mut Glimpse) -> Option<()> {
        use FunctionId as F;
        let constants = &self.tracker().abi.constants;
        let any = |value: i32, any: i32| if value == any { -1 } else { value };
        let mut ask = |what, comm: Comm, peer: i32, tag: i32| {
            if peer != constants.proc_null {
                let (peer, tag) = (any(peer, constants.any_source), any(tag, constants.any_tag));
                glimpse.asks.push(Asked { what, comm: OfComm::Handle(comm.word()), peer, tag });
            }
        };
        macro_rules! arguments {
            ($args:ident) => {
                // SAFETY: the caller's promise: each is given its own type.
                unsafe { call.arguments::<args::$args>()? }
            };
        }
        macro_rules! sends {
            ($args:ident) => {{
                let a = arguments!($args);
                ask(What::Send, a.comm, a.dest, a.tag);
            }};
        }
        macro_rules! receives {
            ($args:ident) => {{
                let a = arguments!($args);
                ask(What::Receive, a.comm, a.source, a.tag);
            }};
        }
        macro_rules! both {
            ($args:ident) => {{
                let a = arguments!($args);
                ask(What::Send, a.comm, a.dest, a.sendtag);
                ask(What::Receive, a.comm, a.source, a.recvtag);
            }};
        }
        macro_rules! rooted {
            ($args:ident) => {{
                let a = arguments!($args);
                ask(What::Root, a.comm, a.root, 0);
            }};
        }
        macro_rules! waits {
            ($args:ident, $requests:ident $(, $count:ident)?) => {{
                let a = arguments!($args);
                let count = [1, $(a.$count)?].into_iter().last().unwrap_or(0);
                // SAFETY: the program's array of as many requests, which is its own while the call lasts.
                glimpse.others = unsafe { self.open_requests(call, a.$requests.as_ptr().addr(), count)? };
            }};
        }
        match call.function() {
            F::Send | F::Send_c => sends!(Send),
            F::Ssend | F::Ssend_c => sends!(Ssend),
            F::Rsend | F::Rsend_c => sends!(Rsend),
            F::Bsend | F::Bsend_c => sends!(Bsend),
            F::Recv | F::Recv_c => receives!(Recv),
            F::Probe => receives!(Probe),
            F::Mprobe => receives!(Mprobe),
            F::Sendrecv | F::Sendrecv_c => both!(Sendrecv),
            F::Sendrecv_replace | F::Sendrecv_replace_c => both!(Sendrecv_replace),
            F::Bcast | F::Bcast_c => rooted!(Bcast),
            F::Reduce | F::Reduce_c => rooted!(Reduce),
            F::Gather | F::Gather_c => rooted!(Gather),
            F::Gatherv => rooted!(Gatherv),
            F::Scatter | F::Scatter_c => rooted!(Scatter),
            F::Scatterv => rooted!(Scatterv),
            F::Wait => waits!(Wait, request),
            F::Waitall => waits!(Waitall, array_of_requests, count),
            F::Waitany => waits!(Waitany, array_of_requests, count),
            F::Waitsome => waits!(Waitsome, array_of_requests, incount),
            _ => {}
        }
        Some(())
    }

    /// How many of the requests that a call waits for are neither null nor complete at once.
    ///
    /// # Safety
    /// The call was given `count` requests at this address.
    unsafe fn open_requests(self, call: &UnderWay, address: usize, count: i32) -> Option<u32> {
        let count = usize::try_from(count).unwrap_or(0).min(MOST);
        // SAFETY: the caller's promise; handles have one of two widths.
        let words: Vec<usize> = unsafe {
            if Request::width() == 4 {
                let narrow = call.copy_all(std::ptr::without_provenance::<u32>(address), count)?;
                narrow.into_iter().map(|word| word as usize).collect()
            } else {
                call.copy_all(std::ptr::without_provenance::<usize>(address), count)?
            }
        };
        let abi = self.tracker().abi;
        let is_open = |word: &&usize| {
            let request = Request::from_word(**word);
            request != abi.constants.request_null && !abi.is_shared_request(request)
        };
        Some(words.iter().filter(is_open).count() as u32)
    }

    /// What the model knows of the requests that a call waits for.
    ///
    /// # Safety
    /// The call is that of the thread of [`home`](super::tracker::Tracker::home), and the state is the tracker's.
    unsafe fn of_requests(
        self,
        call: &UnderWay,
        state: *const State,
        receives: &[Node<Receive>],
        glimpse: &mut Glimpse,
    ) -> Option<()> {
        let current = self.tracker().home().wrapping_byte_add(offset_of!(Frame, call));
        let field = |offset: usize| current.wrapping_byte_add(offset);
        // SAFETY: the places of these fields, which only the thread in the call changes.
        let (in_row, pending) = unsafe {
            let in_row: usize = call.copy(field(offset_of!(Current, in_row)).cast())?;
            let pending: Vec<Pending> = call.copy_list(field(offset_of!(Current, pending)).cast(), MOST)?;
            (in_row, pending)
        };
        let mut known = 0;
        if in_row != 0 {
            let posts = state.wrapping_byte_add(offset_of!(State, posts));
            // SAFETY: likewise.
            let (next, noted) = unsafe {
                let next: usize = call.copy(posts.wrapping_byte_add(offset_of!(Posts, next)).cast())?;
                let noted = posts.wrapping_byte_add(offset_of!(Posts, noted));
                let noted: Vec<Post> = call.copy_list(noted.cast(), MOST)?;
                (next, noted)
            };
            for Post { comm, source, tag, .. } in noted.get(next..).unwrap_or_default() {
                known += 1;
                let comm = OfComm::Handle(*comm);
                glimpse.asks.push(Asked { what: What::Receive, comm, peer: *source, tag: *tag });
            }
        } else {
            let place =
                Requests::place_of_persistent(state.wrapping_byte_add(offset_of!(State, requests)).cast());
            // SAFETY: likewise.
            let persistent: Vec<Persistent> = unsafe { call.copy_list(place, MOST)? };
            let waits = |receive: &crate::matching::ReceiveIndex| {
                let receive = receives.get(receive.0 as usize).and_then(Node::value);
                receive.is_none_or(Receive::is_posted)
            };
            for Pending { tracked, .. } in &pending {
                let asked = match tracked {
                    Tracked::Receive { receive, comm, source, tag, .. }
                    | Tracked::Silent { receive, comm, source, tag, .. } => {
                        known += 1;
                        let comm = OfComm::Index(comm.0);
                        let asked = Asked { what: What::Receive, comm, peer: *source, tag: *tag };
                        waits(receive).then_some(asked)
                    }
                    Tracked::Persistent(place) => {
                        let Some(one) = persistent.get(*place as usize) else { continue };
                        known += 1;
                        let what = if one.sends { What::Send } else { What::Receive };
                        let comm = OfComm::Handle(one.comm);
                        let asked = Asked { what, comm, peer: one.peer, tag: one.tag };
                        match &one.active {
                            Some(Active::Receive { receive, .. }) => waits(receive).then_some(asked),
                            active => active.is_some().then_some(asked),
                        }
                    }
                    _ => None,
                };
                glimpse.asks.extend(asked);
            }
        }
        glimpse.others = glimpse.others.saturating_sub(known);
        for asked in &mut glimpse.asks {
            // As the program has given wildcards, or the model has them.
            let constants = &self.tracker().abi.constants;
            asked.peer = if asked.peer == constants.any_source { -1 } else { asked.peer.max(-1) };
            asked.tag = if asked.tag == constants.any_tag { -1 } else { asked.tag.max(-1) };
        }
        Some(())
    }
}

/// Whether a function waits for requests.
fn completes(function: FunctionId) -> bool {
    use FunctionId as F;
    matches!(function, F::Wait | F::Waitall | F::Waitany | F::Waitsome)
}
