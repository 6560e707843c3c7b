//! Figure 30: Postmark, 10,000 files of 4 to 40 KiB in 100 directories, 400,000 transactions.

use esker_fs_bench::{Postmark, Work};

use super::claims::{Limit, Stated};
use super::found::Found;
use super::{Job, Part, Plan, Size, System};
use crate::{Axis, Curve, Figure};

pub(super) const FIGURE_30: Plan = Plan { item: "wu/figure-30", jobs, claims, figures };

const SYSTEMS: &[System] = &[System::Scmfs, System::ScmfsMetadata, System::Tmpfs, System::Ramfs, System::Ext2];

/// The two workloads, with their names. The paper does not say what share of them reads or writes; nine of ten here.
fn works(size: &Size) -> [(Work, &'static str); 2] {
    let of = |what: Postmark| {
        let (files, transactions) = (size.postmark_files, size.postmark_transactions);
        Work::Postmark(Postmark { files, transactions, ..what })
    };
    [(of(Postmark::READ_INTENSIVE), "reads most"), (of(Postmark::WRITE_INTENSIVE), "writes most")]
}

fn jobs(size: &Size) -> Vec<Job> {
    works(size).map(|(work, _)| Job::Work(SYSTEMS, work)).into()
}

fn claims(size: &Size) -> Vec<Stated> {
    let mut claims = Vec::new();
    for (work, what) in works(size) {
        let over = |one: System, other: System, limit: Limit, reason: &'static str| {
            let claim = format!("{what}: {} over {}", one.name(), other.name());
            Stated::new(claim, limit, reason, move |found| found.over((one, other), &[work], Part::Transactions))
        };
        claims.push(Stated::new(
            format!("{what}: the fastest over the slowest file system"),
            Limit::AtMost(2.0),
            "\"the performance of all the file systems is close to each other\"; a factor of 2 for that",
            move |found| found.spread(SYSTEMS, &work, Part::Transactions),
        ));
        claims.push(over(
            System::Scmfs,
            System::Ext2,
            Limit::AtLeast(1.0),
            "\"SCMFS provides higher performance beyond ext2fs\"",
        ));
        claims.push(over(
            System::ScmfsMetadata,
            System::Scmfs,
            Limit::AtMost(0.8),
            "the paper's: \"drops significantly when write ordering issues are addressed\"; a fifth for that",
        ));
        claims.push(over(
            System::ScmfsMetadata,
            System::Scmfs,
            Limit::AtLeast(0.9),
            "a goal of ours, with which the paper's claim cannot hold: consistency costs a tenth at most",
        ));
        if what == "writes most" {
            claims.push(over(
                System::ScmfsMetadata,
                System::Ext2,
                Limit::AtLeast(1.0),
                "\"in the write workload, SCMFS still performs better than Ext2fs\"",
            ));
        }
        claims.push(Stated::unreachable(
            format!("{what}: SCMFS with pre-allocation over SCMFS without"),
            "what is removed becomes a null file with its space (IV.B.3) in every pool of ours: there is no way to run \
             without",
        ));
        claims.extend(SYSTEMS.iter().map(|&system| {
            let claim = format!("{what}: {}, transactions per second", system.name());
            Stated::new(claim, Limit::Beside(None), "the text has no value", move |found| {
                found.rate(system, &work, Part::Transactions)
            })
        }));
    }
    claims.push(Stated::counted("misses of the instruction cache: SCMFS over ext2"));
    claims
}

fn figures(size: &Size, found: &Found) -> Vec<Figure> {
    let works = works(size);
    let curve = |system: &System| {
        let rates = works.iter().map(|(work, _)| found.rate(*system, work, Part::Transactions).unwrap_or(f64::NAN));
        let points = rates.enumerate().filter(|(_, rate)| rate.is_finite());
        Curve::measured(system.name(), points.map(|(at, rate)| (at as f64, rate / 1e3)))
    };
    vec![Figure {
        title: "Wu's figure 30: Postmark".into(),
        note: "Measured on this machine.".into(),
        x: Axis::categories("workload", works.iter().map(|(_, name)| *name)),
        y: Axis::linear("thousand transactions per second"),
        curves: SYSTEMS.iter().map(curve).collect(),
    }]
}
