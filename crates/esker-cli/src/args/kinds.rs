//! The options that ask for kinds of designs: one for each kind that is offered on request.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use esker_study::{KindOnRequest, kinds_on_request};

/// The kinds of designs that were asked for, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct KindArguments {
    pub(crate) names: Vec<String>,
}

impl Args for KindArguments {
    fn augment_args(command: Command) -> Command {
        let option = |KindOnRequest { name, summary }| {
            let flag = Arg::new(name).long(name).action(ArgAction::SetTrue).help_heading("Products");
            flag.help(format!("Try {name}, too: {summary}"))
        };
        command.args(kinds_on_request().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for KindArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = kinds_on_request().map(|kind| kind.name).filter(|name| matches.get_flag(name));
        Ok(Self { names: given.map(str::to_string).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
