//! Orthus as a procedure that asks for one measurement after the other, which tests compare with the state machine.

use esker_core::Rng;
use proptest::prelude::*;

use super::*;

/// A window as a policy sees it: reads of lines with those that missed, and the response time of its requests.
#[derive(Clone, Copy, Debug)]
struct WindowSeen {
    reads: u64,
    missed: u64,
    response: u64,
}

/// What a policy says before a window: the share in percent, and whether lines enter.
type Said = (u64, bool);

/// An error of the model, which has to be told from Orthus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    /// Lines never enter again.
    NeverAdmitsAgain,
    /// The first period decides.
    ForgetsSteadiness,
    /// The share moves in the direction that is worse.
    GoesTheWrongWay,
    /// The share moves on although its neighbours are as good.
    MovesOnTies,
    /// The cache becomes a plain one at once.
    HasNoPatience,
}

/// The parameters of all comparisons: periods of 20 reads, windows of one request, steps of 20 percent.
const PERIOD: u64 = 20;
const STEP: u64 = 20;

/// Why a measurement brings nothing.
enum Stop {
    NoMoreWindows,
    OtherWorkload,
}

struct Model<'a> {
    windows: std::slice::Iter<'a, WindowSeen>,
    said: Vec<Said>,
    slip: Option<Slip>,
}

impl Model<'_> {
    fn next(&mut self, share: u64, admits: bool) -> Result<WindowSeen, Stop> {
        let window = *self.windows.next().ok_or(Stop::NoMoreWindows)?;
        self.said.push((share, admits));
        Ok(window)
    }

    /// Fills the cache until at most 20 percent miss and the last two periods differ by one percent at most.
    fn fill(&mut self) -> Result<f64, Stop> {
        let mut ratios = Vec::new();
        loop {
            let (mut reads, mut missed) = (0, 0);
            while reads < PERIOD {
                let window = self.next(0, true)?;
                reads += window.reads;
                missed += window.missed;
            }
            ratios.push(missed as f64 / reads as f64);
            let [.., before, last] = ratios[..] else {
                if self.slip == Some(Slip::ForgetsSteadiness) && ratios[0] <= 0.2 {
                    return Ok(ratios[0]);
                }
                continue;
            };
            if (last - before).abs() <= 0.01 && last <= 0.2 {
                return Ok(last);
            }
        }
    }

    /// Returns the mean response time if this number of steps is routed: infinite for a number below none or above all.
    fn measure(&mut self, steps: i64, misses: f64) -> Result<u64, Stop> {
        if steps < 0 || steps as u64 * STEP > 100 {
            return Ok(u64::MAX);
        }
        let window = self.next(steps as u64 * STEP, false)?;
        // Every window has reads.
        let ratio = window.missed as f64 / window.reads as f64;
        let has_changed = ratio > 0.2 || (ratio - misses).abs() > 0.2;
        match has_changed && self.slip != Some(Slip::NeverAdmitsAgain) {
            true => Err(Stop::OtherWorkload),
            false => Ok(window.response),
        }
    }

    /// Tunes until the workload changes, or nothing is routed at the end of a round for the fifth time.
    fn tune(&mut self, misses: f64) -> Result<(), Stop> {
        let (mut steps, mut ends) = (0, 0);
        while ends < if self.slip == Some(Slip::HasNoPatience) { 1 } else { 4 } {
            let mut here = self.measure(steps, misses)?;
            let mut below = self.measure(steps - 1, misses)?;
            let mut above = self.measure(steps + 1, misses)?;
            loop {
                let stays = match self.slip {
                    Some(Slip::MovesOnTies) => here < below && here < above,
                    _ => here <= below && here <= above,
                };
                if stays {
                    break;
                }
                let down = (below <= above) ^ (self.slip == Some(Slip::GoesTheWrongWay));
                steps += if down { -1 } else { 1 };
                if steps <= 0 || steps as u64 * STEP >= 100 {
                    steps = steps.clamp(0, (100 / STEP) as i64);
                    break;
                }
                if down {
                    (below, here, above) = (self.measure(steps - 1, misses)?, below, here);
                } else {
                    (below, here, above) = (here, above, self.measure(steps + 1, misses)?);
                }
            }
            ends += u32::from(steps == 0);
        }
        Ok(())
    }

    fn live(&mut self) {
        loop {
            let tuned = self.fill().and_then(|misses| self.tune(misses));
            if matches!(tuned, Err(Stop::NoMoreWindows)) {
                return;
            }
        }
    }
}

fn of_model(windows: &[WindowSeen], slip: Option<Slip>) -> Vec<Said> {
    let mut model = Model { windows: windows.iter(), said: Vec::new(), slip };
    model.live();
    model.said
}

fn of_orthus(windows: &[WindowSeen]) -> Vec<Said> {
    let step = ("step", text(&format!("{STEP}%")));
    let mut policy = orthus(PERIOD as u32, &[("window", ParameterValue::Integer(1)), step]);
    let mut said = Vec::new();
    for (number, seen) in windows.iter().enumerate() {
        said.push((policy.share().as_parts_per_billion() / 10_000_000, policy.admits()));
        window(&mut *policy, Nanos(number as u64), [seen.reads, seen.missed], seen.response);
    }
    said
}

/// Response times are few, so that many are equal; in most windows all reads hit.
fn windows() -> impl Strategy<Value = Vec<WindowSeen>> {
    let missed = prop_oneof![30 => Just(0u64), 1 => 0u64..8, 1 => Just(8)];
    let window = (8u64..24, missed, 1u64..6);
    prop::collection::vec(window.prop_map(|(reads, missed, response)| WindowSeen { reads, missed, response }), 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000 * esker_testkit::soak()))]

    #[test]
    fn orthus_does_what_its_model_does(windows in windows()) {
        prop_assert_eq!(of_orthus(&windows), of_model(&windows, None));
    }
}

/// Each wrong model differs from Orthus in more than half of the runs of 200 random windows.
#[test]
fn wrong_models_are_found_out() {
    let seen = |rng: &mut Rng| {
        let missed = if rng.chance(1, 30) { rng.below(9) } else { 0 };
        WindowSeen { reads: 8 + rng.below(16), missed, response: 1 + rng.below(5) }
    };
    let differ = |slip: Option<Slip>| {
        let run = |seed: u64| {
            let mut rng = Rng::new(seed);
            let windows: Vec<WindowSeen> = (0..200).map(|_| seen(&mut rng)).collect();
            of_orthus(&windows) != of_model(&windows, slip)
        };
        (0..200).filter(|&seed| run(seed)).count()
    };
    assert_eq!(differ(None), 0);
    let slips = [
        Slip::NeverAdmitsAgain,
        Slip::ForgetsSteadiness,
        Slip::GoesTheWrongWay,
        Slip::MovesOnTies,
        Slip::HasNoPatience,
    ];
    let found = slips.map(|slip| (slip, differ(Some(slip))));
    assert!(found.iter().all(|(_, found)| *found > 100), "{found:?}");
}
