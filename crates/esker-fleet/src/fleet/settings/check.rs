//! What types cannot say: bounds, and what fits together.

use esker_cluster::{BALANCERS, ClusterShape, REPLICAS_MAX, WEAR_MODELS, build_balancer, build_wear_model};
use esker_config::ConfigError;
use esker_core::registry::{self, Choice};
use esker_core::{Bytes, Hint, Nanos, Problem, Ratio};

use super::{DataSettings, EventKind, EventSettings, FleetSettings, GroupSettings};

/// More epochs would run for months.
const EPOCHS_MAX: u64 = 1_000_000;

fn wrong(key: impl Into<String>, problem: Problem) -> ConfigError {
    ConfigError::new(key, problem)
}

fn refuse(is_wrong: bool, key: impl Into<String>, what: &str, hint: &str) -> Result<(), ConfigError> {
    if is_wrong { Err(wrong(key, Problem::with_hint(what, hint))) } else { Ok(()) }
}

impl FleetSettings {
    /// Checks what can be checked before slices are placed.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.data.check()?;
        refuse(self.group.is_empty(), "group", "there is no group of servers", "give one: [[group]]")?;
        for (at, group) in self.group.iter().enumerate() {
            let key = |name: &str| format!("group[{at}].{name}");
            let twice = self.group[..at].iter().any(|other| other.name == group.name);
            refuse(twice, key("name"), "another group has this name", "names of groups differ")?;
            group.check(&self.data, key)?;
        }
        let servers: usize = self.group.iter().map(|group| usize::from(group.count)).sum();
        refuse(servers == 0, "group[0].count", "there is no server at the beginning", "count servers of a group")?;
        refuse(
            servers > usize::from(u16::MAX),
            "group",
            "there are more than 65,535 servers",
            "make two fleets of it",
        )?;
        self.check_code()?;
        self.check_load()?;
        self.check_run()?;
        for (at, event) in self.event.iter().enumerate() {
            self.check_event(event, |name| format!("event[{at}].{name}"))?;
        }
        self.check_choices()
    }

    fn check_code(&self) -> Result<(), ConfigError> {
        let Some(code) = self.data.erasure_code else { return Ok(()) };
        let key = |name: &str| format!("data.erasure_code.{name}");
        let replicas = self.data.replicas;
        let hint = "leave the table out, or set data.replicas to 2 or 3";
        refuse(replicas < 2, "data.erasure_code", "there are no copies in place of which it could come", hint)?;
        let data = (2..=16).contains(&code.data);
        refuse(!data, key("data"), "a group has from 2 to 16 slices", "leave it out for 4")?;
        let parity = code.parity(replicas);
        let few = format!("it has to be from 1 to {replicas}, the replicas of other slices");
        let hint = format!("leave it out for {}: as many servers may fail as with copies", replicas - 1);
        refuse(!(1..=replicas).contains(&parity), key("parity"), &few, &hint)?;
        refuse(
            code.below > Ratio::ONE,
            key("below"),
            "it is above 100 %",
            "such as \"10%\" of the mean of all slices",
        )?;
        let domains: u32 = self.group.iter().map(|it| u32::from(it.count.div_ceil(it.servers_per_domain))).sum();
        let pieces = u32::from(code.data) + u32::from(parity);
        let few = format!("its {pieces} pieces do not fit on {domains} failure domains");
        refuse(domains < pieces, key("data"), &few, "give groups fewer slices, or the fleet more servers")?;
        let slices = u64::from(self.data.slices);
        let is_out = (slices + slices / u64::from(code.data) + 1) * u64::from(replicas) >= 1 << 32;
        refuse(is_out, "data.slices", "with parity, there are more than 2^32 replicas", "make slices larger")
    }

    fn check_load(&self) -> Result<(), ConfigError> {
        let load = &self.load;
        let zipf = load.zipf;
        refuse(
            !(0.0..=10.0).contains(&zipf),
            "load.zipf",
            "the exponent has to be from 0 to 10",
            "0 writes to all slices alike; measured loads have 0.6 to 1.2",
        )?;
        let share = |share: Ratio| share > Ratio::ONE;
        refuse(share(load.write_share), "load.write_share", "it is above 100 %", "give a share of bytes_per_day")?;
        let objects = load.written_objects;
        let is_out = share(objects) || objects == Ratio::ZERO;
        refuse(is_out, "load.written_objects", "it has to be above 0 and up to 100 %", "100 % writes to all objects")?;
        refuse(load.growth > Ratio::percent(1000), "load.growth", "it is above 1000 % a year", "30% is a lot already")?;
        refuse(load.write == Some(Bytes::ZERO), "load.write", "a write of no bytes", "leave it out for whole objects")?;
        if let Some(turnover) = load.turnover {
            refuse(turnover.every == Nanos::ZERO, "load.turnover.every", "it is never over", "such as \"7d\"")?;
            refuse(share(turnover.share), "load.turnover.share", "it is above 100 %", "give a share of all slices")?;
        }
        Ok(())
    }

    fn check_run(&self) -> Result<(), ConfigError> {
        let run = &self.run;
        refuse(run.epoch == Nanos::ZERO, "run.epoch", "epochs have no length", "such as \"1d\" or \"1h\"")?;
        refuse(run.duration == Nanos::ZERO, "run.duration", "it ends at once", "such as \"1y\"")?;
        refuse(run.duration > Nanos::LAST, "run.duration", "simulated time ends after 292 years", "such as \"5y\"")?;
        let long = format!("an epoch of {} is longer than the run of {}", run.epoch, run.duration);
        let part = [86_400, 3600, 60, 1].map(Nanos::from_secs).into_iter().find(|&part| part < run.duration);
        let such = part.map_or(String::new(), |part| format!(", such as \"{part}\""));
        refuse(run.epoch > run.duration, "run.epoch", &long, &format!("make it a part of the run{such}"))?;
        let many = format!("{} epochs are more than a million", run.epochs());
        refuse(run.epochs() > EPOCHS_MAX, "run.duration", &many, "make it shorter, or epochs longer")?;
        let out = |ratio: Ratio| ratio >= Ratio::ONE;
        let fails = self.failures.is_some_and(|failures| out(failures.annual_rate));
        refuse(fails, "failures.annual_rate", "it has to be below 100 %", "drives have 0.5 to 5 % a year")
    }

    fn check_event(&self, event: &EventSettings, key: impl Fn(&str) -> String) -> Result<(), ConfigError> {
        refuse(event.every == Some(Nanos::ZERO), key("every"), "it is never over", "such as \"90d\"")?;
        let end = self.run.end();
        let late = format!("the run has ended by then, after {end}");
        refuse(event.at >= end, key("at"), &late, "let it happen before, or lengthen run.duration")?;
        if let Some(name) = &event.group
            && !self.group.iter().any(|group| group.name == *name)
        {
            let known = self.group.iter().map(|group| group.name.as_str());
            return Err(wrong(key("group"), registry::NotFound::new("group of servers", name, known).into()));
        }
        // A server that joins, or comes in place of another, has the next number.
        let joins = self.replacement.is_some() || self.event.iter().any(|event| event.kind == EventKind::Join);
        let servers: u32 = self.group.iter().map(|group| u32::from(group.count)).sum();
        let of_group = self.group.iter().find(|group| Some(&group.name) == event.group.as_ref());
        let few = of_group.filter(|group| event.kind != EventKind::Join && !joins && event.count > group.count);
        let only = few.map_or(String::new(), |group| match group.count {
            1 => format!("{} has one server", group.name),
            count => format!("{} has {count} servers", group.name),
        });
        refuse(few.is_some(), key("count"), &only, "count fewer, or leave it out for one")?;
        let is_unknown = event.server.is_some_and(|server| u32::from(server) >= servers) && !joins;
        let last = format!("servers have numbers from 0 to {}", servers.saturating_sub(1));
        refuse(is_unknown, key("server"), "there is no such server", &last)?;
        match (event.kind, event.server, &event.group) {
            (EventKind::Join, None, Some(_)) => Ok(()),
            (EventKind::Join, Some(_), _) => {
                let hint = "name its group, and how many: group = \"new\", count = 10";
                refuse(true, key("server"), "a server that joins has no number yet", hint)
            }
            (_, Some(_), None) | (_, None, Some(_)) => Ok(()),
            _ => refuse(
                true,
                key("kind"),
                "it does not say which servers, or says it twice",
                "give server = 17, or group = \"old\" and how many: count = 5",
            ),
        }
    }

    fn check_choices(&self) -> Result<(), ConfigError> {
        refuse(self.balancers.is_empty(), "balancers", "there is none", "such as [\"none\", \"life\"]")?;
        for (at, choice) in self.balancers.iter().enumerate() {
            let key = format!("balancers[{at}]");
            registry::find(BALANCERS, "balancer", &choice.kind).map_err(|error| wrong(&key, error.into()))?;
            build_balancer(choice).map_err(|error| wrong(&key, parameter(&error, choice)))?;
        }
        registry::find(WEAR_MODELS, "wear model", &self.wear.kind).map_err(|error| wrong("wear", error.into()))?;
        refuse(
            self.wear.kind == "counters",
            "wear",
            "a fleet by counts has no drives that count their erases",
            "take \"light\" or \"published\"",
        )?;
        build_wear_model(&self.wear).map_err(|error| wrong("wear", parameter(&error, &self.wear)))?;
        Ok(())
    }
}

