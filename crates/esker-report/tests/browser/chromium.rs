//! Drives a headless Chromium over its debugging pipe, without a port or a library.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The longest time that one browser may run; after that the test fails.
const LIFETIME: Duration = Duration::from_secs(90);

/// Opens all workloads, then scrolls from chart to chart, so that every chart is drawn.
pub(crate) const DRAW_ALL: &str = "(async () => {
    document.querySelectorAll('details.workload').forEach(part => { part.open = true; });
    for (const figure of document.querySelectorAll('figure.chart')) {
        figure.scrollIntoView();
        for (let frame = 0; frame < 300 && !figure.querySelector('canvas'); frame++) {
            await new Promise(requestAnimationFrame);
        }
    }
    scrollTo(0, 0);
})()";

/// One browser with one page.
pub(crate) struct Chromium {
    process: Child,
    commands: File,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    session: Option<String>,
    next_id: u64,
    deadline: Instant,
    _profile: tempfile::TempDir,
}

/// Where a Chromium is installed, if it is.
pub(crate) fn installed() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let usual = ["chromium", "chromium-browser", "google-chrome"].map(|name| Path::new("/usr/bin").join(name));
    named.into_iter().chain(usual).find(|path| path.exists())
}

impl Chromium {
    /// Starts the browser without a network, and opens an empty page.
    pub(crate) fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (to, from) = (profile.path().join("to"), profile.path().join("from"));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success(), "mkfifo");
        // The browser reads commands from descriptor 3 and answers on 4.
        let process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<\"$TO\" 4>\"$FROM\""])
            .arg(program)
            .args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args([
                "--disable-extensions",
                "--hide-scrollbars",
                "--force-color-profile=srgb",
                "--disable-dev-shm-usage",
            ])
            // Everything that it tries to reach ends here.
            .args(["--proxy-server=127.0.0.1:9", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .env("TO", &to)
            .env("FROM", &from)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = OpenOptions::new().write(true).open(&to).unwrap();
        let answers = BufReader::new(File::open(&from).unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in answers.split(0) {
                let Ok(message) = message else { return };
                if sender.send(serde_json::from_slice(&message).unwrap_or(Value::Null)).is_err() {
                    return;
                }
            }
        });
        let deadline = Instant::now() + LIFETIME;
        let (events, session, next_id) = (VecDeque::new(), None, 1);
        let mut browser = Self { process, commands, messages, events, session, next_id, deadline, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_string);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sends one command and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let mut command = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).expect("the browser listens");
        loop {
            let message = self.next_message(method);
            if message["id"] == json!(id) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    fn next_message(&mut self, waiting_for: &str) -> Value {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.messages.recv_timeout(left) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("{waiting_for}: no answer within {LIFETIME:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("{waiting_for}: the browser ended"),
        }
    }

    /// Opens a file and waits until it is loaded. Forgets all earlier events.
    pub(crate) fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.next_message("load");
            self.events.push_back(message);
        }
    }

    /// Sets the window's width and height in CSS pixels.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        // Charts that were drawn for another width hold a narrow window open until they are drawn again.
        let follows = format!(
            "(async () => {{
                for (let frame = 0; frame < 300 && innerWidth !== {width}; frame++) {{
                    await new Promise(requestAnimationFrame);
                }}
            }})()"
        );
        self.evaluate(&follows);
    }

    /// Sets the preferred colour scheme: "light" or "dark".
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// The value of an expression in the page. Waits for promises.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let what = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", what);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Moves the mouse to a position in the window, or presses or releases it there.
    pub(crate) fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": 1, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Presses and releases a key.
    pub(crate) fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "code": key }));
        }
    }

    /// Problems since the page was opened: exceptions, messages of level error, requests other than the page itself.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let complaint = |event: &Value| {
            let parameters = &event["params"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" => Some(parameters["args"].to_string()),
                "Log.entryAdded" => Some(format!("{}: {}", parameters["entry"]["level"], parameters["entry"]["text"])),
                "Network.requestWillBeSent" if parameters["type"] != "Document" => {
                    Some(format!("request: {}", text(&parameters["request"]["url"])))
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(complaint).collect()
    }

    /// The bytes of a file made by the browser, with "Page.captureScreenshot" or "Page.printToPDF".
    pub(crate) fn file(&mut self, method: &str, parameters: Value) -> Vec<u8> {
        use base64::Engine;
        let answer = self.call(method, parameters);
        base64::engine::general_purpose::STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The processes that it started end with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
