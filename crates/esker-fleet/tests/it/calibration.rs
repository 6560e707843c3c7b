//! The light wear model against the table of simulated drives that is checked in.

use esker_cluster::{FITTED_GRANULARITY, FITTED_OVERLAP};
use esker_fleet::calibration::{
    BY_AGE_MOST, CalibrationCase, CalibrationError, CalibrationPart, CalibrationRow, ERROR_MOST, FittedCoefficients,
    MEDIAN_MOST, NINE_IN_TEN_MOST, TABLE, calibrate, cases, errors, fit, read_rows, write_rows,
};

fn rows() -> Vec<CalibrationRow> {
    read_rows(TABLE).expect("the table is sound")
}

fn shipped() -> FittedCoefficients {
    FittedCoefficients { granularity: FITTED_GRANULARITY, overlap: FITTED_OVERLAP }
}

#[test]
fn the_table_has_every_case_and_is_written_as_it_is_read() {
    let rows = rows();
    assert!(rows.iter().map(|row| &row.case).eq(&cases()));
    assert_eq!(write_rows(&rows), TABLE);
    let broken = TABLE.replacen(",greedy,", ",greedier,", 1);
    assert_eq!(read_rows(&broken).unwrap_err().to_string(), "line 2: this is no row of a calibration");
    assert!(read_rows("a,b\n").unwrap_err().to_string().starts_with("line 1: its columns are not part,preset"));
}

#[test]
fn the_coefficients_are_those_of_a_fit_to_the_table() {
    assert_eq!(fit(&rows()), shipped());
}

#[test]
fn cases_that_were_not_fitted_are_within_the_stated_errors() {
    let rows = rows();
    let unseen = |victim: &'static str| {
        rows.iter().filter(move |row| row.case.part == CalibrationPart::Unseen && row.case.victim == victim)
    };
    let greedy = errors(unseen("greedy"), shipped()).unwrap();
    assert!(greedy.median <= MEDIAN_MOST && greedy.nine_in_ten <= NINE_IN_TEN_MOST, "{greedy:?}");
    assert!(greedy.most <= ERROR_MOST, "{greedy:?}");
    let by_age = errors(unseen("fifo"), shipped()).unwrap();
    assert!(by_age.most <= BY_AGE_MOST, "{by_age:?}");
    // They tell coefficients apart.
    let others =
        [FittedCoefficients { granularity: 0, ..shipped() }, FittedCoefficients { overlap: 1000, ..shipped() }];
    for other in others {
        let worse = errors(unseen("greedy"), other).unwrap();
        assert!(worse.nine_in_ten > 1.3 * greedy.nine_in_ten, "{other:?}: {worse:?}, {greedy:?}");
    }
}

/// The first cases of both drives for training, and one by age: what a run counts now is what the table has.
#[test]
fn a_fresh_run_counts_what_the_table_has() {
    let rows = rows();
    let small = |row: &&CalibrationRow| row.case.pages_per_block == 64 && row.case.utilisation < 0.75;
    let chosen: Vec<&CalibrationRow> = rows.iter().filter(small).step_by(9).collect();
    assert!(chosen.len() >= 3, "{}", chosen.len());
    let again: Vec<CalibrationCase> = chosen.iter().map(|row| row.case.clone()).collect();
    let one = calibrate(&again, 1, |_| true).unwrap();
    let two = calibrate(&again[..2], 2, |_| true).unwrap();
    assert!(one.iter().eq(chosen) && two.iter().eq(&one[..2]));
}

#[test]
fn it_can_be_stopped_and_says_what_is_wrong() {
    assert_eq!(calibrate(&cases(), 2, |done| done < 1).unwrap_err(), CalibrationError::Stopped);
    let full = CalibrationCase { utilisation: 1.2, ..cases()[0].clone() };
    let error = calibrate(&[full], 1, |_| true).unwrap_err().to_string();
    assert!(error.contains("120 % in use") && error.contains("do not fit"), "{error}");
}

/// All of the table, in minutes. With `ESKER_UPDATE_DOCS=1` it is written anew.
#[test]
fn the_whole_table_is_what_a_fresh_run_counts() {
    if std::env::var_os("ESKER_SOAK").is_none() {
        return;
    }
    let fresh = write_rows(&calibrate(&cases(), 2, |_| true).unwrap());
    if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/models/light.csv"), &fresh).unwrap();
        return;
    }
    assert_eq!(fresh, TABLE);
}
