//! What the report says of products, prices, markets, and designs that were not simulated.

#[path = "support/page.rs"]
mod page;
#[expect(dead_code, reason = "some studies are enough")]
mod support;

use esker_report::render;
use page::visible;
use support::{fixture, markets, minimal};

/// The element of the page that begins with `begin`, up to `end`.
fn piece<'a>(page: &'a str, begin: &str, end: &str) -> &'a str {
    let rest = page.split_once(begin).unwrap_or_else(|| panic!("no {begin}")).1;
    rest.split_once(end).unwrap_or_else(|| panic!("no {end} after {begin}")).0
}

#[test]
fn the_first_screen_says_what_to_buy_what_it_costs_and_how_sure_that_is() {
    let page = visible(&render(&fixture("priced")).unwrap());
    let verdict = piece(&page, "id=\"w1-verdict\"", "</section>");
    for shown in [
        "<dt>Recommended</dt><dd>Micron 5400 PRO (2022)<span class=\"note\">blocksandfiles.com, 2022-06-29: Micron \
         5400; assumed: capacities, die, price, power; simulated over published: random reads 1.00, ",
        "1\u{a0}×\u{a0}240\u{a0}GB<span class=\"note\">for ",
        "at least 8.48\u{a0}GB",
        "140\u{a0}USD<span class=\"note\">over 5\u{a0}years: 130 to buy, 10.67 of power; prices of \
         2026-03-31, assumed",
        ">786</span>\u{a0}<span class=\"u\">µs</span>",
        "today <span class=\"n\">1.02</span>\u{a0}<span class=\"u\">ms</span> in the busiest hour",
        "4</span> designs were <a href=\"#w1-performance\">simulated</a>, of which <span \
         class=\"n\">3</span> keep every",
        "2\u{a0}times<span class=\"note\">",
        "12.4\u{a0}years",
        "0.891 drive writes a day asked, 1.5 warranted",
        "low<span class=\"note\">a first idea",
        "<strong>Evidence low:</strong> The trace covers <span class=\"q\">14 minutes:</span>",
        "Not asked for, but taken as defaults: <span class=\"q\">99 %</span> of requests within",
    ] {
        assert!(verdict.contains(shown), "{shown}: {verdict}");
    }
    let source =
        "of the class sata-tlc: <code>esker devices micron-5400-pro</code> shows it. Source: blocksandfiles.com, ";
    assert!(page.contains(source), "every design names its product");
    assert!(!verdict.contains("Evidence: low"), "the reasons stand there once");
    assert!(!verdict.contains("other markets"));
}

#[test]
fn answers_of_other_markets_stand_beside_the_headline() {
    let page = visible(&render(&markets()).unwrap());
    let verdict = piece(&page, "id=\"w1-verdict\"", "</section>");
    assert!(verdict.contains("<dt>Recommended, on-premises</dt>"), "{verdict}");
    let beside = piece(verdict, "<dl class=\"facts markets\">", "</dl>");
    for shown in [
        "<dt>AWS</dt>",
        "gp3-6000, 100 GiB (2025)",
        "1\u{a0}×\u{a0}100\u{a0}GiB · 23.00\u{a0}USD a month · p99 990\u{a0}µs",
    ] {
        assert!(
            beside.contains(&shown.replace("100 GiB", "<span class=\"q\">100 GiB</span>")) || beside.contains(shown),
            "{shown}: {beside}"
        );
    }
    assert!(beside.contains("None keeps every budget. Nearest: premium-v2"), "{beside}");
}

#[test]
fn price_against_response_time_is_drawn_and_told() {
    let study = markets();
    let page = visible(&render(&study).unwrap());
    assert!(page.find("id=\"w1-price\"") < page.find("id=\"w1-workload\""));
    let picture = piece(&page, "<figure class=\"picture prices\">", "</figure>");
    let drawn = study.workloads[0].candidates.iter().filter(|candidate| candidate.busy.is_some()).count();
    // Two drives differ in nothing, and share a mark.
    assert_eq!(picture.matches("data-tip=").count(), drawn - 1);
    assert_eq!(picture.matches("<circle class=\"ring\" r=\"10\"/>").count(), 3, "one answer for each market");
    for shown in [
        "price over <span class=\"n\">5</span>\u{a0}<span class=\"u\">years</span>, USD →",
        "budget: 1.02\u{a0}ms</text>",
        ">recommended</text>",
        ">AWS</text>",
        "markets are not ranked against each other",
        "Rent is counted over the same",
        "Not drawn: <span class=\"q\">1",
        "gp3, 100 GiB (2025): 480\u{a0}USD (8.00\u{a0}USD a month), p99 1.9\u{a0}ms. Misses: p99 in the busiest \
         time is",
        "on-premises: Micron 5400 PRO, 240 GB (2022) is recommended, at 140\u{a0}USD and 786\u{a0}µs.",
    ] {
        let plain = shown.replace("<span class=\"q\">", "").replace("on-premises:", "On-premises:");
        assert!(picture.contains(&plain) || picture.contains(shown), "{shown}: {picture}");
    }
    let table = piece(&page, "<summary>The same in numbers</summary>", "</table>");
    assert_eq!(table.matches("<th scope=\"row\">").count(), drawn);
    // Without designs there is nothing to draw.
    assert!(!visible(&render(&minimal()).unwrap()).contains("class=\"picture prices\""));
}

#[test]
fn what_was_not_simulated_is_folded_at_the_end_and_counted() {
    let study = fixture("priced");
    let page = visible(&render(&study).unwrap());
    let section = piece(&page, "id=\"w1-ruled-out\"", "</section>");
    assert!(page.find("id=\"w1-ruled-out\"") > page.find("id=\"w1-cache\""));
    assert!(
        !section.contains("<details open") && !section.contains("level bad") && !section.contains("class=\"mark bad")
    );
    let all = study.workloads[0].ruled_out.len();
    assert!(section.contains(&format!(">{all}</span> further designs")), "{section}");
    let first = study.workloads[0].ruled_out.iter().filter(|design| design.by == "devices").map(|design| design.total);
    let cheapest = first.flatten().fold(f64::INFINITY, f64::min);
    let row = section.split("<tr>").nth(2).unwrap();
    assert!(row.contains(&format!("data-sort=\"{cheapest}\"")), "{row}");
}

#[test]
fn designs_that_miss_budgets_come_after_those_that_keep_them_and_say_what_they_miss() {
    let page = visible(&render(&markets()).unwrap());
    let table = piece(&page, "class=\"sortable candidates\"", "</table>");
    let marks: Vec<bool> = table.split("<td data-sort=\"").skip(1).map(|rest| rest.starts_with('2')).collect();
    assert!(
        marks.contains(&true) && marks.contains(&false) && marks.is_sorted_by(|one, other| one >= other),
        "{marks:?}"
    );
    assert!(table.contains("the budget <span class=\"q\">1 ms</span></span>"), "{table}");
    assert!(!table.contains("mark bad"));
}
