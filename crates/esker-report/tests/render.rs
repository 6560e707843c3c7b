//! The structure of the report, without a browser: what must be there, what must not, and that it is repeatable.

#[path = "support/page.rs"]
mod page;
#[expect(dead_code, reason = "runs have a test of their own")]
mod support;

use esker_report::{render, render_reproduction};
use esker_results::study::StudyReport;
use esker_results::{RecoveryReport, RecoveryWay};
use page::visible;
use serde_json::{Value, json};
use support::{
    fixture, fixture_json, hostile, hostile_reproduction, markets, minimal, reproduction, reproduction_json, several,
    studies, troubled,
};

/// The data in the element with this id.
fn data(page: &str, id: &str) -> Value {
    let begin = format!("<script type=\"application/json\" id=\"{id}\"");
    let json = page.split_once(&begin).unwrap().1.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_same_study_gives_the_same_bytes() {
    for (name, study) in studies() {
        assert_eq!(render(&study).unwrap(), render(&study).unwrap(), "{name}");
    }
}

#[test]
fn the_study_inside_is_the_study_that_was_given() {
    for (name, study) in studies() {
        assert_eq!(data(&render(&study).unwrap(), "data"), serde_json::to_value(&study).unwrap(), "{name}");
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    for (name, study) in studies() {
        let page = render(&study).unwrap();
        assert!(page.contains("content=\"default-src 'none'; script-src 'nonce-"));
        let page = visible(&page);
        for loading in ["src=", "<link", "<iframe", "<img", "@import", "url(", "href=\"http", "style=", "onclick"] {
            // Hostile names appear only as text: with `<` and quotes escaped.
            let found = page.match_indices(loading).find(|(at, _)| !page[..*at].ends_with("&#60;img "));
            assert_eq!(found, None, "{name}: {loading}");
        }
    }
}

#[test]
fn every_question_has_its_section_and_charts_have_theirs() {
    let page = render(&fixture("office")).unwrap();
    let ids = [
        "w1-verdict",
        "w1-price",
        "w1-workload",
        "w1-performance",
        "w1-lifetime",
        "w1-cache",
        "w1-misalignment",
        "w1-ruled-out",
        "method",
        "words",
    ];
    let mut before = 0;
    for id in ids {
        let at = page.find(&format!("<section id=\"{id}\"")).or(page.find(&format!("id=\"{id}\" aria-label"))).unwrap();
        assert!(at > before, "{id} is not in its place");
        before = at;
        assert!(page.contains(&format!("<a href=\"#{id}\">")), "the contents do not name {id}");
    }
    let charts = data(&page, "charts");
    let names: Vec<&str> = charts.as_array().unwrap().iter().map(|chart| chart["id"].as_str().unwrap()).collect();
    let expected = [
        "load-requests",
        "load-bytes",
        "request-sizes",
        "skew",
        "working-set",
        "response-curve",
        "response-series",
        "utilisation",
        "miss-ratio",
    ];
    assert_eq!(names, expected.map(|name| format!("w1-{name}")));
    assert!(names.iter().all(|id| page.matches(&format!("<figure class=\"chart\" id=\"{id}\">")).count()
        + page.matches(&format!("<figure class=\"chart wide\" id=\"{id}\">")).count()
        == 1));
}

#[test]
fn a_design_that_could_not_keep_up_has_words_instead_of_times() {
    let page = visible(&render(&fixture("office")).unwrap());
    let table = page.split("class=\"sortable candidates\"").nth(1).unwrap().split("</table>").next().unwrap();
    let row = table.split("<tr").find(|row| row.contains("could serve them")).unwrap();
    assert!(row.contains("Seagate Exos 10E2400") && row.contains("from 9 min on"), "{row}");
    assert!(row.contains("49\u{202f}086</span> waited"), "{row}");
    assert!(!row.contains("µs") && !row.contains(">ms<"), "{row}");
    let page = visible(&render(&troubled()).unwrap());
    assert!(page.contains("Could not be simulated:</strong> the active data (52 GiB) does not fit"));
    assert!(page.contains("too few writes to judge"));
}

#[test]
fn today_stands_first_among_the_designs() {
    let page = visible(&render(&fixture("office")).unwrap());
    let body = page.split("class=\"sortable candidates\"").nth(1).unwrap().split("<tbody>").nth(1).unwrap();
    assert!(body.trim_start().starts_with("<tr class=\"measured\">"));
    assert!(!visible(&render(&troubled()).unwrap()).contains("class=\"measured\""));
}

#[test]
fn sections_without_data_vanish() {
    let page = visible(&render(&minimal()).unwrap());
    assert!(page.contains("The trace has no requests."));
    for gone in ["w1-workload", "w1-performance", "w1-lifetime", "w1-cache", "w1-misalignment", "<figure", "judge\n"] {
        assert!(!page.contains(gone), "{gone}");
    }
}

#[test]
fn whatever_may_be_absent_in_a_study_may_be_absent_on_its_page() {
    // Every field of the study is left out once, at any depth. Of arrays, only one entry is tried.
    let mut whole = fixture_json("office");
    shorten(&mut whole);
    let mut priced = serde_json::to_value(markets()).unwrap();
    shorten(&mut priced);
    // The second design is recommended.
    priced["workloads"][0]["candidates"].as_array_mut().unwrap().swap(0, 1);
    without_each(&priced, |study: StudyReport, path| {
        let page = render(&study).unwrap_or_else(|error| panic!("without {path}: {error:?}"));
        assert!(page.ends_with("</html>") && !visible(&page).contains("NaN"), "without {path}");
    });
    let optional = without_each(&whole, |study: StudyReport, path| {
        let page = render(&study).unwrap_or_else(|error| panic!("without {path}: {error:?}"));
        assert!(page.ends_with("</html>"), "without {path}");
        assert!(!visible(&page).contains("NaN"), "without {path}");
    });
    assert!(optional > 100, "{optional} fields may be absent");
}

/// Leaves out each field once. If the rest is still complete, it is passed to `check`. Returns how often that was.
fn without_each<T: serde::de::DeserializeOwned>(whole: &Value, check: impl Fn(T, &str)) -> usize {
    let mut paths = Vec::new();
    collect(whole, String::new(), &mut paths);
    let mut optional = 0;
    for path in paths {
        let mut part = whole.clone();
        let (parent, key) = path.rsplit_once('/').unwrap();
        part.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(&key.replace("~1", "/").replace("~0", "~"));
        if let Ok(part) = serde_json::from_value(part) {
            optional += 1;
            check(part, &path);
        }
    }
    optional
}

#[test]
fn numbers_that_are_none_are_left_out() {
    let mut study = fixture("office");
    let workload = &mut study.workloads[0];
    workload.profile.mean_size_bytes = f64::NAN;
    workload.profile.skew.lorenz[1].access_share = f64::NAN;
    workload.measured.as_mut().unwrap().all.p99_us = f64::INFINITY;
    for candidate in &mut workload.candidates {
        candidate.limits.iter_mut().for_each(|limit| limit.peak = f64::NAN);
        candidate.endurance.iter_mut().for_each(|endurance| endurance.cleaning_share = f64::NAN);
    }
    let page = visible(&render(&study).unwrap());
    assert!(!page.contains("NaN") && !page.contains("inf<"));
}

/// Shortens long lists: here they test no more than short ones, and take longer.
fn shorten(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Array(items) => {
            if items.len() > 6 {
                items.truncate(3);
            }
            items.iter_mut().for_each(shorten);
        }
        _ => {}
    }
}

fn collect(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                paths.push(path.clone());
                collect(field, path, paths);
            }
        }
        Value::Array(items) => {
            if let Some(item) = items.first() {
                collect(item, format!("{path}/0"), paths);
            }
        }
        _ => {}
    }
}

