//! A browser without a window: opens a page, moves a mouse over it, and hears what it complains of.
//!
//! Talks the DevTools protocol of Chromium over the two pipes of `--remote-debugging-pipe`: JSON texts, each ended
//! by a zero byte.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::artifacts::absent;

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: Value,
    last: u64,
    complaints: Vec<String>,
    _profile: TempDir,
}

/// The commands that Chromium has on various systems.
const COMMANDS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

impl Browser {
    /// Starts the browser with a page of that many pixels. `None` where there is none, and tests may do
    /// without.
    ///
    /// # Panics
    ///
    /// If it is there and cannot be started.
    pub fn start(width: u32, height: u32) -> Option<Browser> {
        let there =
            |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
        let Some(command) = COMMANDS.into_iter().find(there) else {
            absent("Chromium", "scripts/install-deps installs it");
            return None;
        };
        let profile = crate::artifacts::fresh_dir();
        // The browser reads descriptor 3 and writes descriptor 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", command])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell can be started");
        let requests = process.stdin.take().expect("it was asked for");
        let answers = BufReader::new(process.stdout.take().expect("it was asked for"));
        let (session, last, complaints) = (Value::Null, 0, Vec::new());
        let mut browser =
            Browser { process, requests, answers, session, last, complaints, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].clone();
        for domain in ["Runtime.enable", "Log.enable", "Page.enable", "Network.enable"] {
            browser.call(domain, json!({}));
        }
        browser.size(width, height);
        Some(browser)
    }

    /// Opens a file and waits until it has been loaded and drawn.
    pub fn open(&mut self, page: &Path) {
        self.call("Page.navigate", json!({"url": format!("file://{}", page.display())}));
        let drawn = "new Promise((done) => { const frame = () => requestAnimationFrame(() => requestAnimationFrame(() => done(true))); \
                     document.readyState === 'complete' ? frame() : addEventListener('load', frame); })";
        // The first answer may still be that of the page before.
        while self.value("location.protocol") != "file:" {}
        assert_eq!(self.value(drawn), true);
    }

    /// Opens an address, and waits until its page has been loaded.
    pub fn open_address(&mut self, address: &str) {
        self.call("Page.navigate", json!({"url": address}));
        while self.value("location.href") != address || self.value("document.readyState") != "complete" {}
    }

    /// The value of an expression on the page, or of what it promises.
    ///
    /// # Panics
    ///
    /// If it throws.
    pub fn value(&mut self, expression: &str) -> Value {
        let arguments = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let result = self.call("Runtime.evaluate", arguments);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Turns the wheel or moves the mouse: `mouseMoved`, `mousePressed`, `mouseReleased`, `mouseWheel`.
    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64), more: &Value) {
        let mut event = json!({"type": kind, "x": x, "y": y});
        if let (Some(event), Some(more)) = (event.as_object_mut(), more.as_object()) {
            event.extend(more.clone());
        }
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Gives the window that many pixels.
    ///
    /// # Panics
    /// If the browser does not answer.
    pub fn size(&mut self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Whether the page shall think that it is printed.
    ///
    /// # Panics
    /// If the browser does not answer.
    pub fn print(&mut self, is_printed: bool) {
        self.call("Emulation.setEmulatedMedia", json!({"media": if is_printed { "print" } else { "" }}));
    }

    /// Whether the page shall think that its reader likes it dark.
    pub fn dark(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Writes a picture of the window, as a PNG. For people: no test compares pixels.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn picture(&mut self, path: &Path) {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let mut decode = Command::new("base64")
            .arg("--decode")
            .stdin(Stdio::piped())
            .stdout(File::create(path).expect("the picture can be written"))
            .spawn()
            .expect("base64 can be started");
        let text = answer["data"].as_str().unwrap_or_default();
        decode.stdin.take().expect("it was asked for").write_all(text.as_bytes()).expect("it reads");
        assert!(decode.wait().expect("it ends").success());
    }

    /// What the page has complained of: errors, warnings, and addresses that it wanted from a network.
    pub fn complaints(&mut self) -> Vec<String> {
        self.value("1");
        std::mem::take(&mut self.complaints)
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut request = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_null() {
            request["sessionId"] = self.session.clone();
        }
        let mut text = request.to_string().into_bytes();
        text.push(0);
        self.requests.write_all(&text).expect("the browser listens");
        loop {
            let mut text = Vec::new();
            let read = self.answers.read_until(0, &mut text).expect("the browser answers");
            assert!(read > 0, "the browser has ended during {method}");
            let answer: Value =
                serde_json::from_slice(text.strip_suffix(b"\0").unwrap_or(&text)).expect("JSON");
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.hear(&answer);
        }
    }

    fn hear(&mut self, event: &Value) {
        let parameters = &event["params"];
        let complaint = match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Log.entryAdded") => true,
            Some("Runtime.consoleAPICalled") => parameters["type"] != "log",
            Some("Network.requestWillBeSent") => {
                let address = parameters["request"]["url"].as_str().unwrap_or_default();
                !address.starts_with("file:")
                    && !address.starts_with("about:")
                    && !address.starts_with("data:")
            }
            _ => false,
        };
        if complaint {
            self.complaints.push(event.to_string());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
