//! Compares simulated drives with their data sheets: measures the stored figures again, and makes the table and the
//! picture of docs/catalogue.md. `ESKER_UPDATE_DOCS=1 cargo test -p esker-study --lib sheet` writes them.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use esker_catalogue::{Product, Simulated, capacity_in_words};
use esker_flash::TOLERANCE;
use plotters::prelude::*;

use crate::at_sheet_conditions;
use crate::sheet::performance_at;

const CATALOGUE: &str = "crates/esker-catalogue/catalogues/current.toml";
const STORED: &str = "crates/esker-catalogue/catalogues/current-simulated.csv";
const PAGE: &str = "docs/catalogue.md";
const PICTURE: &str = "docs/images/simulated-over-published.svg";
const MARKS: [&str; 2] = ["<!-- table of drives beside data sheets -->\n", "<!-- end of this table -->\n"];
/// Measuring ends with a request, so a rate may exceed its limit by one request in thousands.
const ABOVE_LIMIT: f64 = 0.001;

fn path(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", file].iter().collect()
}

fn updates() -> bool {
    std::env::var_os("ESKER_UPDATE_DOCS").is_some()
}

/// Of how many drives one is measured, where neither new figures are wanted nor time is plenty: the others have the
/// stored figures.
const ONE_OF: usize = 4;

/// Returns every drive of the catalogue with the figures that it reaches in simulation.
fn measured() -> &'static [Product] {
    static MEASURED: OnceLock<Vec<Product>> = OnceLock::new();
    MEASURED.get_or_init(|| {
        // New figures are written for the catalogue file, not for the catalogue that was built in.
        let products = match updates() {
            true => crate::read_catalogue(CATALOGUE, &fs::read_to_string(path(CATALOGUE)).unwrap()).unwrap().products,
            false => crate::builtin_catalogue("current").unwrap().products,
        };
        let mut drives: Vec<Product> = products.into_iter().filter(|product| product.die.is_some()).collect();
        let step = if updates() || esker_testkit::soak() > 1 { 1 } else { ONE_OF };
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        let work = || {
            let chosen = || drives.iter().enumerate().step_by(step);
            while let Some((place, drive)) = chosen().nth(next.fetch_add(1, Ordering::Relaxed)) {
                done.lock().unwrap().push((place, at_sheet_conditions(drive)));
            }
        };
        std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
        let done = done.into_inner().unwrap();
        done.into_iter().for_each(|(place, simulated)| drives[place].simulated = simulated);
        drives
    })
}

fn line(product: &Product) -> String {
    let Simulated { capacity, performance } = product.simulated.expect("a drive is simulated");
    let operations = [performance.random_read, performance.random_write].map(|rate| rate.expect("measured"));
    let bytes = [performance.sequential_read, performance.sequential_write].map(|rate| rate.expect("measured").0);
    let figures = [[capacity.0].as_slice(), &operations, &bytes].concat();
    let figures: Vec<String> = figures.iter().map(u64::to_string).collect();
    format!("{},{}\n", product.name, figures.join(","))
}

#[test]
fn what_is_stored_of_drives_is_what_they_do() {
    let head = "product,capacity_bytes,random_reads_per_s,random_writes_per_s,sequential_read_bytes_per_s,\
                sequential_write_bytes_per_s\n";
    let text = head.to_string() + &measured().iter().map(line).collect::<String>();
    if updates() {
        fs::write(path(STORED), text).unwrap();
        return;
    }
    assert_eq!(fs::read_to_string(path(STORED)).unwrap(), text, "{STORED} is stale: see sheet_tests.rs");
}

#[test]
fn no_drive_exceeds_its_data_sheet_and_none_is_far_below_without_a_reason() {
    let mut beside = 0;
    for product in measured() {
        let figures = product.beside_published();
        for figure in &figures {
            let (ratio, what) = (figure.ratio(), format!("{}, {}: {figure:?}", product.name, figure.name()));
            assert!(ratio <= 1.0 + ABOVE_LIMIT, "{what} is {ratio:.3} of what is published at best");
            let reason = product.performance_differs.contains_key(figure.figure);
            assert_eq!(ratio < 1.0 - TOLERANCE, reason, "{what} is {ratio:.3}: reasons stand where they are needed");
            beside += 1;
        }
        let reasons = product.performance_differs.keys();
        reasons.for_each(|reason| assert!(figures.iter().any(|figure| figure.figure == reason), "{reason}"));
    }
    assert!(beside >= 75, "{beside} figures are compared");
}

