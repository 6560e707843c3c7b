//! The tables of a study as data: for spreadsheets (CSV), and for tickets and wikis (Markdown).

use esker_core::words;
use esker_results::study::{Candidate, CandidateOutcome, RuledOut, StudyReport, WorkloadStudy};

use crate::answer::worst_p99_us;
use crate::families::{FamilyRow, families};

/// A table of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What it is about, as a file name: "candidates". Of several workloads, the workload's number comes first:
    /// "2-candidates".
    pub name: String,
    heads: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// A value with what people write behind it.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    None,
    Text(String),
    Flag(bool),
    Count(u64),
    Bytes(u64),
    /// Microseconds.
    Time(f64),
    Years(f64),
    Share(f64),
    /// Anything else, such as an amount of money.
    Number(f64),
}

impl Cell {
    fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn of<T>(value: Option<T>, cell: impl Fn(T) -> Self) -> Self {
        value.map_or(Self::None, cell)
    }

    /// As a number without a unit, which the head of its column has.
    fn raw(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Text(text) => words::spreadsheet_text(text).into_owned(),
            Self::Flag(flag) => flag.to_string(),
            Self::Count(count) | Self::Bytes(count) => count.to_string(),
            Self::Time(value) | Self::Years(value) | Self::Share(value) | Self::Number(value) => value.to_string(),
        }
    }

    /// As people write it.
    fn words(&self) -> String {
        match self {
            Self::None => "-".into(),
            Self::Text(text) => escaped(text),
            Self::Flag(flag) => if *flag { "yes" } else { "no" }.into(),
            Self::Count(count) => words::count(*count),
            Self::Bytes(bytes) => words::bytes(*bytes as f64),
            Self::Time(micros) => words::time(*micros),
            Self::Years(years) => words::years(*years),
            Self::Share(share) => words::percent(*share),
            Self::Number(value) => words::digits(*value),
        }
    }
}

impl Table {
    /// As comma-separated values, with the column heads first. Numbers have the unit that their head ends in.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::raw).collect::<Vec<_>>());
        let heads = self.heads.iter().map(ToString::to_string).collect();
        for row in std::iter::once(heads).chain(rows) {
            writer.write_record(row).expect("memory takes it, and rows have as many cells as there are heads");
        }
        String::from_utf8(writer.into_inner().expect("memory takes it")).expect("it was made of text")
    }

    /// As a table of Markdown; columns without any value are left out.
    pub fn markdown(&self) -> String {
        let used = |column: &usize| self.rows.iter().any(|row| row[*column] != Cell::None);
        let columns: Vec<usize> = (0..self.heads.len()).filter(used).collect();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(columns.iter().map(|&column| without_unit(self.heads[column])).collect());
        text += &line(vec!["---".to_string(); columns.len()]);
        for row in &self.rows {
            text += &line(columns.iter().map(|&column| row[column].words()).collect());
        }
        text
    }
}

/// Text as Markdown shows it, on one line: names of traces, volumes and products are data, never HTML, links or code.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '|' | '`' | '[' | ']' | '*' => safe.extend(['\\', letter]),
            '\n' | '\r' => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

/// Text as code in Markdown, in a fence of more backticks than it has in a row.
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let (fence, text) = ("`".repeat(longest + 1), text.replace(['\n', '\r'], " "));
    // A blank keeps backticks at the ends apart from the fence.
    if longest == 0 { format!("{fence}{text}{fence}") } else { format!("{fence} {text} {fence}") }
}

/// "busy_p99_us" as "busy p99": values have their units in Markdown.
fn without_unit(head: &str) -> String {
    let units = ["_us", "_bytes", "_years"];
    let bare = units.iter().find_map(|unit| head.strip_suffix(unit)).unwrap_or(head);
    bare.replace('_', " ")
}

/// How the tables begin, to tell them from other files.
pub const TABLE_HEADS: &[&str] =
    &["market,recommended,", "family,best,", "name,title,year,", "name,title,market,", "level,topic,", "cache_bytes,"];

