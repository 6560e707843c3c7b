//! Reads a parameter file, and the files that it sources, into blocks of keys and values.

use std::path::{Path, PathBuf};

use super::block::{Block, Entry, Value};
use super::error::{ImportError, Place};
use super::lexer::{Token, TokenKind, shortened, tokens};

/// Most levels of blocks and lists within each other, and of files that source each other. More are a mistake.
const DEPTH_MAX: usize = 32;

/// Reads a file. The caller decides from where.
pub(super) type ReadFile<'a> = &'a dyn Fn(&Path) -> std::io::Result<Vec<u8>>;

/// Everything at the top level of a parameter file and of the files that it sources.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// `TYPE NAME { ... }`, in order.
    pub(super) blocks: Vec<Block>,
    /// `instantiate [ NAMES ] as BLOCK`: each name, and the name of its block.
    pub(super) instances: Vec<(String, String)>,
    /// `topology`: each component, and the one above it.
    pub(super) parents: Vec<(String, String)>,
    /// Every file that was read, in order.
    pub(super) files: Vec<PathBuf>,
}

impl Document {
    /// Reads `file`.
    pub(super) fn read(file: &Path, read: ReadFile<'_>) -> Result<Self, ImportError> {
        let mut document = Self::default();
        let none = Place { file, line: 1 };
        let text = text_of(file, read).map_err(|problem| ImportError::new(&none, problem))?;
        document.read_text(file, &text, read, 0)?;
        Ok(document)
    }

    fn read_text(&mut self, file: &Path, text: &str, read: ReadFile<'_>, depth: usize) -> Result<(), ImportError> {
        self.files.push(file.to_path_buf());
        let mut parser = Parser { file, tokens: tokens(text), next: 0, read, files: Vec::new(), depth };
        while parser.peek() != TokenKind::End {
            let line = parser.line();
            match parser.word("a block, `source`, `instantiate` or `topology`")? {
                "source" => {
                    let (path, text) = parser.sourced(line)?;
                    self.read_text(&path, &text, read, depth + 1)?;
                }
                "instantiate" => parser.instantiate(&mut self.instances)?,
                "topology" => parser.topology(None, &mut self.parents, 0)?,
                kind => {
                    let name = parser.word("the block's name")?.to_string();
                    let block = parser.block(kind.to_string(), name, line, 0)?;
                    self.blocks.push(block);
                }
            }
        }
        self.files.append(&mut parser.files);
        Ok(())
    }
}

