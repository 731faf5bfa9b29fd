//! Frames in a browser: a page on a port that only this machine reaches, at an address that nobody can guess.
//!
//! - [`token`]: the part of the address that nobody can guess.
//! - [`answer`]: what is answered to a request, and what is refused.

pub mod answer;
pub mod token;

use std::io::{self, Read as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tiny_http::{Header, Method, Request, Response, Server as Http};

use super::feed::View;
use super::setting::Setter;
use answer::{Answer, Site};
use token::Token;

/// Serves the page until it is dropped.
#[derive(Debug)]
pub struct Server {
    http: Arc<HttpServer>,
    thread: Option<JoinHandle<()>>,
    address: String,
}

/// So that the server can be printed.
struct HttpServer(Http);

impl std::fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HttpServer").field(&self.0.server_addr()).finish()
    }
}

impl Server {
    /// Begins to serve what the view shows of the run in that directory, on this port of 127.0.0.1, or on any that is free. Who has the
    /// address may set variables where there is a setter.
    ///
    /// # Errors
    /// The port is taken; the system has no random numbers.
    pub fn start(
        view: View,
        directory: &Path,
        every: Duration,
        port: Option<u16>,
        setter: Option<Setter>,
    ) -> anyhow::Result<Server> {
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
        let http = Http::http(wanted).map_err(|error| {
            anyhow!("cannot serve on {wanted}: {error}; another --port, or none, may be free")
        })?;
        let bound = http.server_addr().to_ip().context("cannot serve: the port has no address")?;
        let token = Token::random().context("cannot serve: the system gives no random numbers")?;
        let address = format!("http://{bound}/{}/", token.text());
        let site = Site::new(token, bound.port(), directory, every, setter);
        let http = Arc::new(HttpServer(http));
        let of_thread = Arc::clone(&http);
        let thread = std::thread::Builder::new().name("page".into()).spawn(move || {
            // `recv` fails when it is unblocked: it is over.
            while let Ok(request) = of_thread.0.recv() {
                // A browser that has gone is no error.
                let _ = respond(request, &site, &view);
            }
        })?;
        Ok(Server { http, thread: Some(thread), address })
    }

    /// The address of the page, with what nobody can guess.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.http.0.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn respond(mut request: Request, site: &Site, view: &View) -> io::Result<()> {
    let mut body = Vec::new();
    if *request.method() == Method::Post {
        request.as_reader().take(answer::MOST_BODY + 1).read_to_end(&mut body)?;
    }
    let hosts: Vec<&str> = request
        .headers()
        .iter()
        .filter(|header| header.field.equiv("Host"))
        .map(|header| header.value.as_str())
        .collect();
    let origins = request.headers().iter().filter(|header| header.field.equiv("Origin"));
    let origins: Vec<&str> = origins.map(|header| header.value.as_str()).collect();
    let is_get = *request.method() == Method::Get;
    let Answer { status, kind, body } = match request.method() {
        Method::Post => site.set(&hosts, &origins, request.url(), &body),
        _ => site.answer(is_get, &hosts, request.url(), view),
    };
    let mut response = Response::from_data(body).with_status_code(status);
    for (name, value) in answer::HEADERS.into_iter().chain([("Content-Type", kind)]) {
        // Both are constant texts of ASCII.
        if let Ok(header) = Header::from_bytes(name, value) {
            response.add_header(header);
        }
    }
    request.respond(response)
}
