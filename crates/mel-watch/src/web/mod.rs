//! Frames in a browser: a page on a port that only this machine reaches, at an address that nobody can guess.
//!
//! - [`token`]: the part of the address that nobody can guess.
//! - [`answer`]: what is answered to a request, and what is refused.
//! - [`http`]: requests and answers on the way, within limits.

pub mod answer;
pub mod http;
pub mod token;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};

use super::feed::View;
use super::setting::Setter;
use answer::Site;
use token::Token;

/// Serves the page until it is dropped.
#[derive(Debug)]
pub struct Server {
    _http: http::Server,
    address: String,
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
        let listener = TcpListener::bind(wanted).map_err(|error| {
            anyhow!("cannot serve on {wanted}: {error}; another --port, or none, may be free")
        })?;
        let bound = listener.local_addr().context("cannot serve: the port has no address")?;
        let token = Token::random().context("cannot serve: the system gives no random numbers")?;
        let address = format!("http://{bound}/{}/", token.text());
        let site = Site::new(token, bound.port(), directory, every, setter);
        let http = http::Server::start(listener, site, view).context("cannot serve: there is no thread")?;
        Ok(Server { _http: http, address })
    }

    /// The address of the page, with what nobody can guess.
    pub fn address(&self) -> &str {
        &self.address
    }
}