#[test]
fn names_from_traces_stay_text() {
    let study = hostile();
    let page = render(&study).unwrap();
    let own_scripts = 4;
    assert_eq!(page.matches("<script").count(), own_scripts);
    assert_eq!(page.matches("</script").count(), own_scripts);
    assert!(!page.contains("<img"));
    let text = visible(&page);
    assert!(text.matches("&#60;/script&#62;&#60;script&#62;").count() > 50, "the names should be seen");
    // No quote in them ends an attribute.
    assert!(!text.contains("onerror=alert(1)>\""));
}

#[test]
fn several_workloads_begin_with_an_overview() {
    let page = visible(&render(&several()).unwrap());
    let overview = page.split("id=\"overview\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(
        overview.contains("<a href=\"#w1\">office-misaligned.esker</a>")
            && overview.contains("<a href=\"#w2\">office-notimes.log</a>")
    );
    assert!(
        page.contains("<details class=\"workload\" id=\"w1\" open>")
            && page.contains("<details class=\"workload\" id=\"w2\">")
    );
    // Ids are unique.
    let mut ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[test]
fn every_link_leads_somewhere() {
    for (name, study) in studies() {
        let page = visible(&render(&study).unwrap());
        for target in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(page.contains(&format!(" id=\"{target}\"")), "{name}: #{target}");
        }
    }
}

#[test]
fn a_page_stays_small() {
    let page = render(&fixture("office")).unwrap();
    assert!(page.len() < 1_500_000, "{}", page.len());
}

#[test]
fn a_study_without_workloads_says_so() {
    let study = StudyReport { workloads: Vec::new(), ..fixture("office") };
    assert!(render(&study).unwrap().contains("The study holds no workloads."));
}

#[test]
fn every_explained_word_is_in_the_list() {
    let page = visible(&render(&fixture("office")).unwrap());
    for term in page.split("data-term=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(page.contains(&format!("id=\"term-{term}\"")), "{term} has no explanation");
    }
}

