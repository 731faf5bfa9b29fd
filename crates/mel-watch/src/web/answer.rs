//! What is answered to a request, and what is refused: everything but the page and its data, for who has the token; and setting variables,
//! where that was allowed.
//!
//! Other programs of this machine, and pages of other sites in its browser, may send requests here. They do not have the token. A site
//! whose name is made to lead to this machine (DNS rebinding) sends its own name as `Host`, which is refused, too.

use std::path::Path;
use std::time::Duration;

use mel_log::profile::quantities::{Basis, Quantity, Unit};
use serde::Serialize;

use mel_page::html::{Module, SHARED, STYLE, bundle};
use mel_page::view::variables::Variable;

use super::super::feed::View;
use super::super::frame::{Frame, Row};
use super::super::quantities::{QUANTITIES, head};
use super::super::setting::Setter;
use super::token::Token;

/// The most bytes of a setting.
pub const MOST_BODY: usize = 4096;

const PAGE: &str = include_str!("page.html");
const SCRIPT: Module = Module { name: "page", text: include_str!("page.js") };
const OWN_STYLE: &str = include_str!("page.css");

/// Sent with each answer: nothing is kept, nothing is loaded from elsewhere, no other page may show this one.
pub const HEADERS: [(&str, &str); 6] = [
    ("Cache-Control", "no-store"),
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
];

const TEXT: &str = "text/plain; charset=utf-8";

/// A request, without its body.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    /// What is asked for: path and query.
    pub url: &'a str,
    /// Each header `Host`.
    pub hosts: &'a [&'a str],
    /// Each header `Origin`.
    pub origins: &'a [&'a str],
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// The type of the content.
    pub kind: &'static str,
    /// The content.
    pub body: Vec<u8>,
}

impl Answer {
    /// A line.
    pub fn text(status: u16, text: &str) -> Answer {
        Answer { status, kind: TEXT, body: text.as_bytes().to_vec() }
    }
}

/// Who answers.
#[derive(Debug)]
pub struct Site {
    token: Token,
    hosts: [String; 3],
    page: Vec<u8>,
    /// Sets what is asked for, where that is allowed.
    setter: Option<Setter>,
}

/// What the page has from the beginning.
#[derive(Serialize)]
struct Constants<'a> {
    directory: &'a str,
    every_ms: u64,
    settable: bool,
    quantities: Vec<Described>,
}

#[derive(Serialize)]
struct Described {
    name: &'static str,
    head: &'static str,
    meaning: &'static str,
    unit: Unit,
    basis: Basis,
}

/// What the page asks for again and again.
#[derive(Serialize)]
struct Data<'a> {
    number: u64,
    frame: &'a Frame,
    headline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<Vec<Option<f64>>>,
    /// The curves of the variables that the run samples, of all ranks.
    plots: &'a [Variable],
    /// What came of what was set here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    told: Vec<String>,
}

impl Site {
    /// A page of the run in that directory, on this port.
    pub fn new(token: Token, port: u16, directory: &Path, every: Duration, setter: Option<Setter>) -> Site {
        let describe = |quantity: &Quantity<Row>| Described {
            name: quantity.name,
            head: head(quantity),
            meaning: quantity.sentence,
            unit: quantity.unit,
            basis: quantity.basis,
        };
        let constants = Constants {
            directory: &directory.display().to_string(),
            every_ms: every.as_millis() as u64,
            settable: setter.is_some(),
            quantities: QUANTITIES.iter().map(describe).collect(),
        };
        // A name in the data must not end the script that holds it.
        let data = serde_json::to_string(&constants).unwrap_or_default().replace('<', "\\u003c");
        let mut page = PAGE.to_owned();
        for (mark, text) in [
            ("{{style}}", [STYLE, OWN_STYLE].concat()),
            ("{{data}}", data),
            ("{{script}}", bundle(&[&SHARED[..], &[SCRIPT]].concat())),
        ] {
            if let Some((before, after)) = page.split_once(mark) {
                page = [before, &text, after].concat();
            }
        }
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        Site { token, hosts, page: page.into_bytes(), setter }
    }

