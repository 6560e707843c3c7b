//! Caches on made-up workloads: where they are the cheapest answer, where not, and where it cannot be told.

use esker_core::Ratio;
use esker_plan::Rating;
use esker_results::study::{Candidate, WorkloadStudy};

use crate::StudySettings;
use crate::hybrid_tests::{FLASH, HOT, Made, asked, candidate, small, studied};

const THROUGH: &str = "micron-5400-pro-960GB+toshiba-mg10-20TB-write-through-cache";
const BACK: &str = "2x-micron-5400-pro-960GB+toshiba-mg10-20TB-write-back-cache";
/// One request of a thousand writes, which a budget for the 99th percentile leaves out.
const READS: Made = Made { write_one_of: 1_000, ..HOT };

fn with_caches(made: &Made, folder: &std::path::Path) -> StudySettings {
    StudySettings { hybrids: false, caches: true, ..asked(&made.write(folder), small()) }
}

fn caches(study: &WorkloadStudy) -> Vec<&Candidate> {
    study.candidates.iter().filter(|candidate| candidate.cache.is_some()).collect()
}

/// 15 TB ask for a disk, and 300 reads a second for flash.
#[test]
fn where_reads_are_hot_a_cache_is_cheapest_and_a_single_drive_does() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with_caches(&READS, folder.path());
    let study = studied(&settings);
    for c in &study.candidates {
        eprintln!(
            "{} {:?} {:?} {:?}",
            c.name,
            c.cost.as_ref().map(|c| c.total),
            c.busy.as_ref().map(|b| b.response_time.p99_us),
            c.judgement
        );
        eprintln!("{:?}\n{:?}", c.cache, c.endurance);
    }
    assert_eq!(study.verdict.recommended.as_deref(), Some(THROUGH), "{}", study.verdict.headline);
}

#[test]
fn where_hot_data_are_written_it_takes_write_back_on_two_drives() {
    let folder = tempfile::tempdir().unwrap();
    let study = studied(&with_caches(&HOT, folder.path()));
    for c in &study.candidates {
        eprintln!(
            "{} {:?} {:?} {:?}",
            c.name,
            c.cost.as_ref().map(|c| c.total),
            c.busy.as_ref().map(|b| b.response_time.p99_us),
            c.judgement
        );
        eprintln!("{:?}\n{:?}", c.cache, c.endurance);
    }
    assert_eq!(study.verdict.recommended.as_deref(), Some(BACK), "{}", study.verdict.headline);
}
