//! `esker schema`: the published JSON Schemas.

use std::process::ExitCode;

use crate::args::{SchemaArguments, SchemaOf};
use crate::failure::Failure;
use crate::output;

/// Prints a schema.
pub(crate) fn run(arguments: &SchemaArguments) -> Result<ExitCode, Failure> {
    let schema = match arguments.of {
        SchemaOf::Results => esker_sim::results_schema(),
        SchemaOf::Study => schemars::schema_for!(esker_results::study::StudyReport),
        SchemaOf::Plan => schemars::schema_for!(esker_results::study::plan::PlanReport),
        SchemaOf::Cache => schemars::schema_for!(esker_results::cache::CacheResults),
        SchemaOf::Validation => schemars::schema_for!(esker_results::validation::ValidationResults),
        SchemaOf::FsBench => schemars::schema_for!(esker_results::fs_bench::FsBenchResults),
        SchemaOf::Fleet => schemars::schema_for!(esker_results::fleet::FleetResults),
        SchemaOf::Advice => schemars::schema_for!(esker_results::advice::AdviceResults),
        SchemaOf::Trace => schemars::schema_for!(esker_results::profile::TraceProfiles),
    };
    output::print_json(&schema)?;
    Ok(ExitCode::SUCCESS)
}
