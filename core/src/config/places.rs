//! The lines and columns of the names in a document, for whoever tells an editor where something is wrong.

use std::collections::HashMap;

use super::document::{Format, place};
use super::path::join;

/// The places of a document's names, by their paths; in YAML the text that has them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    known: HashMap<String, LineColumn>,
    yaml: String,
}

/// A line and a column, counted from 1.
type LineColumn = (u64, u64);

/// Paths of names, each with the byte at which it begins.
#[derive(Default)]
struct Names(Vec<(String, usize)>);

/// A definition in an override is the fourth level.
const DEEPEST: u8 = 4;
/// No parser of JSON reads what is deeper.
const DEEPEST_READ: u8 = 128;

impl Places {
    /// The names of a document that is well formed; of any other there may be none.
    pub(crate) fn of(text: &str, format: Format) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut names = Names::default();
        match format {
            Format::Toml => names.toml(text),
            Format::Json => names.json(text),
            Format::Yaml => return Self { yaml: text.to_owned(), ..Self::default() },
        }
        Self { known: names.places(text), ..Self::default() }
    }

    /// The place of a path: of its last name, if it is there twice.
    pub(crate) fn find(&self, path: &str) -> Option<LineColumn> {
        self.known.get(path).copied().or_else(|| yaml(&self.yaml, path))
    }
}

impl Names {
    /// Their places, in one walk through the text: a document may have many names.
    fn places(mut self, text: &str) -> HashMap<String, LineColumn> {
        self.0.sort_by_key(|(_, at)| *at);
        let (mut from, mut here) = (0, (1, 1));
        let place = |(path, at): (String, usize)| {
            let passed = text.get(from..at).unwrap_or_default();
            let lines = passed.matches('\n').count() as u64;
            let column = passed.rsplit('\n').next().unwrap_or_default().chars().count() as u64;
            here = if lines > 0 { (here.0 + lines, column + 1) } else { (here.0, here.1 + column) };
            from = at;
            (path, here)
        };
        self.0.into_iter().map(place).collect()
    }

    fn toml(&mut self, text: &str) {
        if let Ok(document) = toml_edit::Document::parse(text) {
            self.toml_table("", document.as_table(), 1);
        }
    }

    fn toml_table(&mut self, path: &str, table: &dyn toml_edit::TableLike, depth: u8) {
        for (name, item) in table.iter() {
            let path = join(path, name);
            let at = table.key(name).and_then(toml_edit::Key::span);
            self.0.push((path.clone(), at.map_or(0, |span| span.start)));
            if depth >= DEEPEST {
                continue;
            }
            if let Some(table) = item.as_table_like() {
                self.toml_table(&path, table, depth + 1);
            }
            let tables = item.as_array_of_tables().into_iter().flat_map(|tables| tables.iter());
            let tables = tables.map(|table| (table.span(), Some(table as &dyn toml_edit::TableLike)));
            let values = item.as_array().into_iter().flat_map(|values| values.iter());
            let values = values.map(|value| (value.span(), value.as_inline_table().map(|table| table as _)));
            for (number, (at, table)) in tables.chain(values).enumerate() {
                let path = format!("{path}[{number}]");
                self.0.push((path.clone(), at.map_or(0, |span| span.start)));
                if let Some(table) = table {
                    self.toml_table(&path, table, depth + 2);
                }
            }
        }
    }

    fn json(&mut self, text: &str) {
        Json { text, at: 0 }.value(self, "", 0);
    }
}

/// The names of a text that was read as JSON already, so that it is well formed.
struct Json<'a> {
    text: &'a str,
    at: usize,
}

impl Json<'_> {
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn value(&mut self, names: &mut Names, path: &str, depth: u8) {
        match self.peek() {
            _ if depth > DEEPEST_READ => self.at = self.text.len(),
            Some(open @ (b'{' | b'[')) => {
                self.at += 1;
                let mut items = 0..;
                loop {
                    match self.peek() {
                        None => return,
                        Some(b'}' | b']') => break self.at += 1,
                        Some(b',') => self.at += 1,
                        Some(_) if open == b'[' => {
                            let path = format!("{path}[{}]", items.next().unwrap_or(0));
                            if depth < DEEPEST {
                                names.0.push((path.clone(), self.at));
                            }
                            self.value(names, &path, depth + 1);
                        }
                        Some(_) => self.member(names, path, depth),
                    }
                }
            }
            Some(b'"') => drop(self.string()),
            _ => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                self.at += rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
            }
        }
    }

    fn member(&mut self, names: &mut Names, path: &str, depth: u8) {
        let start = self.at;
        let Some(name) = self.string() else { return self.at = self.text.len() };
        let inside = join(path, &name);
        if depth < DEEPEST {
            names.0.push((inside.clone(), start));
        }
        if self.peek() == Some(b':') {
            self.at += 1;
        }
        self.value(names, &inside, depth + 1);
    }

    fn string(&mut self) -> Option<String> {
        let rest = self.text.get(self.at..)?;
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let name = stream.next()?.ok()?;
        self.at += stream.byte_offset();
        Some(name)
    }
}

