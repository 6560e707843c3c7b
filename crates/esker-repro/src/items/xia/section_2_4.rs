//! Xia 2017, section 2.4: what the set-up leaves open, and what each choice does to the claims of figures 6 and 9.
//!
//! Only WebSearch2 is run: of no other workload is a hit ratio known.

use super::caches::{Arrivals, Cache, LAYOUTS, Load, Runs};
use super::workloads::{Population, Scale, WEB_SEARCH_2};
use crate::{Claim, Context, Item, ItemOutcome, ReproduceError};
use esker_results::HostManagedCacheReport;
use esker_sim::CacheReply;

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "xia/section-2.4",
    title: "What the set-up leaves open: erases and response times under each choice",
    source: "Xia, dissertation, Virginia Commonwealth University, 2017, sections 2.4, 2.5.2 and 3.4.2",
    sections: &["2.4", "2.5.2", "3.4.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale::TIMED)
}

/// Stand-ins and their scale: how many times as large as the smallest one.
const POPULATIONS: [(&str, Population, u32); 3] = [
    ("by distance, a 32nd", Population::ByDistance, 1),
    ("by interval, a 32nd", Population::ByInterval, 1),
    ("by interval, an 8th", Population::ByInterval, 4),
];

/// When a miss is complete, and how requests come.
const LOADS: [(&str, Load); 4] = [
    ("335/s, after fill", Load { reply: CacheReply::AfterFill, arrivals: Arrivals::PerSecond(335) }),
    ("335/s, after fetch", Load { reply: CacheReply::AfterFetch, arrivals: Arrivals::PerSecond(335) }),
    ("33/s, after fill", Load { reply: CacheReply::AfterFill, arrivals: Arrivals::PerSecond(33) }),
    ("one at a time, after fill", Load { reply: CacheReply::AfterFill, arrivals: Arrivals::OneAtATime }),
];

const STAND_IN: &str = "reads of a made-up population of pages, fitted to hit ratios of WebSearch2";
/// Runs without time for each population and layout, and runs in time for each load and layout.
const COUNTED: usize = 7;
const TIMED: usize = 8;

fn measure(item: &Item, context: &Context<'_>, scale: Scale) -> Result<ItemOutcome, ReproduceError> {
    let all = LAYOUTS.len() * (POPULATIONS.len() * COUNTED + LOADS.len() * TIMED);
    let (mut claims, mut done) = (Vec::new(), 0);
    for (name, population, larger) in POPULATIONS {
        let scale = Scale { part: scale.part / larger, ..scale };
        let mut runs = Runs::new(item, context, scale, all).of(population).after(done);
        for (layout, open) in LAYOUTS {
            claims.extend(counted(&mut runs, &format!("{name}, {layout}"), scale, |cache| cache.open(open))?);
            done += COUNTED;
        }
    }
    let mut runs = Runs::new(item, context, scale, all).after(done);
    for (name, load) in LOADS {
        for (layout, open) in LAYOUTS {
            claims.extend(timed(&mut runs, &format!("{name}, {layout}"), load, |cache| cache.open(open))?);
        }
    }
    Ok(ItemOutcome::from(claims.into_iter().map(|claim| claim.on_stand_in(STAND_IN)).collect::<Vec<_>>()))
}

