//! Models: the shipped one, what is trained of its runs, and what is read from files.

use esker_model::{FORMS, Model, ModelError, SHIPPED, write_table};

/// The path of a file of a shipped model.
fn file(name: &str) -> String {
    format!("{}/models/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A number is the same if it differs in its last digits only: other processors round logarithms differently.
fn assert_same(found: &Model, expected: &Model) {
    assert_eq!((found.runs, found.left_out, &found.ranges), (expected.runs, expected.left_out, &expected.ranges));
    for (found, expected) in found.parts.iter().zip(&expected.parts) {
        for (found, expected) in found.fit.coefficients.iter().zip(&expected.fit.coefficients) {
            assert_eq!(found.term, expected.term);
            let near = (found.estimate - expected.estimate).abs() <= 1e-6 * expected.standard_error;
            assert!(near, "{}: {} and {}", found.term, found.estimate, expected.estimate);
        }
        assert!((found.fit.adjusted_r_squared - expected.fit.adjusted_r_squared).abs() < 1e-9);
    }
}

#[test]
fn the_shipped_coefficients_are_those_of_the_shipped_runs() {
    for shipped in SHIPPED {
        let runs = shipped.runs();
        let trained = Model::train("queueing", &runs).unwrap();
        if std::env::var_os("ESKER_UPDATE_DOCS").is_some() {
            let text = serde_json::to_string_pretty(&trained).unwrap() + "\n";
            std::fs::write(file(&format!("{}.json", shipped.name)), text).unwrap();
            continue;
        }
        assert_same(&trained, &shipped.model());
        let other = Model::train("queueing", &runs[..runs.len() / 2]).unwrap();
        assert_ne!(other.parts, trained.parts, "half of the runs give others");
    }
}

/// What docs/models.md promises of the shipped model, on runs that it has not seen.
#[test]
fn the_shipped_model_keeps_what_is_promised_of_it() {
    for shipped in SHIPPED {
        let (model, unseen) = (shipped.model(), shipped.unseen());
        let seen = shipped.runs();
        assert!(unseen.iter().all(|run| seen.iter().all(|other| other.name != run.name)), "they are unseen");
        let response = model.parts.iter().find(|part| part.name == "response").unwrap();
        assert!(response.fit.adjusted_r_squared >= 0.95, "{}", response.fit.adjusted_r_squared);
        let judged = model.evaluate(&unseen);
        let (response, erases) = (judged.response.unwrap(), judged.erases.unwrap());
        assert!(response.runs > 200 && response.median <= 0.15, "{response:?}");
        assert!(erases.median <= 0.15, "{erases:?}");
    }
}

/// The other forms are beside it for comparison: the same runs, and worse.
#[test]
fn the_shipped_form_is_the_best_on_unseen_runs() {
    for shipped in SHIPPED {
        let (runs, unseen) = (shipped.runs(), shipped.unseen());
        let median = |form: &str| Model::train(form, &runs).unwrap().evaluate(&unseen).response.unwrap().median;
        let best = median(&shipped.model().form);
        for form in FORMS {
            assert!(best <= median(form.name), "{}", form.name);
        }
    }
}

#[test]
fn a_model_reads_back_and_says_the_same() {
    for form in FORMS {
        let runs = SHIPPED[0].runs();
        let model = Model::train(form.name, &runs).unwrap();
        let read = Model::from_json(&serde_json::to_string(&model).unwrap()).unwrap();
        assert_eq!(read, model);
        let of = &runs[0].characteristics;
        assert_eq!(read.predict(of), model.predict(of));
    }
}

#[test]
fn what_is_no_model_says_why() {
    let text = serde_json::to_string(&SHIPPED[0].model()).unwrap();
    let error = |text: &str| Model::from_json(text).unwrap_err();
    assert!(matches!(error("{}"), ModelError::NoModel(_)));
    assert_eq!(error(&text.replace("\"schema\":1", "\"schema\":2")), ModelError::Schema { found: 2 });
    assert!(matches!(error(&text.replace("\"form\":\"queueing\"", "\"form\":\"queing\"")), ModelError::Form(_)));
    let other = ModelError::Parts { form: "linear".into() };
    assert_eq!(error(&text.replace("\"form\":\"queueing\"", "\"form\":\"linear\"")), other);
    let renamed = ModelError::Parts { form: "queueing".into() };
    assert_eq!(error(&text.replace("\"term\":\"pages read\"", "\"term\":\"pages\"")), renamed);
}

#[test]
fn too_few_runs_and_runs_that_are_all_alike_are_one_error() {
    let runs = SHIPPED[0].runs();
    let few = Model::train("linear", &runs[..6]).unwrap_err();
    assert!(few.to_string().starts_with("response: 6 runs are too few for 6 coefficients"), "{few}");
    let alike = vec![runs[0].clone(); 40];
    let error = Model::train("linear", &alike).unwrap_err().to_string();
    assert!(error.starts_with("response: the term `size, KiB` follows from the others in these runs"), "{error}");
}

#[test]
fn what_lies_outside_of_the_training_is_named() {
    let (model, runs) = (SHIPPED[0].model(), SHIPPED[0].runs());
    let usable = runs.iter().find(|run| run.measured.busy_share < 0.5).unwrap();
    assert!(model.outside(&usable.characteristics).is_empty());
    let mut far = usable.characteristics;
    far.write_bytes = 1e6;
    far.fullness = 0.1;
    let names: Vec<&str> = model.outside(&far).iter().map(|range| range.characteristic.as_str()).collect();
    assert_eq!(names, ["write_bytes", "fullness"]);
}

/// The tables are as `esker model train --table` writes them.
#[test]
fn shipped_tables_are_written_as_they_are_read() {
    for shipped in SHIPPED {
        for (name, runs) in [("", shipped.runs()), ("-unseen", shipped.unseen())] {
            let text = std::fs::read_to_string(file(&format!("{}{name}.csv", shipped.name))).unwrap();
            assert_eq!(write_table(&runs), text);
        }
    }
}