/// The place of a path in a text that was read as YAML already: in block style by the indentation, in flow style by what
/// stands around a name. A second parser would be as large as all of this command.
fn yaml(text: &str, path: &str) -> Option<LineColumn> {
    let (mut from, mut to, mut found) = (0, text.len(), None);
    for name in names_of(path) {
        let item = name.strip_suffix(']').and_then(|name| name.split_once('['));
        let (name, item) = item.filter(|_| !name.starts_with('"')).unwrap_or((name.trim_matches('"'), ""));
        let block = text.get(from..to)?;
        // The first name of an item stands behind its dash.
        let first = is_name(block, name).then_some(0);
        let at = from + first.or_else(|| in_block(block, name, from > 0)).or_else(|| in_flow(block, name))?;
        if let Ok(number) = item.parse::<usize>() {
            let list = at + name.len();
            let (start, end) = item_of(text, list, number)?;
            (from, to, found) = (start, end, Some(place(text, start)));
            continue;
        }
        let line = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
        (from, to, found) = (at + name.len(), end_of(text, line), Some(place(text, at)));
    }
    found
}

/// The names of a path, of which one in quotes may have dots.
fn names_of(path: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    path.split(move |sign| {
        is_quoted ^= sign == '"';
        sign == '.' && !is_quoted
    })
}

/// The span of an item of the list whose name ends here, in block style: behind its dash, to the next one.
fn item_of(text: &str, list: usize, number: usize) -> Option<(usize, usize)> {
    let mut at = list + text.get(list..)?.find('\n')? + 1;
    let (mut own, mut starts) = (None, Vec::new());
    for line in text.get(at..)?.split_inclusive('\n') {
        match indent(line) {
            Some(indent) if own.is_some_and(|own| indent < own) => break,
            Some(indent) if own.is_none_or(|own| indent == own) => {
                let Some(rest) = line.get(indent..)?.strip_prefix('-') else { break };
                own = Some(indent);
                starts.push(at + line.len() - rest.trim_start().len());
                if starts.len() > number + 1 {
                    break;
                }
            }
            _ => {}
        }
        at += line.len();
    }
    Some((*starts.get(number)?, starts.get(number + 1).copied().unwrap_or(at)))
}

/// The indentation of a line that is neither empty nor a comment.
fn indent(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches(' ');
    (!rest.trim().is_empty() && !rest.starts_with('#')).then_some(line.len() - rest.len())
}

/// The end of what stands under the name that begins in this line: the next line that is indented no more.
fn end_of(text: &str, line: usize) -> usize {
    let mut lines = text.get(line..).unwrap_or_default().split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let own = indent(first).unwrap_or(0);
    let below = lines.take_while(|line| indent(line).is_none_or(|indent| indent > own));
    line + first.len() + below.map(str::len).sum::<usize>()
}

/// The name of a line with the indentation of the block, which begins behind the line of its own name.
fn in_block(block: &str, name: &str, named: bool) -> Option<usize> {
    let start = if named { block.find('\n')? + 1 } else { 0 };
    let (mut at, mut own) = (start, None);
    for line in block.get(start..)?.split_inclusive('\n') {
        if let Some(indent) = indent(line) {
            let own = *own.get_or_insert(indent);
            if indent == own && is_name(line.get(indent..)?, name) {
                return Some(at + indent);
            }
        }
        at += line.len();
    }
    None
}

fn in_flow(block: &str, name: &str) -> Option<usize> {
    let before = |at: usize| block.get(..at).is_some_and(|before| before.trim_end().ends_with(['{', ',']));
    let places = block.match_indices(['{', ',']).map(|(at, mark)| at + mark.len());
    let starts = places.map(|at| at + block.get(at..).map_or(0, |rest| rest.len() - rest.trim_start().len()));
    starts.filter(|at| before(*at)).find(|at| block.get(*at..).is_some_and(|rest| is_name(rest, name)))
}

