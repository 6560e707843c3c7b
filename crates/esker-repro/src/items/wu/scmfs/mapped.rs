//! Figure 29: reads and writes by copies into and out of mappings, with one and two threads, by the program fio.

use esker_fs_bench::{FioEngine, Pattern, Work};

use super::claims::{Limit, Stated};
use super::found::Found;
use super::threads::{PARTS, RECORD_KIB, THREADS, curve, in_words};
use super::{Job, Part, Plan, Size, System, transfer};
use crate::{Axis, Figure};

pub(super) const FIGURE_29: Plan = Plan { item: "wu/figure-29", jobs, claims, figures };

/// Those whose files a program can map by their names.
const SYSTEMS: &[System] = &[System::ScmfsFuse, System::Ext2];

fn mapped(size: &Size, threads: usize) -> Work {
    Work::Fio(transfer(size.thread_file, RECORD_KIB, Pattern::Sequential, threads), FioEngine::Mapped)
}

fn by_calls(size: &Size, threads: usize) -> Work {
    Work::Fio(transfer(size.thread_file, RECORD_KIB, Pattern::Sequential, threads), FioEngine::Calls)
}

fn jobs(size: &Size) -> Vec<Job> {
    let both = |threads| [mapped(size, threads), by_calls(size, threads)].map(|work| Job::Work(SYSTEMS, work));
    THREADS.into_iter().flat_map(both).collect()
}

fn claims(size: &Size) -> Vec<Stated> {
    let mut claims = Vec::new();
    for (part, what) in PARTS {
        for threads in THREADS {
            let (mapped, by_calls) = (mapped(size, threads), by_calls(size, threads));
            claims.push(Stated::new(
                format!("mapped {what}, {}: SCMFS by FUSE over ext2", in_words(threads)),
                Limit::AtLeast(1.0),
                "\"in both cases SCMFS performs better than Ext2Fs\"; in the paper by XIP, where files are mapped \
                 without a copy, which neither has here: pages of both are in the page cache",
                move |found| found.over((System::ScmfsFuse, System::Ext2), &[mapped], part),
            ));
            claims.push(Stated::new(
                format!("{what}, {}: SCMFS by FUSE, mapped over by calls", in_words(threads)),
                Limit::AtMost(1.1),
                "\"using mmap()/bcopy() does not perform beyond normal read()/write() interfaces\"; a tenth for noise",
                move |found| {
                    let rate = |work| found.rate(System::ScmfsFuse, work, part);
                    Ok(rate(&mapped)? / rate(&by_calls)?)
                },
            ));
        }
    }
    claims.push(Stated::counted("misses of the data TLB: \"more than 2,000,000 with mmap()\", 4,000 without"));
    claims.extend(shown(size));
    claims
}

/// Values that are not judged, at two threads.
fn shown(size: &Size) -> Vec<Stated> {
    let [by_calls, mapped] = [by_calls(size, 2), mapped(size, 2)];
    let mut claims = Vec::new();
    for (part, what) in PARTS {
        for (work, how) in [(mapped, "mapped"), (by_calls, "by calls")] {
            claims.extend(SYSTEMS.iter().map(|&system| {
                let claim = format!("{what}, two threads, {how}: {}, GB/s", system.name());
                Stated::new(claim, Limit::Beside(None), "the text has no value", move |found| {
                    found.rate(system, &work, part).map(|rate| rate / 1e9)
                })
            }));
        }
    }
    claims
}

fn figures(size: &Size, found: &Found) -> Vec<Figure> {
    let figure = |(part, what): (Part, &str)| Figure {
        title: format!("Wu's figure 29: mapped {what}"),
        note: format!("Measured on this machine, records of {RECORD_KIB} KiB."),
        x: Axis::linear("threads"),
        y: Axis::linear("GB/s"),
        curves: SYSTEMS.iter().map(|system| curve(*system, part, (found, &|threads| mapped(size, threads)))).collect(),
    };
    PARTS.map(figure).into()
}
