//! One picture: each request as a dot, and below it how many were admitted in the ten seconds before.

use std::fmt::Write as _;

use crate::traffic::{Outcome, PERIOD, SHOWN};

const WIDTH: u64 = 800;
const HEIGHT: u64 = 272;
const LEFT: u64 = 60;
const RIGHT: u64 = 780;
/// The ground on which dots are stacked, and how far apart.
const GROUND: u64 = 138;
const STACK: u64 = 13;
/// The requests of so many milliseconds are stacked upon each other.
const BIN: u64 = 1000;
/// The scale of the lower half: where 0 is, and the height of one.
const ZERO: u64 = 244;
const ONE: u64 = 4;
const BOUND: u64 = 10;
/// The height at which no picture has dots or a line, so that a legend fits.
const FREE: u64 = 310;

const INK: &str = "#24292f";
const FAINT: &str = "#d0d7de";
pub(crate) const ADMITTED: &str = "#0969da";
pub(crate) const REFUSED: &str = "#cf222e";
const LEVEL: &str = "#ddf4ff";
/// The same colours where the reader's screen is dark.
const DARK: &str = r##"<style>@media (prefers-color-scheme: dark) {
svg { fill: #e6edf3 } [fill="#ffffff"] { fill: #0d1117 } [fill="#ddf4ff"] { fill: #122d42 }
[stroke="#24292f"] { stroke: #e6edf3 } [stroke="#d0d7de"] { stroke: #30363d } [fill="#57606a"] { fill: #9198a1 }
[fill="#0969da"] { fill: #58a6ff } [stroke="#0969da"] { stroke: #58a6ff } [stroke="#cf222e"] { stroke: #ff7b72 }
}</style>"##;

pub(crate) fn picture(title: &str, outcome: &Outcome, levels: &[(u64, u64)]) -> String {
    let mut svg = String::new();
    let summary =
        format!("{} of {} admitted, at most {} in any 10 s", outcome.admitted(), outcome.len(), outcome.most());
    open(&mut svg, (WIDTH, HEIGHT), title, &summary);
    level(&mut svg, levels);
    axis(&mut svg);
    for (index, request) in outcome.0.iter().enumerate() {
        let below = outcome.0[..index].iter().rev().take_while(|(at, _)| at / BIN == request.0 / BIN).count();
        dot(&mut svg, x(request.0 / BIN * BIN + BIN / 2), GROUND - 8 - below as u64 * STACK, request.1);
    }
    line(&mut svg, outcome);
    svg.push_str("</svg>\n");
    svg
}

/// The sheet, its title, what it comes to, and what the two kinds of dots mean.
pub(crate) fn open(svg: &mut String, (width, height): (u64, u64), title: &str, summary: &str) {
    let _ = writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" fill="{INK}" role="img" aria-label="{title}: {summary}">
{DARK}
<rect width="{width}" height="{height}" rx="6" fill="#ffffff" stroke="{FAINT}"/>
<text x="16" y="24" font-size="14" font-weight="bold">{title}</text>
<text x="{}" y="24" text-anchor="end">{summary}</text>"##,
        width - 20
    );
}

fn axis(svg: &mut String) {
    for second in (0..=SHOWN).step_by(5_000) {
        let at = x(second);
        let dash = if second.is_multiple_of(PERIOD) { "" } else { r#" stroke-dasharray="1 5""# };
        let _ = writeln!(svg, r#"<path d="M{at} 44V{ZERO}" stroke="{FAINT}"{dash}/>"#);
        if second.is_multiple_of(PERIOD) {
            let _ = writeln!(svg, r#"<text x="{at}" y="262" text-anchor="middle">{} s</text>"#, second / 1000);
        }
    }
    let (bound, twice) = (ZERO - BOUND * ONE, ZERO - 2 * BOUND * ONE);
    let _ = writeln!(
        svg,
        r##"<path d="M{LEFT} {GROUND}H{RIGHT}M{LEFT} {ZERO}H{RIGHT}" stroke="{INK}"/>
<path d="M{LEFT} {bound}H{RIGHT}" stroke="{INK}" stroke-dasharray="4 3"/>
<g text-anchor="end"><text x="52" y="{}">20</text><text x="52" y="{}">10</text><text x="52" y="{}">0</text></g>
<text x="{}" y="{}" fill="#57606a">admitted in the last 10 s</text>
<g fill="#57606a"><text x="{}" y="56">each request:</text><text x="{}" y="56">admitted</text><text x="{}" y="56">denied</text></g>"##,
        twice + 4,
        bound + 4,
        ZERO + 4,
        FREE + 250,
        twice + 4,
        FREE,
        FREE + 104,
        FREE + 184,
    );
    dot(svg, FREE + 94, 52, true);
    dot(svg, FREE + 174, 52, false);
}

/// Filled where it was admitted, a ring where it was denied, so that colour is not all that tells them apart.
pub(crate) fn dot(svg: &mut String, x: u64, y: u64, admitted: bool) {
    let _ = if admitted {
        writeln!(svg, r#"<circle cx="{x}" cy="{y}" r="5" fill="{ADMITTED}"/>"#)
    } else {
        writeln!(svg, r#"<circle cx="{x}" cy="{y}" r="4" fill="none" stroke="{REFUSED}" stroke-width="1.5"/>"#)
    };
}

/// The level of a bucket, as an area behind the rest.
fn level(svg: &mut String, levels: &[(u64, u64)]) {
    if levels.is_empty() {
        return;
    }
    let _ = write!(svg, r#"<path d="M{LEFT} {ZERO}"#);
    for (at, level) in levels {
        let _ = write!(svg, "H{}V{}", x(*at), ZERO - level * ONE);
    }
    let _ = writeln!(svg, r#"H{RIGHT}V{ZERO}Z" fill="{LEVEL}"/>"#);
    let (at, y) = (FREE + 250, ZERO - 2 * BOUND * ONE + 20);
    let _ = writeln!(svg, r#"<rect x="{at}" y="{}" width="10" height="10" fill="{LEVEL}"/>"#, y - 9);
    let _ = writeln!(svg, r##"<text x="{}" y="{y}" fill="#57606a">level of the bucket</text>"##, at + 16);
}

fn line(svg: &mut String, outcome: &Outcome) {
    let _ = write!(svg, r#"<path d="M{LEFT} {ZERO}"#);
    for at in outcome.changes().into_iter().filter(|at| *at <= SHOWN) {
        let _ = write!(svg, "H{}V{}", x(at), ZERO - outcome.within_period(at) as u64 * ONE);
    }
    let _ = writeln!(svg, r#"H{RIGHT}" fill="none" stroke="{ADMITTED}" stroke-width="2"/>"#);
}

fn x(millis: u64) -> u64 {
    LEFT + millis * (RIGHT - LEFT) / SHOWN
}
