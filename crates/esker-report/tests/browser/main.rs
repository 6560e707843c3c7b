//! The report in a real browser, without a network.
//!
//! Skipped if no Chromium is installed. `examples/pictures.rs` takes pictures of a report in the same way.

#![allow(clippy::disallowed_methods, reason = "a browser runs by the real clock, and has to be bounded by it")]
#![allow(clippy::print_stderr, reason = "a test that skips has to say so")]

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/numbers.rs"]
mod numbers;

#[path = "../support/caches.rs"]
mod cache_samples;

mod caches;
mod chromium;
mod run;

use std::path::{Path, PathBuf};

use chromium::{Chromium, DRAW_ALL};
use esker_results::study::StudyReport;
use serde_json::{Value, json};
use support::fixture;

/// A browser, or `None` after printing why there is none.
fn browser() -> Option<Chromium> {
    let program = chromium::installed();
    if program.is_none() {
        eprintln!("skipped: no Chromium in /usr/bin, and CHROMIUM names none");
    }
    Some(Chromium::start(&program?))
}

fn write_report(folder: &Path, name: &str, study: &StudyReport) -> PathBuf {
    let path = folder.join(name).with_extension("html");
    std::fs::write(&path, esker_report::render(study).unwrap()).unwrap();
    path
}

/// Finds charts whose data are drawn: their canvas has colours; axes and grid are grey.
const DRAWN: &str = "[...document.querySelectorAll('figure.chart')].map(figure => {
    const canvas = figure.querySelector('canvas');
    if (!canvas || !canvas.width) return false;
    const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    let coloured = 0;
    for (const pixel of pixels) {
        const parts = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
        if (pixel >>> 24 > 60 && Math.max(...parts) - Math.min(...parts) > 60) coloured++;
    }
    return coloured > 100;
})";

#[test]
fn the_report_works_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    // The hostile study has several workloads, and the troubled one has no times.
    for (name, study) in support::studies() {
        if ["several", "no-times"].contains(&name) {
            continue;
        }
        let page = write_report(folder.path(), name, &study);
        browser.resize(1280, 900);
        browser.prefer("light");
        browser.open(&page);
        browser.evaluate(DRAW_ALL);
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");

        let drawn = browser.evaluate(DRAWN);
        let drawn = drawn.as_array().unwrap();
        let described = browser.evaluate("JSON.parse(document.getElementById('charts').textContent).length");
        assert_eq!(drawn.len() as u64, described.as_u64().unwrap(), "{name}");
        assert!(drawn.iter().all(|drawn| drawn == true), "{name}: {drawn:?}");

        let headlines =
            browser.evaluate("[...document.querySelectorAll('[data-verdict]')].map(line => line.textContent)");
        let expected: Vec<&String> = study.workloads.iter().map(|workload| &workload.verdict.headline).collect();
        assert_eq!(headlines, json!(expected), "{name}");

        browser.prefer("dark");
        let ground = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        assert!(luminance(&ground) < 60, "{name}: the dark page has a {ground} ground");
        browser.evaluate("document.getElementById('theme').click()");
        let ground = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        assert!(luminance(&ground) > 200, "{name}: the light page has a {ground} ground");
        browser.prefer("light");

        browser.resize(360, 740);
        browser.evaluate(DRAW_ALL);
        let widths = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]");
        assert_eq!(widths, json!([360, 360]), "{name}: the page scrolls sideways: {}", browser.evaluate(WIDEST));
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn charts_write_numbers_as_the_page_does() {
    let Some(mut browser) = browser() else { return };
    let page = esker_report::render(&support::minimal()).unwrap();
    let expected: Vec<String> = numbers::numbers().into_iter().map(|(.., text)| text).collect();
    assert_eq!(browser.evaluate(&numbers::numbers_script(&page)), json!(expected));
}

#[test]
fn a_reproduction_works_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let hostile = support::hostile_reproduction();
    for (name, found) in [("plain", support::reproduction()), ("hostile", hostile)] {
        let page = folder.path().join(name).with_extension("html");
        std::fs::write(&page, esker_report::render_reproduction(&found).unwrap()).unwrap();
        browser.resize(1280, 900);
        browser.open(&page);
        browser.evaluate(DRAW_ALL);
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
        assert_eq!(browser.evaluate(DRAWN), json!([true, true, true]), "{name}");
        // Published values are marked in the legend, too.
        let keys = "[...document.querySelectorAll('.legend .swatch')].map(swatch => 'published' in swatch.dataset)";
        assert_eq!(browser.evaluate(keys), json!([true, false, true, false, false]), "{name}");
        // A curve hidden in one figure stays visible in the others.
        browser.evaluate("document.querySelector('.legend .key').click()");
        let hidden = "document.querySelectorAll('.key[aria-pressed=false]').length";
        assert_eq!(browser.evaluate(hidden), json!(1), "{name}");
        browser.resize(360, 740);
        browser.evaluate(DRAW_ALL);
        let widths = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]");
        assert_eq!(widths, json!([360, 360]), "{name}: the page scrolls sideways: {}", browser.evaluate(WIDEST));
        browser.evaluate("dispatchEvent(new Event('beforeprint'))");
        assert_eq!(browser.evaluate(DRAWN).as_array().unwrap().iter().filter(|drawn| **drawn == true).count(), 3);
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
    }
}

