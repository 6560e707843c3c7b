//! What a reader reports beside the records.

use esker_core::Nanos;

/// How many messages about bad lines are kept.
const MESSAGES: usize = 5;

/// Counts of lines and records that were read, skipped, sorted and ignored. Complete when the trace has been read to
/// its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadNotes {
    /// Lines of text, or records of a binary format, that were read.
    pub lines: u64,
    /// Records handed on.
    pub records: u64,
    /// Lines skipped because they were bad (with `lenient` only).
    pub bad_lines: u64,
    /// The messages for the first few of them.
    pub bad_line_messages: Vec<String>,
    /// Records that came after one with a later time, and were sorted.
    pub reordered: u64,
    /// The largest step back in time among them.
    pub largest_step_back: Nanos,
    /// Lines and events that are not requests, by kind, in order of appearance.
    pub ignored: Vec<(&'static str, u64)>,
    /// Whether the format has times.
    pub has_times: bool,
    /// Whether any record had a response time.
    pub has_responses: bool,
    /// Further remarks about the requests.
    pub remarks: Vec<String>,
    /// Remarks about their response times, such as what these mean in this format.
    pub response_remarks: Vec<String>,
    /// Bytes of the input that have been read, before decompression.
    pub input_bytes: u64,
}

impl ReadNotes {
    /// Counts something that is not a request.
    #[inline]
    pub(crate) fn ignore(&mut self, kind: &'static str) {
        self.ignore_many(kind, 1);
    }

    /// Counts several things that are not requests.
    pub(crate) fn ignore_many(&mut self, kind: &'static str, count: u64) {
        if count == 0 {
            return;
        }
        match self.ignored.iter_mut().find(|(known, _)| std::ptr::eq(*known, kind) || *known == kind) {
            Some((_, known)) => *known += count,
            None => self.ignored.push((kind, count)),
        }
    }

    /// How many of `kind` were ignored.
    pub fn ignored(&self, kind: &str) -> u64 {
        self.ignored.iter().find(|(known, _)| *known == kind).map_or(0, |(_, count)| *count)
    }

    /// Counts a bad line.
    pub(crate) fn bad_line(&mut self, message: String) {
        self.bad_lines += 1;
        if self.bad_line_messages.len() < MESSAGES {
            self.bad_line_messages.push(message);
        }
    }

    /// Returns what is to know of the records that were read, in sentences.
    pub fn lines(&self) -> Vec<String> {
        [self.lines_without_responses(), self.response_remarks.clone()].concat()
    }

    /// Returns what is to know of the records where their response times do not matter.
    pub fn lines_without_responses(&self) -> Vec<String> {
        let mut lines = self.remarks.clone();
        if self.reordered > 0 {
            lines.push(format!(
                "{} records came later than one with a later time and were put into their place (at most {} back).",
                self.reordered, self.largest_step_back
            ));
        }
        if self.bad_lines > 0 {
            let first = self.bad_line_messages.first().map_or("", String::as_str);
            lines.push(format!("{} broken lines were skipped; the first: {first}.", self.bad_lines));
        }
        if !self.ignored.is_empty() {
            let kinds: Vec<String> = self.ignored.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            lines.push(format!("Lines that are no requests were passed over: {}.", kinds.join(", ")));
        }
        lines
    }

    /// Adds a remark, once.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }

    /// Adds a remark about response times.
    pub(crate) fn remark_responses(&mut self, text: impl Into<String>) {
        self.response_remarks.push(text.into());
    }
}
