//! Splits a parameter file into words, signs and their lines.

/// A word or a sign of a parameter file, with its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) line: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    /// Anything between blanks and signs: part of a key, a number, a name.
    Word(&'a str),
    /// One of `{`, `}`, `[`, `]`, `=` and `,`.
    Sign(char),
    /// The end of the file.
    End,
}

impl TokenKind<'_> {
    /// Returns how an error names the token.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Word(word) => format!("`{}`", shortened(word)),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end of the file".to_string(),
        }
    }
}

/// Returns at most the first forty characters of `text`, so that errors stay short whatever a file contains.
pub(super) fn shortened(text: &str) -> String {
    let mut characters = text.chars();
    let short: String = characters.by_ref().take(40).map(|c| if c.is_control() { '?' } else { c }).collect();
    if characters.next().is_some() { format!("{short}...") } else { short }
}

/// Returns the tokens of `text`; the last one marks the end. Comments run from `#` to the end of the line.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut last_line = 1;
    for (index, line) in text.lines().enumerate() {
        last_line = index + 1;
        let mut rest = line.split('#').next().unwrap_or("");
        loop {
            rest = rest.trim_start();
            let Some(first) = rest.chars().next() else { break };
            let kind = if is_sign(first) {
                rest = &rest[first.len_utf8()..];
                TokenKind::Sign(first)
            } else {
                let end = rest.find(|c: char| is_sign(c) || c.is_whitespace()).unwrap_or(rest.len());
                let word = &rest[..end];
                rest = &rest[end..];
                TokenKind::Word(word)
            };
            tokens.push(Token { kind, line: last_line });
        }
    }
    tokens.push(Token { kind: TokenKind::End, line: last_line });
    tokens
}

fn is_sign(c: char) -> bool {
    matches!(c, '{' | '}' | '[' | ']' | '=' | ',')
}
