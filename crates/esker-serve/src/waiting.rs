//! Whether clients wait to be accepted, for the log.

use esker_core::Nanos;

use crate::log::LogEvent;

/// How often that is told at most: a place that is taken again as soon as it is free is no news.
const EVERY: Nanos = Nanos::from_secs(60);

/// Clients who wait until others have left.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    is_so: bool,
    /// Why they wait, as it was told.
    told: Option<String>,
    next: Nanos,
}

impl Waiting {
    /// Adds to `news` that somebody waits, unless that was told.
    pub(crate) fn tell(&mut self, news: &mut Option<Vec<LogEvent>>, now: Nanos, reason: String) {
        if self.is_news(now, &reason)
            && let Some(news) = news
        {
            news.push(LogEvent::ClientsWait { reason });
        }
    }

    /// Somebody waits. Returns true if that, or the reason, is news.
    fn is_news(&mut self, now: Nanos, reason: &str) -> bool {
        self.is_so = true;
        let is_news = self.told.as_deref() != Some(reason) && now >= self.next;
        if is_news {
            (self.told, self.next) = (Some(reason.to_string()), now + EVERY);
        }
        is_news
    }

    /// Returns true if it is to be found out whether somebody waits.
    pub(crate) fn asks(&self, now: Nanos) -> bool {
        !self.is_so || self.told.is_none() && now >= self.next
    }

    /// Nobody waits any more.
    pub(crate) fn has_ended(&mut self) {
        (self.is_so, self.told) = (false, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_when_it_begins_and_once_a_minute_at_most() {
        let mut waiting = Waiting::default();
        let mut at = |second, reason: Option<&str>| match reason {
            Some(reason) => waiting.is_news(Nanos::from_secs(second), reason),
            None => {
                waiting.has_ended();
                false
            }
        };
        let (full, files) = (Some("all places are taken"), Some("too many open files"));
        assert!(at(10, full) && !at(11, full) && !at(100, full), "it began once");
        at(100, None);
        assert!(at(101, full));
        at(102, None);
        assert!(!at(103, full) && !at(160, full), "too soon");
        assert!(at(161, full) && !at(162, files) && !at(220, full), "it went on");
        assert!(at(221, files), "the reason is another one");
    }

    #[test]
    fn what_was_not_told_is_found_out_again() {
        let (mut waiting, at) = (Waiting::default(), Nanos::from_secs);
        assert!(waiting.asks(at(0)) && waiting.is_news(at(0), "a") && !waiting.asks(at(100)));
        waiting.has_ended();
        assert!(waiting.asks(at(1)) && !waiting.is_news(at(1), "a"));
        assert!(!waiting.asks(at(59)) && waiting.asks(at(60)));
    }
}
