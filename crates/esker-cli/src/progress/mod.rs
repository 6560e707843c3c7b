//! Progress of long work on standard error: a bar with the time left on a terminal, otherwise a line now and then.

mod meter;

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use meter::{Meter, Schedule};

pub(crate) use meter::Unit;

/// The progress of some work, which any thread may advance. Nothing is shown if the user asked for quiet.
#[derive(Debug)]
pub(crate) struct Progress {
    meter: Arc<Mutex<Meter>>,
    unit: Unit,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    Nothing,
    Bar(ProgressBar),
    Lines { stop: Arc<(Mutex<bool>, Condvar)>, thread: Option<JoinHandle<()>> },
}

/// Time since the program first showed progress.
#[expect(clippy::disallowed_methods, reason = "how long the user has been waiting")]
fn now() -> Duration {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed()
}

/// When the next line is due. One schedule for the whole program, so that a hundred small traces are reported, too.
static SCHEDULE: Mutex<Schedule> = Mutex::new(Schedule::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

impl Progress {
    /// Progress of work measured in `unit`.
    pub(crate) fn new(quiet: bool, unit: Unit) -> Self {
        let meter = Arc::new(Mutex::new(Meter::new(unit, now())));
        let shown = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Bar(bar(unit, &meter)),
            (false, false) => lines(&meter),
        };
        Self { meter, unit, shown }
    }

    /// Sets the description of the work.
    pub(crate) fn set_message(&self, message: &str) {
        lock(&self.meter).set_message(message);
        if let Shown::Bar(bar) = &self.shown {
            bar.set_message(message.to_string());
        }
    }

    /// Shows that from here on it is unknown how much there is to do.
    pub(crate) fn forget_total(&self) {
        lock(&self.meter).set(0, 0, now());
        if let Shown::Bar(bar) = &self.shown {
            bar.set_style(ProgressStyle::with_template("{msg} {elapsed}").expect("the template is valid"));
            bar.set_length(0);
        }
    }

    /// Sets the progress to `done` of `total`.
    pub(crate) fn set(&self, done: u64, total: u64) {
        lock(&self.meter).set(done, total, now());
        if let Shown::Bar(bar) = &self.shown {
            if bar.length() == Some(0) {
                bar.set_style(style(self.unit, &self.meter));
            }
            bar.set_length(total.max(done));
            bar.set_position(done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => bar.finish_and_clear(),
            Shown::Lines { stop, thread } => {
                *lock(&stop.0) = true;
                stop.1.notify_all();
                if let Some(thread) = thread.take() {
                    // A thread that could not print has nothing else to report.
                    let _ = thread.join();
                }
            }
        }
    }
}

fn bar(unit: Unit, meter: &Arc<Mutex<Meter>>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(8));
    bar.set_style(style(unit, meter));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn style(unit: Unit, meter: &Arc<Mutex<Meter>>) -> ProgressStyle {
    let template = match unit {
        Unit::Bytes => "{msg:28!} {bar:32} {bytes}/{total_bytes} {bytes_per_sec} {left}".to_string(),
        Unit::Share => "{msg:28!} {bar:32} {percent}% {left}".to_string(),
        Unit::Things(name) => format!("{{msg:28!}} {{bar:32}} {{human_pos}}/{{human_len}} {name} {{left}}"),
    };
    let meter = meter.clone();
    let left = move |_: &ProgressState, to: &mut dyn Write| {
        // The bar is drawn without the time left while that is unknown.
        let _ = lock(&meter).time_left(now()).map_or(Ok(()), |left| write!(to, "ETA {}", meter::rough(left)));
    };
    ProgressStyle::with_template(&template).expect("the templates above are valid").with_key("left", left)
}

/// Starts a thread that prints a line whenever one is due.
fn lines(meter: &Arc<Mutex<Meter>>) -> Shown {
    let stop = Arc::new((Mutex::new(false), Condvar::new()));
    let (meter, stopped) = (meter.clone(), stop.clone());
    let work = move || {
        let mut done = lock(&stopped.0);
        while !*done {
            let wait = lock(&SCHEDULE).wait(now());
            done = stopped.1.wait_timeout(done, wait).expect("nobody panics while holding it").0;
            if !*done && lock(&SCHEDULE).is_due(now()) {
                // The lock is released before printing, because a full pipe may block.
                let line = lock(&meter).line(now());
                print_line(&line);
            }
        }
    };
    // If no thread can be started, there are no lines.
    Shown::Lines { stop, thread: std::thread::Builder::new().name("progress".into()).spawn(work).ok() }
}

#[expect(clippy::print_stderr, reason = "progress goes beside the results")]
fn print_line(line: &str) {
    eprintln!("{line}");
}
