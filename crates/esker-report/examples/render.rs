//! Renders a study's JSON: `cargo run -p esker-report --example render study.json report.html`.

use std::error::Error;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [study, report] = arguments.as_slice() else { return Err("usage: render STUDY.json REPORT.html".into()) };
    let study = serde_json::from_str(&fs::read_to_string(study)?)?;
    fs::write(report, esker_report::render(&study)?)?;
    Ok(())
}
