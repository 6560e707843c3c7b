//! The page of caches in a browser: curves are drawn, and many policies fit onto a narrow screen.

use esker_results::cache::{CacheCosts, CachePolicy, CacheResult, CacheSpread};
use serde_json::json;

use super::cache_samples::{caches, caches_by_volume, caches_with_admission};
use super::{DRAW_ALL, DRAWN, WIDEST, browser};

#[test]
fn the_page_of_caches_works_in_a_browser() {
    let Some(mut browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut crowded = caches();
    crowded.costs = Some(CacheCosts { hit_us: 100.0, miss_us: 5_000.0, price_per_gib: Some(0.1) });
    for number in 0..14 {
        let policy = format!("policy-{number}(some_parameter=20%)");
        crowded.policies.push(CachePolicy { policy: policy.clone(), ..crowded.policies[0].clone() });
        let spread =
            Some(CacheSpread { miss_ratio_lowest: 0.1, miss_ratio_highest: 0.9, miss_ratio_standard_error: 0.1 });
        let results = [5, 10].map(|size| CacheResult {
            policy: policy.clone(),
            miss_ratio: 0.5 - (size * number) as f64 / 400.0,
            mean_access_us: Some(2_000.0),
            price_per_saved_ms: Some(0.0123),
            spread,
            ..crowded.results.iter().find(|result| result.size == size).unwrap().clone()
        });
        crowded.results.extend(results);
    }
    let admission = ("admission", caches_with_admission());
    for (name, found) in [("plain", caches()), ("crowded", crowded), admission, ("volumes", caches_by_volume())] {
        let page = folder.path().join(name).with_extension("html");
        std::fs::write(&page, esker_report::render_cache(&found).unwrap()).unwrap();
        browser.resize(1280, 900);
        browser.open(&page);
        browser.evaluate(DRAW_ALL);
        assert_eq!(browser.evaluate(DRAWN), json!([true, true, true]), "{name}");
        for width in [390, 360] {
            browser.resize(width, 844);
            browser.evaluate(DRAW_ALL);
            let widths = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]");
            let widest = browser.evaluate(WIDEST);
            assert_eq!(widths, json!([width, width]), "{name}: the page scrolls sideways: {widest}");
        }
        browser.evaluate("document.getElementById('theme').click(); dispatchEvent(new Event('beforeprint'))");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
    }
}