    /// What is answered to a request; `None` for one that may set something, and whose body is [asked for](Self::set).
    pub fn answer(&self, request: &Request<'_>, view: &View) -> Option<Answer> {
        let rest = match self.allowed(request.hosts, request.url) {
            Ok(rest) => rest,
            Err(refused) => return Some(refused),
        };
        match request.method {
            "GET" => Some(match rest.split_once('?').unwrap_or((rest, "")) {
                ("", _) => Answer { status: 200, kind: "text/html; charset=utf-8", body: self.page.clone() },
                ("data", query) => self.data(query, view),
                _ => Answer::text(404, "there is nothing of that name\n"),
            }),
            "POST" => self.refuse_setting(request, rest),
            _ => Some(Answer::text(405, "there is nothing to change here\n")),
        }
    }

    /// What of the address comes behind the token, for who has that and has sent it to this machine.
    fn allowed<'a>(&self, hosts: &[&str], url: &'a str) -> Result<&'a str, Answer> {
        let is_known = |host: &str| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        if !matches!(hosts, [host] if is_known(host)) {
            return Err(Answer::text(403, "this page is for this machine only\n"));
        }
        let path = url.strip_prefix('/').unwrap_or(url);
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        if !self.token.is(token) {
            let text = "the address is that which `mel watch --web` has printed, with its token\n";
            return Err(Answer::text(403, text));
        }
        Ok(rest)
    }

    /// What is answered to who may not set something.
    fn refuse_setting(&self, request: &Request<'_>, rest: &str) -> Option<Answer> {
        // Browsers say whose page it is that sends.
        let is_own =
            |origin: &&str| origin.strip_prefix("http://").is_some_and(|host| request.hosts.contains(&host));
        if !request.origins.iter().all(is_own) {
            return Some(Answer::text(403, "this page is for this machine only\n"));
        }
        if rest != "set" {
            return Some(Answer::text(405, "there is nothing to change here\n"));
        }
        let refused = "nothing can be set here: start mel watch with --allow-set\n";
        self.setter.is_none().then(|| Answer::text(403, refused))
    }

    /// What is answered to a setting of who may set something. What comes of it is in the data.
    pub fn set(&self, body: &[u8]) -> Answer {
        let asked = std::str::from_utf8(body).map_err(|_| "this is no text".to_owned());
        match asked.and_then(|text| self.setter.as_ref().ok_or("nothing can be set here")?.ask(text)) {
            Ok(()) => Answer::text(202, "the ranks are asked\n"),
            Err(line) => Answer::text(400, &format!("{line}\n")),
        }
    }

    fn data(&self, query: &str, view: &View) -> Answer {
        data(query, view, self.setter.as_ref().map_or_else(Vec::new, |setter| setter.lines().1))
    }
}

