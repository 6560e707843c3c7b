//! Renders the JSON of a study, or the JSON inside the page of a reproduction: `cargo run -p esker-report --example
//! render study.json report.html`.

use std::error::Error;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [study, report] = arguments.as_slice() else { return Err("usage: render STUDY.json REPORT.html".into()) };
    let json = fs::read_to_string(study)?;
    let page = match serde_json::from_str(&json) {
        Ok(study) => esker_report::render(&study)?,
        Err(_) => esker_report::render_reproduction(&serde_json::from_str(&json)?)?,
    };
    fs::write(report, page)?;
    Ok(())
}
