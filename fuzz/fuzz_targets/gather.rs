//! What a node sends to a watcher: whatever comes, reading ends, in as little memory as has come.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mel_watch::gather::message::{self, Message};

fuzz_target!(|input: &[u8]| {
    let mut from = input;
    if message::expect_begin(&mut from).is_err() {
        return;
    }
    let mut bytes = from.len();
    while let Ok(Some(message)) = message::read(&mut from) {
        assert!(from.len() < bytes, "each message takes some of the input");
        bytes = from.len();
        if let Message::Page { bytes, .. } = &message {
            assert!(bytes.len() <= input.len());
        }
        // What is sent on reads the same.
        let mut again = Vec::new();
        message::write(&mut again, &message).expect("memory");
        assert_eq!(message::read(&mut &again[..]).expect("what was written"), Some(message));
    }
});
