//! Figures 25 to 27: one thread, by the size of a record.

use esker_fs_bench::{Pattern, Work};

use super::claims::{Limit, Stated};
use super::found::{Found, record_name};
use super::{Job, Part, Plan, Size, System, transfer};
use crate::{Axis, Curve, Figure};

const fn plan(item: &'static str, claims: fn(&Size) -> Vec<Stated>, pattern: Pattern) -> Plan {
    match pattern {
        Pattern::Sequential => Plan { item, jobs: sequential_jobs, claims, figures: sequential_figures },
        Pattern::Random => Plan { item, jobs: random_jobs, claims, figures: random_figures },
    }
}

pub(super) const FIGURE_25A: Plan = plan("wu/figure-25a", sequential_reads, Pattern::Sequential);
pub(super) const FIGURE_25B: Plan = plan("wu/figure-25b", sequential_writes, Pattern::Sequential);
pub(super) const FIGURE_26A: Plan = plan("wu/figure-26a", random_reads, Pattern::Random);
pub(super) const FIGURE_26B: Plan = plan("wu/figure-26b", random_writes, Pattern::Random);
pub(super) const FIGURE_27: Plan =
    Plan { item: "wu/figure-27", jobs: page_jobs, claims: page_claims, figures: page_figures };

/// IOzone's own sizes of records.
const RECORDS_KIB: [u64; 13] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];
/// Where ext2 writes faster in the paper.
const SURPRISE_KIB: [u64; 4] = [64, 128, 256, 512];
const SMALL_KIB: [u64; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
const SYSTEMS: &[System] = &[System::Scmfs, System::Ramfs, System::Tmpfs, System::Ext2];
const BY_PAGES: &[System] = &[System::Scmfs, System::ScmfsHuge, System::Ext2];

fn works(size: &Size, pattern: Pattern, records_kib: &[u64]) -> Vec<Work> {
    records_kib.iter().map(|&kib| Work::Transfer(transfer(size.file, kib, pattern, 1))).collect()
}

fn jobs(size: &Size, pattern: Pattern, systems: &'static [System]) -> Vec<Job> {
    works(size, pattern, &RECORDS_KIB).into_iter().map(|work| Job::Work(systems, work)).collect()
}

fn sequential_jobs(size: &Size) -> Vec<Job> {
    jobs(size, Pattern::Sequential, SYSTEMS)
}

fn random_jobs(size: &Size) -> Vec<Job> {
    jobs(size, Pattern::Random, SYSTEMS)
}

fn page_jobs(size: &Size) -> Vec<Job> {
    let both = [Pattern::Sequential, Pattern::Random];
    both.into_iter().flat_map(|pattern| jobs(size, pattern, BY_PAGES)).collect()
}

fn sequential_reads(size: &Size) -> Vec<Stated> {
    reads(size, Pattern::Sequential, "reads in order")
}

fn random_reads(size: &Size) -> Vec<Stated> {
    reads(size, Pattern::Random, "random reads")
}

fn reads(size: &Size, pattern: Pattern, what: &'static str) -> Vec<Stated> {
    let mut claims = over_ext2(size, pattern, Part::Read, what);
    claims.extend(large_records(size, pattern, Part::Read, what));
    claims.push(Stated::counted("misses of instruction cache and instruction TLB: the others over ext2"));
    claims.extend(means(size, pattern, Part::Read, what));
    claims
}

fn sequential_writes(size: &Size) -> Vec<Stated> {
    writes(size, Pattern::Sequential, &[(Part::FirstWrite, "write"), (Part::Write, "rewrite")])
}

fn random_writes(size: &Size) -> Vec<Stated> {
    writes(size, Pattern::Random, &[(Part::Write, "random write")])
}

/// The paper does not say whether its writes in order are those of new files, IOzone's write, or its rewrite: both are
/// judged.
fn writes(size: &Size, pattern: Pattern, parts: &[(Part, &'static str)]) -> Vec<Stated> {
    let mut claims = Vec::new();
    for &(part, what) in parts {
        claims.extend(over_ext2(size, pattern, part, what));
        claims.push(surprise(size, pattern, part, what));
        claims.extend(large_records(size, pattern, part, what));
        claims.extend(means(size, pattern, part, what));
    }
    claims.push(Stated::counted("misses of the data TLB, records of 64 to 512 KiB: SCMFS over ext2"));
    claims
}

fn over_ext2(size: &Size, pattern: Pattern, part: Part, what: &str) -> Vec<Stated> {
    let works = works(size, pattern, &RECORDS_KIB);
    let claim = |system: System| {
        let works = works.clone();
        Stated::new(
            format!("{what}: {} over ext2, mean over records", system.name()),
            Limit::AtLeast(1.25),
            "\"performs generally much better than Ext2Fs on Ramdisk\"; a quarter for that",
            move |found| found.over((system, System::Ext2), &works, part),
        )
    };
    [System::Scmfs, System::Ramfs, System::Tmpfs].map(claim).into()
}

fn surprise(size: &Size, pattern: Pattern, part: Part, what: &str) -> Stated {
    let works = works(size, pattern, &SURPRISE_KIB);
    Stated::new(
        format!("{what}: ext2 over SCMFS, the least of records of 64 to 512 KiB"),
        Limit::AtLeast(1.0),
        "\"Ext2 file system performs better than SCMFS when the record length was between 64k and 512k bytes\"",
        move |found| found.least_over((System::Ext2, System::Scmfs), &works, part),
    )
}

fn large_records(size: &Size, pattern: Pattern, part: Part, what: &str) -> Vec<Stated> {
    let (small, large) = (works(size, pattern, &SMALL_KIB), works(size, pattern, &[16_384]));
    let claim = |system: &System| {
        let (small, large, system) = (small.clone(), large[0], *system);
        Stated::new(
            format!("{what}: {}, records of 16 MiB over the best up to 1 MiB", system.name()),
            Limit::AtMost(0.75),
            "\"decreases dramatically when the record length is more than 1 megabytes\"; a quarter for that",
            move |found| found.over_best(system, &large, &small, part),
        )
    };
    SYSTEMS.iter().map(claim).collect()
}

fn means(size: &Size, pattern: Pattern, part: Part, what: &str) -> Vec<Stated> {
    let works = works(size, pattern, &RECORDS_KIB);
    let claim = |system: &System| {
        let (works, system) = (works.clone(), *system);
        Stated::new(
            format!("{what}: {}, mean over records, GB/s", system.name()),
            Limit::Beside(None),
            "the text has no value",
            move |found| found.mean(system, &works, part).map(|rate| rate / 1e9),
        )
    };
    SYSTEMS.iter().map(claim).collect()
}

fn page_claims(size: &Size) -> Vec<Stated> {
    let mut claims = Vec::new();
    for (pattern, what) in [(Pattern::Sequential, "rewrite"), (Pattern::Random, "random write")] {
        let least = |system: System, reason| {
            let works = works(size, pattern, &RECORDS_KIB);
            let claim = format!("{what}: {} over ext2, the least of all records", system.name());
            Stated::new(claim, Limit::AtLeast(1.0), reason, move |found| {
                found.least_over((system, System::Ext2), &works, Part::Write)
            })
        };
        claims.push(least(
            System::Scmfs,
            "a goal of ours, with ext2's large pages left as they are; where it holds, the paper's surprise of figures \
             25 and 26 cannot",
        ));
        claims.push(least(
            System::ScmfsHuge,
            "\"SCMFS performs better than Ext2 file system with all the request sizes\" with pages of one size: in the \
             paper small ones for both, here large ones for both",
        ));
        let works = works(size, pattern, &RECORDS_KIB);
        claims.push(Stated::new(
            format!("{what}: SCMFS with 2 MiB pages over 4 KiB pages, mean over records"),
            Limit::AtLeast(1.05),
            "\"it is the large page size that reduces data TLB misses\"; a twentieth for that",
            move |found| found.over((System::ScmfsHuge, System::Scmfs), &works, Part::Write),
        ));
    }
    claims.push(Stated::unreachable(
        "SCMFS over ext2, both without PSE, at every record",
        "the kernel would have to be started without large pages for its own memory",
    ));
    claims.push(Stated::counted("misses of the data TLB without PSE: \"comparable\""));
    claims
}

fn sequential_figures(size: &Size, found: &Found) -> Vec<Figure> {
    let parts = [(Part::FirstWrite, "write"), (Part::Write, "rewrite"), (Part::Read, "read")];
    parts.map(|(part, what)| figure("25", (Pattern::Sequential, part, what), SYSTEMS, (size, found))).into()
}

fn random_figures(size: &Size, found: &Found) -> Vec<Figure> {
    let parts = [(Part::Write, "random write"), (Part::Read, "random read")];
    parts.map(|(part, what)| figure("26", (Pattern::Random, part, what), SYSTEMS, (size, found))).into()
}

fn page_figures(size: &Size, found: &Found) -> Vec<Figure> {
    let parts = [(Pattern::Sequential, Part::Write, "rewrite"), (Pattern::Random, Part::Write, "random write")];
    parts.map(|which| figure("27", which, BY_PAGES, (size, found))).into()
}

fn figure(
    number: &str,
    (pattern, part, what): (Pattern, Part, &str),
    systems: &[System],
    (size, found): (&Size, &Found),
) -> Figure {
    let works = works(size, pattern, &RECORDS_KIB);
    let curve = |system: &System| {
        let points = RECORDS_KIB.iter().zip(&works).filter_map(|(kib, work)| {
            let rate = found.rate(*system, work, part).ok()?;
            Some((*kib as f64, rate / 1e9))
        });
        Curve::measured(system.name(), points)
    };
    Figure {
        title: format!("Wu's figure {number}: {what}"),
        note: format!(
            "Measured on this machine, records of {} to {}. The paper's curves are not in its text.",
            record_name(RECORDS_KIB[0]),
            record_name(RECORDS_KIB[RECORDS_KIB.len() - 1])
        ),
        x: Axis::logarithmic("record, KiB"),
        y: Axis::linear("GB/s"),
        curves: systems.iter().map(curve).collect(),
    }
}