/// Returns the names of the tables of a study of `workloads` workloads.
pub fn table_names(workloads: usize) -> Vec<String> {
    let names = ["answers", "families", "candidates", "ruled-out", "findings", "miss-ratio-curve"];
    let prefixes = (1..=workloads).map(|number| if workloads > 1 { format!("{number}-") } else { String::new() });
    prefixes.flat_map(|prefix| names.map(|name| format!("{prefix}{name}"))).collect()
}

/// Every table of a study, in the order of [`table_names`].
pub fn tables(study: &StudyReport) -> Vec<Table> {
    let several = study.workloads.len() > 1;
    let mut all = Vec::new();
    for (index, workload) in study.workloads.iter().enumerate() {
        let prefix = if several { format!("{}-", index + 1) } else { String::new() };
        let found = [
            answers(workload),
            by_family(workload),
            candidates(workload),
            ruled_out(workload),
            findings(workload),
            curve(workload),
        ];
        all.extend(found.into_iter().map(|table| Table { name: format!("{prefix}{}", table.name), ..table }));
    }
    all
}

/// The whole study as Markdown: for each workload its answer, then its tables.
pub fn markdown(study: &StudyReport) -> String {
    let mut text = String::new();
    for workload in &study.workloads {
        text += &format!("# {}\n\n{}\n\n", escaped(&workload.name), escaped(&workload.verdict.headline));
        // Other markets have their lines in the table of answers.
        let findings = workload.verdict.findings.iter();
        for finding in findings.filter(|finding| finding.topic != "market") {
            text += &format!("- {}\n", escaped(&finding.text));
        }
        let years = workload.budgets.years;
        let totals = if years > 0.0 { format!(" (totals over {})", words::years_limit(years)) } else { String::new() };
        let sections = [
            ("Answers by market".to_string(), answers(workload)),
            (format!("The best design of each kind{totals}"), by_family(workload)),
            (format!("Designs that were simulated{totals}"), candidates(workload)),
            (format!("Designs that were not{totals}"), ruled_out(workload)),
        ];
        for (title, table) in sections.iter().filter(|(_, table)| !table.rows.is_empty()) {
            text += &format!("\n## {title}\n\n{}", table.markdown());
        }
        text.push('\n');
    }
    text + &format!("Made by esker {} with {}.\n", study.version, code(&study.command))
}

fn answers(workload: &WorkloadStudy) -> Table {
    let answers = workload.verdict.answers();
    let rows = answers.iter().map(|answer| {
        vec![
            Cell::text(&answer.market),
            Cell::of(answer.recommended.as_ref(), Cell::text),
            Cell::text(answer.equals.join(" ")),
            Cell::of(answer.nearest.as_ref(), Cell::text),
            Cell::text(&answer.because),
        ]
    });
    Table {
        name: "answers".into(),
        heads: vec!["market", "recommended", "equals", "nearest", "because"],
        rows: rows.collect(),
    }
}

/// The best design of each family, if there are several.
fn by_family(workload: &WorkloadStudy) -> Table {
    let rows = families(workload).into_iter().map(|FamilyRow { answer, design }| {
        let life = design.and_then(|design| design.endurance.as_ref());
        let promoted = life.and_then(|life| life.promotions);
        vec![
            Cell::text(&answer.family),
            Cell::of(answer.best.as_ref(), Cell::text),
            Cell::Count(answer.offered),
            Cell::Count(answer.simulated),
            Cell::Flag(answer.keeps_budgets),
            Cell::of(design, |design| Cell::Number(design.cost.total)),
            Cell::of(design.and_then(|design| design.cost.watts()), Cell::Number),
            Cell::of(design.and_then(worst_p99_us), Cell::Time),
            Cell::of(life.and_then(|life| life.lifetime_years), Cell::Years),
            Cell::of(life, |life| Cell::Flag(life.lifetime_is_lower_bound)),
            Cell::of(promoted, |promoted| Cell::Bytes(promoted.bytes_per_day as u64)),
            Cell::of(promoted, |promoted| Cell::Share(promoted.share_of_writes)),
            Cell::of(promoted, |promoted| Cell::Share(promoted.life_share_per_day)),
            Cell::of(promoted.and_then(|promoted| promoted.lifetime_years_without), Cell::Years),
            Cell::text(&answer.because),
        ]
    });
    Table {
        name: "families".into(),
        heads: vec![
            "family",
            "best",
            "offered",
            "simulated",
            "keeps_budgets",
            "total",
            "power_w",
            "worst_p99_us",
            "lifetime_years",
            "lifetime_is_lower_bound",
            "promoted_bytes_per_day",
            "promoted_share_of_writes",
            "promoted_life_share_per_day",
            "lifetime_without_promotions_years",
            "because",
        ],
        rows: rows.collect(),
    }
}

