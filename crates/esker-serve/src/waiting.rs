//! Whether clients wait to be accepted, for the log.

use esker_core::Nanos;

use crate::log::LogEvent;

/// How often that is told at most: a place that is taken again as soon as it is free is no news.
const EVERY: Nanos = Nanos::from_secs(60);

/// Clients who wait until others have left.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    is_so: bool,
    next: Nanos,
}

impl Waiting {
    /// Adds to `news` that somebody waits, unless that was told.
    pub(crate) fn tell(&mut self, news: &mut Option<Vec<LogEvent>>, now: Nanos, reason: String) {
        if self.begins(now)
            && let Some(news) = news
        {
            news.push(LogEvent::ClientsWait { reason });
        }
    }

    /// Somebody waits. Returns true if that is news.
    fn begins(&mut self, now: Nanos) -> bool {
        let is_news = !std::mem::replace(&mut self.is_so, true) && now >= self.next;
        if is_news {
            self.next = now + EVERY;
        }
        is_news
    }

    /// Returns true while somebody waits.
    pub(crate) fn is_so(&self) -> bool {
        self.is_so
    }

    /// Nobody waits any more.
    pub(crate) fn has_ended(&mut self) {
        self.is_so = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_when_it_begins_and_once_a_minute_at_most() {
        let mut waiting = Waiting::default();
        let at = Nanos::from_secs;
        assert!(waiting.begins(at(10)) && !waiting.begins(at(11)) && !waiting.begins(at(100)), "it began once");
        waiting.has_ended();
        assert!(waiting.begins(at(101)));
        waiting.has_ended();
        assert!(!waiting.begins(at(160)));
        waiting.has_ended();
        assert!(waiting.begins(at(161)));
    }
}
