//! The assumptions of a study, for its report.

use crate::offers::{RAW_MIN, min_note};
use crate::setup::CLOSED_DEPTH;
use crate::{StudySettings, kinds};
use esker_cloud::DEFAULT_SAVES_UP;
use esker_core::words;
use esker_results::study::Assumption;

/// Returns the assumptions, most consequential first.
pub(crate) fn assumptions(settings: &StudySettings) -> Vec<Assumption> {
    let assumption = |text: String, change: &str| Assumption { text, change: change.into() };
    let mut all = vec![
        assumption(
            format!(
                "Of each flash design a part is simulated that is just large enough for the data touched by the trace \
                to fill {} of it, and at least {}; untouched (cold) data fill the rest of that share. The part has the \
                spare share of the drive as sold, and lifetime is that of all of the drive's flash.",
                settings.utilisation,
                words::bytes(RAW_MIN.0 as f64)
            ),
            "--utilisation",
        ),
        assumption(
            "On disks the volumes of the trace lie one after another from the first address on, with the distances \
            that touched areas of 1 MiB have in the trace, made longer or shorter so that all of them fill the \
            capacity that is asked for; the rest of a disk is empty. On flash and in clouds touched areas lie side by \
            side."
                .into(),
            "--capacity; `beyond_capacity` and `spread_over` in an experiment file",
        ),
        assumption(
            "Flash starts in its steady state: as overwriting all its data at random leaves it once write \
            amplification has settled."
                .into(),
            "`precondition` in an experiment file",
        ),
        assumption(
            "The mean load of the trace goes on all day, every day, and grows as stated; lifetime counts the mean \
            block's rated erases: those of the preset, or as many as the maker's warranty takes if that is written at \
            random and takes more."
                .into(),
            "--growth; a longer trace",
        ),
        assumption(
            "Drives have the write buffer that their preset states; in a disk, and where it states none, every write \
            is timed to the medium. Where a buffer survives power failures, flushes cost nothing."
                .into(),
            "`write_buffer` in an experiment file",
        ),
        assumption(
            "Requests arrive as they did on the traced system: a faster device does not make its users ask sooner."
                .into(),
            "`time_scale` or `queue_depth` in an experiment file",
        ),
        assumption(
            format!(
                "An idle cloud volume saves up {} of what its limits allow, unless its product says otherwise, so that \
                longer bursts wait. No provider publishes the time. A merged request of a volume of hard disks takes \
                as long as the way there and back.",
                words::time(DEFAULT_SAVES_UP.as_micros_f64())
            ),
            "`device = { saves_up = \"1s\" }` of a product in a catalogue of your own (--catalogue)",
        ),
        assumption(
            format!("Traces without times are replayed with {CLOSED_DEPTH} requests always under way."),
            "`queue_depth` in an experiment file",
        ),
        assumption(
            format!(
                "Electricity costs {} {} a kilowatt-hour{}, and a building takes {} times the power of the machines in \
                it{}.{}",
                settings.running.electricity_per_kwh.value,
                settings.catalogue.currency,
                origin(settings.running.electricity_per_kwh.source.as_deref()),
                settings.running.power_usage_effectiveness.value,
                origin(settings.running.power_usage_effectiveness.source.as_deref()),
                if settings.budgets.growth_per_year > 0.0 {
                    " It is that of the load of the trace in all years: devices that work longer as the load grows \
                     draw more."
                } else {
                    ""
                },
            ),
            "`[running]` in a catalogue of your own (--catalogue)",
        ),
        assumption(
            "Devices of one design are striped without redundancy; a further copy of the data is on as many devices \
            again, and is not simulated."
                .into(),
            "--copies",
        ),
        assumption(min_note(), "an experiment file"),
    ];
    all.extend(kinds::assumptions(settings));
    all
}

fn origin(source: Option<&str>) -> String {
    source.map_or(" (assumed)".into(), |source| format!(" ({source})"))
}
