//! The report on a replay as one page, which needs nothing beside it.

use std::fmt::Write as _;

use super::report::{Report, Trial};
use super::text::{smallest, summary};
use crate::command::svg::{self, Series, escaped};
use crate::command::words::{count, percent};
use crate::explain::words::{number, time};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2em auto;padding:0 1em;color:#1f2328;\
    background:#fff}svg{width:100%;height:auto;margin:1em 0}table{border-collapse:collapse;width:100%;display:block;\
    overflow-x:auto}td,th{padding:.25em .8em .25em 0;text-align:left;white-space:nowrap;border-bottom:1px solid #8c959f55}\
    td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}@media(prefers-color-scheme:dark){body{color:#e6edf3;\
    background:#0d1117}}";

pub(super) fn page(report: &Report) -> String {
    let title = escaped(&format!("Replay of {}", report.file));
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style><h1>{title}</h1><p>{}</p>\n",
        escaped(&summary(report))
    );
    let mut rows = Vec::new();
    for trial in &report.candidates {
        rows.push(vec![
            trial.limits.clone(),
            number(trial.denied as f64),
            percent(trial.denied, report.requests),
            number(trial.denied_clients as f64),
            percent(trial.denied_clients, report.clients),
            number(trial.denied_honest as f64),
        ]);
    }
    table(&mut html, &["Limits", "Denied", "of all", "Clients", "of all", "Honest"], 1..6, &rows);
    html.push_str("<p>Honest clients were denied for less than one in ten of their requests.</p>\n");
    over_time(&mut html, report);
    let groups = report.distribution.iter().map(|group| {
        let from = match group.from {
            from if from < 1 << 10 => from.to_string(),
            from if from < 1 << 20 => format!("{}k", from >> 10),
            from => format!("{}M", from >> 20),
        };
        (format!("{from}{}", if group.from == group.to { "" } else { "+" }), group.clients as f64)
    });
    let _ = write!(html, "{}", svg::columns("Clients by the number of their requests", &groups.collect::<Vec<_>>()));
    let busiest: Vec<_> = report.busiest.iter().map(|busy| (busy.client.clone(), busy.requests as f64, 0.0)).collect();
    let _ = write!(html, "{}", svg::rows("Clients with the most requests", &busiest));
    report.candidates.iter().for_each(|trial| section(&mut html, report, trial));
    html
}

fn over_time(html: &mut String, report: &Report) {
    let spans = &report.timeline.spans;
    let axis = spans.first().zip(spans.last()).map(|(first, last)| vec![first.from.clone(), last.from.clone()]);
    let axis = axis.unwrap_or_default();
    let denied = |index: usize| spans.iter().map(move |span| (span, span.denied.get(index).copied().unwrap_or(0)));
    let mut series = vec![Series {
        name: "all requests".to_owned(),
        values: spans.iter().map(|span| span.requests as f64).collect(),
    }];
    series.extend(report.candidates.iter().enumerate().map(|(index, trial)| Series {
        name: trial.limits.clone(),
        values: denied(index).map(|(_, denied)| denied as f64).collect(),
    }));
    let every = time(report.timeline.width_ms as f64);
    let _ = write!(html, "{}", svg::lines(&format!("Requests and denials in {every}"), &axis, true, &series));
    let share = report.candidates.iter().enumerate().map(|(index, trial)| Series {
        name: trial.limits.clone(),
        values: denied(index).map(|(span, denied)| denied as f64 * 100.0 / span.requests.max(1) as f64).collect(),
    });
    let _ = write!(html, "{}", svg::lines("Denied, in percent", &axis, false, &share.collect::<Vec<_>>()));
}

fn section(html: &mut String, report: &Report, trial: &Trial) {
    let _ = write!(html, "<h2>{}</h2>", escaped(&trial.limits));
    for by in trial.by_limit.iter().filter(|_| trial.by_limit.len() > 1) {
        let _ = write!(html, "<p>{} decided {}.</p>", escaped(&by.key), count(by.denied, "denial"));
    }
    for sentence in smallest(report, trial) {
        let _ = write!(html, "<p>{}</p>", escaped(&sentence));
    }
    let bars: Vec<_> =
        trial.top.iter().map(|denied| (denied.client.clone(), denied.requests as f64, denied.denied as f64)).collect();
    if bars.is_empty() {
        html.push_str("<p>Nobody is denied.</p>\n");
        return;
    }
    let _ = write!(html, "{}", svg::rows("Clients denied most, of all their requests", &bars));
    let rows = trial.top.iter().map(|denied| {
        let numbers = [denied.requests, denied.denied].map(|value| number(value as f64));
        let [requests, count] = numbers;
        vec![denied.client.clone(), requests, count, denied.first.clone(), denied.last.clone(), denied.limit.clone()]
    });
    table(html, &["Client", "Requests", "Denied", "First", "Last", "Limit"], 1..3, &rows.collect::<Vec<_>>());
}

/// A table, in which these columns are numbers.
fn table(html: &mut String, names: &[&str], numbers: std::ops::Range<usize>, rows: &[Vec<String>]) {
    let class = |column: usize| if numbers.contains(&column) { " class=n" } else { "" };
    html.push_str("<table><tr>");
    for (column, name) in names.iter().enumerate() {
        let _ = write!(html, "<th{}>{name}</th>", class(column));
    }
    for row in rows {
        html.push_str("</tr><tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(html, "<td{}>{}</td>", class(column), escaped(cell));
        }
    }
    html.push_str("</tr></table>\n");
}
