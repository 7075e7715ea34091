//! Pictures as SVG, light or dark as the reader's screen is, in a file of their own as inside of a page.

use std::fmt::{self, Display, Write};

pub(super) const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 260.0;
/// Room for the numbers left of a picture, above it for its title, and for the words below it.
pub(super) const LEFT: f64 = 60.0;
pub(super) const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 30.0;
const ROW: f64 = 24.0;

/// Told apart on light and on dark ground, and by those who see no red or no green.
const COLORS: [&str; 6] = ["#0d9488", "#d97706", "#7c3aed", "#2563eb", "#be185d", "#65a30d"];
/// The class of an element, and its colour on light and on dark ground.
const INKS: [(&str, &str, &str); 7] = [
    ("ink", "#24292f", "#e6edf3"),
    ("soft", "#57606a", "#9198a1"),
    ("grid", "#d0d7de", "#30363d"),
    ("ground", "#fff", "#0d1117"),
    ("admitted", "#0969da", "#58a6ff"),
    ("denied", "#cf222e", "#ff7b72"),
    ("level", "#ddf4ff", "#122d42"),
];

/// A picture under way: elements are written to it, and shown it is whole.
pub(super) struct Picture {
    height: f64,
    svg: String,
}

impl Picture {
    /// The ground, and at its top the title and a summary, which is markup. Those who do not see the picture get the
    /// title with the description.
    pub(super) fn new(height: f64, title: &str, summary: &str, description: &str) -> Self {
        let (title, description) = (escaped(title), escaped(description));
        let inks = |dark: bool| {
            let rule =
                |(class, on_light, on_dark)| format!(".{class}{{color:{}}}", if dark { on_dark } else { on_light });
            INKS.map(rule).concat()
        };
        let svg = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" class="ink" font-family="system-ui,sans-serif" font-size="12">
<title>{title}</title>
<desc>{description}</desc>
<style>{}text,tspan,.fill{{fill:currentColor}}.line{{fill:none;stroke:currentColor}}@media(prefers-color-scheme:dark){{{}}}</style>
<rect width="{WIDTH}" height="{height}" rx="6" class="ground fill"/>
<rect x=".5" y=".5" width="{}" height="{}" rx="6" class="grid line"/>
<text x="16" y="24" font-size="14" font-weight="600">{title}</text>
<text x="{RIGHT}" y="24" text-anchor="end">{summary}</text>
"#,
            inks(false),
            inks(true),
            WIDTH - 1.0,
            height - 1.0,
        );
        Self { height, svg }
    }

    /// Values at their heights between `ground`, where 0 is, and the top of a scale.
    pub(super) fn scale(&mut self, (top, ground): (f64, f64), values: &[f64]) {
        let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        for value in values {
            let y = ground - (ground - top) * value / most;
            let _ = writeln!(
                self,
                r#"<path d="M{LEFT} {y}H{RIGHT}" class="grid line"/><text x="{}" y="{}" text-anchor="end">{}</text>"#,
                LEFT - 8.0,
                y + 4.0,
                crate::explain::words::number(*value)
            );
        }
    }

    /// The start of a picture with a scale from 0 to the top.
    fn framed(title: &str, summary: &str, description: &str, top: f64) -> Self {
        let mut picture = Self::new(HEIGHT, title, summary, description);
        picture.scale((TOP, HEIGHT - BOTTOM), &[0.0, 0.25, 0.5, 0.75, 1.0].map(|part| part * top));
        picture
    }

    /// Words below a picture or beside its marks.
    pub(super) fn words(&mut self, x: f64, y: f64, anchor: &str, words: &str) {
        let _ = writeln!(self, r#"<text x="{x:.1}" y="{y}" text-anchor="{anchor}">{}</text>"#, escaped(words));
    }

    fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), index: usize) {
        let color = color(index);
        let _ =
            writeln!(self, r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{color}"/>"#);
    }
}

impl Write for Picture {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.svg.write_str(text)
    }
}

impl Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}</svg>", self.svg)
    }
}

/// Values that are drawn in one colour.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

impl Series {
    fn most(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }
}

