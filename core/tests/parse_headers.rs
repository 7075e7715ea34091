//! The way back: what is written is read the same, and anything else is read without harm.

use proptest::prelude::*;
use tidegate::LimitInfo;
use tidegate::headers::{Draft, Header, Policy, RateLimits, Reset, Style, merged, parse};

/// Seconds below which a number is no epoch.
const LONGEST_SEC: u64 = 999_999_999;

prop_compose! {
    fn infos()(
        blocked: bool, remaining in 0..1_000_000_000_000_u64, reset_ms in 1..LONGEST_SEC * 1000,
        more_ms in 0..LONGEST_SEC, next_ms in 0..LONGEST_SEC * 1000, quota in 1..1_000_000_000_000_u64,
        window_ms in 1..LONGEST_SEC * 1000, at in 1_600_000_000_000_000..2_000_000_000_000_000_u64,
    ) -> LimitInfo {
        let mut info = LimitInfo::unlimited();
        info.blocked = blocked;
        info.remaining = remaining;
        info.reset_ms = if blocked { reset_ms } else { 0 };
        info.full_reset_ms = (info.reset_ms + more_ms).min(LONGEST_SEC * 1000);
        info.next_ms = next_ms;
        info.quota = quota;
        info.window_ms = window_ms;
        info.at = at;
        info
    }
}

fn read(headers: &[Header], now: u64) -> RateLimits {
    parse(headers.iter().map(|(name, value)| (*name, value.as_str())), Some(now))
}

fn up(millis: u64) -> u64 {
    millis.div_ceil(1000) * 1000
}

/// Until more is available, as the drafts have it.
fn wait(info: &LimitInfo) -> u64 {
    up(if info.blocked { info.reset_ms } else { info.next_ms }).max(1000)
}

proptest! {
    #[test]
    fn what_is_written_is_read_the_same(answers in prop::collection::vec((infos(), "(?s).{1,20}"), 1..4)) {
        // A policy is told of once, so no two have the same name here.
        let keys: Vec<_> = answers.iter().enumerate().map(|(index, (_, key))| format!("{index}{key}")).collect();
        let policies: Vec<_> =
            keys.iter().zip(&answers).map(|(key, (info, _))| Policy::new(key, info)).collect();
        let at = answers[0].0.at;
        let retry_after = answers.iter().filter(|(info, _)| info.blocked).map(|(info, _)| up(info.reset_ms)).max();
        let least = answers.iter().map(|(info, _)| info.remaining).min();

        let x = read(&merged(&policies, Style::X), at);
        prop_assert_eq!((x.remaining, x.retry_after_ms), (least, retry_after));
        prop_assert_eq!(x.full_reset_ms, answers.iter().map(|(info, _)| info.full_reset_ms).max());
        let longest = answers.iter().filter(|(info, _)| info.blocked).map(|(info, _)| info.reset_ms).max();
        prop_assert_eq!(x.reset_ms, longest, "to the millisecond");
        prop_assert!(x.policies.is_empty());

        for draft in [Draft::V11, Draft::Editors] {
            for style in [Style::Ietf(draft), Style::Both(draft)] {
                let read = read(&merged(&policies, style), at);
                prop_assert_eq!(read.policies.len(), answers.len());
                for (read, (info, _)) in read.policies.iter().zip(&answers) {
                    prop_assert_eq!((read.quota, read.remaining), (Some(info.quota), Some(info.remaining)));
                    prop_assert_eq!((read.window_ms, read.reset_ms), (Some(up(info.window_ms)), Some(wait(info))));
                }
                prop_assert_eq!(read.remaining, least);
            }
        }

        // The older styles tell of one answer.
        let (info, _) = &answers[0];
        let one = [Policy::new(&keys[0], info)];
        for draft in [Draft::V6, Draft::V7] {
            let read = read(&merged(&one, Style::Ietf(draft)), at);
            prop_assert_eq!((read.limit, read.remaining), (Some(info.quota), Some(info.remaining)));
            prop_assert_eq!(read.reset_ms, Some(wait(info)));
            prop_assert_eq!((&read.policies[0].name, read.policies[0].quota), (&None, Some(info.quota)));
            prop_assert_eq!(read.policies[0].window_ms, Some(up(info.window_ms)));
        }
        for reset in [Reset::Seconds, Reset::Epoch] {
            let read = read(&merged(&one, Style::Common(reset)), info.at);
            prop_assert_eq!((read.limit, read.remaining), (Some(info.quota), Some(info.remaining)));
            prop_assert_eq!(read.retry_after_ms, info.blocked.then(|| up(info.reset_ms)));
            let want = if info.blocked { info.reset_ms } else { info.full_reset_ms };
            let got = read.reset_ms.expect("a reset");
            prop_assert!(got >= want && got < want + 1001, "{got} is {want}, rounded up");
        }
        prop_assert_eq!(read(&merged(&policies, Style::None), at), RateLimits::default());
    }

    #[test]
    fn anything_is_read(
        headers in prop::collection::vec((
            prop::sample::select(vec![
                "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "ratelimit-remaining", "RateLimit-Reset",
                "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Clear", "Retry-After",
                "X-RateLimit-Reset-After", "Retry-After-Ms", "Date", "Content-Type",
            ]),
            prop_oneof![
                "\\PC{0,60}",
                "[-0-9.;=,\"\\\\ rtqwac:]{0,60}",
                "(\"a\";[rtqw]=[0-9]{1,30},? ?){0,9}",
                Just("\"a\";q=1,".repeat(20_000)),
                Just("\\\"".repeat(100_000)),
            ],
        ), 0..8),
        now in prop::option::of(any::<u64>()),
    ) {
        let read = parse(headers.iter().map(|(name, value)| (*name, value.as_str())), now);
        prop_assert!(read.policies.len() <= 8 * 2 * 128);
        prop_assert!(read.policies.iter().all(|policy| policy.name.as_ref().is_none_or(|name| name.len() < 1 << 16)));
    }
}

