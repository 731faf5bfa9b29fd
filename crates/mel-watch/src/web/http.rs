//! HTTP/1.1 as far as the page needs it, within limits that hold whatever clients do.
//!
//! A connection has one request, one answer, one thread, and a time in which it ends. Where there are as many as there may be, the oldest
//! one ends: a browser is answered within moments.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::super::feed::View;
use super::answer::{Answer, HEADERS, MOST_BODY, Request, Site};

/// The most bytes of a request's line and headers together.
pub const MOST_HEAD: usize = 16 << 10;
/// The most headers.
const MOST_HEADERS: usize = 64;
/// The most connections at one time.
const MOST_CONNECTIONS: usize = 32;
/// A connection ends after that, whatever it is in the middle of.
const MOST_TIME: Duration = Duration::from_secs(10);
/// So long, and so much, of what a client still sends is read, so that it sees its answer.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 64 << 10;

/// Answers until it is dropped, which waits for no client.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    listener: TcpListener,
    state: Mutex<State>,
    /// A thread of a connection has ended.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The connections, by a number, the oldest first.
    open: VecDeque<(u64, TcpStream)>,
    /// Threads of connections, of those that were ended, too.
    threads: usize,
    is_over: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Begins to answer what comes to this port.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(listener: TcpListener, site: Site, view: View) -> io::Result<Server> {
        let shared = Arc::new(Shared { listener, state: Mutex::default(), ended: Condvar::new() });
        let (of_thread, page) = (Arc::clone(&shared), Arc::new((site, view)));
        let thread = thread::Builder::new().name("page".into()).spawn(move || accept(&of_thread, &page))?;
        Ok(Server { shared, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_over = true;
        end(&mut state.open, 0);
        drop(state);
        self.shared.ended.notify_all();
        // SAFETY: a descriptor that is open as long as the listener is. Who waits for a connection stops waiting.
        unsafe { libc::shutdown(self.shared.listener.as_raw_fd(), libc::SHUT_RDWR) };
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Ends the oldest connections, so that so many stay.
fn end(open: &mut VecDeque<(u64, TcpStream)>, left: usize) {
    while open.len() > left {
        if let Some((_, stream)) = open.pop_front() {
            // Its thread can neither read nor write any more.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(shared: &Arc<Shared>, page: &Arc<(Site, View)>) {
    for number in 0.. {
        let accepted = shared.listener.accept();
        let mut state = shared.state();
        if state.is_over {
            return;
        }
        let Ok((stream, _)) = accepted else {
            // There are no descriptors left, or the client has gone already.
            drop(state);
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        end(&mut state.open, MOST_CONNECTIONS - 1);
        let is_full = |state: &mut State| state.threads >= MOST_CONNECTIONS && !state.is_over;
        let mut state = shared.ended.wait_while(state, is_full).unwrap_or_else(PoisonError::into_inner);
        let Ok(kept) = stream.try_clone() else { continue };
        let (of_thread, page) = (Arc::clone(shared), Arc::clone(page));
        let serve = move || {
            // A client that has gone is no error.
            let _ = serve(stream, &page);
            let mut state = of_thread.state();
            state.open.retain(|(other, _)| *other != number);
            state.threads -= 1;
            drop(state);
            of_thread.ended.notify_all();
        };
        if thread::Builder::new().name("client".into()).spawn(serve).is_ok() {
            state.threads += 1;
            state.open.push_back((number, kept));
        }
    }
}

/// A connection of which nothing is waited for longer than until then.
struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Timed {
    fn rest(&self) -> io::Result<Option<Duration>> {
        let rest = self.until.saturating_duration_since(Instant::now());
        if rest.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(rest)) }
    }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.rest()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.rest()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers one request.
fn serve(stream: TcpStream, page: &(Site, View)) -> io::Result<()> {
    let mut stream = Timed { stream, until: Instant::now() + MOST_TIME };
    let answer = respond(&mut stream, &page.0, &page.1)?;
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    let length = answer.body.len().to_string();
    let own = [("Content-Type", answer.kind), ("Content-Length", &length), ("Connection", "close")];
    for (name, value) in own.into_iter().chain(HEADERS) {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    stream.write_all(&answer.body)?;
    // Closed with bytes unread, it would take the answer back.
    stream.stream.shutdown(Shutdown::Write)?;
    stream.until = stream.until.min(Instant::now() + LINGER);
    io::copy(&mut stream.take(LINGER_BYTES as u64), &mut io::sink())?;
    Ok(())
}

/// Reads one request, no more than a head and a body may have, and says what is answered.
///
/// # Errors
/// Those of reading; the client says no more before the request is whole.
pub fn respond(stream: &mut impl Read, site: &Site, view: &View) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..count]);
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let head = match parsed.parse(&bytes) {
            Ok(httparse::Status::Complete(head)) => head,
            Ok(httparse::Status::Partial) if bytes.len() < MOST_HEAD => continue,
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return Ok(Answer::text(431, "that is too long for a request\n"));
            }
            Err(_) => return Ok(Answer::text(400, "this is no request of HTTP/1.1\n")),
        };
        let values = |name: &str| -> Vec<&str> {
            let named = parsed.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
            // What is no text is none of ours.
            named.map(|header| std::str::from_utf8(header.value).unwrap_or("?")).collect()
        };
        let (hosts, origins) = (values("Host"), values("Origin"));
        let request = Request {
            method: parsed.method.unwrap_or_default(),
            url: parsed.path.unwrap_or_default(),
            hosts: &hosts,
            origins: &origins,
        };
        // Nobody who may not set something has a body read.
        if let Some(answer) = site.answer(&request, view) {
            return Ok(answer);
        }
        let length = match &values("Content-Length")[..] {
            [length] if values("Transfer-Encoding").is_empty() => length.parse::<usize>().ok(),
            _ => None,
        };
        let Some(length) = length else {
            return Ok(Answer::text(411, "a setting needs its length\n"));
        };
        if length > MOST_BODY {
            return Ok(Answer::text(413, "that is too long for a setting\n"));
        }
        let mut body = bytes.split_off(head);
        let begun = body.len().min(length);
        body.resize(length, 0);
        stream.read_exact(&mut body[begun..])?;
        return Ok(site.set(&body));
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    }
}
