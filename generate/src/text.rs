//! Names and sentences in each language's spelling, and the regions of files that are generated.

/// The longest line.
pub(crate) const WIDTH: usize = 120;

/// `dripRate` as `drip_rate`.
pub(crate) fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// `SlidingLog` as `slidingLog`.
pub(crate) fn camel(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// `reset_ms` as `resetMs`.
pub(crate) fn camel_of_snake(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |camel, part| {
        let (letter, rest) = part.split_at(part.len().min(1));
        camel + &letter.to_uppercase() + rest
    })
}

/// A sentence with the names in backquotes in camel case.
pub(crate) fn camels(sentence: &str) -> String {
    let parts = sentence.split('`').enumerate();
    let spelled = parts.map(|(index, part)| if index % 2 == 1 { camel_of_snake(part) } else { part.to_owned() });
    spelled.collect::<Vec<_>>().join("`")
}

/// Breaks a paragraph into lines that fit behind an indent.
pub(crate) fn wrap(paragraph: &str, indent: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in paragraph.split_whitespace() {
        match lines.last_mut() {
            Some(line) if indent + line.len() + 1 + word.len() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The paragraphs of a text, wrapped, with an empty line between two; lines that begin with a space are kept as they
/// are, without it.
pub(crate) fn paragraphs(texts: &[String], indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for text in texts.iter().filter(|text| !text.is_empty()) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        match text.strip_prefix(' ') {
            Some(kept) => lines.extend(kept.lines().map(str::to_owned)),
            None => lines.extend(wrap(text, indent)),
        }
    }
    lines
}

/// Every line behind a prefix, which stands alone where the line is empty.
pub(crate) fn prefixed(lines: &[String], prefix: &str) -> String {
    lines.iter().map(|line| format!("{prefix} {line}").trim_end().to_owned() + "\n").collect()
}

/// A number as a person writes it.
pub(crate) fn number(value: f64) -> String {
    value.to_string()
}

/// A file whose regions between `open` and `close` are written anew, in order.
pub(crate) fn with_regions(today: &str, [open, close]: [&str; 2], regions: &[String]) -> Result<String, String> {
    let (mut written, mut rest) = (String::new(), today);
    for region in regions {
        let (before, after) = rest.split_once(open).ok_or("there is no generated region")?;
        let (_, after) = after.split_once(close).ok_or("the generated region has no end")?;
        written += &[before, open, region, close].concat();
        rest = after;
    }
    Ok(written + rest)
}

/// A file with its one generated region written anew.
pub(crate) fn within(today: &str, marks: [&str; 2], region: &str) -> Result<String, String> {
    with_regions(today, marks, &[region.to_owned()])
}
