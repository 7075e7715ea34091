//! The check that each answer belongs to.

use std::error::Error;

use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory};

/// A limit of one answer, one of two (rate and interval), and one without an answer of its own at factor 0.
fn limits() -> Result<[Limit; 3], Box<dyn Error>> {
    let both = r#"{ "key": "notes", "max": 3, "duration": 1000, "minInterval": 100, "translation": "exact" }"#;
    Ok([Limit::bucket("login", 10).build()?, Limit::from_json(both)?, Limit::bucket("api", 5).build()?])
}

fn owners(info: &LimitInfo) -> Vec<usize> {
    info.checks().iter().map(LimitInfo::check_index).collect()
}

#[test]
fn each_answer_names_its_check() -> Result<(), Box<dyn Error>> {
    let [one, two, none] = &limits()?;
    let limiter = Limiter::new(Memory::new());
    let checks = [
        Check::new(one, "ada"),
        Check::new(none, "ada").factor(0.0),
        Check::new(two, "ada"),
        Check::new(one, "ada").cost(2),
    ];
    for call in [Call::Peek, Call::Limit, Call::Charge, Call::Refund, Call::Reset] {
        let info = limiter.decide_sync_at(&checks, call, 1_000_000)?;
        assert_eq!(owners(&info), [0, 1, 2, 2, 3], "{call:?}");
        let binding = &info.checks()[info.binding()];
        assert_eq!((info.check_index(), info.quota), (binding.check_index(), binding.quota), "{call:?}");
        assert_eq!(info.key(&checks), "notes", "{call:?}");
        let keys: Vec<_> = info.checks().iter().map(|check| check.key(&checks)).collect();
        assert_eq!(keys, ["login", "api", "notes", "notes", "login"], "{call:?}");
    }
    Ok(())
}

#[test]
fn levels_decided_in_one_look_name_their_checks() -> Result<(), Box<dyn Error>> {
    let [one, _, other] = &limits()?;
    let limiter = Limiter::new(Memory::new());
    for checks in [
        vec![Check::new(one, "ada"), Check::new(other, "ada")],
        vec![Check::new(one, "ada"), Check::new(other, "bob"), Check::new(one, "eve")],
    ] {
        let info = limiter.decide_sync(&checks, Call::Limit)?;
        assert_eq!(owners(&info), (0..checks.len()).collect::<Vec<_>>());
        assert_eq!((info.check_index(), info.key(&checks)), (1, "api"));
    }
    Ok(())
}

#[test]
fn one_limit_answers_for_itself() -> Result<(), Box<dyn Error>> {
    let limiter = Limiter::new(Memory::new());
    for limit in &limits()? {
        let info = limiter.limit_sync(limit, "ada")?;
        assert!(owners(&info).iter().all(|check| *check == 0));
        assert_eq!(info.key(&[Check::new(limit, "ada")]), limit.key());
    }
    Ok(())
}

#[test]
fn the_numbers_of_an_answer_are_the_answer() -> Result<(), Box<dyn Error>> {
    let limiter = Limiter::new(Memory::new());
    let limits = limits()?;
    let checks: Vec<_> = limits.iter().map(|limit| Check::new(limit, "ada")).collect();
    let info = limiter.decide_sync(&checks, Call::Limit)?;
    for answer in info.checks() {
        assert_eq!(&LimitInfo::from_numbers(answer.numbers()), answer);
    }
    let mut degraded = limiter.peek_sync(&limits[0], "ada")?;
    (degraded.blocked, degraded.degraded) = (true, true);
    assert_eq!(LimitInfo::from_numbers(degraded.numbers()), degraded);
    // The flags, and a number for each field but those that one number holds; then its instant and its check.
    let flags = LimitInfo::FIELDS.iter().filter(|field| matches!(field.takes, tidegate::ffi::InfoTakes::Flag(_)));
    assert_eq!(LimitInfo::NUMBERS, LimitInfo::FIELDS.len() - flags.count() + 1 + 2);
    Ok(())
}
