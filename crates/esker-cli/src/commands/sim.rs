use crate::args::{Common, SimArguments};
use crate::failure::Failure;
use std::process::ExitCode;
pub(crate) fn run(_: &SimArguments, _: &Common) -> Result<ExitCode, Failure> {
    Err(Failure::work("not yet"))
}