#[test]
fn a_reproduction_shows_every_claim_and_figure_and_counts_verdicts() {
    let found = reproduction();
    let page = render_reproduction(&found).unwrap();
    assert_eq!(data(&page, "data"), serde_json::to_value(&found).unwrap());
    let seen = visible(&page);
    for shown in
        ["figure-3.10", "Kim 2009, section 3.5.1", "share of large merges", "read off the figure", "Unreachable"]
    {
        assert!(seen.contains(shown), "{shown}");
    }
    assert!(!seen.contains("None"), "what is absent is a dash");
    assert_eq!(seen.matches("<span class=\"level good\"").count(), 1, "one claim is met");
    let charts = data(&page, "charts");
    let shapes: Vec<(&str, usize)> = charts
        .as_array()
        .unwrap()
        .iter()
        .map(|chart| {
            (
                chart["choices"][0]["series"][0]["shape"].as_str().unwrap(),
                seen.matches(chart["id"].as_str().unwrap()).count(),
            )
        })
        .collect();
    assert_eq!(shapes, [("slots", 1), ("points", 1), ("many_points", 1)]);
    let series = &charts[1]["choices"][0]["series"];
    assert_eq!(series[0]["label"], "FAST, published");
    assert_eq!((&series[0]["published"], &series[0]["colour"]), (&json!(true), &series[1]["colour"]));
    assert_ne!(series[1]["colour"], series[2]["colour"]);
    assert_eq!(charts[2]["choices"][0]["series"][0]["label"], "page map", "nothing published beside it");
}

#[test]
fn no_name_in_a_reproduction_becomes_markup() {
    let page = render_reproduction(&hostile_reproduction()).unwrap();
    assert_eq!(
        page.matches("<script").count(),
        render_reproduction(&reproduction()).unwrap().matches("<script").count()
    );
    assert!(!visible(&page).contains("<img"));
}

#[test]
fn whatever_may_be_absent_in_a_reproduction_may_be_absent_on_its_page() {
    // Of arrays, only the first entry is tried: the one with figures.
    let mut whole = reproduction_json();
    whole["items"].as_array_mut().unwrap().remove(0);
    let optional = without_each(&whole, |found, path| {
        render_reproduction(&found).unwrap_or_else(|error| panic!("without {path}: {error}"));
    });
    assert!(optional >= 4, "{optional} fields may be absent");
}

#[test]
fn the_slowest_requests_and_the_dies_are_drawn() {
    let study = fixture("office");
    let page = visible(&render(&study).unwrap());
    let picture = page.split("id=\"w1-slowest\"").nth(1).unwrap().split("</figure>").next().unwrap();
    let shown = &study.workloads[0].slowest.as_ref().unwrap().requests;
    assert_eq!(picture.matches("<g data-tip=\"Request ").count(), shown.len());
    assert!(picture.contains("The slowest request of all, a read of"), "{picture}");
    assert!(picture.contains("#term-behind_requests"));
    let dies = page.split("<figure class=\"bars dies unprinted\"").nth(1).unwrap().split("</figure>").next().unwrap();
    let drives = study.workloads[0].candidates.iter().filter(|candidate| candidate.kind == "ssd").count();
    assert_eq!(dies.matches("<th scope=\"row\">").count(), drives);
    assert!(dies.contains("data-tip=\"Channel 8: dies "));
}

#[test]
fn a_power_failure_stands_with_the_design_that_had_it() {
    let with = |recovery: Option<RecoveryReport>| {
        let mut study = fixture("office");
        let designs = &mut study.workloads[0].candidates;
        let design = designs.iter_mut().find(|design| design.kind == "ssd").unwrap();
        design.devices.values_mut().find_map(|device| device.flash.as_mut()).unwrap().recovery = recovery;
        visible(&render(&study).unwrap())
    };
    let recovery = Some(RecoveryReport {
        at_s: 3.0,
        duration_s: 18.4,
        way: RecoveryWay::Summaries,
        reads: 140_990,
        interrupted_requests: 31,
        torn_pages: 14,
        lost_pages: 23,
        found_pages: 5_000_000,
        older_pages: 17,
        ..RecoveryReport::default()
    });
    let page = with(recovery);
    let sentence = page.split("Power failed ").nth(1).unwrap().split("</p>").next().unwrap();
    for shown in
        ["18.4</span>", ">31</span> requests", ">14</span> pages", ">23</span> pages of writes", ">17</span> of these"]
    {
        assert!(sentence.contains(shown), "{shown}: {sentence}");
    }
    assert!(sentence.contains("by the summaries of its blocks") && !sentence.contains("Capacitors"), "{sentence}");
    assert_eq!(page.matches("Power failed ").count(), 1);
    assert!(with(Some(RecoveryReport::default())).ends_with("</html>"));
    assert!(!with(None).contains("Power failed "));
}