/// Takes the value of one column from a candidate.
type Column = (&'static str, fn(&Candidate) -> Cell);

const CANDIDATE: &[Column] = &[
    ("name", |one| Cell::text(&one.name)),
    ("title", |one| Cell::text(&one.title)),
    ("year", |one| Cell::text(one.product.year.to_string())),
    ("market", |one| Cell::text(&one.product.market)),
    ("class", |one| Cell::text(&one.product.class)),
    ("count", |one| Cell::Count(one.count.into())),
    ("capacity_on_sale_bytes", |one| Cell::of(one.capacity_on_sale_bytes, Cell::Bytes)),
    ("currency", |one| Cell::text(&one.cost.currency)),
    ("purchase", |one| Cell::Number(one.cost.purchase)),
    ("power", |one| Cell::Number(one.cost.power)),
    ("per_month", |one| Cell::Number(one.cost.per_month)),
    ("total", |one| Cell::Number(one.cost.total)),
    ("price_as_of", |one| Cell::text(&one.cost.as_of)),
    ("price_assumed", |one| Cell::Flag(one.cost.assumed)),
    ("served", |one| Cell::Flag(one.outcome == CandidateOutcome::Served)),
    ("p99_us", |one| Cell::of(one.counted_response(), |counted| Cell::Time(counted.p99_us))),
    ("busy_p99_us", |one| Cell::of(one.busy.as_ref(), |busy| Cell::Time(busy.response_time.p99_us))),
    ("busy_by_bytes_p99_us", |one| Cell::of(one.busy_by_bytes.as_ref(), |busy| Cell::Time(busy.response_time.p99_us))),
    ("busiest_hour_p99_us", |one| Cell::of(one.busiest_hour, |hour| Cell::Time(hour.response_time.p99_us))),
    ("worst_p99_us", |one| Cell::of(one.judgement.worst_p99, |worst| Cell::Time(worst.p99_us))),
    ("worst_p99_time", |one| Cell::of(one.judgement.worst_p99, |worst| Cell::text(worst.time.within()))),
    ("busiest_resource", |one| Cell::of(one.worst_utilisation(), |(_, _, name)| Cell::text(words::resource(name)))),
    ("utilisation", |one| Cell::of(one.worst_utilisation(), |(utilisation, ..)| Cell::Share(utilisation))),
    ("headroom", |one| Cell::of(one.headroom.as_ref(), |headroom| Cell::Number(headroom.factor))),
    ("headroom_is_lower_bound", |one| Cell::of(one.headroom.as_ref(), |headroom| Cell::Flag(headroom.is_lower_bound))),
    ("write_amplification", |one| {
        Cell::of(one.endurance.as_ref().and_then(|endurance| endurance.write_amplification), Cell::Number)
    }),
    ("lifetime_years", |one| {
        Cell::of(one.endurance.as_ref().and_then(|endurance| endurance.lifetime_years), Cell::Years)
    }),
    ("lifetime_is_lower_bound", |one| {
        Cell::of(one.endurance.as_ref(), |endurance| Cell::Flag(endurance.lifetime_is_lower_bound))
    }),
    ("drive_writes_per_day_asked", |one| {
        Cell::of(one.endurance.as_ref().and_then(|endurance| endurance.drive_writes_per_day_asked), Cell::Number)
    }),
    ("drive_writes_per_day_sold", |one| {
        Cell::of(one.endurance.as_ref().and_then(|endurance| endurance.drive_writes_per_day_sold), Cell::Number)
    }),
    ("keeps_budgets", |one| Cell::Flag(one.judgement.keeps_budgets)),
    ("misses", |one| Cell::text(one.judgement.reasons.join("; "))),
];

fn candidates(workload: &WorkloadStudy) -> Table {
    let row = |one: &Candidate| CANDIDATE.iter().map(|(_, cell)| cell(one)).collect();
    Table {
        name: "candidates".into(),
        heads: CANDIDATE.iter().map(|(head, _)| *head).collect(),
        rows: workload.candidates.iter().map(row).collect(),
    }
}

fn ruled_out(workload: &WorkloadStudy) -> Table {
    let row = |one: &RuledOut| {
        vec![
            Cell::text(&one.name),
            Cell::text(&one.title),
            Cell::text(&one.market),
            Cell::of(one.total, Cell::Number),
            Cell::text(&one.by),
            Cell::text(&one.reason),
        ]
    };
    Table {
        name: "ruled-out".into(),
        heads: vec!["name", "title", "market", "total", "by", "reason"],
        rows: workload.ruled_out.iter().map(row).collect(),
    }
}

fn findings(workload: &WorkloadStudy) -> Table {
    let rows = workload.verdict.findings.iter().map(|finding| {
        let level = format!("{:?}", finding.level).to_lowercase();
        vec![Cell::Text(level), Cell::text(&finding.topic), Cell::text(&finding.text)]
    });
    Table { name: "findings".into(), heads: vec!["level", "topic", "text"], rows: rows.collect() }
}

fn curve(workload: &WorkloadStudy) -> Table {
    let points = workload.miss_ratio_curve.points.iter();
    Table {
        name: "miss-ratio-curve".into(),
        heads: vec!["cache_bytes", "miss_ratio"],
        rows: points.map(|point| vec![Cell::Bytes(point.bytes), Cell::Share(point.miss_ratio)]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            name: "a".into(),
            heads: vec!["name", "busy_p99_us", "note", "never"],
            rows: vec![
                vec![Cell::text("one"), Cell::Time(1500.0), Cell::text("a, \"b\" | c"), Cell::None],
                vec![Cell::text("two"), Cell::None, Cell::Flag(true), Cell::None],
            ],
        }
    }

    #[test]
    fn values_are_quoted_and_keep_their_units_in_the_head() {
        let csv = "name,busy_p99_us,note,never\none,1500,\"a, \"\"b\"\" | c\",\ntwo,,true,\n";
        assert_eq!(table().csv(), csv);
    }

    #[test]
    fn names_are_no_formulas_and_no_markup() {
        let of = |name: &str| Table { rows: vec![vec![Cell::text(name)]], heads: vec!["name"], ..table() };
        for name in ["=HYPERLINK(\"x\")", "+1", "-1", "@a", "\ta", "\ra"] {
            let mut reader = csv::ReaderBuilder::new().from_reader(std::io::Cursor::new(of(name).csv()));
            let cell = reader.records().next().unwrap().unwrap()[0].to_string();
            assert_eq!(cell, format!("'{name}"), "a spreadsheet takes it for text");
        }
        assert_eq!(of("a=b").csv(), "name\na=b\n");
        let negative = Table { rows: vec![vec![Cell::Number(-1.5)]], ..of("") };
        assert_eq!(negative.csv(), "name\n-1.5\n", "numbers stay numbers");
        let shown = of("<img src=x onerror=y> & [a](b) | `c` *d* \\").markdown();
        let cell = r"&lt;img src=x onerror=y&gt; &amp; \[a\](b) \| \`c\` \*d\* \\";
        assert_eq!(shown, format!("| name |\n| --- |\n| {cell} |\n"));
        assert_eq!(["a b", "a `b`", "``"].map(code), ["`a b`", "`` a `b` ``", "``` `` ```"]);
    }

    #[test]
    fn markdown_has_words_and_no_empty_columns() {
        let text =
            "| name | busy p99 | note |\n| --- | --- | --- |\n| one | 1.5 ms | a, \"b\" \\| c |\n| two | - | yes |\n";
        assert_eq!(table().markdown(), text);
    }
}
