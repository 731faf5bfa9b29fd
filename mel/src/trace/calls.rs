//! MPI calls and messages as records: the hook and the observer of the trace.

use std::ffi::c_int;

use mpi_intercept::{Call, FunctionId, Hook};
use mpit_sources::p2p::{Message, Observer};

use super::recorder::Recorder;
use crate::log::{self, kind};

/// Records each MPI call of the application, and each message.
pub struct CallRecorder(pub &'static Recorder);

impl Hook for CallRecorder {
    #[inline]
    fn enter(&self, function: FunctionId, _: &mut Call<'_>) {
        self.0.call(self.0.now(), kind::ENTER, log::format::NO_OBJECT, &(function as u16).to_le_bytes());
    }

    #[inline]
    fn leave(&self, function: FunctionId, _: &mut Call<'_>, _: c_int) {
        self.0.call(self.0.now(), kind::LEAVE, log::format::NO_OBJECT, &(function as u16).to_le_bytes());
    }
}

impl CallRecorder {
    #[inline]
    fn message(&self, kinds: [u16; 2], message: &Message) {
        let kind = kinds[usize::from(message.request.is_some())];
        let payload = log::Message {
            peer: message.peer,
            tag: message.tag,
            bytes: message.bytes,
            request: message.request.unwrap_or(0) as u32,
        };
        self.0.call(self.0.now(), kind, message.comm as u16, &payload.to_payload());
    }

    #[inline]
    fn request(&self, kind: u16, request: u64) {
        let payload = log::Completion { request: request as u32 }.to_payload();
        self.0.call(self.0.now(), kind, log::format::NO_OBJECT, &payload);
    }
}

impl Observer for CallRecorder {
    fn wants_messages(&self) -> bool {
        true
    }

    fn sent(&self, message: &Message) {
        self.message([kind::MPI_SEND, kind::MPI_ISEND], message);
    }

    fn send_completed(&self, request: u64) {
        self.request(kind::MPI_ISEND_COMPLETE, request);
    }

    fn receive_posted(&self, request: u64) {
        self.request(kind::MPI_IRECV_REQUEST, request);
    }

    fn received(&self, message: &Message) {
        self.message([kind::MPI_RECV, kind::MPI_IRECV], message);
    }

    fn cancelled(&self, request: u64) {
        self.request(kind::REQUEST_CANCELLED, request);
    }
}