fn parameter(error: &esker_cluster::SettingsError, choice: &Choice) -> Problem {
    let hint = match error {
        esker_cluster::SettingsError::Parameter(error) => error.hint(),
        esker_cluster::SettingsError::Unknown(error) => error.hint(),
    };
    let hint = hint.unwrap_or_else(|| format!("docs/cluster.md has the parameters of `{}`", choice.kind));
    Problem::with_hint(error.to_string(), hint)
}

impl DataSettings {
    fn check(&self) -> Result<(), ConfigError> {
        let Self { slices, objects_per_slice, object, replicas, virtual_nodes, .. } = *self;
        let partitions = self.partitions.unwrap_or(1);
        let fits = |slices: u32| ClusterShape { slices, objects_per_slice, object, partitions, replicas }.check();
        let replicas = (1..=REPLICAS_MAX).contains(&replicas);
        refuse(!replicas, "data.replicas", "slices have one to three replicas", "give 1, 2 or 3")?;
        refuse(
            partitions > 1 << 24 || partitions == 0,
            "data.partitions",
            "it has to be from 1 to 2^24",
            "leave it out",
        )?;
        let objects = (1..=1 << 16).contains(&objects_per_slice);
        refuse(!objects, "data.objects_per_slice", "it has to be from 1 to 65,536", "leave it out for 1000")?;
        let size = (1..1 << 32).contains(&object.0);
        refuse(!size, "data.object", "it has to be from 1 byte to 4 GiB", "leave it out for 256 KiB")?;
        fits(slices).map_err(|error| wrong("data.slices", Problem::new(error.to_string())))?;
        let points = (1..=4096).contains(&virtual_nodes);
        refuse(!points, "data.virtual_nodes", "it has to be from 1 to 4096", "leave it out for 128")
    }
}