#[test]
fn smaller_drives_do_not_exceed_the_data_sheet_either() {
    if esker_testkit::soak() == 1 {
        return;
    }
    for product in measured() {
        for capacity in &product.capacities {
            let performance = performance_at(product, capacity.bytes).unwrap();
            let simulated = Some(Simulated { capacity: capacity.bytes, performance });
            let smaller = Product { simulated, ..product.clone() };
            for figure in smaller.beside_published() {
                let ratio = figure.ratio();
                assert!(ratio <= 1.0 + ABOVE_LIMIT, "{} of {}: {ratio} {figure:?}", product.name, capacity.bytes);
            }
        }
    }
}

/// The figures of the table, in the order of its columns.
const COLUMNS: [&str; 4] = ["random_read", "random_write", "sequential_read", "sequential_write"];

fn ratio(product: &Product, figure: &str) -> Option<f64> {
    product.beside_published().iter().find(|one| one.figure == figure).map(esker_catalogue::Beside::ratio)
}

fn table() -> String {
    let mut text = "| drive | of | random reads | random writes | sequential reads | sequential writes | why |\n\
                    |---|--:|--:|--:|--:|--:|---|\n"
        .to_string();
    for product in measured() {
        let cell = |figure: &&str| ratio(product, figure).map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"));
        let cells: Vec<String> = COLUMNS.iter().map(cell).collect();
        let capacity = capacity_in_words(product.simulated.unwrap().capacity);
        let mut reasons: Vec<&str> = product.performance_differs.values().map(String::as_str).collect();
        reasons.dedup();
        let _ = writeln!(text, "| {} | {capacity} | {} | {} |", product.title, cells.join(" | "), reasons.join("; "));
    }
    text.replace("|  |", "| |")
}

#[test]
fn the_page_of_catalogues_has_the_table_and_the_picture() {
    let page = fs::read_to_string(path(PAGE)).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).expect("the page has the first mark");
    let (found, after) = rest.split_once(MARKS[1]).expect("the page has the second mark");
    let (table, picture) = (table(), picture());
    if updates() {
        fs::write(path(PAGE), format!("{before}{}{table}{}{after}", MARKS[0], MARKS[1])).unwrap();
        fs::write(path(PICTURE), picture).unwrap();
        return;
    }
    assert_eq!(found, table, "{PAGE} is stale: see sheet_tests.rs");
    assert_eq!(fs::read_to_string(path(PICTURE)).unwrap(), picture, "{PICTURE} is stale: see sheet_tests.rs");
}

/// Colours that colour-blind people can tell apart.
const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(86, 180, 233), RGBColor(230, 159, 0)];

/// Draws a row for each drive with published figures, and a dot for each figure.
fn picture() -> String {
    let drives: Vec<&Product> = measured().iter().filter(|product| !product.beside_published().is_empty()).collect();
    let rows = drives.len() as i32;
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (900, 90 + 22 * rows as u32)).into_drawing_area();
    area.fill(&WHITE).unwrap();
    let label = |row: &i32| {
        let place = usize::try_from(rows - 1 - row).ok();
        place.and_then(|place| drives.get(place)).map_or_else(String::new, |drive| drive.title.clone())
    };
    let mut chart = ChartBuilder::on(&area)
        .caption("simulated over published", ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(28)
        .y_label_area_size(150)
        .build_cartesian_2d(0.0..1.3, -1..rows)
        .unwrap();
    chart
        .configure_mesh()
        .y_labels(rows as usize + 2)
        .y_label_formatter(&label)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 13))
        .draw()
        .unwrap();
    for (limit, width) in [(1.0, 2), (1.0 - TOLERANCE, 1), (1.0 + TOLERANCE, 1)] {
        let line = PathElement::new(vec![(limit, -1), (limit, rows)], BLACK.mix(0.5).stroke_width(width));
        chart.draw_series([line]).unwrap();
    }
    for (figure, colour) in COLUMNS.iter().zip(COLOURS) {
        let dots = drives.iter().enumerate().filter_map(|(place, drive)| {
            Some(Circle::new((ratio(drive, figure)?, rows - 1 - place as i32), 5, colour.mix(0.8).filled()))
        });
        let series = chart.draw_series(dots).unwrap();
        series
            .label(figure.replace('_', " ") + "s")
            .legend(move |(x, y)| Circle::new((x + 8, y), 5, colour.mix(0.8).filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleLeft)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 13))
        .draw()
        .unwrap();
    area.present().unwrap();
    drop(chart);
    drop(area);
    svg
}
