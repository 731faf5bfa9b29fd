//! Envelopes to and from other nodes: the only place where messages of our own are sent and received.
//!
//! MPI is called with no lock held that the application's other threads wait for: what waits to be sent is taken out
//! of the state before, what has come is put into it afterwards, and in between one thread has the turn. A thread
//! that finds it taken goes on, and the holder does its work.

use super::frame::Frame;
use super::tracker::Tracker;

/// Turns that a thread takes in one call, at most: others must not keep it from going on.
const MAX_TURNS: usize = 4;

impl Tracker {
    /// Sends what waits, and takes in what has come, for the model to see when it next makes progress.
    #[inline]
    pub(crate) fn exchange(&self) {
        if self.mail.is_open() {
            self.take_turns(true);
        }
    }

    /// Where envelopes wait to be sent: sends them if it is time to, or if the call may wait for long. A program may
    /// compute for long after it.
    #[cold]
    pub(crate) fn send_mail(&self, frame: &mut Frame) {
        if frame.sink.mail_is_due || frame.call.entered.0 != 0 {
            (frame.sink.mail_waits, frame.sink.mail_is_due) = (false, false);
            self.take_turns(false);
        }
    }

    #[inline(never)]
    fn take_turns(&self, receive: bool) {
        for _ in 0..MAX_TURNS {
            let Some(mut turn) = self.mail.turn() else { return };
            let now = self.now();
            self.state.with(|state| state.outbox.take(now, &mut turn));
            turn.send();
            if receive {
                let arrived = turn.receive();
                if !arrived.is_empty() {
                    self.state.with(|state| state.inbox.extend(arrived.drain(..)));
                }
            }
            if !turn.end() {
                return;
            }
        }
    }

    /// Takes in all that is still on its way, all processes together, at the end.
    pub(crate) fn close_mail(&'static self, frame: &mut Frame) {
        let now = self.now();
        self.mail.close(|arrived| {
            if !arrived.is_empty() {
                self.with_state(frame, |work, _| {
                    arrived.drain(..).for_each(|envelope| {
                        work.state.engine.arrive(work.sink, &envelope, now.max(envelope.sent))
                    });
                });
            }
        });
    }
}