impl GroupSettings {
    fn check(&self, data: &DataSettings, key: impl Fn(&str) -> String) -> Result<(), ConfigError> {
        let small = format!("not one slice of {} fits", data.slice());
        refuse(self.room(data) == 0, key("capacity"), &small, "make servers larger, or slices smaller")?;
        let rated = self.rated();
        match (self.drive_writes_per_day, self.endurance) {
            (None, None) => {
                let hint = "give drive_writes_per_day = 1.0, or endurance = \"600TB\"";
                refuse(true, key("name"), "it does not say how much can be written", hint)?;
            }
            (Some(_), Some(_)) => {
                refuse(true, key("endurance"), "its life is given twice", "leave out drive_writes_per_day")?;
            }
            (Some(_), None) => {
                let is_out = !(rated > 0.0 && rated < 1e24);
                let hint = "such as 0.3, 1 or 3";
                refuse(is_out, key("drive_writes_per_day"), "it gives no life that is above zero", hint)?;
            }
            (None, Some(_)) => refuse(rated <= 0.0, key("endurance"), "it is zero", "such as \"600TB\"")?,
        }
        let [least, most] = self.life_used;
        refuse(least > most, key("life_used"), "the first is above the second", "such as [\"0%\", \"80%\"]")?;
        refuse(most > Ratio::ONE, key("life_used"), "it is above 100 %", "such as [\"0%\", \"80%\"]")?;
        let domain = self.servers_per_domain;
        refuse(
            domain == 0,
            key("servers_per_domain"),
            "a failure domain has at least one server",
            "with 1 each fails alone",
        )?;
        let block = (1..=1 << 20).contains(&self.pages_per_block);
        refuse(!block, key("pages_per_block"), "it has to be from 1 to 2^20", "leave it out for 1024")?;
        refuse(self.dies == 0, key("dies"), "a drive has at least one", "leave it out for 32")?;
        let spare = self.over_provisioning;
        let is_out = spare == Ratio::ZERO || spare > Ratio::percent(1000);
        refuse(is_out, key("over_provisioning"), "it has to be above 0 and up to 1000 %", "drives have 7 to 28 %")
    }
}
