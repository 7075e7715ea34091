//! Pictures of a simulation: of few tries each as a dot or as its wait, of many their numbers over time.

use std::fmt::Write as _;

use super::traffic::{FEW, Outcome, Traffic};
use crate::command::limits::Set;
use crate::command::svg::{self, LEFT, Picture, RIGHT, Series};
use crate::explain::words::{number, time};
use crate::time::Micros;

/// Steps of an axis: units of time in milliseconds, and so many of each.
const STEPS: [(u64, &[u64]); 5] = [
    (1, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    (1_000, &[1, 2, 5, 10, 15, 30]),
    (60_000, &[1, 2, 5, 10, 15, 30]),
    (3_600_000, &[1, 2, 6, 12]),
    (DAY, &[1, 2, 7]),
];
const DAY: u64 = 86_400_000;
/// The most dots that fit above each other, in the height in which they stand.
const STACKED: usize = 40;
const TALLEST: f64 = 300.0;
/// The place of the words beside waits.
const WORDS: f64 = 640.0;
/// The top of the dots or waits.
const TOP: f64 = 46.0;
/// Height of the counts below the dots.
const COUNTS: f64 = 80.0;

/// The pictures of one candidate, one below the other.
pub(super) fn pictures(traffic: &Traffic, set: &Set, outcome: &Outcome, title: Option<&String>) -> Vec<Picture> {
    let title = title.map_or_else(|| svg::short(&set.name, 40), String::clone);
    let scene = Scene { title: &title, traffic, set, outcome };
    let stacks = scene.stacks();
    match traffic.max_wait {
        Some(_) if outcome.tries <= FEW => vec![scene.waits()],
        None if outcome.tries <= FEW && stacks.iter().all(|stack| stack.len() <= STACKED) => vec![scene.dots(&stacks)],
        _ => scene.numbers(),
    }
}

struct Scene<'a> {
    title: &'a str,
    traffic: &'a Traffic,
    set: &'a Set,
    outcome: &'a Outcome,
}

