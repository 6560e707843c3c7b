//! The page of a run in a browser: the map of extents follows its slider.

use serde_json::{Value, json};

use super::chromium::Chromium;
use super::{DRAW_ALL, DRAWN, WIDEST, browser, support};

/// What the map's canvas shows, as a number that changes with it, and whether it has colours.
const PICTURE: &str = "(() => {
    const canvas = document.querySelector('#extent-map canvas');
    // The page's own canvas is not made for being read often.
    const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    [copy.canvas.width, copy.canvas.height] = [canvas.width, canvas.height];
    copy.drawImage(canvas, 0, 0);
    const pixels = new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    let [sum, coloured] = [0, 0];
    for (const pixel of pixels) {
        sum = (Math.imul(sum, 31) + pixel) | 0;
        const parts = [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
        if (pixel >>> 24 > 60 && Math.max(...parts) - Math.min(...parts) > 60) coloured++;
    }
    return [sum, coloured > 1000];
})()";

/// The moment beside the slider, and what flash holds of all extents then.
const SHOWN: &str = "[document.getElementById('map-time').textContent,
    document.querySelector('#extent-map tbody tr').cells[2].textContent]";

#[test]
fn the_map_of_a_run_follows_its_slider() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, run) in [("hybrid", support::run::run()), ("hostile", support::hostile_run())] {
        let page = folder.path().join(name).with_extension("html");
        std::fs::write(&page, esker_report::render_run(&run).unwrap()).unwrap();
        browser.resize(1280, 900);
        browser.prefer("light");
        browser.open(&page);
        browser.evaluate(DRAW_ALL);
        let drawn = browser.evaluate(DRAWN);
        assert!(drawn.as_array().unwrap().iter().all(|drawn| drawn == true), "{name}: {drawn}");
        let end = browser.evaluate(PICTURE);
        assert_eq!(end[1], json!(true), "{name}: the map has colours");
        if name == "hybrid" {
            the_slider_chooses(&mut browser, &end);
            the_picture_is_read_out_and_chooses(&mut browser);
        }
        for width in [390, 360] {
            browser.resize(width, 844);
            browser.evaluate(DRAW_ALL);
            let widths = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]");
            let widest = browser.evaluate(WIDEST);
            assert_eq!(widths, json!([width, width]), "{name}: the page scrolls sideways: {widest}");
        }
        browser.evaluate("dispatchEvent(new Event('beforeprint'))");
        assert_eq!(browser.evaluate("document.querySelector('#extent-map canvas').clientWidth"), json!(660));
        browser.evaluate("dispatchEvent(new Event('afterprint'))");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
    }
}

fn the_slider_chooses(browser: &mut Chromium, end: &Value) {
    assert_eq!(browser.evaluate(SHOWN), json!(["3.9\u{a0}s to 4\u{a0}s", "75\u{a0}%"]));
    browser.evaluate("document.querySelector('#extent-map input').focus()");
    browser.key("Home");
    assert_eq!(browser.evaluate(SHOWN), json!(["the start, 0\u{a0}s", "25\u{a0}%"]));
    let start = browser.evaluate(PICTURE);
    assert_ne!(&start, end, "the slider changes the picture");
    browser.key("ArrowRight");
    browser.key("ArrowRight");
    assert_eq!(browser.evaluate(SHOWN), json!(["0.1\u{a0}s to 0.2\u{a0}s", "31.2\u{a0}%"]));
    let said = browser.evaluate("document.getElementById('map-said').textContent");
    let expected = "At 0.2\u{a0}s. Since 0.1\u{a0}s, 10\u{a0}extents were moved and 1\u{a0}write redirected";
    assert_eq!(said, json!(expected));
    assert_eq!(
        browser.evaluate("document.querySelector('#extent-map input').getAttribute('aria-valuetext')"),
        json!("0.1\u{a0}s to 0.2\u{a0}s")
    );
}

fn the_picture_is_read_out_and_chooses(browser: &mut Chromium) {
    // Keys on the picture walk along the ranges and read them out.
    browser.evaluate("document.querySelector('#extent-map canvas').focus()");
    browser.key("ArrowRight");
    browser.key("ArrowRight");
    let spoken = browser.evaluate("document.getElementById('spoken').textContent");
    let expected = "10\u{a0}MiB to 20\u{a0}MiB 0.1\u{a0}s to 0.2\u{a0}s flash 10 of 10 extents requests 0\u{a0}/s";
    assert_eq!(spoken, json!(expected));
    // A press in the picture of all moments chooses one.
    let place = browser.evaluate(
        "(() => { const canvas = document.querySelector('#extent-map canvas'); canvas.scrollIntoView();
          const box = canvas.getBoundingClientRect(); return [box.left + box.width / 2, box.bottom - 12]; })()",
    );
    let [x, y] = [0, 1].map(|index| place[index].as_f64().unwrap());
    browser.mouse("mousePressed", x, y);
    browser.mouse("mouseReleased", x, y);
    assert_eq!(browser.evaluate(SHOWN), json!(["3.9\u{a0}s to 4\u{a0}s", "75\u{a0}%"]));
}

#[test]
fn a_run_without_a_map_has_no_complaints_either() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("plain.html");
    std::fs::write(&page, esker_report::render_run(&support::run::plain_run()).unwrap()).unwrap();
    browser.resize(390, 844);
    browser.open(&page);
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth"), json!(390));
    browser.evaluate("document.getElementById('theme').click(); dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
