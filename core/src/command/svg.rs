//! Pictures as SVG, which take their ink from the page around them, or else follow the colours of the screen.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 240.0;
/// Room for the numbers left of a picture and the words below it.
const LEFT: f64 = 56.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 28.0;
const ROW: f64 = 24.0;

/// Told apart on light and on dark ground, and by those who see no red or no green.
const COLORS: [&str; 6] = ["#0d9488", "#d97706", "#7c3aed", "#2563eb", "#be185d", "#65a30d"];

/// Values that are drawn in one colour.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

/// Lines over a common axis, the first filled where `filled`; below stand the words for the axis, from its begin to its end.
pub(super) fn lines(title: &str, axis: &[String], filled: bool, series: &[Series]) -> String {
    let most = series.iter().flat_map(|series| &series.values).copied().fold(0.0, f64::max);
    let (top, points) = (ceiling(most), series.iter().map(|series| series.values.len()).max().unwrap_or(0));
    let mut svg = frame(title, HEIGHT, top);
    let (width, height) = (WIDTH - LEFT - 16.0, HEIGHT - TOP - BOTTOM);
    for (index, Series { name, values }) in series.iter().enumerate() {
        let color = color(index);
        let mut path = String::new();
        for (at, value) in values.iter().enumerate() {
            let x = LEFT + width * at as f64 / (points.max(2) - 1) as f64;
            let y = TOP + height * (1.0 - value / top);
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { "M" } else { "L" });
        }
        if filled && index == 0 && !path.is_empty() {
            let last = LEFT + width * (values.len() - 1) as f64 / (points.max(2) - 1) as f64;
            let ground = TOP + height;
            let _ =
                write!(svg, r#"<path d="{path}L{last:.1} {ground}L{LEFT} {ground}Z" fill="{color}" opacity=".2"/>"#);
        }
        let _ = write!(svg, r#"<path d="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>"#);
        let x = WIDTH - 16.0 - 130.0 * (series.len() - 1 - index) as f64;
        let _ = write!(
            svg,
            r#"<text x="{x}" y="16" text-anchor="end" style="fill:{color}">{}</text>"#,
            escaped(&short(name, 16))
        );
    }
    for (index, words) in axis.iter().enumerate() {
        let (x, anchor) = match index {
            0 => (LEFT, "start"),
            _ if index + 1 == axis.len() => (WIDTH - 16.0, "end"),
            _ => (LEFT + width * index as f64 / (axis.len() - 1) as f64, "middle"),
        };
        let _ =
            write!(svg, r#"<text x="{x:.1}" y="{}" text-anchor="{anchor}">{}</text>"#, HEIGHT - 8.0, escaped(words));
    }
    svg + "</svg>"
}

/// Upright bars, each above its words.
pub(super) fn columns(title: &str, bars: &[(String, f64)]) -> String {
    let top = ceiling(bars.iter().map(|(_, value)| *value).fold(0.0, f64::max));
    let mut svg = frame(title, HEIGHT, top);
    let (width, height) = ((WIDTH - LEFT - 16.0) / bars.len().max(1) as f64, HEIGHT - TOP - BOTTOM);
    for (index, (words, value)) in bars.iter().enumerate() {
        let (x, tall) = (LEFT + width * index as f64, height * value / top);
        let _ = write!(
            svg,
            r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{tall:.1}" fill="{}"/><text x="{:.1}" y="{}" text-anchor="middle">{}</text>"#,
            x + width * 0.1,
            TOP + height - tall,
            width * 0.8,
            color(0),
            x + width / 2.0,
            HEIGHT - 8.0,
            escaped(words)
        );
    }
    svg + "</svg>"
}

/// A row for each bar: its words, a bar of the whole with a part in another colour, and its number.
pub(super) fn rows(title: &str, bars: &[(String, f64, f64)]) -> String {
    let most = bars.iter().map(|(_, whole, _)| *whole).fold(1.0, f64::max);
    let height = TOP + ROW * bars.len() as f64 + 8.0;
    let mut svg = opening(title, height);
    let (left, width) = (230.0, WIDTH - 230.0 - 90.0);
    for (index, (words, whole, part)) in bars.iter().enumerate() {
        let y = TOP + ROW * index as f64;
        let _ = write!(
            svg,
            r#"<text x="{}" y="{}" text-anchor="end">{}</text><rect x="{left}" y="{y}" width="{:.1}" height="16" fill="{}"/><rect x="{left}" y="{y}" width="{:.1}" height="16" fill="{}"/><text x="{:.1}" y="{}">{whole}</text>"#,
            left - 8.0,
            y + 13.0,
            escaped(&short(words, 32)),
            width * whole / most,
            color(0),
            width * part / most,
            color(1),
            left + width * whole / most + 6.0,
            y + 13.0,
        );
    }
    svg + "</svg>"
}

/// Pictures of [`lines`] in one, one below the other.
pub(super) fn stacked(pictures: &[String]) -> String {
    let height = HEIGHT + 12.0;
    let mut svg =
        format!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {}">"#, height * pictures.len() as f64);
    for (index, picture) in pictures.iter().enumerate() {
        let place = format!(r#"<svg y="{}" height="{HEIGHT}" "#, height * index as f64);
        svg.push_str(&picture.replacen("<svg ", &place, 1));
    }
    svg + "</svg>"
}

fn color(index: usize) -> &'static str {
    COLORS.get(index % COLORS.len()).copied().unwrap_or("gray")
}

/// The start of a picture of this height, with its title.
fn opening(title: &str, height: f64) -> String {
    let title = escaped(title);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}" font-family="system-ui,sans-serif" font-size="12"><style>text{{fill:#57606a}}@media(prefers-color-scheme:dark){{text{{fill:#b1bac4}}}}</style><text x="0" y="16" font-size="14" font-weight="600">{title}</text>"#
    )
}

/// The start of a picture with a scale from 0 to the top.
fn frame(title: &str, height: f64, top: f64) -> String {
    let mut svg = opening(title, height);
    for step in 0..=4 {
        let part = f64::from(step) / 4.0;
        let y = TOP + (height - TOP - BOTTOM) * (1.0 - part);
        let number = crate::explain::words::number(top * part);
        let _ = write!(
            svg,
            r##"<path d="M{LEFT} {y}H{}" stroke="#8c959f" opacity=".4"/><text x="{}" y="{}" text-anchor="end">{number}</text>"##,
            WIDTH - 16.0,
            LEFT - 6.0,
            y + 4.0
        );
    }
    svg
}

/// The next number that is easily divided by four.
fn ceiling(most: f64) -> f64 {
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
        for svg in [lines("\"", &[], true, &[empty]), columns("a", &[]), rows("a", &[])] {
            assert!(svg.ends_with("</svg>") && !svg.contains("NaN") && !svg.contains("<script"), "{svg}");
        }
        assert_eq!(escaped("a<b>&'\"\u{1b}"), "a&lt;b&gt;&amp;&#39;&quot;\u{fffd}");
    }
}
