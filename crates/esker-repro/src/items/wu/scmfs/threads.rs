//! Figure 28: reads and writes by calls, with one and two threads.

use esker_core::Bytes;
use esker_fs_bench::{Pattern, Work};

use super::claims::{Limit, Stated};
use super::found::Found;
use super::{Job, Part, Plan, Size, System, transfer};
use crate::{Axis, Curve, Figure};

pub(super) const FIGURE_28: Plan = Plan { item: "wu/figure-28", jobs, claims, figures };

pub(super) const THREADS: [usize; 2] = [1, 2];
/// The paper has no size of records.
pub(super) const RECORD_KIB: u64 = 64;
/// Writes are those of files that are there: their pages are, too.
pub(super) const PARTS: [(Part, &str); 2] = [(Part::Write, "rewrite"), (Part::Read, "read")];
const SYSTEMS: &[System] = &[System::Scmfs, System::ScmfsHuge, System::Ext2];

fn work(size: &Size, threads: usize) -> Work {
    Work::Transfer(transfer(size.thread_file, RECORD_KIB, Pattern::Sequential, threads))
}

fn jobs(size: &Size) -> Vec<Job> {
    let of_threads = |threads| {
        let memory = Job::Memory(threads, size.thread_file, Bytes(RECORD_KIB << 10));
        [Job::Work(SYSTEMS, work(size, threads)), memory]
    };
    THREADS.into_iter().flat_map(of_threads).collect()
}

fn claims(size: &Size) -> Vec<Stated> {
    let works = THREADS.map(|threads| work(size, threads));
    let [one, two] = works;
    let mut claims = Vec::new();
    for (part, what) in PARTS {
        claims.extend(THREADS.into_iter().zip(works).map(|(threads, work)| {
            let claim = format!("{what}, {}: SCMFS over ext2", in_words(threads));
            let reason = "\"in both cases SCMFS performs better than Ext2Fs\"";
            Stated::new(claim, Limit::AtLeast(1.0), reason, move |found| {
                found.over((System::Scmfs, System::Ext2), &[work], part)
            })
        }));
        claims.push(Stated::new(
            format!("{what}: SCMFS, two threads over one"),
            Limit::AtLeast(1.3),
            "\"obtains higher throughput with more threads\"; of two, three tenths",
            move |found| Ok(found.rate(System::Scmfs, &two, part)? / found.rate(System::Scmfs, &one, part)?),
        ));
    }
    claims.push(Stated::new(
        "read, two threads: SCMFS over copies out of memory by as many threads",
        Limit::AtLeast(0.7),
        "\"up to 7GB/s read throughput, about 70% of the memory bus bandwidth of 10GB/s\"",
        move |found| Ok(found.rate(System::Scmfs, &two, Part::Read)? / found.memory(2)?),
    ));
    claims.push(Stated::new(
        "two threads: reads of SCMFS over its writes",
        Limit::Within(2.0, 0.5),
        "\"read throughput generally saturates at twice the saturation throughput of writes\"; 50 % for what \
         \"generally\" leaves open",
        move |found| {
            let rate = |part| found.rate(System::Scmfs, &two, part);
            Ok(rate(Part::Read)? / rate(Part::Write)?)
        },
    ));
    claims.extend(shown(two));
    claims
}

/// Values that are not judged, at two threads.
fn shown(two: Work) -> Vec<Stated> {
    let other = "of another machine";
    let rate = |system: System, part: Part, what: &str, published: Option<f64>| {
        let claim = format!("{what}, two threads: {}, GB/s", system.name());
        Stated::new(claim, Limit::Beside(published), other, move |found| {
            found.rate(system, &two, part).map(|rate| rate / 1e9)
        })
    };
    vec![
        rate(System::Scmfs, Part::Read, "read", Some(7.0)),
        rate(System::ScmfsHuge, Part::Read, "read", None),
        rate(System::Ext2, Part::Read, "read", None),
        rate(System::Scmfs, Part::Write, "rewrite", None),
        rate(System::ScmfsHuge, Part::Write, "rewrite", None),
        rate(System::Ext2, Part::Write, "rewrite", None),
        Stated::new("copies out of memory, two threads, GB/s", Limit::Beside(Some(10.0)), other, |found| {
            found.memory(2).map(|rate| rate / 1e9)
        }),
    ]
}

/// "one thread", "two threads".
pub(super) const fn in_words(threads: usize) -> &'static str {
    if threads == 1 { "one thread" } else { "two threads" }
}

fn figures(size: &Size, found: &Found) -> Vec<Figure> {
    let bars = |part: Part, what: &str| Figure {
        title: format!("Wu's figure 28: {what}"),
        note: format!("Measured on this machine, records of {RECORD_KIB} KiB."),
        x: Axis::linear("threads"),
        y: Axis::linear("GB/s"),
        curves: SYSTEMS.iter().map(|system| curve(*system, part, (found, &|threads| work(size, threads)))).collect(),
    };
    PARTS.map(|(part, what)| bars(part, what)).into()
}

/// Rates of a system by the number of threads.
pub(super) fn curve(system: System, part: Part, (found, work): (&Found, &dyn Fn(usize) -> Work)) -> Curve {
    let points = THREADS.into_iter().filter_map(|threads| {
        let rate = found.rate(system, &work(threads), part).ok()?;
        Some((threads as f64, rate / 1e9))
    });
    Curve::measured(system.name(), points)
}
