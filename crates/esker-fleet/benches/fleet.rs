//! How long fleets take by counts: epochs of a thousand servers with a million slices. With `ESKER_BENCH_LONG=day`,
//! `=year` or `=none` (a year without a balancer), once, ten thousand servers with ten million slices of two replicas,
//! with failures: the processor time is printed. `day-drawn` and `year-drawn` draw the requests of each slice;
//! `year-coded` has three replicas, and slices below three tenths of the mean as an erasure code.

use esker_core::Nanos;
use esker_core::registry::Choice;
use esker_fleet::{ErasureCodeSettings, FleetSettings, RequestSettings, Simulation};
use esker_testkit::{Bench, processor_time};

/// Servers of three ratings and all ages, some of which fail; a load that changes by a tenth each week.
fn fleet(thousands: u64, epoch: &str, duration: &str) -> FleetSettings {
    let mut text = format!(
        "[data]\nslices = {}\nobject = \"4MiB\"\nreplicas = 2\n\
         [load]\nbytes_per_day = \"{}TB\"\nzipf = 0.9\nturnover = {{ every = \"7d\", share = \"10%\" }}\n\
         [copies]\nrate = \"{}GB/s\"\nserver_rate = \"200MB/s\"\nbalancing_per_day = \"{}TB\"\n\
         [failures]\nannual_rate = \"2%\"\n[replacement]\n\
         [run]\nepoch = \"{epoch}\"\nduration = \"{duration}\"\n",
        thousands * 1_000_000,
        thousands * 5_700,
        thousands * 20,
        thousands * 50,
    );
    for (name, rating, count) in [("read", 0.3, 333), ("mixed", 1.0, 333), ("write", 3.0, 334)] {
        text += &format!(
            "[[group]]\nname = \"{name}\"\ncount = {}\ncapacity = \"16TB\"\ndrive_writes_per_day = {rating}\n\
             life_used = [\"0%\", \"80%\"]\n",
            thousands * count
        );
    }
    FleetSettings::read(&text, "fleet.toml", &[]).expect("a valid fleet")
}

/// The fleet with a number of requests that is drawn for each slice in each epoch.
fn drawn(mut settings: FleetSettings) -> FleetSettings {
    settings.load.requests = RequestSettings::Drawn;
    settings
}

/// The fleet with three replicas, or an erasure code for what is written less than three tenths of the mean.
fn coded(mut settings: FleetSettings) -> FleetSettings {
    settings.data.replicas = 3;
    settings.data.erasure_code = Some(ErasureCodeSettings {
        data: 4,
        parity: None,
        below: "30%".parse().expect("a share"),
        after: Nanos::from_secs(7 * 86_400),
    });
    settings
}

fn simulate(settings: &FleetSettings, balancer: &str) -> u64 {
    let simulation = Simulation::new(settings, 1, &Choice::named(balancer)).expect("slices fit");
    let run = simulation.run(|_| true).expect("nobody stops it");
    run.epochs
}

#[expect(clippy::print_stdout, reason = "a bench prints what it has measured")]
fn once(what: &str, settings: &FleetSettings, balancer: &str) {
    let begin = processor_time();
    let simulation = Simulation::new(settings, 1, &Choice::named(balancer)).expect("slices fit");
    let placed = processor_time() - begin;
    let run = simulation.run(|_| true).expect("nobody stops it");
    let whole = processor_time() - begin;
    println!(
        "{what}, {balancer}: {:.1} s of processor time, {:.1} s to place",
        whole.as_secs_f64(),
        placed.as_secs_f64()
    );
    println!("{:?}\n{:?}\nlife used {:?}", run.counts, run.written, run.life_used);
}

fn main() {
    match std::env::var("ESKER_BENCH_LONG").as_deref() {
        Ok("day") => return once("a day of hourly epochs", &fleet(10, "1h", "1d"), "life"),
        Ok("year") => return once("a year of daily epochs", &fleet(10, "1d", "365d"), "life"),
        Ok("day-drawn") => return once("a day of drawn requests", &drawn(fleet(10, "1h", "1d")), "life"),
        Ok("year-drawn") => return once("a year of drawn requests", &drawn(fleet(10, "1d", "365d")), "life"),
        Ok("year-coded") => {
            return once("a year of daily epochs, with a code", &coded(fleet(10, "1d", "365d")), "life");
        }
        Ok("none") => return once("a year of daily epochs", &fleet(10, "1d", "365d"), "none"),
        _ => {}
    }
    let duration = if Bench::is_smoke() { "10d" } else { "60d" };
    for balancer in ["none", "life", "ewo", "edm-like"] {
        let settings = fleet(1, "1d", duration);
        Bench::new(format!("1,000 servers, 1,000,000 slices, {balancer}"))
            .rate("epochs", || simulate(&settings, balancer));
    }
}