/// The claims on erases.
fn counted(
    runs: &mut Runs<'_>,
    variant: &str,
    scale: Scale,
    of: impl Fn(Cache) -> Cache,
) -> Result<Vec<Claim>, ReproduceError> {
    let item = runs.item.name;
    let mut report = |size, share, policy| runs.counted(WEB_SEARCH_2, of(Cache::new(size, share, policy)));
    let erases = |report: &HostManagedCacheReport| report.erases as f64 * f64::from(scale.part) / 1e3;
    let (lru, arc) = (erases(&report(3, 15, "lru")?), erases(&report(3, 15, "arc")?));
    let flru = erases(&report(3, 15, "flru")?);
    let saved = |plain: f64, aware: f64| 100.0 * (1.0 - aware / plain);
    let claim = |what: &str| format!("{variant}: {what}");
    let mut claims = vec![
        Claim::at_most(item, &claim("3 GB, OP 15 %: erases of LRU, thousands"), 300.0, lru, "\"less than 300,000\""),
        Claim::at_least(item, &claim("3 GB, OP 15 %: erases of ARC, thousands"), 400.0, arc, "\"more than 400,000\""),
        Claim::at_least(
            item,
            &claim("3 GB, OP 15 %: erases that FLRU saves, percent"),
            10.0,
            saved(lru, flru),
            "\"at least\", \"by about 10 %\", on average",
        ),
    ];
    for size in [3, 5] {
        let (lru, flru) = (report(size, 35, "lru")?, report(size, 35, "flru")?);
        // Erases follow programs. FLRU has to program at least what misses.
        let programs = lru.filled_pages as f64 * lru.write_amplification.unwrap_or(1.0);
        let most = 100.0 * (1.0 - flru.filled_pages as f64 / programs);
        let title = claim(&format!("{size} GB, OP 35 %: what FLRU would save if it copied nothing, percent"));
        claims.push(Claim::beside(item, &title, most, "a bound by the hit ratios alone"));
        let (lru, flru) = (erases(&lru), erases(&flru));
        let claim = claim(&format!("{size} GB, OP 35 %: erases that FLRU saves, percent"));
        let reason = "\"nearly 72 %\" is the best of all; five sixths of it";
        claims.push(Claim::at_least(item, &claim, 60.0, saved(lru, flru), reason));
    }
    Ok(claims)
}

/// The claims on response times, of 3 GB.
fn timed(
    runs: &mut Runs<'_>,
    variant: &str,
    load: Load,
    of: impl Fn(Cache) -> Cache,
) -> Result<Vec<Claim>, ReproduceError> {
    let item = runs.item.name;
    let mut claims = Vec::new();
    for (share, published) in [(15, [Some(11.0), Some(14.0)]), (35, [None, None])] {
        let mut mean_ms = |cache| Ok::<f64, ReproduceError>(runs.timed_under(WEB_SEARCH_2, of(cache), load)?.mean_ms);
        let plain = mean_ms(Cache::new(3, share, "lru"))?;
        let faster = [
            mean_ms(Cache::new(3, share, "flru"))?,
            mean_ms(Cache::new(3, share, "lru").zero_migration())?,
            mean_ms(Cache::new(3, share, "flru").zero_migration())?,
        ];
        let faster = faster.map(|aware| 100.0 * (1.0 - aware / plain));
        let claim = |name: &str| format!("{variant}: 3 GB, OP {share} %: {name} answers faster than LRU, percent");
        claims.push(Claim::beside(
            item,
            &format!("{variant}: 3 GB, OP {share} %: LRU, ms"),
            plain,
            "no value is given",
        ));
        for ((name, published), faster) in [("FLRU", published[0]), ("LRU-ZM", published[1])].into_iter().zip(faster) {
            let reason = "5 points: no rate is given";
            claims.push(match published {
                Some(value) => Claim::within_absolute(item, &claim(name), value, faster, 5.0, reason),
                None => Claim::beside(item, &claim(name), faster, "the text has no value for this cache"),
            });
        }
        let reason = "\"from about 20 % to 40 %\": ten to each side of 30";
        claims.push(Claim::within_absolute(item, &claim("FLRU-ZM"), 30.0, faster[2], 10.0, reason));
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::super::tests::short;
    use super::*;

    #[test]
    fn every_choice_is_tried() {
        let outcome = short(&ITEM, measure);
        assert_eq!(outcome.claims.len(), LAYOUTS.len() * (POPULATIONS.len() * 7 + LOADS.len() * 8));
    }
}
