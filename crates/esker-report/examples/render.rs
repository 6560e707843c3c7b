//! Renders the JSON of a study, or the one inside the page of a reproduction: `cargo run -p esker-report --example
//! render study.json report.html`.

use std::error::Error;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [study, report] = arguments.as_slice() else { return Err("usage: render STUDY.json REPORT.html".into()) };
    let data: serde_json::Value = serde_json::from_str(&fs::read_to_string(study)?)?;
    let page = match data.get("items") {
        Some(_) => esker_report::render_reproduction(&data)?,
        None => esker_report::render(&data)?,
    };
    fs::write(report, page)?;
    Ok(())
}
