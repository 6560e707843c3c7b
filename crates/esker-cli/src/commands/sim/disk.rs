//! What a disk's arm, its platters and its media cache did, in words.

use esker_core::words;
use esker_results::{DiskPowerReport, DiskReport, ShingledReport};

/// One line for the arm, and one each for energy and for shingled recording where there are any.
pub(super) fn describe(disk: &DiskReport) -> String {
    let mut text = format!(
        "\n  mean seek {}, rotation {}, transfer {}",
        words::time(disk.mean_seek_us),
        words::time(disk.mean_rotation_us),
        words::time(disk.mean_transfer_us)
    );
    text += &disk.power.as_ref().map_or_else(String::new, describe_power);
    text += &disk.shingled.as_ref().map_or_else(String::new, describe_shingled);
    text
}

fn describe_power(power: &DiskPowerReport) -> String {
    let modes = [
        ("seeking", power.seek_s),
        ("active", power.active_s),
        ("idle", power.idle_s),
        ("slowing down", power.spin_down_s),
        ("in standby", power.standby_s),
        ("starting", power.spin_up_s),
    ];
    let all: f64 = modes.iter().map(|(_, seconds)| seconds).sum();
    let share = |seconds: f64| if all > 0.0 { seconds / all } else { 0.0 };
    let spent = modes.iter().filter(|(_, seconds)| *seconds > 0.0);
    let spent: Vec<String> =
        spent.map(|(mode, seconds)| format!("{} {mode}", words::percent(share(*seconds)))).collect();
    let starts = match power.spin_ups {
        0 => String::new(),
        1 => "; the platters were started once".to_string(),
        count => format!("; the platters were started {} times", words::count(count)),
    };
    format!("\n  {} J: {}{starts}", words::digits(power.energy_j), spent.join(", "))
}

fn describe_shingled(shingled: &ShingledReport) -> String {
    let bytes = |bytes: u64| words::bytes(bytes as f64);
    format!(
        "\n  written: {} in order to zones, {} to the media cache, where {} writes waited for room; {} zones cleaned, \
         {} read and {} written for that",
        bytes(shingled.direct_write_bytes),
        bytes(shingled.cached_write_bytes),
        words::count(shingled.waited_writes),
        words::count(shingled.cleaned_zones),
        bytes(shingled.cleaning_read_bytes),
        bytes(shingled.cleaning_write_bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_without_time_are_left_out() {
        let power = DiskPowerReport {
            energy_j: 250.0,
            active_s: 5.0,
            idle_s: 10.0,
            standby_s: 5.0,
            spin_ups: 1,
            ..DiskPowerReport::default()
        };
        let text = describe(&DiskReport { power: Some(power), ..DiskReport::default() });
        let line = text.lines().last().unwrap();
        assert_eq!(line, "  250 J: 25 % active, 50 % idle, 25 % in standby; the platters were started once");
    }

    #[test]
    fn cleaning_is_told_with_what_it_took() {
        let shingled = ShingledReport {
            direct_write_bytes: 5 << 20,
            cached_write_bytes: 2 << 20,
            waited_writes: 7,
            cleaned_zones: 3,
            cleaning_read_bytes: 3 << 20,
            cleaning_write_bytes: 3 << 20,
            ..ShingledReport::default()
        };
        let text = describe(&DiskReport { shingled: Some(shingled), ..DiskReport::default() });
        assert!(text.contains("2 MiB to the media cache, where 7 writes waited") && text.contains("3 zones"), "{text}");
    }
}