/// The frame, and the curve that is asked for: `rank=3&of=mpi_now`.
fn data(query: &str, view: &View, told: Vec<String>) -> Answer {
    let value = |name: &str| {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let rank = value("rank").and_then(|rank| rank.parse::<u32>().ok());
    let place = value("of").and_then(|of| QUANTITIES.iter().position(|quantity| quantity.name == of));
    let (number, frame) = view.latest();
    let data = Data {
        number,
        frame: &frame,
        headline: super::super::text::headline(&frame),
        curve: rank.zip(place).map(|(rank, place)| view.curve(rank, place)),
        plots: &frame.plots,
        told,
    };
    match serde_json::to_vec(&data) {
        Ok(body) => Answer { status: 200, kind: "application/json", body },
        Err(error) => Answer::text(500, &format!("{error}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::feed::Feed;
    use super::*;

    fn answered(site: &Site, request: &Request<'_>) -> Option<Answer> {
        let directory = tempfile::tempdir().unwrap();
        let feed = Feed::start(directory.path(), Duration::from_secs(60)).unwrap();
        site.answer(request, &feed.view())
    }

    fn ask(site: &Site, method: &str, hosts: &[&str], url: &str) -> Answer {
        answered(site, &Request { method, url, hosts, origins: &[] }).unwrap()
    }

    fn site() -> (Site, String) {
        let token = Token::random().unwrap();
        let text = token.text().to_owned();
        (Site::new(token, 4711, Path::new("d</script>"), Duration::from_secs(1), None), text)
    }

    #[test]
    fn something_is_set_only_where_that_is_allowed_and_with_the_token() {
        let room = tempfile::tempdir().unwrap();
        let (closed, token) = site();
        let (host, url) = (&["127.0.0.1:4711"][..], format!("/{token}/set"));
        let status = |site: &Site, hosts: &[&str], origins: &[&str], url: &str, body: &[u8]| {
            let refused = answered(site, &Request { method: "POST", url, hosts, origins });
            refused.unwrap_or_else(|| site.set(body)).status
        };
        assert_eq!(status(&closed, host, &[], &url, b"a=1"), 403, "it was not allowed");
        let token = Token::random().unwrap();
        let url = format!("/{}/set", token.text());
        let elsewhere = format!("/{}/data", token.text());
        let setter = Setter::new(room.path(), Vec::new());
        let open = Site::new(token, 4711, Path::new("d"), Duration::from_secs(1), Some(setter));
        assert_eq!(status(&open, host, &[], "/set", b"a=1"), 403, "no token");
        assert_eq!(status(&open, &["evil.example:4711"], &[], &url, b"a=1"), 403);
        assert_eq!(status(&open, host, &["http://evil.example"], &url, b"a=1"), 403);
        assert_eq!(status(&open, host, &["null"], &url, b"a=1"), 403);
        assert_eq!(status(&open, host, &[], &elsewhere, b"a=1"), 405);
        assert_eq!(status(&open, host, &[], &url, b"nonsense"), 400);
        assert_eq!(status(&open, host, &[], &url, b"a=\xff"), 400);
        assert_eq!(status(&open, host, &["http://127.0.0.1:4711"], &url, b"a=1"), 202);
    }

    #[test]
    fn who_has_the_token_gets_the_page_and_its_data_and_nothing_else() {
        let (site, token) = site();
        let host = &["127.0.0.1:4711"];
        let page = ask(&site, "GET", host, &format!("/{token}/"));
        assert_eq!((page.status, page.kind), (200, "text/html; charset=utf-8"));
        let text = String::from_utf8(page.body).unwrap();
        assert!(!text.contains("{{") && !text.contains("d</script>") && text.contains("d\\u003c/script>"));
        let data = ask(&site, "GET", host, &format!("/{token}/data?rank=0&of=mpi_now"));
        let data: serde_json::Value = serde_json::from_slice(&data.body).unwrap();
        assert_eq!(data["curve"], serde_json::json!([]));
        assert_eq!(ask(&site, "GET", host, &format!("/{token}/../../etc/passwd")).status, 404);
        assert_eq!(ask(&site, "PUT", host, &format!("/{token}/")).status, 405);
    }

    #[test]
    fn who_has_not_the_token_is_refused() {
        let (site, token) = site();
        for url in [
            "/",
            "",
            "/data",
            "//",
            &format!("/{}0/", token),
            &format!("/{}/", &token[1..]),
            &format!("/?{token}"),
        ] {
            assert_eq!(ask(&site, "GET", &["localhost:4711"], url).status, 403, "{url}");
        }
    }

    #[test]
    fn a_name_of_another_site_is_refused() {
        let (site, token) = site();
        let url = format!("/{token}/");
        for hosts in
            [&["evil.example:4711"][..], &["127.0.0.1"], &["127.0.0.1:80"], &[], &["127.0.0.1:4711"; 2]]
        {
            assert_eq!(ask(&site, "GET", hosts, &url).status, 403, "{hosts:?}");
        }
        for host in ["127.0.0.1:4711", "LOCALHOST:4711", "[::1]:4711"] {
            assert_eq!(ask(&site, "GET", &[host], &url).status, 200, "{host}");
        }
    }

    #[test]
    fn the_page_needs_no_other_address() {
        let (site, _) = site();
        let page = String::from_utf8(site.page.clone()).unwrap().replace("url(#", "");
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert_eq!(page.matches(outside).count(), 0, "the page has {outside}");
        }
    }
}
