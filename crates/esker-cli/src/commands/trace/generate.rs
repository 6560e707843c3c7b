use crate::args::{Common, GenerateArguments};
use crate::failure::Failure;
use std::process::ExitCode;
pub(crate) fn run(_: &GenerateArguments, _: &Common) -> Result<ExitCode, Failure> {
    Err(Failure::work("not yet"))
}
