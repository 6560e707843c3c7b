//! `esker reproduce`: claims as JSON, and everything as one page. The item here needs traces that are missing, so it is
//! quick.

use serde_json::Value;

use crate::support::{esker_ok, esker_refuses};

#[test]
fn claims_go_to_json_and_everything_to_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["reproduce", "agrawal/traces", "-o", "page.html", "--json=claims.json", "--seed", "7"];
    esker_ok(folder.path(), &arguments);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let claims: Value = serde_json::from_str(&read("claims.json")).unwrap();
    let reasons: Vec<&str> = claims.as_array().unwrap().iter().map(|claim| claim["reason"].as_str().unwrap()).collect();
    assert!(reasons.len() >= 4 && reasons.iter().all(|reason| reason.contains("--traces")), "{reasons:?}");
    let page = read("page.html");
    assert!(page.contains("esker reproduce agrawal/traces --seed 7") && page.contains("Unreachable"));
    assert!(page.ends_with("</html>"));
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let error = esker_refuses(folder.path(), &["reproduce", "--all", "-o", "no/such/folder/page.html"]);
    assert!(error.contains("no/such/folder/page.html"), "{error}");
    let error = esker_refuses(folder.path(), &["reproduce", "agrawal/traces", "-o", "-", "--json"]);
    assert!(error.contains("standard output") && error.contains("hint:"), "{error}");
    let error = esker_refuses(folder.path(), &["reproduce", "agrawal/traces", "--all"]);
    assert!(error.contains("--all"), "{error}");
}