impl Scene<'_> {
    /// The numbers of tries over time, and of calls admitted in the span before.
    fn numbers(&self) -> Vec<Picture> {
        let axis = [0, 1, 2, 3, 4].map(|part| words(self.traffic.length * part / 4));
        let of = |name: &str, values: &[u64]| Series {
            name: name.to_owned(),
            values: values.iter().map(|value| *value as f64).collect(),
        };
        let outcome = self.outcome;
        let series = [of("tries", &outcome.tries_over_time), of("admitted", &outcome.admitted_over_time)];
        let title = format!("{}: calls in {}", self.title, time(outcome.width_ms as f64));
        let mut pictures = vec![svg::lines(&title, &axis, true, &series)];
        pictures.extend(self.traffic.span.map(|span| {
            let title = format!("{}: admitted in the last {}", self.title, words(span));
            svg::lines(&title, &axis, true, &[of("admitted", &outcome.in_span_over_time)])
        }));
        pictures
    }

    /// Each try as a dot: filled where it was admitted and a ring where it was denied, since not all see the colours.
    /// Below, the calls admitted in the span before.
    fn dots(&self, stacks: &[Vec<bool>]) -> Picture {
        let tallest = stacks.iter().map(Vec::len).max().unwrap_or(0).max(7) as f64;
        let pitch = (TALLEST / tallest).min(13.0);
        let ground = TOP + (tallest * pitch).round();
        let zero = self.traffic.span.map_or(ground, |_| ground + 28.0 + COUNTS);
        let mut picture = self.opened(zero + 28.0);
        match self.traffic.span {
            Some(span) => self.counts(&mut picture, span, ground, zero),
            None => axis(&mut picture, &[(TOP, ground)], self.traffic.length, RIGHT),
        }
        let bin = self.bin();
        for (index, stack) in stacks.iter().enumerate() {
            let x = self.x(bin * index as u64 + bin / 2);
            for (number, admitted) in stack.iter().enumerate() {
                let y = ground - pitch * (number as f64 + 0.6);
                dot(&mut picture, (x, y), pitch * 5.0 / 13.0, *admitted);
            }
        }
        picture
    }

    /// Each try as a line, from its instant to its turn.
    fn waits(&self) -> Picture {
        let each = &self.outcome.each;
        let row = (TALLEST / each.len().max(1) as f64).min(24.0);
        let (has_words, right) = if row < 14.0 { (false, RIGHT) } else { (true, WORDS - 14.0) };
        let ground = TOP + (row * each.len() as f64).round();
        let last = each.iter().map(|(at, wait)| at + wait.unwrap_or(0)).max().unwrap_or(0).max(self.traffic.length);
        let x = |at: Micros| LEFT + (right - LEFT) * at as f64 / last as f64;
        let mut picture = self.opened(ground + 28.0);
        axis(&mut picture, &[(TOP, ground)], last, right);
        for (number, (at, wait)) in each.iter().enumerate() {
            let y = TOP + row * (number as f64 + 0.5);
            let turn = x(at + wait.unwrap_or(0));
            if turn > x(*at) {
                let _ = writeln!(
                    picture,
                    r#"<path d="M{:.1} {y}H{turn:.1}" class="admitted line" stroke-width="2"/>"#,
                    x(*at)
                );
            }
            dot(&mut picture, (turn, y), (row * 5.0 / 24.0).max(1.0), wait.is_some());
            if has_words {
                let outcome = match wait {
                    None => "denied at once".to_owned(),
                    Some(0) => "admitted at once".to_owned(),
                    Some(wait) => format!("admitted after {}", words(*wait)),
                };
                picture.words(LEFT - 14.0, y + 4.0, "end", &format!("call {}", number + 1));
                picture.words(WORDS, y + 4.0, "start", &outcome);
            }
        }
        picture
    }

    /// The ground with the title and the numbers, which say at the same time what the dots mean.
    fn opened(&self, height: f64) -> Picture {
        let [admitted, denied] = [self.outcome.admitted, self.outcome.denied].map(|count| number(count as f64));
        let most = self.traffic.span.zip(self.outcome.most_in_span).map_or_else(String::new, |(span, most)| {
            format!(", at most {} in any {}", number(most as f64), words(span))
        });
        let summary = format!(
            r#"<tspan class="admitted">●</tspan> {admitted} admitted, <tspan class="denied">○</tspan> {denied} denied{most}"#
        );
        Picture::new(height, self.title, &summary, &format!("{admitted} admitted, {denied} denied{most}"))
    }

    /// The calls admitted in the span before each instant as a line, behind it a bucket's level, and the rate of the
    /// limits; in the row above them what is what.
    fn counts(&self, picture: &mut Picture, span: Micros, ground: f64, zero: f64) {
        let outcome = self.outcome;
        let rate = self.rate().map(|per_second| per_second * span as f64 / 1_000_000.0);
        let levels = outcome.levels.iter().chain(&outcome.in_span).map(|(_, count)| *count);
        let most = levels.max().unwrap_or(0) as f64;
        let (half, top) = match rate {
            Some(rate) if (rate / 2.0..=2.0 * rate).contains(&most) => (rate, 2.0 * rate),
            _ => (svg::ceiling(most) / 2.0, svg::ceiling(most)),
        };
        let y = |count: f64| zero - (COUNTS * count / top).round();
        let steps = |steps: &[(Micros, u64)]| {
            let mut path = format!("M{LEFT} {zero}");
            for (at, count) in steps.iter().filter(|(at, _)| *at < self.traffic.length) {
                let _ = write!(path, "H{}V{}", self.x(*at), y(*count as f64));
            }
            path + &format!("H{RIGHT}")
        };
        let mut said = format!(r#"<tspan class="admitted">━</tspan> admitted in the last {}"#, words(span));
        if !outcome.levels.is_empty() {
            let _ = writeln!(picture, r#"<path d="{}V{zero}Z" class="level fill"/>"#, steps(&outcome.levels));
            said.push_str(r#"   <tspan class="level">■</tspan> level of the bucket"#);
        }
        axis(picture, &[(TOP, ground), (zero - COUNTS, zero)], self.traffic.length, RIGHT);
        picture.scale((zero - COUNTS, zero), &[0.0, half, top]);
        if let Some(rate) = rate.filter(|rate| *rate <= top) {
            let _ = writeln!(picture, r#"<path d="M{LEFT} {}H{RIGHT}" class="line" stroke-dasharray="4 3"/>"#, y(rate));
            let _ = write!(said, "   ╌ rate: {} in {}", number(rate), words(span));
        }
        let path = steps(&outcome.in_span);
        let _ = writeln!(picture, r#"<path d="{path}" class="admitted line" stroke-width="2"/>"#);
        let _ = writeln!(
            picture,
            r#"<text x="{RIGHT}" y="{}" text-anchor="end" class="soft" xml:space="preserve">{said}</text>"#,
            ground + 20.0
        );
    }

    /// The calls per second that the limits admit in the long run.
    fn rate(&self) -> Option<f64> {
        let rates = self.set.limits.iter().flat_map(|limit| limit.explain().allowances);
        rates.filter_map(|allowance| allowance.per_second).reduce(f64::min)
    }

    fn x(&self, at: Micros) -> f64 {
        (LEFT + (RIGHT - LEFT) * at as f64 / self.traffic.length as f64).round()
    }

    /// The time whose tries stand above each other: a dot is as wide as this or narrower.
    fn bin(&self) -> Micros {
        step(self.traffic.length / 55)
    }

    /// The tries of each [`bin`](Self::bin): whether they were admitted.
    fn stacks(&self) -> Vec<Vec<bool>> {
        let bin = self.bin();
        let mut stacks: Vec<Vec<bool>> =
            vec![Vec::new(); usize::try_from(self.traffic.length.div_ceil(bin)).unwrap_or(0)];
        for (at, wait) in &self.outcome.each {
            if let Some(stack) = usize::try_from(at / bin).ok().and_then(|index| stacks.get_mut(index)) {
                stack.push(wait.is_some());
            }
        }
        stacks
    }
}

/// Upright lines through parts of the height, at even times and dotted halfway between them, with words below.
fn axis(picture: &mut Picture, parts: &[(f64, f64)], last: Micros, right: f64) {
    let bottom = parts.last().map_or(TOP, |(_, bottom)| *bottom);
    let step = step(last / 6);
    for half in 0..=last / step * 2 + 1 {
        let (at, dotted) = (step / 2 * half, half % 2 > 0);
        if at > last {
            break;
        }
        let x = (LEFT + (right - LEFT) * at as f64 / last as f64).round();
        let path = parts.iter().map(|(top, bottom)| format!("M{x} {top}V{bottom}")).collect::<Vec<_>>().concat();
        let dashes = if dotted { r#" stroke-dasharray="1 5""# } else { "" };
        let _ = writeln!(picture, r#"<path d="{path}" class="grid line"{dashes}/>"#);
        if !dotted {
            let anchor = if x < RIGHT { "middle" } else { "end" };
            picture.words(x, bottom + 18.0, anchor, &words(at));
        }
    }
    let path = parts.iter().map(|(_, bottom)| format!("M{LEFT} {bottom}H{right}")).collect::<Vec<_>>().concat();
    let _ = writeln!(picture, r#"<path d="{path}" class="line"/>"#);
}

fn dot(picture: &mut Picture, (x, y): (f64, f64), radius: f64, admitted: bool) {
    let _ = if admitted {
        writeln!(picture, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}" class="admitted fill"/>"#)
    } else {
        let ring = radius * 0.8;
        writeln!(picture, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{ring:.1}" class="denied line" stroke-width="1.5"/>"#)
    };
}

/// The smallest step of an axis that is as long as this, or that many weeks.
fn step(least: Micros) -> Micros {
    let millis = least.div_ceil(1000);
    let mut steps = STEPS.iter().flat_map(|(unit, counts)| counts.iter().map(move |count| unit * count));
    steps.find(|step| *step >= millis).unwrap_or_else(|| millis.next_multiple_of(7 * DAY)) * 1000
}

fn words(at: Micros) -> String {
    if at == 0 { "0 s".to_owned() } else { time(at as f64 / 1000.0) }
}
