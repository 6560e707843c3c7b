//! The structure of the page of a run, without a browser.

#[path = "support/page.rs"]
mod page;
#[expect(dead_code, reason = "studies have a test of their own")]
mod support;

use esker_report::render_run;
use esker_results::{CacheRoomLeft, ClusterEpoch, ClusterReport, ClusterServerReport, FlashCacheReport};
use page::visible;
use serde_json::Value;
use support::hostile_run;
use support::run::{plain_run, run};

/// The charts that the script draws: names, and which lines each has.
fn charts(page: &str) -> Vec<(String, Vec<String>)> {
    let json = page.split_once("id=\"charts\">").unwrap().1.split_once("</script>").unwrap().0;
    let charts: Value = serde_json::from_str(json).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let labels = |chart: &Value| {
        let series = chart["choices"][0]["series"].as_array().unwrap();
        series.iter().map(|one| text(&one["label"]) + if one["published"] == true { " (dashed)" } else { "" }).collect()
    };
    charts.as_array().unwrap().iter().map(|chart| (text(&chart["id"]), labels(chart))).collect()
}

#[test]
fn a_hybrid_has_shares_against_targets_moves_and_a_map() {
    let page = render_run(&run()).unwrap();
    assert_eq!(page, render_run(&run()).unwrap(), "the same run gives the same bytes");
    let charts = charts(&page);
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "run-requests",
        "run-bytes",
        "run-response",
        "run-utilisation",
        "run-shares",
        "run-child-response",
        "run-held",
        "run-moved",
        "run-redirected",
    ];
    assert_eq!(names, expected);
    assert_eq!(charts[4].1, ["flash", "disk", "flash, target (dashed)", "disk, target (dashed)"]);
    assert_eq!(charts[7].1, ["moved", "copied"]);
    assert!(page.contains("\"label\":\"disk 5 times slower\""), "events are marked");
    let page = visible(&page);
    let mut before = 0;
    for id in ["result", "time", "children", "map", "devices", "method", "words"] {
        let at = page.find(&format!("id=\"{id}\" aria-label")).unwrap();
        assert!(at > before && page.contains(&format!("<a href=\"#{id}\">")), "{id} is not in its place");
        before = at;
    }
    assert!(page.contains("wardrop") && page.contains("took at most 9\u{a0}ms."), "the headline");
    let tokens = page.split("Tokens").nth(1).unwrap().split("</dd>").next().unwrap();
    let tokens = tokens.replace("<span class=\"n\">", "").replace("</span>", "");
    assert!(tokens.contains("5 for new extents, 20 for moves, 7 for redirected writes, 8 lapsed"), "{tokens}");
    // Without scripts, the table shows the end: 12 of 16 ranges of ten extents are on flash.
    let map = page.split("id=\"extent-map\"").nth(1).unwrap().split("</figure>").next().unwrap();
    assert!(map.contains(">120</span>") && map.contains(">75</span>") && map.contains("max=\"40\""), "{map}");
}

#[test]
fn a_run_without_a_series_or_children_has_neither_charts_nor_a_map() {
    let page = render_run(&plain_run()).unwrap();
    assert_eq!(charts(&page), []);
    let page = visible(&page);
    assert!(page.contains("The run has no time series"));
    for gone in ["id=\"time\"", "id=\"children\"", "id=\"map\"", "id=\"devices\"", "<figure", ">Policy<"] {
        assert!(!page.contains(gone), "{gone}");
    }
}

#[test]
fn a_flash_cache_shows_what_it_served_and_how_its_flash_wore() {
    let mut run = plain_run();
    assert!(!render_run(&run).unwrap().contains("id=\"flash-cache\""), "there is none");
    let device = run.devices.values_mut().next().unwrap();
    let room = Some(CacheRoomLeft { slots_at_first: 500, shrank: Vec::new() });
    device.flash_cache = Some(FlashCacheReport {
        hits: 900,
        misses: 300,
        read_hits: 700,
        read_misses: 100,
        dropped_lines: 41,
        slots: 421,
        refused_writes: 17,
        room,
        ..Default::default()
    });
    let page = visible(&render_run(&run).unwrap());
    let section = page.split("id=\"flash-cache\"").nth(1).unwrap().split("</section>").next().unwrap();
    let text = section.replace("<span class=\"n\">", "").replace("</span>", "");
    let sort = |ratio| format!("data-sort=\"{ratio}\"");
    let ratios = [sort("0.875"), sort("0.5"), sort("0.75")];
    let sentences = ["dropped 41 lines", "421 of 500 slots", "refused 17 writes"];
    for words in ratios.iter().map(String::as_str).chain(sentences) {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("admission policy") && !text.contains("only copy"), "what did not happen is left out");
}

#[test]
fn a_cluster_shows_how_its_servers_wore() {
    let mut run = plain_run();
    assert!(!render_run(&run).unwrap().contains("id=\"cluster\""), "there is none");
    let server = |erases, copied_bytes| ClusterServerReport { erases, copied_bytes, slices: 7, written_bytes: 1 << 20 };
    let device = run.devices.values_mut().next().unwrap();
    device.children = ["drive.10", "drive.9"].map(|name| (name.to_string(), Default::default())).into();
    device.cluster = Some(ClusterReport {
        slices: 14,
        moves_begun: 4,
        moves_done: 3,
        objects_copied: 5,
        erases_mean: 1500.0,
        erases_sd: 500.0,
        servers: vec![server(1000.0, 0), server(2000.0, 1 << 20)],
        epochs: vec![ClusterEpoch::default(), ClusterEpoch { at_s: 10.0, ..Default::default() }],
        ..Default::default()
    });
    let page = visible(&render_run(&run).unwrap());
    let section = page.split("id=\"cluster\"").nth(1).unwrap().split("</section>").next().unwrap();
    let text = section.replace("<span class=\"n\">", "").replace("</span>", "");
    for words in ["3 are complete", "5 were copied, which is 50", "data-sort=\"2000\"", "<figure"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let rows: Vec<usize> = ["drive.9<", "drive.10<"].iter().map(|name| text.find(name).unwrap()).collect();
    assert!(rows.is_sorted(), "servers are in the order of their numbers");
}

#[test]
fn nothing_is_loaded_from_elsewhere_and_no_name_becomes_markup() {
    let plain = render_run(&run()).unwrap();
    for run in [run(), plain_run(), hostile_run()] {
        let page = render_run(&run).unwrap();
        assert!(page.contains("content=\"default-src 'none'; script-src 'nonce-"));
        assert_eq!(page.matches("<script").count(), plain.matches("<script").count());
        let page = visible(&page);
        assert!(!page.contains("<img"));
        for loading in ["src=", "<link", "<iframe", "@import", "url(", "href=\"http", "style=", "onclick"] {
            let found = page.match_indices(loading).find(|(at, _)| !page[..*at].ends_with("&#60;img "));
            assert_eq!(found, None, "{loading}");
        }
    }
}

#[test]
fn a_run_that_places_no_extents_has_no_map() {
    let mut plain = serde_json::to_value(run()).unwrap();
    plain["placement_map"] = Value::Null;
    plain["config"] = Value::Null;
    for point in plain["series"].as_array_mut().unwrap() {
        point.as_object_mut().unwrap().retain(|key, _| key != "placement" && key != "children");
    }
    let page = render_run(&serde_json::from_value(plain).unwrap()).unwrap();
    let names: Vec<String> = charts(&page).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["run-requests", "run-bytes", "run-response", "run-utilisation"]);
    assert!(!visible(&page).contains("id=\"map\""));
}