/// Lines over a common axis, the first filled where `filled`; below stand the words for the axis, from its begin to its end.
pub(super) fn lines(title: &str, axis: &[String], filled: bool, series: &[Series]) -> Picture {
    let top = ceiling(series.iter().map(Series::most).fold(0.0, f64::max));
    let points = series.iter().map(|series| series.values.len()).max().unwrap_or(0).max(2) - 1;
    let said =
        |one: &Series| format!("{}: at most {}", short(&one.name, 40), crate::explain::words::number(one.most()));
    let description = series.iter().map(said).collect::<Vec<_>>().join("; ");
    let mut picture = Picture::framed(title, "", &description, top);
    let (width, height, ground) = (RIGHT - LEFT, HEIGHT - TOP - BOTTOM, HEIGHT - BOTTOM);
    for (index, Series { name, values }) in series.iter().enumerate() {
        let color = color(index);
        let x = |at: usize| LEFT + width * at as f64 / points as f64;
        let mut path = String::new();
        for (at, value) in values.iter().enumerate() {
            let y = TOP + height * (1.0 - value / top);
            let _ = write!(path, "{}{:.1} {y:.1}", if path.is_empty() { "M" } else { "L" }, x(at));
        }
        if filled && index == 0 && !path.is_empty() {
            let last = x(values.len() - 1);
            let area = format!("{path}L{last:.1} {ground}L{LEFT} {ground}Z");
            let _ = writeln!(picture, r#"<path d="{area}" fill="{color}" opacity=".2"/>"#);
        }
        let _ = writeln!(picture, r#"<path d="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>"#);
        let _ = writeln!(
            picture,
            r#"<text x="{}" y="24" text-anchor="end" style="fill:{color}">{}</text>"#,
            RIGHT - 130.0 * (series.len() - 1 - index) as f64,
            escaped(&short(name, 16))
        );
    }
    for (index, words) in axis.iter().enumerate() {
        let (x, anchor) = match index {
            0 => (LEFT, "start"),
            _ if index + 1 == axis.len() => (RIGHT, "end"),
            _ => (LEFT + width * index as f64 / (axis.len() - 1) as f64, "middle"),
        };
        picture.words(x, HEIGHT - 8.0, anchor, words);
    }
    picture
}

/// Upright bars, each above its words.
pub(super) fn columns(title: &str, bars: &[(String, f64)]) -> Picture {
    let top = ceiling(bars.iter().map(|(_, value)| *value).fold(0.0, f64::max));
    let description = bars.iter().map(|(words, value)| format!("{words}: {value}")).collect::<Vec<_>>().join("; ");
    let mut picture = Picture::framed(title, "", &description, top);
    let (width, height) = ((RIGHT - LEFT) / bars.len().max(1) as f64, HEIGHT - TOP - BOTTOM);
    for (index, (words, value)) in bars.iter().enumerate() {
        let (x, tall) = (LEFT + width * index as f64, height * value / top);
        picture.bar((x + width * 0.1, HEIGHT - BOTTOM - tall), (width * 0.8, tall), 0);
        picture.words(x + width / 2.0, HEIGHT - 8.0, "middle", words);
    }
    picture
}

/// A row for each bar: its words, a bar of the whole with a part in another colour, and its number.
pub(super) fn rows(title: &str, bars: &[(String, f64, f64)]) -> Picture {
    let most = bars.iter().map(|(_, whole, _)| *whole).fold(1.0, f64::max);
    let said = |(words, whole, part): &(String, f64, f64)| match part {
        0.0 => format!("{words}: {whole}"),
        _ => format!("{words}: {part} of {whole}"),
    };
    let description = bars.iter().map(said).collect::<Vec<_>>().join("; ");
    let mut picture = Picture::new(TOP + ROW * bars.len() as f64 + 8.0, title, "", &description);
    let (left, width) = (230.0, WIDTH - 230.0 - 90.0);
    for (index, (words, whole, part)) in bars.iter().enumerate() {
        let y = TOP + ROW * index as f64;
        picture.words(left - 8.0, y + 13.0, "end", &short(words, 32));
        picture.bar((left, y), (width * whole / most, 16.0), 0);
        picture.bar((left, y), (width * part / most, 16.0), 1);
        picture.words(left + width * whole / most + 6.0, y + 13.0, "start", &whole.to_string());
    }
    picture
}

/// Pictures in one, one below the other.
pub(super) fn stacked(pictures: &[Picture]) -> String {
    if let [picture] = pictures {
        return picture.to_string();
    }
    let height = pictures.iter().map(|picture| picture.height + 12.0).sum::<f64>();
    let mut svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\">\n");
    let mut y = 0.0;
    for picture in pictures {
        let place = format!(r#"<svg y="{y}" height="{}" "#, picture.height);
        svg.push_str(&picture.to_string().replacen("<svg ", &place, 1));
        y += picture.height + 12.0;
    }
    svg + "</svg>\n"
}

fn color(index: usize) -> &'static str {
    COLORS.get(index % COLORS.len()).copied().unwrap_or("gray")
}

/// The next number that is easily divided by four.
pub(super) fn ceiling(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let unit = 10f64.powf(most.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * unit).find(|top| *top >= most).unwrap_or(10.0 * unit)
}

/// The beginning of a long text.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A text as XML and HTML have it, without what neither may hold.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            character if character.is_control() => safe.push('\u{fffd}'),
            character => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::{Series, ceiling, columns, escaped, lines, rows};

    #[test]
    fn the_top_of_a_scale_is_near_and_even() {
        assert_eq!([0.0, 1.0, 7.0, 12.5, 999.0].map(|most| ceiling(most).to_string()), ["1", "1", "8", "16", "1000"]);
    }

    #[test]
    fn nothing_to_draw_is_a_picture_too_and_no_text_is_markup() {
        let empty = Series { name: "<script>".to_owned(), values: Vec::new() };
        for picture in [lines("\"", &[], true, &[empty]), columns("a", &[]), rows("a", &[])] {
            let svg = picture.to_string();
            assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("<script"), "{svg}");
        }
        assert_eq!(escaped("a<b>&'\"\u{1b}"), "a&lt;b&gt;&amp;&#39;&quot;\u{fffd}");
    }
}
