//! A thread of one of the processes as one of those that write an archive.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mel_convert::otf2::{CommunicationError, Processes};

use super::group::Together;
use super::life::Watch;
use super::outbox::{Frame, Reader};

/// The pauses between two looks: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(50));

/// A thread of this process.
#[derive(Debug)]
pub struct Messages {
    together: Arc<Together>,
    thread: u32,
    senders: RefCell<HashMap<u32, Sender>>,
}

/// A process, as this thread hears it.
#[derive(Debug)]
struct Sender {
    reader: Reader,
    watch: Watch,
    /// What was received and not taken, by thread.
    messages: HashMap<u32, VecDeque<Vec<u8>>>,
    /// Why nothing more comes.
    gone: Option<String>,
}

impl Sender {
    /// Looks for something new.
    fn look(&mut self) {
        for frame in self.reader.read() {
            match frame {
                Frame::Message { from, bytes } => self.messages.entry(from).or_default().push_back(bytes),
                Frame::Gone(why) => self.gone = Some(why),
            }
        }
    }
}

impl Messages {
    /// One for each thread of this process, by number.
    pub fn group(together: &Arc<Together>) -> Vec<Messages> {
        let threads = together.plan().threads(together.process());
        threads
            .map(|thread| Messages { together: Arc::clone(together), thread, senders: RefCell::default() })
            .collect()
    }

    fn failed(&self, why: &str) -> CommunicationError {
        self.together.fail(why);
        CommunicationError
    }
}

impl Processes for Messages {
    fn size(&self) -> u32 {
        self.together.plan().size()
    }

    fn rank(&self) -> u32 {
        self.thread
    }

    fn send(&self, to: u32, bytes: Vec<u8>) -> Result<(), CommunicationError> {
        let sent = self.together.outbox().send(self.thread, to, &bytes);
        sent.map_err(|error| self.failed(&format!("cannot write beside the trace: {error}")))
    }

    fn receive(&self, from: u32) -> Result<Vec<u8>, CommunicationError> {
        let process = self.together.plan().process_of(from);
        let mut senders = self.senders.borrow_mut();
        let sender = senders.entry(process).or_insert_with(|| {
            let (reader, identity) = self.together.reader(process, self.thread);
            Sender { reader, watch: Watch::new(identity), messages: HashMap::new(), gone: None }
        });
        // What was not heard before was not listened for.
        sender.watch.begin();
        let mut pause = PAUSES.0;
        loop {
            // Before the look at its file: what is sent before the end is received.
            let is_over = sender.watch.is_over(&sender.reader, self.together.patience());
            sender.look();
            if let Some(bytes) = sender.messages.get_mut(&from).and_then(VecDeque::pop_front) {
                return Ok(bytes);
            }
            if let Some(why) = &sender.gone {
                let early = || format!("process {process} of {} has ended too early", self.together.size());
                let why = if why.is_empty() { early() } else { why.clone() };
                return Err(self.failed(&why));
            }
            if is_over {
                let told = sender.watch.told(process, self.together.size());
                return Err(self.failed(&format!("{told}: the trace is not written; start all again")));
            }
            // Another thread of this process.
            if self.together.failure().is_some() {
                return Err(CommunicationError);
            }
            thread::sleep(pause);
            pause = (2 * pause).min(PAUSES.1);
        }
    }
}