/// Elements that stick out to the right, for the message.
const WIDEST: &str =
    "[...document.querySelectorAll('main *')].filter(part => part.getBoundingClientRect().right > innerWidth + 1
    && !part.closest('.scroll, pre, .contents')).slice(0, 5).map(part => part.outerHTML.slice(0, 120)).join('  |  ')";

#[test]
fn tables_sort_by_every_column() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = write_report(folder.path(), "office", &fixture("office"));
    browser.resize(1280, 900);
    browser.open(&page);
    let unsorted = browser.evaluate(
        "[...document.querySelectorAll('table.sortable')].flatMap(table =>
            [...table.tHead.rows[0].cells].flatMap((head, at) => {
            const wrong = [];
            for (const direction of ['ascending', 'descending']) {
                head.querySelector('button').click();
                if (head.getAttribute('aria-sort') !== direction) wrong.push(`${head.textContent}: not ${direction}`);
                const sortedBy = table.querySelectorAll('[aria-sort]').length;
                if (sortedBy !== 1) wrong.push(`${head.textContent}: two columns sorted`);
                const numbers = [...table.tBodies[0].rows].flatMap(row => {
                    let column = 0;
                    for (const cell of row.cells) {
                        column += cell.colSpan;
                        if (column > at) return cell.dataset.sort ? [+cell.dataset.sort] : [];
                    }
                    return [];
                });
                const rises = direction === 'ascending';
                const follows = (value, before) => rises ? before <= value : before >= value;
                const sorted = numbers.every((value, index) => index === 0 || follows(value, numbers[index - 1]));
                if (!sorted) wrong.push(`${head.textContent}: ${numbers}`);
            }
            return wrong;
        }))",
    );
    assert_eq!(unsorted, json!([]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn charts_answer_mouse_and_keys() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = write_report(folder.path(), "office", &fixture("office"));
    browser.resize(1280, 900);
    browser.open(&page);
    browser.evaluate(DRAW_ALL);
    browser.evaluate("document.getElementById('w1-response-series').scrollIntoView()");
    let place = browser.evaluate(
        "(() => { const box = document.querySelector('#w1-response-series .u-over').getBoundingClientRect();
                  return [box.left, box.top, box.width, box.height]; })()",
    );
    let [left, top, width, height] = [0, 1, 2, 3].map(|index| place[index].as_f64().unwrap());

    // The values under the mouse with their units, in every chart over time.
    browser.mouse("mouseMoved", left + width * 0.3, top + height * 0.5);
    let readout = browser.evaluate("document.querySelector('#w1-response-series .readout').innerText");
    let readout = readout.as_str().unwrap();
    assert!(
        readout.starts_with("Fri 2026-11-20 08:0") && readout.contains("4 x Seagate") && readout.contains("ms"),
        "{readout}"
    );
    let others = "[...document.querySelectorAll('.readout')].filter(readout => !readout.hidden).map(readout => \
        readout.closest('figure').id)";
    let expected = ["w1-load-requests", "w1-load-bytes", "w1-working-set", "w1-response-series", "w1-utilisation"];
    assert_eq!(browser.evaluate(others), json!(expected));

    // Dragging zooms all charts over time; the button resets them.
    browser.mouse("mousePressed", left + width * 0.1, top + height * 0.5);
    browser.mouse("mouseMoved", left + width * 0.3, top + height * 0.5);
    browser.mouse("mouseReleased", left + width * 0.3, top + height * 0.5);
    let resets = "[...document.querySelectorAll('.reset')].filter(button => !button.hidden).map(button => \
        button.closest('figure').id)";
    assert_eq!(browser.evaluate(resets), json!(expected));
    browser.evaluate("document.querySelector('#w1-load-bytes .reset').click()");
    browser.evaluate("new Promise(done => setTimeout(done, 50))");
    assert_eq!(browser.evaluate(resets), json!([]));

    // A design hidden in one chart is hidden in all.
    browser.evaluate(
        "[...document.querySelectorAll('#w1-response-curve .key')].find(key => key.dataset.key === \
        '4x-seagate-exos-10e2400-600GB-in-use').click()",
    );
    let pressed = "[...document.querySelectorAll('.key')].filter(key => key.getAttribute('aria-pressed') === \
        'false').map(key => key.closest('figure').id)";
    assert_eq!(browser.evaluate(pressed), json!(["w1-response-curve", "w1-response-series"]));
    browser.mouse("mouseMoved", left + width * 0.3, top + height * 0.6);
    let readout = browser.evaluate("document.querySelector('#w1-response-series .readout').innerText");
    assert!(!readout.as_str().unwrap().contains("4 x Seagate"), "{readout}");

    // Keys move along a chart, and the values are announced.
    browser.evaluate("document.querySelector('#w1-miss-ratio .uplot').focus()");
    browser.key("End");
    let spoken = browser.evaluate("document.getElementById('spoken').textContent");
    assert_eq!(spoken, "845\u{a0}MiB miss ratio 18\u{a0}%");

    words_explain_themselves(&mut browser);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A term with focus shows its meaning.