/// True for a text that begins with this name, perhaps in quotes, and a colon.
fn is_name(text: &str, name: &str) -> bool {
    let rest = text.trim_start_matches(['"', '\'']).strip_prefix(name);
    rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start_matches(' ').starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::{Format, Places};

    fn find(text: &str, format: Format, paths: [&str; 3]) -> [Option<(u64, u64)>; 3] {
        let places = Places::of(text, format);
        paths.map(|path| places.find(path))
    }

    #[test]
    fn names_are_found_in_every_format() {
        let paths = ["limits.api", "limits.login.size", "limits.nobody"];
        let json = "{\n  \"limits\": { \"api\": [1, {\"x\": \"}\"}],\n    \"l\\u006fgin\": { \"type\": \"bucket\", \"size\": 0 } } }";
        assert_eq!(find(json, Format::Json, paths), [Some((2, 15)), Some((3, 39)), None]);
        let toml = "# all\n[limits]\napi = \"1/s\"\n[limits.login]\nsize = 0\n";
        assert_eq!(find(toml, Format::Toml, paths), [Some((3, 1)), Some((5, 1)), None]);
        let yaml = "# api: 2/s\nlimits:\n  api: 1/s\n  login: { type: bucket,\n    size: 0 }\nsize: 1\n";
        assert_eq!(find(yaml, Format::Yaml, paths), [Some((3, 3)), Some((5, 5)), None]);
        let yaml = "limits:\n  # size: 1\n  'login':\n    type: bucket\n    \"size\": 0\n\n  api: 1/s\n";
        assert_eq!(find(yaml, Format::Yaml, paths), [Some((7, 3)), Some((5, 5)), None]);
        let yaml = "api: 1/s\napi.v1: { type: bucket,\n  size: 0 }\n'b[0]': 1/s\n\"c d\":\n  size: 0\n";
        let paths = ["\"api.v1\".size", "\"b[0]\"", "\"c d\".size"];
        assert_eq!(find(yaml, Format::Yaml, paths), [Some((3, 3)), Some((4, 1)), Some((6, 3))]);
    }

    #[test]
    fn items_of_lists_are_found_in_every_format() {
        let paths = ["overrides[1]", "overrides[1].factor", "overrides[1].definition.size"];
        let json = "{ \"overrides\": [ {\"actor\": \"]\"},\n  { \"factor\": [0],\n \"definition\": {\n\"size\": 1}}]}";
        assert_eq!(find(json, Format::Json, paths), [Some((2, 3)), Some((2, 5)), Some((4, 1))]);
        let toml = "[[overrides]]\nactor = 'a'\n[[overrides]]\nfactor = 1\n[overrides.definition]\nsize = 1\n";
        assert_eq!(find(toml, Format::Toml, paths), [Some((3, 1)), Some((4, 1)), Some((6, 1))]);
        let yaml = "overrides:\n- actor: a\n  factor: 1\n\n-  factor: 1\n   definition:\n     size: 1\nlast: 1/s\n";
        assert_eq!(find(yaml, Format::Yaml, paths), [Some((5, 4)), Some((5, 4)), Some((7, 6))]);
        let yaml = "overrides:\n  - { actor: a, factor: 1 }\n  - { actor: b, factor: 1, definition: { size: 1 } }\n";
        assert_eq!(find(yaml, Format::Yaml, paths), [Some((3, 5)), Some((3, 17)), Some((3, 42))]);
    }

    #[test]
    fn many_names_take_no_time() {
        let entry = |number: u64| format!("{{ \"actor\": \"é{number}\", \"factor\": -1 }}");
        let entries: Vec<_> = (0..20_000).map(entry).collect();
        let started = std::time::Instant::now();
        for between in [", ", ",\n"] {
            let json = format!("{{ \"overrides\": [{}] }}", entries.join(between));
            let places = Places::of(&json, Format::Json);
            let last = json.rfind("\"factor\"").map(|at| super::place(&json, at));
            assert_eq!(places.find("overrides[19999].factor"), last);
            for number in 0..20_000 {
                assert!(places.find(&format!("overrides[{number}]")).is_some());
            }
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
    }

    #[test]
    fn a_name_given_twice_is_found_where_it_comes_again_and_nothing_is_found_in_what_is_no_document() {
        assert_eq!(Places::of("{\"a\": 1,\n\"a\": 2}", Format::Json).find("a"), Some((2, 1)));
        for text in ["", "[", "{", "{\"a\"", "{\"a\": {", "\"\\", "nul", "{]"] {
            for format in [Format::Json, Format::Toml, Format::Yaml] {
                assert_eq!(Places::of(text, format).find("b"), None, "{text}");
            }
        }
    }
}
