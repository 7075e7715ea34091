//! nginx's `rate=2r/s burst=4 delay=1`: when each of eight requests that came at once is let through.

use std::fmt::Write as _;
use std::time::Duration;

use tidegate::{Call, Check, Error, Limit, Limiter, Memory};

use crate::chart::{ADMITTED, dot, open};

const REQUESTS: u64 = 8;

pub(crate) fn picture() -> Result<String, Error> {
    let limit = Limit::token_bucket("api", 2, Duration::from_secs(1)).burst(2).build()?;
    let limiter = Limiter::new(Memory::new());
    let call = Call::Acquire { max_wait: Duration::from_millis(1500) };

    let mut svg = String::new();
    let summary = "eight requests at once; how long each waits for its turn";
    open(&mut svg, (800, 248), "token-bucket: 2 per 1 s, burst 2, max_wait 1.5 s", summary);
    for request in 0..REQUESTS {
        let info = limiter.decide_sync_at(&[Check::new(&limit, "ada")], call, 1_700_000_000_000_000)?;
        let (from, y) = (120, 56 + request * 24);
        let to = from + info.wait_ms / 4;
        let outcome = match (info.blocked, info.wait_ms) {
            (true, _) => "denied at once".to_owned(),
            (_, 0) => "admitted at once".to_owned(),
            (_, wait) => format!("admitted after {wait} ms"),
        };
        let _ = writeln!(svg, r#"<text x="20" y="{}">request {}</text>"#, y + 4, request + 1);
        if to > from {
            let _ = writeln!(svg, r#"<path d="M{from} {y}H{to}" stroke="{ADMITTED}" stroke-width="2"/>"#);
        }
        dot(&mut svg, to, y, !info.blocked);
        let _ = writeln!(svg, r#"<text x="{}" y="{}">{outcome}</text>"#, to + 14, y + 4);
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}
