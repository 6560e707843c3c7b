//! Wu 2011, figure 7: the file system's metadata pinned to flash.
//!
//! The metadata of ext2 lie at the beginning of the device. How large that part is, and how often it is used, is not
//! published. Here it is an eighth of the addresses in use, with their usual mix.

use super::volume::{FAST, MIGRATION, Part, SLOW, SPECSFS, STRIPING, Volume};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "wu/figure-7",
    title: "Metadata on flash, with and without migration",
    source: "Wu, dissertation, Texas A&M University, 2011, section II.D.4 (2.4.4), figure 7",
    sections: &["2.4.4"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, 1.0)
}

const DRIVES: [(&str, &str); 2] = [("Transcend", SLOW), ("MemoRight", FAST)];
const POLICIES: [&str; 4] = ["striping", "metadata on flash", "migration", "migration, metadata on flash"];

fn measure(item: &Item, context: &Context<'_>, scale: f64) -> Result<ItemOutcome, ReproduceError> {
    let pinned = |rest: &str| {
        format!("{{ kind = \"pinned\", ranges = [{{ length = \"512MiB\", device = 0 }}], rest = {rest} }}")
    };
    let policies = [STRIPING.to_string(), pinned(STRIPING), MIGRATION.to_string(), pinned(MIGRATION)];
    let (mut claims, mut figures) = (Vec::new(), Vec::new());
    for (drive, (name, flash)) in DRIVES.into_iter().enumerate() {
        let mut found = Vec::new();
        for policy in &policies {
            let index = drive * policies.len() + found.len();
            let part = Part { item, context, index, runs: DRIVES.len() * policies.len(), scale };
            found.push(part.saturation(&Volume::hybrid(flash, policy))?);
        }
        let per_s: Vec<f64> = found.iter().map(|found| found.per_s).collect();
        claims.extend(claims_of(item, name, &per_s));
        figures.push(Figure {
            title: format!("Wu's figure 7: response against load, {name}"),
            note: "The paper's curves are not in the text.".into(),
            x: Axis::linear("offered requests per second"),
            y: Axis::linear("mean response, ms"),
            curves: POLICIES.iter().zip(&found).map(|(name, found)| Curve::measured(name, found.points())).collect(),
        });
    }
    Ok(ItemOutcome { claims: claims.into_iter().map(|claim| claim.on_stand_in(SPECSFS)).collect(), figures })
}

/// `per_s` as of [`POLICIES`].
fn claims_of(item: &Item, drive: &str, per_s: &[f64]) -> Vec<Claim> {
    let order = |more: usize, less: usize, reason: &str| {
        let claim = format!("{drive}: {} carries more than {}, requests per second", POLICIES[more], POLICIES[less]);
        let values = [(POLICIES[more], per_s[more]), (POLICIES[less], per_s[less])];
        Claim::descending(item.name, &claim, &values, reason)
    };
    let helps = "\"migration improved performance irrespective of initial allocation\"";
    let mut claims = vec![order(2, 0, helps), order(3, 1, helps)];
    if drive == "Transcend" {
        let hurts = "\"the throughput saturation point was also greatly decreased\"";
        claims.extend([order(0, 1, hurts), order(2, 3, hurts)]);
    } else {
        let gain = |with: usize, without: usize| {
            let claim = format!("{drive}: {} over {}", POLICIES[with], POLICIES[without]);
            let reason = "\"improve the performance of the system by about 10-15 %\": 12.5 %, and 10 % to either side, \
                          since the size of the metadata is assumed";
            Claim::within(item.name, &claim, 1.125, per_s[with] / per_s[without], 0.1, reason)
        };
        claims.extend([gain(1, 0), gain(3, 2)]);
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_drives_are_measured_with_all_policies() {
        let outcome = super::super::volume::tests::short(&ITEM, measure);
        assert_eq!((outcome.claims.len(), outcome.figures.len()), (8, 2));
        assert!(outcome.figures.iter().all(|figure| figure.curves.len() == POLICIES.len()));
    }
}
