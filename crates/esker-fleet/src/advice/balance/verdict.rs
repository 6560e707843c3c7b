//! What an advice on a cluster comes to, in sentences.

use esker_core::words;
use esker_results::advice::{AdviceVerdict, Advised, PgMove};

use super::worth::Worth;
use crate::advice::time::day_in_words;

/// The verdict on moves of placement groups.
pub(super) fn of(worth: &Worth, moves: &[PgMove], horizon_years: f64) -> AdviceVerdict {
    let years = words::years(horizon_years);
    let mut reasons = Vec::new();
    if worth.not_judged > 0 {
        reasons.push(format!("nothing moves from or to OSDs that cannot be judged ({})", worth.not_judged));
    }
    reasons.push(match worth.bought {
        0.0 => format!("no drive has to be bought within {years} as it is"),
        1.0 => format!("1 drive has to be bought within {years} as it is"),
        count => format!("{count:.0} drives have to be bought within {years} as it is"),
    });
    let advised = if moves.is_empty() {
        reasons.push("no moves within budget, room and failure domains would help the first drive to wear out".into());
        Advised::NothingToDo
    } else if worth.saved.low >= 1.0 && worth.money_saved > worth.money_spent {
        Advised::Balance
    } else {
        let day = |moment: Option<i64>| {
            moment.map_or("in more than 100 years".into(), |moment| day_in_words(moment)[..7].to_string())
        };
        let (first, after) = (day(worth.first), day(worth.first_after));
        let count = moves.len();
        reasons.push(format!("{count} moves would have the first drive worn out {after} instead of {first}"));
        if worth.saved.likely >= 1.0 && worth.money_saved > worth.money_spent {
            reasons.push("by the ranges they may save no drive: measure longer".into());
            Advised::Unclear
        } else {
            reasons.push(format!("but they save no drive within {years}: not worth their own writes"));
            Advised::NothingToDo
        }
    };
    AdviceVerdict { advised, reasons }
}