/// Headers that services in the field send, and those of older drafts.
#[test]
fn headers_of_others() {
    let parse = |headers: &[(&'static str, &'static str)]| parse(headers.iter().copied(), Some(1_700_000_000_000_000));
    let github = parse(&[
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "4999"),
        ("x-ratelimit-reset", "1700000060"),
        ("x-ratelimit-used", "1"),
        ("x-ratelimit-resource", "core"),
    ]);
    assert_eq!((github.limit, github.remaining, github.reset_ms), (Some(5000), Some(4999), Some(60_000)));
    let discord = parse(&[("X-RateLimit-Reset", "1700000470.123"), ("X-RateLimit-Reset-After", "1.5")]);
    assert_eq!(discord.reset_ms, Some(1500), "what needs no clock goes first");
    let in_milliseconds = parse(&[("X-RateLimit-Reset", "1700000060500")]);
    assert_eq!(in_milliseconds.reset_ms, Some(60_500));
    let by_its_own_clock =
        parse(&[("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"), ("Date", "Wed, 21 Oct 2015 07:27:30 GMT")]);
    assert_eq!(by_its_own_clock.retry_after_ms, Some(30_000));
    assert_eq!(parse(&[("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")]).retry_after_ms, Some(0), "long ago");
    let draft_3 = parse(&[
        ("RateLimit-Limit", "100, 100;w=60, 1000;w=3600"),
        ("RateLimit-Remaining", "50"),
        ("RateLimit-Reset", "50"),
    ]);
    assert_eq!((draft_3.limit, draft_3.remaining, draft_3.reset_ms), (Some(100), Some(50), Some(50_000)));
    let windows: Vec<_> = draft_3.policies.iter().map(|policy| (policy.quota, policy.window_ms)).collect();
    assert_eq!(windows, [(Some(100), Some(60_000)), (Some(1000), Some(3_600_000))]);
    let draft_11 = parse(&[
        ("ratelimit-policy", "\"peruser\";q=65535;qu=\"content-bytes\";w=10;pk=:sdfjLJUOUH==:"),
        ("ratelimit-policy", "\"daily\";q=1000;w=86400;acme-burst=5"),
        ("ratelimit", "\"daily\";r=999;pk=:dHJpYWwxMjEzMjM=:"),
        ("ratelimit", "\"peruser\";r=300;t=60;pk=:sdfjLJUOUH==:"),
    ]);
    let [bytes, daily] = &draft_11.policies[..] else { panic!("two policies") };
    assert_eq!((bytes.unit.as_deref(), bytes.partition_key.as_deref()), (Some("content-bytes"), Some("sdfjLJUOUH==")));
    assert_eq!(
        (bytes.remaining, bytes.reset_ms, daily.remaining, daily.reset_ms),
        (Some(300), Some(60_000), Some(999), None)
    );
    assert_eq!((draft_11.remaining, draft_11.limit), (Some(300), Some(65535)));
    let editors = parse(&[("RateLimit", "\"burst\";a=80;w=45;c=5")]);
    let [burst] = &editors.policies[..] else { panic!("a policy") };
    assert_eq!((burst.remaining, burst.reset_ms, burst.cost), (Some(80), Some(45_000), Some(5)));
    let without_quotes = parse(&[("RateLimit-Policy", "default;l=100;w=10"), ("RateLimit", "default;r=50;t=5")]);
    assert_eq!(
        (without_quotes.limit, without_quotes.remaining, without_quotes.policies.len()),
        (Some(100), Some(50), 1)
    );
    assert_eq!(parse(&[("X-RateLimit-Remaining", "-1")]).remaining, Some(0));
    assert_eq!(parse(&[("X-RateLimit-Remaining", "lots"), ("X-RateLimit-Remaining", "3")]).remaining, Some(3));
    assert_eq!(parse(&[]), RateLimits::default());
}
