//! Requests to the page of `mel watch --web`: whatever comes, there is an answer or an end, after no more than a request may have; and none
//! but who has sent the token gets the page, its data, or a setting read.
//!
//! The first byte of the input says whether something may be set, and in how many pieces the rest comes. In the rest `\x01` stands for the
//! token, which nobody guesses.
#![no_main]

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mel_watch::feed::{Feed, View};
use mel_watch::setting::Setter;
use mel_watch::web::answer::{MOST_BODY, Site};
use mel_watch::web::http::{MOST_HEAD, respond};
use mel_watch::web::token::Token;

/// A client: gives its bytes in pieces, and counts what is taken.
struct Client<'a> {
    rest: &'a [u8],
    piece: usize,
    taken: usize,
}

impl Read for Client<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.piece);
        let count = (&self.rest[..self.rest.len().min(count)]).read(bytes)?;
        self.rest = &self.rest[count..];
        self.taken += count;
        Ok(count)
    }
}

struct Served {
    site: Site,
    token: String,
}

impl Served {
    fn new(setter: Option<Setter>) -> Served {
        let token = Token::random().expect("random numbers");
        let text = token.text().to_owned();
        Served { site: Site::new(token, 4711, Path::new("run"), Duration::from_secs(1), setter), token: text }
    }
}

struct World {
    view: View,
    /// Nothing can be set, or something.
    served: [Served; 2],
}

fn world() -> World {
    let room = tempfile::tempdir().expect("a temporary directory").keep();
    // Read once: what is in it does not change.
    let feed = Feed::start(&room, Duration::from_secs(1 << 20)).expect("a thread");
    let view = feed.view();
    std::mem::forget(feed);
    World { view, served: [Served::new(None), Served::new(Some(Setter::new(&room, Vec::new())))] }
}

thread_local! {
    static WORLD: World = world();
}

fuzz_target!(|input: &[u8]| {
    let Some((how, text)) = input.split_first() else { return };
    WORLD.with(|world| {
        let Served { site, token } = &world.served[usize::from(how & 1)];
        let has_token = text.contains(&1);
        let mut bytes = Vec::with_capacity(text.len());
        for &byte in text {
            match byte {
                1 => bytes.extend_from_slice(token.as_bytes()),
                byte => bytes.push(byte),
            }
        }
        let piece = [usize::MAX, 1, 7, 1000][usize::from(how >> 1 & 3)];
        let mut client = Client { rest: &bytes, piece, taken: 0 };
        let answer = respond(&mut client, site, &world.view);
        // The last piece of a head may be longer than what is missing of it.
        assert!(client.taken <= MOST_HEAD + 4096 + MOST_BODY, "{} bytes were read", client.taken);
        let Ok(answer) = answer else { return };
        assert!(
            matches!(answer.status, 200 | 202 | 400 | 403 | 404 | 405 | 411 | 413 | 431),
            "{}",
            answer.status
        );
        if !has_token {
            assert!(matches!(answer.status, 400 | 403 | 431), "{} without the token", answer.status);
        }
        assert!(answer.status != 202 || how & 1 == 1, "nothing may be set");
        let is_told = String::from_utf8_lossy(&answer.body).contains(token.as_str());
        assert!(has_token || !is_told, "nobody is told the token");
    });
});
