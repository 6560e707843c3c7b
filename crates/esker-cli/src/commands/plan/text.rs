//! A plan as text for a terminal.

use esker_core::words;
use esker_results::study::plan::{
    MixPlan, NoPlan, OtherPlan, PlacedClass, PlanConstraint, PlanReport, PlanRound, Way, WorkloadPlan,
};
use esker_study::LIFETIME_LIMIT_YEARS;

use crate::table::{self, Table};

/// Everything that is printed.
pub(super) fn of(report: &PlanReport) -> String {
    let plans: Vec<String> = report.plans.iter().map(|one| workload(one, &report.currency)).collect();
    plans.join("\n")
}

fn workload(one: &WorkloadPlan, currency: &str) -> String {
    let mut text = format!(
        "{}: {} of data, {} types of devices to choose from\n\n",
        one.name,
        words::bytes(one.need.data_bytes as f64),
        words::count(one.types as u64)
    );
    if !one.left_out.is_empty() {
        text += &format!("{}\n\n", one.left_out.join("\n"));
    }
    match (&one.plan, &one.no_plan) {
        (Some(plan), None) => text += &planned(plan, one, currency),
        (Some(plan), Some(no_plan)) => {
            text += "The last plan that could be made misses a budget, and corrected there is none.\n\n";
            text += &planned(plan, one, currency);
            text += &format!("\n{}", refused(no_plan, currency));
        }
        (None, Some(no_plan)) => text += &refused(no_plan, currency),
        (None, None) => {}
    }
    text
}

fn refused(no_plan: &NoPlan, currency: &str) -> String {
    let mut text = format!("There is no plan: {}.\n", no_plan.reason);
    for remedy in &no_plan.remedies {
        text += &format!("  There is one for {} {currency} with: {}\n", words::money(remedy.cost), remedy.text);
    }
    text
}

fn planned(plan: &MixPlan, one: &WorkloadPlan, currency: &str) -> String {
    let years = words::years_limit(one.budgets.years);
    let cost = &plan.verified.design.cost;
    let mut text = format!("{}\n", plan.title);
    text += &format!(
        "{} {currency} over {years}: {} to buy, {} for electricity as simulated. With idle devices, {} {currency}, and \
         no mix is cheaper than {} {currency} ({} less){}.\n\n",
        words::money(cost.total),
        words::money(cost.purchase),
        words::money(cost.power),
        words::money(plan.cost),
        words::money(plan.bound),
        words::percent(plan.gap),
        if one.left_out.is_empty() { "" } else { ", apart from the devices that are named above" },
    );
    text += &verified(plan, one);
    text += &format!("\n{}", devices(plan));
    text += &format!("\n{}", classes(plan));
    text += &format!("\n{}", peaks(one));
    text += &format!("\n{}", constraints(plan, currency));
    text += &format!("\n{}", others(plan, currency));
    text += &plan.way.as_ref().map_or_else(String::new, |way| format!("\n{}", self::way(way, plan)));
    text += &format!("\n{}", what_if(plan, currency));
    if one.rounds.len() > 1 {
        text += &format!("\n{}", rounds(&one.rounds, currency));
    }
    text
}

fn verified(plan: &MixPlan, one: &WorkloadPlan) -> String {
    let design = &plan.verified.design;
    let p99 = design.judgement.worst_p99.map_or("-".into(), |worst| words::time(worst.p99_us));
    let budget = one.budgets.p99_us.map_or("none".into(), words::time_limit);
    match plan.verified.keeps_budgets {
        true => format!(
            "Simulated, it keeps every budget: worst p99 {p99} (the model: {}), the budget {budget}.\n",
            words::time(plan.verified.predicted_p99_us)
        ),
        false => format!("Simulated, it misses a budget: {}.\n", plan.verified.reasons.join("; ")),
    }
}

fn devices(plan: &MixPlan) -> String {
    let mut rows =
        Table::new(&["devices", "number", "in use", "each", "busy, predicted", "simulated", "flash life", "simulated"]);
    for one in &plan.devices {
        rows.row([
            one.title.clone(),
            one.count.to_string(),
            one.in_use.to_string(),
            words::money(one.cost_each),
            words::percent(one.predicted_utilisation),
            one.simulated_utilisation.map_or("-".into(), words::percent),
            life(one.predicted_life_years),
            life(one.simulated_life_years),
        ]);
    }
    let why = plan.why_lives_are_of_random_writes().map_or_else(String::new, |why| format!("{why}\n"));
    rows.render() + &why
}

fn life(years: Option<f64>) -> String {
    match years {
        Some(years) if years >= LIFETIME_LIMIT_YEARS => format!("> {}", words::years(years)),
        Some(years) => words::years(years),
        None => "-".to_string(),
    }
}