/// Returns the text of a file, or the problem with it.
pub(super) fn text_of(file: &Path, read: ReadFile<'_>) -> Result<String, String> {
    let bytes = read(file).map_err(|error| format!("cannot read it: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "this is not a text file".to_string())
}

struct Parser<'a> {
    file: &'a Path,
    tokens: Vec<Token<'a>>,
    next: usize,
    read: ReadFile<'a>,
    /// Files sourced from within blocks.
    files: Vec<PathBuf>,
    /// Number of files through which this one is sourced.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> TokenKind<'a> {
        self.tokens[self.next].kind
    }

    fn line(&self) -> usize {
        self.tokens[self.next].line
    }

    fn advance(&mut self) -> TokenKind<'a> {
        let kind = self.peek();
        // The token of the end stays.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        kind
    }

    fn error(&self, line: usize, problem: impl Into<String>) -> ImportError {
        ImportError::new(&Place { file: self.file, line }, problem)
    }

    fn unexpected(&self, expected: &str) -> ImportError {
        let error = self.error(self.line(), format!("expected {expected}, found {}", self.peek().describe()));
        match self.peek() {
            TokenKind::End => error.with_hint("the file is cut short"),
            _ => error.with_hint("this reads the parameter files of DiskSim 4; other versions have another form"),
        }
    }

    fn word(&mut self, expected: &str) -> Result<&'a str, ImportError> {
        let TokenKind::Word(word) = self.peek() else { return Err(self.unexpected(expected)) };
        self.advance();
        Ok(word)
    }

    fn sign(&mut self, sign: char) -> Result<(), ImportError> {
        if self.peek() != TokenKind::Sign(sign) {
            return Err(self.unexpected(&format!("`{sign}`")));
        }
        self.advance();
        Ok(())
    }

    /// Takes `sign` if it comes next. Returns true if it did.
    fn takes(&mut self, sign: char) -> bool {
        let found = self.peek() == TokenKind::Sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn check_depth(&self, depth: usize) -> Result<(), ImportError> {
        if depth < DEPTH_MAX { Ok(()) } else { Err(self.error(self.line(), "blocks and lists are nested too deeply")) }
    }

    /// Returns the file that `source` names, relative to the folder of this one, and its text.
    fn sourced(&mut self, line: usize) -> Result<(PathBuf, String), ImportError> {
        let name = self.word("the name of a file")?;
        let path = beside(self.file, name);
        if self.depth + 1 >= DEPTH_MAX {
            return Err(self.error(line, format!("`{}` sources itself", shortened(name))));
        }
        let text = text_of(&path, self.read)
            .map_err(|problem| self.error(line, format!("it sources `{}`: {problem}", path.display())))?;
        Ok((path, text))
    }

    /// Parses the rest of a block, from its brace on.
    fn block(&mut self, kind: String, name: String, line: usize, depth: usize) -> Result<Block, ImportError> {
        self.check_depth(depth)?;
        self.sign('{')?;
        let mut block = Block { kind, name, file: self.file.to_path_buf(), line, entries: Vec::new() };
        loop {
            if self.takes('}') {
                return Ok(block);
            }
            let line = self.line();
            let mut key = self.word("a key or `}`")?.to_string();
            while let TokenKind::Word(word) = self.peek() {
                key.push(' ');
                key.push_str(word);
                self.advance();
            }
            self.sign('=')?;
            let value = self.value(depth + 1)?;
            if let Some(first) = block.entries.iter().find(|entry| entry.key == key) {
                let (key, first) = (shortened(&key), first.line);
                return Err(self.error(line, format!("`{key}` was given on line {first} already")));
            }
            block.entries.push(Entry::new(key, line, value));
            if !self.takes(',') && self.peek() != TokenKind::Sign('}') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, ImportError> {
        self.check_depth(depth)?;
        let line = self.line();
        if self.takes('[') {
            return self.list(depth);
        }
        let word = self.word("a value")?;
        if word == "source" {
            let (path, text) = self.sourced(line)?;
            self.files.push(path.clone());
            let mut inner = Parser {
                file: &path,
                tokens: tokens(&text),
                next: 0,
                read: self.read,
                files: Vec::new(),
                depth: self.depth + 1,
            };
            let block = inner.sourced_block(depth)?;
            self.files.append(&mut inner.files);
            return Ok(Value::Block(block));
        }
        let mut words = word.to_string();
        while let TokenKind::Word(next) = self.peek() {
            words.push(' ');
            words.push_str(next);
            self.advance();
        }
        if self.peek() == TokenKind::Sign('{') {
            return self.block(words, String::new(), line, depth).map(Value::Block);
        }
        Ok(Value::Words(words))
    }

    /// Returns the only block of a file that is the value of a key. The block may have a name.
    fn sourced_block(&mut self, depth: usize) -> Result<Block, ImportError> {
        let line = self.line();
        let kind = self.word("a block")?.to_string();
        let name = match self.peek() {
            TokenKind::Word(name) => {
                self.advance();
                name.to_string()
            }
            _ => String::new(),
        };
        let block = self.block(kind, name, line, depth)?;
        match self.peek() {
            TokenKind::End => Ok(block),
            _ => Err(self.unexpected("the end of the file")),
        }
    }

    /// Parses the rest of a list, after its bracket.
    fn list(&mut self, depth: usize) -> Result<Value, ImportError> {
        let mut items = Vec::new();
        loop {
            if self.takes(']') {
                return Ok(Value::List(items));
            }
            let line = self.line();
            items.push((line, self.value(depth + 1)?));
            if !self.takes(',') && self.peek() != TokenKind::Sign(']') {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
    }

    /// Parses `[ NAME, ... ] as BLOCK`.
    fn instantiate(&mut self, instances: &mut Vec<(String, String)>) -> Result<(), ImportError> {
        self.sign('[')?;
        let mut names = Vec::new();
        while !self.takes(']') {
            // Of a range such as `disk0 .. disk3`, only the ends are kept: that is enough to know which block they
            // belong to.
            match self.word("a name")? {
                ".." => {}
                name => names.push(name.to_string()),
            }
            self.takes(',');
        }
        if self.word("`as`")? != "as" {
            return Err(self.error(self.line(), "expected `as` between the names and their block"));
        }
        let block = self.word("the name of a block")?;
        instances.extend(names.into_iter().map(|name| (name, block.to_string())));
        Ok(())
    }

    /// Parses `TYPE NAME [ components ]`. Components without `above` come first.
    fn topology(
        &mut self,
        above: Option<&str>,
        parents: &mut Vec<(String, String)>,
        depth: usize,
    ) -> Result<(), ImportError> {
        self.check_depth(depth)?;
        self.word("the type of a component")?;
        let name = self.word("the name of a component")?.to_string();
        if let Some(above) = above {
            parents.push((name.clone(), above.to_string()));
        }
        self.sign('[')?;
        while !self.takes(']') {
            self.topology(Some(&name), parents, depth + 1)?;
            self.takes(',');
        }
        Ok(())
    }
}

/// Returns the path `name`, relative to the folder of `file`.
pub(super) fn beside(file: &Path, name: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(name)
}
