//! What is answered to a request, and what is refused: everything but the page and its data, for who has the token.
//!
//! Other programs of this machine, and pages of other sites in its browser, may send requests here. They do not have the token. A site
//! whose name is made to lead to this machine (DNS rebinding) sends its own name as `Host`, which is refused, too.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::super::feed::View;
use super::super::frame::Frame;
use super::super::quantities::{QUANTITIES, Unit};
use super::token::Token;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("../../html/page.css");
const UNITS: &str = include_str!("../../html/units.js");
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
    fn text(status: u16, text: &str) -> Answer {
        Answer { status, kind: TEXT, body: text.as_bytes().to_vec() }
    }
}

/// Who answers.
#[derive(Debug)]
pub struct Site {
    token: Token,
    hosts: [String; 3],
    page: Vec<u8>,
}

/// What the page has from the beginning.
#[derive(Serialize)]
struct Constants<'a> {
    directory: &'a str,
    every_ms: u64,
    quantities: Vec<Described>,
}

#[derive(Serialize)]
struct Described {
    name: &'static str,
    head: &'static str,
    meaning: &'static str,
    unit: Unit,
    basis: super::super::quantities::Basis,
}

/// What the page asks for again and again.
#[derive(Serialize)]
struct Data<'a> {
    number: u64,
    frame: &'a Frame,
    headline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<Vec<Option<f64>>>,
}

impl Site {
    /// A page of the run in that directory, on this port.
    pub fn new(token: Token, port: u16, directory: &Path, every: Duration) -> Site {
        let describe = |quantity: &super::super::quantities::Quantity| Described {
            name: quantity.name,
            head: quantity.head,
            meaning: quantity.meaning,
            unit: quantity.unit,
            basis: quantity.basis,
        };
        let constants = Constants {
            directory: &directory.display().to_string(),
            every_ms: every.as_millis() as u64,
            quantities: QUANTITIES.iter().map(describe).collect(),
        };
        // A name in the data must not end the script that holds it.
        let data = serde_json::to_string(&constants).unwrap_or_default().replace('<', "\\u003c");
        let mut page = PAGE.to_owned();
        for (mark, text) in [
            ("{{style}}", [STYLE, OWN_STYLE].concat()),
            ("{{data}}", data),
            ("{{scripts}}", [UNITS, SCRIPT].concat()),
        ] {
            if let Some((before, after)) = page.split_once(mark) {
                page = [before, &text, after].concat();
            }
        }
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        Site { token, hosts, page: page.into_bytes() }
    }

    /// What is answered to a request for this address, which was sent to these hosts.
    pub fn answer(&self, is_get: bool, hosts: &[&str], url: &str, view: &View) -> Answer {
        let is_known = |host: &str| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        if !matches!(hosts, [host] if is_known(host)) {
            return Answer::text(403, "mel: this page is for this machine only\n");
        }
        let path = url.strip_prefix('/').unwrap_or(url);
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        if !self.token.is(token) {
            return Answer::text(
                403,
                "mel: the address is that which `mel watch --web` has printed, with its token\n",
            );
        }
        if !is_get {
            return Answer::text(405, "mel: there is nothing to change here\n");
        }
        match rest.split_once('?').unwrap_or((rest, "")) {
            ("", _) => Answer { status: 200, kind: "text/html; charset=utf-8", body: self.page.clone() },
            ("data", query) => data(query, view),
            _ => Answer::text(404, "mel: there is nothing of that name\n"),
        }
    }
}

/// The frame, and the curve that is asked for: `rank=3&of=mpi_now`.
fn data(query: &str, view: &View) -> Answer {
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
    };
    match serde_json::to_vec(&data) {
        Ok(body) => Answer { status: 200, kind: "application/json", body },
        Err(error) => Answer::text(500, &format!("mel: {error}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::feed::Feed;
    use super::*;

    fn ask(site: &Site, is_get: bool, hosts: &[&str], url: &str) -> Answer {
        let directory = tempfile::tempdir().unwrap();
        let feed = Feed::start(directory.path(), Duration::from_secs(60)).unwrap();
        site.answer(is_get, hosts, url, &feed.view())
    }

    fn site() -> (Site, String) {
        let token = Token::random().unwrap();
        let text = token.text().to_owned();
        (Site::new(token, 4711, Path::new("d</script>"), Duration::from_secs(1)), text)
    }

    #[test]
    fn who_has_the_token_gets_the_page_and_its_data_and_nothing_else() {
        let (site, token) = site();
        let host = &["127.0.0.1:4711"];
        let page = ask(&site, true, host, &format!("/{token}/"));
        assert_eq!((page.status, page.kind), (200, "text/html; charset=utf-8"));
        let text = String::from_utf8(page.body).unwrap();
        assert!(!text.contains("{{") && !text.contains("d</script>") && text.contains("d\\u003c/script>"));
        let data = ask(&site, true, host, &format!("/{token}/data?rank=0&of=mpi_now"));
        let data: serde_json::Value = serde_json::from_slice(&data.body).unwrap();
        assert_eq!(data["curve"], serde_json::json!([]));
        assert_eq!(ask(&site, true, host, &format!("/{token}/../../etc/passwd")).status, 404);
        assert_eq!(ask(&site, false, host, &format!("/{token}/")).status, 405);
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
            assert_eq!(ask(&site, true, &["localhost:4711"], url).status, 403, "{url}");
        }
    }

    #[test]
    fn a_name_of_another_site_is_refused() {
        let (site, token) = site();
        let url = format!("/{token}/");
        for hosts in
            [&["evil.example:4711"][..], &["127.0.0.1"], &["127.0.0.1:80"], &[], &["127.0.0.1:4711"; 2]]
        {
            assert_eq!(ask(&site, true, hosts, &url).status, 403, "{hosts:?}");
        }
        for host in ["127.0.0.1:4711", "LOCALHOST:4711", "[::1]:4711"] {
            assert_eq!(ask(&site, true, &[host], &url).status, 200, "{host}");
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