fn classes(plan: &MixPlan) -> String {
    let mut rows = Table::new(&["class of data", "size", "requests", "reads", "peak", "peak bytes", "on"]);
    for one in &plan.classes {
        rows.row([
            one.name.clone(),
            words::bytes(one.bytes),
            words::count(one.requests),
            if one.requests == 0 { "-".into() } else { table::percent(one.read_share) },
            format!("{}/s", words::count(one.requests_per_s)),
            format!("{}/s", words::bytes(one.bytes_per_s as f64)),
            on(one, plan),
        ]);
    }
    rows.render()
}

fn on(class: &PlacedClass, plan: &MixPlan) -> String {
    let place = |placed: &esker_results::study::plan::PlacedShare| {
        let title = &plan.devices[placed.device].title;
        if placed.share > 0.9995 { title.clone() } else { format!("{} {title}", words::percent(placed.share)) }
    };
    class.placed.iter().map(place).collect::<Vec<_>>().join(", ")
}

fn peaks(one: &WorkloadPlan) -> String {
    let peaks = &one.peaks;
    format!(
        "Peaks of the classes together: {} requests and {} a second. Added up, peaks that never meet would ask for {} \
         and {}.\n",
        words::count(peaks.together_requests_per_s),
        words::bytes(peaks.together_bytes_per_s as f64),
        words::count(peaks.added_requests_per_s),
        words::bytes(peaks.added_bytes_per_s as f64),
    )
}

fn constraints(plan: &MixPlan, currency: &str) -> String {
    let mut rows = Table::new(&["constraint", "used", &format!("10 % looser, {currency}"), "without it"]);
    let saved = |cost: Option<f64>| match cost {
        Some(cost) if plan.cost - cost > plan.cost * 1e-3 => format!("-{}", words::money(plan.cost - cost)),
        Some(_) => "0".to_string(),
        None => "-".to_string(),
    };
    for PlanConstraint { name, used, limit, cost_if_looser_10_percent, cost_without, .. } in &plan.constraints {
        let share = if *limit > 0.0 && *limit < f64::MAX { words::percent(used / limit) } else { "-".into() };
        rows.row([name.clone(), share, saved(*cost_if_looser_10_percent), saved(*cost_without)]);
    }
    rows.render()
}

fn others(plan: &MixPlan, currency: &str) -> String {
    let mut text = "Other plans, not simulated:\n".to_string();
    let line = |one: &OtherPlan, none: &str| match one.cost {
        Some(cost) => format!("  {}: {} {currency}, {}\n", one.sort, words::money(cost), one.title),
        None => format!("  {}: {none}\n", one.sort),
    };
    text.extend(
        plan.runners_up
            .iter()
            .chain(&plan.others)
            .map(|one| line(one, "none was found that keeps the limits of the model")),
    );
    if !plan.beside.is_empty() {
        text += "Designs of a study, simulated:\n";
        text.extend(plan.beside.iter().map(|one| line(one, "none that was simulated keeps every budget")));
    }
    for one in &plan.break_even {
        let up_to =
            one.up_to.map_or("at any price".into(), |price| format!("up to {} {currency}", words::money(price)));
        text += &format!("{} is bought {up_to} each, and costs {}.\n", one.title, words::money(one.cost));
    }
    text
}

fn way(way: &Way, plan: &MixPlan) -> String {
    let bytes = words::bytes(way.bytes);
    let mut text = format!("From the devices in use, if all data lie evenly on them: {bytes} move, which takes ");
    text += &format!("{} beside the mean load.\n", words::duration(way.hours * 3_600.0));
    let mut rows = Table::new(&["move", "bytes", "from", "to", "time"]);
    for one in &way.moves {
        let title = |place: usize| plan.devices[place].title.clone();
        let (bytes, time) = (words::bytes(one.bytes), words::duration(one.hours * 3_600.0));
        let to = if one.from == one.to { format!("{}, bought", title(one.to)) } else { title(one.to) };
        rows.row([one.class.clone(), bytes, title(one.from), to, time]);
    }
    if !way.moves.is_empty() {
        text += &rows.render();
    }
    if let Some(stuck) = way.stuck_bytes {
        text += &format!("For {} there is no room on the way: add a device for that time.\n", words::bytes(stuck));
    }
    text
}

fn what_if(plan: &MixPlan, currency: &str) -> String {
    let mut rows = Table::new(&["with", &format!("cost, {currency}"), "devices"]);
    for one in &plan.what_if {
        let title = match one.cost {
            None => "no plan",
            Some(_) if one.title == plan.title => "the same",
            Some(_) => &one.title,
        };
        let times = format!("{} times {}", words::factor(one.factor), one.changed.words());
        rows.row([times, one.cost.map_or("-".into(), words::money), title.to_string()]);
    }
    rows.render()
}

fn rounds(rounds: &[PlanRound], currency: &str) -> String {
    let mut text = String::new();
    for (number, one) in (1..).zip(rounds) {
        let verdict = if one.keeps_budgets { "keeps every budget".into() } else { one.reasons.join("; ") };
        text += &format!("Round {number}: {}, {} {currency}: {verdict}\n", one.title, words::money(one.cost));
        for corrected in &one.corrected {
            text += &format!("  -> {corrected}\n");
        }
    }
    text
}