fn words_explain_themselves(browser: &mut Chromium) {
    browser.evaluate("document.querySelector('a.term[data-term=footprint]').focus()");
    let bubble = browser.evaluate("document.getElementById('bubble').textContent");
    assert_eq!(bubble, "Distinct 4 KiB pages that were touched, times 4 KiB.");
}

#[test]
fn paper_gets_everything_but_long_lists() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = write_report(folder.path(), "office", &fixture("office"));
    browser.resize(1280, 900);
    browser.prefer("dark");
    browser.open(&page);
    let state = "[[...document.querySelectorAll('details:not(.unprinted)')].filter(part => !part.open).length,
        [...document.querySelectorAll('figure.chart')].filter(figure => !figure.querySelector('canvas')).length,
        Math.max(...[...document.querySelectorAll('.plot')].map(plot => plot.clientWidth)),
        document.documentElement.dataset.theme ?? null]";
    let before = browser.evaluate(state);
    assert!(before[1].as_u64() > Some(0), "{before}");
    browser.evaluate("dispatchEvent(new Event('beforeprint'))");
    // Everything that is printed is open and drawn, as wide as a sheet of A4 between its margins (186 mm), and light.
    assert_eq!(browser.evaluate(state), json!([0, 0, 680, "light"]));
    assert!(browser.evaluate(DRAWN).as_array().unwrap().iter().all(|drawn| drawn == true));
    browser.evaluate("dispatchEvent(new Event('afterprint'))");
    assert_eq!(browser.evaluate(state)[0], before[0]);
    assert_eq!(browser.evaluate(state)[3], Value::Null);
    let paper = browser.file("Page.printToPDF", json!({ "preferCSSPageSize": true }));
    assert!(paper.starts_with(b"%PDF") && paper.len() > 100_000, "{} bytes", paper.len());
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_study_of_one_workload_has_eight_sheets_at_most() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, study) in [("office", fixture("office")), ("markets", support::markets())] {
        let page = write_report(folder.path(), name, &study);
        browser.resize(1280, 900);
        browser.open(&page);
        let paper = browser.file("Page.printToPDF", json!({ "preferCSSPageSize": true }));
        let sheets = paper.windows(11).filter(|bytes| *bytes == b"/Type /Page").count();
        let trees = paper.windows(12).filter(|bytes| *bytes == b"/Type /Pages").count();
        assert!((1..=8).contains(&(sheets - trees)), "{name}: {} sheets", sheets - trees);
    }
}

#[test]
fn a_design_in_the_picture_of_prices_explains_itself() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = write_report(folder.path(), "markets", &support::markets());
    browser.resize(1280, 900);
    browser.open(&page);
    let place = browser.evaluate(
        "(() => { const mark = [...document.querySelectorAll('.prices g[data-tip]')].find(mark => \
         mark.dataset.tip.startsWith('io2')); mark.scrollIntoView({ block: 'center' });
         const box = mark.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()",
    );
    browser.mouse("mouseMoved", place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    let bubble = browser.evaluate("document.getElementById('bubble').textContent");
    let bubble = bubble.as_str().unwrap();
    assert!(
        bubble.starts_with("io2, 100 GiB (2025): 24\u{202f}150\u{a0}USD (402\u{a0}USD a month), p99 420"),
        "{bubble}"
    );
    // Names beside marks do not leave the picture, on a phone neither.
    browser.resize(390, 844);
    let outside = "[...document.querySelectorAll('.prices text.answer')].filter(word => {
        const box = word.getBoundingClientRect(); return box.left < 0 || box.right > innerWidth; }).length";
    assert_eq!(browser.evaluate(outside), json!(0));
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth"), json!(390));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

fn luminance(colour: &Value) -> u32 {
    let parts: Vec<u32> = colour
        .as_str()
        .unwrap()
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|part| part.parse().ok())
        .collect();
    parts[..3].iter().sum::<u32>() / 3
}
