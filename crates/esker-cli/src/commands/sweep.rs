use crate::args::{Common, SweepArguments};
use crate::failure::Failure;
use std::process::ExitCode;
pub(crate) fn run(_: &SweepArguments, _: &Common) -> Result<ExitCode, Failure> {
    Err(Failure::work("not yet"))
}
