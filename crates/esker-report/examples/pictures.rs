//! Takes pictures of reports as readers see them, for work on their design: on a desktop, in dark mode, on a phone, on
//! paper. `cargo run -p esker-report --example pictures folder report.html...`

#[allow(clippy::disallowed_methods, dead_code, reason = "a browser runs by the real clock; tests use more of it")]
#[path = "../tests/browser/chromium.rs"]
mod chromium;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use chromium::Chromium;
use serde_json::json;

/// Actions of a reader, each followed by a picture of the result.
const ACTIONS: [(&str, &str); 2] = [
    (
        "sorted",
        "document.querySelector('[id$=performance]')?.scrollIntoView();
         document.querySelectorAll('.candidates thead button').forEach((button, index) => {
             if (index === 6) { button.click(); button.focus({ preventScroll: true }); } })",
    ),
    (
        "walked",
        "document.querySelector('[id$=response-curve]')?.scrollIntoView();
         document.querySelector('[id$=response-curve] .uplot')?.focus({ preventScroll: true });
         for (let step = 0; step < 3; step++) document.activeElement.dispatchEvent(
             new KeyboardEvent('keydown', { key: 'PageDown', bubbles: true }))",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [folder, reports @ ..] = arguments.as_slice() else {
        return Err("usage: pictures FOLDER REPORT.html...".into());
    };
    let program = chromium::installed().ok_or("no Chromium in /usr/bin, and CHROMIUM names none")?;
    for report in reports {
        let mut browser = Chromium::start(&program);
        let name = report.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (kind, width, scheme) in [("desktop", 1280, "light"), ("dark", 1280, "dark"), ("phone", 360, "light")] {
            browser.resize(width, 900);
            browser.prefer(scheme);
            browser.open(&fs::canonicalize(report)?);
            browser.evaluate(chromium::DRAW_ALL);
            pictures(&mut browser, &folder.join(format!("{name}-{kind}")))?;
        }
        browser.resize(1280, 900);
        for (kind, action) in ACTIONS {
            browser.evaluate(action);
            let picture = browser.file("Page.captureScreenshot", json!({}));
            fs::write(folder.join(format!("{name}-{kind}.png")), picture)?;
        }
        // As on paper, in one piece: A4 without its margins.
        browser.resize(703, 900);
        browser.evaluate("dispatchEvent(new Event('beforeprint'))");
        browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
        pictures(&mut browser, &folder.join(format!("{name}-paper")))?;
        browser.call("Emulation.setEmulatedMedia", json!({ "media": "" }));
        browser.evaluate("dispatchEvent(new Event('afterprint'))");
        let paper = browser.file("Page.printToPDF", json!({ "preferCSSPageSize": true, "printBackground": false }));
        fs::write(folder.join(name).with_extension("pdf"), paper)?;
    }
    Ok(())
}

/// Takes the whole page in pieces of at most 1,500 rows.
fn pictures(browser: &mut Chromium, name: &Path) -> Result<(), Box<dyn Error>> {
    let size = browser.evaluate("[innerWidth, document.documentElement.scrollHeight]");
    let (width, height) = (size[0].as_u64().unwrap_or(0), size[1].as_u64().unwrap_or(0));
    for (index, top) in (0..height).step_by(1500).enumerate() {
        let clip = json!({ "x": 0, "y": top, "width": width, "height": (height - top).min(1500), "scale": 1 });
        let picture = browser.file("Page.captureScreenshot", json!({ "captureBeyondViewport": true, "clip": clip }));
        fs::write(format!("{}-{index}.png", name.display()), picture)?;
    }
    Ok(())
}
