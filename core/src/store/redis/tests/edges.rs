//! Cases that a random history seldom meets: boundaries, foreign values, clocks of the server.

use std::time::Duration;

use ::redis::Value;
use serde_json::json;

use super::{Question, Script, evalsha};
use crate::algorithm::Shape;
use crate::check::Check;
use crate::clock;
use crate::decision::{Call, Impossible};
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::limiter::Limiter;
use crate::store::memory::Memory;
use crate::store::redis::protocol::decode::{Malformed, decode};
use crate::store::redis::protocol::encode::encode;
use crate::store::redis::protocol::keys::slot;
use crate::store::redis::protocol::layout::Layout;
use crate::store::remote::{EntryName, Reply, Request};
use crate::time::{EXACT, Micros};

/// One limit of each shape, all with the key `k`.
fn limits() -> Vec<Limit> {
    [
        json!({ "type": "bucket", "size": 10, "dripRate": 60_000 }),
        json!({ "type": "token-bucket", "count": 10, "period": 600_000 }),
        json!({ "type": "fixed-window", "max": 10, "period": 600_000, "anchor": "first-request" }),
        json!({ "type": "sliding-counter", "max": 10, "period": 600_000 }),
        json!({ "type": "decay", "max": 10, "decayFactor": 1.5, "resolution": 60_000 }),
        json!({ "type": "smooth", "rate": 0.01, "maxBurst": 1_000_000 }),
        json!({ "type": "sliding-window", "max": 10, "period": 600_000, "resolution": 1000 }),
        json!({ "type": "sliding-log", "max": 10, "period": 600_000 }),
    ]
    .into_iter()
    .map(|mut definition| {
        definition["key"] = "k".into();
        Limit::from_json(&definition.to_string()).unwrap()
    })
    .collect()
}

fn bucket(size: u64) -> Limit {
    Limit::bucket("k", size).build().unwrap()
}

fn ask(limit: &Limit, call: Call, cost: u64, now: Option<Micros>) -> Request {
    Question::new("t", &[Check::new(limit, "ada").cost(cost)], call, now).decision.unwrap()
}

/// The answer about the only check, when it was, and how much was corrupt.
fn decided(outcome: &Reply) -> (&LimitInfo, Micros, u32) {
    match outcome {
        Reply::Decided { now, infos, corrupt, .. } => (&infos[0], *now, *corrupt),
        other => panic!("{other:?}"),
    }
}

const ENTRY: &str = "t:{ada}:k";

/// The entry of a limit of one of the [`limits`], each of which keeps another shape but for the first three.
fn entry(limit: &Limit) -> String {
    let shape = limit.rules(1.0).unwrap().shape();
    String::from_utf8(EntryName::new("t", "ada", limit.key(), shape).to_key().to_vec()).unwrap()
}

/// The stored form of a level.
fn kept(level: u64, since: Micros) -> Vec<u8> {
    let number = |number: u64| number.to_le_bytes().into_iter().take(7);
    [b'c'].into_iter().chain(number(level)).chain(number(since)).collect()
}

#[test]
fn a_bucket_is_a_level_and_an_instant() {
    let mut script = Script::start();
    let outcome = script.decide(&ask(&bucket(1000), Call::Charge, 999, None));
    let (_, now, _) = decided(&outcome);
    assert_eq!(script.ask::<Vec<u8>>(&["GET", ENTRY]), kept(999, now));

    let actor = "user-000000000000001";
    let check = [Check::new(&bucket(10), actor)].map(|check| Question::new("tidegate", &[check], Call::Limit, None));
    script.decide(check[0].decision.as_ref().unwrap());
    let used: u64 = script.ask(&["MEMORY", "USAGE", "tidegate:{user-000000000000001}:k"]);
    assert!(used <= 120, "{used} bytes");
}

#[test]
fn levels_are_kept_at_any_time() {
    let mut script = Script::start();
    let size = EXACT / 16_384;
    let limit = Limit::bucket("k", size).drip_rate(Duration::from_millis(1)).build().unwrap();
    for now in [0, 999_999_999_999_999, 1_000_000_000_000_000, EXACT - 1] {
        for level in [1, 255, 256, 1000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, size] {
            for (call, cost) in [(Call::Limit, level), (Call::Peek, 1), (Call::Limit, 0)] {
                let outcome = script.decide(&ask(&limit, call, cost, Some(now)));
                let (info, at, corrupt) = decided(&outcome);
                assert_eq!((info.remaining, at, corrupt), (size - level, now, 0), "{level} at {now}");
            }
            script.decide(&Question::forget("t", &limit, "ada").decision.unwrap());
        }
    }
}

#[test]
fn a_charge_beyond_what_is_exact_is_refused_and_writes_nothing() {
    let mut script = Script::start();
    let limit = Limit::bucket("k", 1).drip_rate(Duration::from_millis(1)).drip_size(1_000_000).build().unwrap();
    let most = EXACT / 2;
    assert_eq!(decided(&script.decide(&ask(&limit, Call::Charge, most, Some(7)))).2, 0);
    let full = kept(most, 7);
    assert_eq!(script.ask::<Vec<u8>>(&["GET", ENTRY]), full);
    let beyond = script.decide(&ask(&limit, Call::Charge, 1, Some(7)));
    assert_eq!(beyond, Reply::Impossible(0, Impossible::Overflows));

    // In a decision of several, nothing of the others is written either.
    let other = Limit::bucket("other", 5).build().unwrap();
    let checks = [Check::new(&other, "ada"), Check::new(&limit, "ada"), Check::new(&other, "bob")];
    let several = Question::new("t", &checks, Call::Charge, Some(7)).decision.unwrap();
    assert_eq!(script.decide(&several), Reply::Impossible(1, Impossible::Overflows));
    assert_eq!(script.ask::<Vec<u8>>(&["GET", ENTRY]), full);
    assert_eq!(script.ask::<u64>(&["DBSIZE"]), 1);
}

#[test]
fn a_cost_that_never_fits_is_told_before_one_that_is_too_much_now() {
    let mut script = Script::start();
    let (slow, other) =
        (Limit::bucket("slow", 1).drip_rate(Duration::from_secs(3_000_000_000)).build().unwrap(), bucket(1));
    let memory = Limiter::new(Memory::new());
    let most = [Check::new(&slow, "ada").cost(3)];
    memory.decide_sync_at(&most, Call::Charge, 7).unwrap();
    decided(&script.decide(&Question::new("t", &most, Call::Charge, Some(7)).decision.unwrap()));
    let (beyond, never) = (Check::new(&slow, "ada"), Check::new(&other, "ada").cost(2));
    let call = Call::Acquire { max_wait: Duration::MAX };
    let told = memory.decide_sync_at(&[beyond], call, 7).unwrap_err().to_string();
    assert!(told.contains("level below 2^52"), "{told}");
    for checks in [[beyond, never], [never, beyond]] {
        let told = memory.decide_sync_at(&checks, call, 7).unwrap_err().to_string();
        let question = Question::new("t", &checks, call, Some(7));
        let (part, why) = *question.decision.as_ref().unwrap_err();
        assert_eq!(told, question.refusal(part, why).to_string());
        assert!(told.contains("must be at most 1"), "{told}");
    }
}

#[test]
fn what_no_limit_left_counts_as_absent_and_is_told() {
    let mut script = Script::start();
    let texts = [
        "",
        "5",
        "x",
        "c",
        "c1",
        "c\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "C\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        "c\x01\0\0\0\0\0\x7f\0\0\0\0\0\0\0",
        "c\x01\0\0\0\0\0\0\0\0\0\0\0\0\x7f",
        "c99999999999999",
        "w1:2",
        "w99999999999999999:1:1",
        "d:5",
        "d1e999:5",
        "dinf:5",
        "dnan:5",
        "d-1:5",
        "q1:",
        "q1:99999999999999999999",
        "p0x10:5",
        "178400000000000000",
        "17840000000000000000",
        "1.784000000000e+18",
        "0x18c230e7d0a2c000x",
        "                  1",
        "178400000000000012 ",
        "\0\0\0\0",
        "é",
        "s5",
        "l5",
    ];
    for limit in limits() {
        let entry = entry(&limit);
        let mut plant = |words: &[&str]| {
            script.ask::<Value>(&["DEL", &entry]);
            script.ask::<Value>(words);
            // Alone and as one of several, which go different ways.
            for call in [Call::Peek, Call::Limit] {
                let outcome = script.decide(&ask(&limit, call, 1, None));
                let (info, _, corrupt) = decided(&outcome);
                let left = if call == Call::Peek { 10 } else { 9 };
                assert_eq!((info.blocked, info.remaining, corrupt), (false, left, 1), "{words:?} {call:?} {limit:?}");
            }
            let outcome = script.decide(&ask(&limit, Call::Peek, 1, None));
            let (info, _, corrupt) = decided(&outcome);
            assert_eq!((info.remaining, corrupt), (9, 0), "{words:?} {limit:?}");
            assert!(script.ask::<i64>(&["PTTL", &entry]) > 0, "{words:?} {limit:?}");
        };
        for text in texts {
            plant(&["SET", &entry, text]);
        }
        plant(&["RPUSH", &entry, "a"]);
        plant(&["HSET", &entry, "a", "b"]);
        plant(&["SADD", &entry, "a"]);
        plant(&["XADD", &entry, "*", "a", "b"]);
        plant(&["ZADD", &entry, "1", "somebody"]);
        plant(&["ZADD", &entry, "inf", "s1"]);
        plant(&["ZADD", &entry, "-5", "l99999999999999999"]);
    }
}

#[test]
fn shapes_do_not_see_each_other() {
    let mut script = Script::start();
    for limit in &limits()[2..] {
        let outcome = script.decide(&ask(limit, Call::Limit, 4, None));
        let (info, _, corrupt) = decided(&outcome);
        assert_eq!((info.blocked, info.remaining, corrupt), (false, 6, 0), "{limit:?}");
        assert_eq!(script.ask::<u64>(&["EXISTS", &entry(limit)]), 1);
    }
    assert_eq!(script.ask::<u64>(&["DBSIZE"]), 6);
    script.decide(&Question::forget("t", &limits()[0], "ada").decision.unwrap());
    assert_eq!(script.ask::<u64>(&["DBSIZE"]), 0);
}

#[test]
fn an_entry_expires_in_the_millisecond_in_which_it_is_empty() {
    let mut script = Script::start();
    for limit in limits() {
        for call in [Call::Charge, Call::Refund] {
            let outcome = script.decide(&ask(&limit, call, if call == Call::Charge { 7 } else { 2 }, None));
            let (info, now, _) = decided(&outcome);
            let expires = 1000 * script.ask::<u64>(&["PEXPIRETIME", &entry(&limit)]);
            let (least, most) = (now + 1000 * (info.full_reset_ms - 1), now + 1000 * info.full_reset_ms);
            assert!(expires > least && expires < most + 1000, "{expires}: {least} to {most}, {limit:?}");
        }
        script.decide(&Question::forget("t", &limit, "ada").decision.unwrap());
        assert_eq!(script.ask::<u64>(&["DBSIZE"]), 0);
    }
    let outcome = script.decide(&ask(&bucket(5), Call::Limit, 1, None));
    let (_, now, _) = decided(&outcome);
    assert_eq!(script.ask::<u64>(&["PEXPIRETIME", ENTRY]), (now + 1_000_000).div_ceil(1000));
}

#[test]
fn an_entry_of_the_callers_clock_lives_for_an_hour_or_until_it_is_empty() {
    let mut script = Script::start();
    let hour = 3_600_000;
    let long = |definition: &str| Limit::from_json(definition).unwrap();
    for limit in limits() {
        let outcome = script.decide(&ask(&limit, Call::Limit, 1, Some(1_000_000)));
        let left = decided(&outcome).0.full_reset_ms.max(hour);
        let ttl: u64 = script.ask(&["PTTL", &entry(&limit)]);
        assert!(ttl <= left && ttl + 1000 > left, "{ttl} of {left}, {limit:?}");
        script.ask::<Value>(&["DEL", &entry(&limit)]);
    }
    for limit in [
        long(r#"{ "key": "k", "type": "bucket", "size": 5, "dripRate": 36000000 }"#),
        long(r#"{ "key": "k", "type": "sliding-log", "max": 5, "period": 36000000 }"#),
    ] {
        script.decide(&ask(&limit, Call::Limit, 1, Some(0)));
        let ttl: u64 = script.ask(&["PTTL", &entry(&limit)]);
        assert!(ttl <= 10 * hour && ttl + 1000 > 10 * hour, "{ttl}");
        script.ask::<Value>(&["DEL", &entry(&limit)]);
    }
}

#[test]
fn what_is_empty_is_gone() {
    let mut script = Script::start();
    for limit in limits() {
        for call in [Call::Limit, Call::Refund] {
            script.decide(&ask(&limit, call, 4, Some(1_000_000_000_000_000)));
        }
        assert_eq!(script.ask::<u64>(&["DBSIZE"]), 0, "{limit:?}");
    }
}

#[test]
fn a_decision_that_is_too_late_is_not_made() {
    let mut script = Script::start();
    let limits = limits();
    for limit in &limits {
        let (limit, reset) = (ask(limit, Call::Limit, 1, None), Question::forget("t", limit, "ada").decision.unwrap());
        let (time, outcomes) = script.decide_by(&[(&limit, 1), (&reset, 1)]);
        let now = time.unwrap();
        assert_eq!(outcomes, [Reply::Late { now }, Reply::Late { now }]);
        assert_eq!(script.ask::<u64>(&["DBSIZE"]), 0);

        // The others of its batch are made, and see each other.
        let far = now + 3_600_000_000;
        let (time, outcomes) = script.decide_by(&[(&limit, far), (&limit, now), (&limit, 0)]);
        let remaining = |outcome| decided(outcome).0.remaining;
        assert_eq!(outcomes[1], Reply::Late { now: time.unwrap() });
        assert_eq!((remaining(&outcomes[0]), remaining(&outcomes[2])), (9, 8));
        assert_eq!(decided(&outcomes[0]).1, time.unwrap());
        let (_, outcomes) = script.decide_by(&[(&reset, far)]);
        assert!(matches!(&outcomes[0], Reply::Decided { infos, corrupt: 0, .. } if infos.is_empty()));
        assert_eq!(script.ask::<u64>(&["DBSIZE"]), 0);
    }
}

#[test]
fn several_late_checks_are_skipped_as_one() {
    let mut script = Script::start();
    let limits = limits();
    let checks: Vec<_> =
        ["ada", "bob"].iter().flat_map(|actor| limits.iter().map(|limit| Check::new(limit, actor))).collect();
    let several = Question::new("t", &checks, Call::Limit, None).decision.unwrap();
    let one = ask(&limits[0], Call::Limit, 1, None);
    let (_, outcomes) = script.decide_by(&[(&several, 1), (&one, 0)]);
    assert!(matches!(outcomes[0], Reply::Late { .. }));
    assert_eq!(decided(&outcomes[1]).0.remaining, 9);
}

#[test]
fn a_decision_about_nothing_is_made() {
    let mut script = Script::start();
    let nothing = Question::new("t", &[], Call::Limit, None).decision.unwrap();
    let reset = Request::reset(std::iter::empty().collect());
    let (time, outcomes) = script.decide_by(&[(&nothing, 0), (&nothing, 1), (&reset, 0)]);
    let now = time.unwrap();
    let made = Reply::Decided { now, infos: std::iter::empty().collect(), corrupt: 0, repaired: false, reset: 0 };
    assert_eq!(outcomes, [made.clone(), Reply::Late { now }, made]);
    assert_eq!(script.decide_by(&[]), (None, Vec::new()));
}

#[test]
fn sums_start_over_before_they_are_no_longer_exact() {
    let mut script = Script::start();
    let high = EXACT - 3;
    let now: Micros = 1_700_000_000_000_000;
    let log = Limit::from_json(r#"{ "key": "k", "type": "sliding-log", "max": 10, "period": 600000 }"#).unwrap();
    let slots = Limit::from_json(
        r#"{ "key": "k", "type": "sliding-window", "max": 10, "period": 600000, "resolution": 1000 }"#,
    )
    .unwrap();
    for (limit, tag, end, at) in [(log, 'l', "", now), (slots, 's', ":1000000", now - now % 1_000_000)] {
        let entry = entry(&limit);
        // Two were charged, after all that was dropped.
        let (dropped, kept) = (format!("{tag}{}{end}", high - 2), format!("{tag}{high}{end}"));
        let before = at - if end.is_empty() { 1 } else { 1_000_000 };
        script.ask::<Value>(&["ZADD", &entry, "-1", &dropped, &before.to_string(), &kept]);
        for remaining in [7, 6, 5, 4, 3] {
            let outcome = script.decide(&ask(&limit, Call::Limit, 1, Some(now)));
            assert_eq!((decided(&outcome).0.remaining, decided(&outcome).2), (remaining, 0), "{limit:?}");
        }
        let newest: Vec<String> = script.ask(&["ZRANGE", &entry, "-1", "-1"]);
        assert_eq!(newest, [format!("{tag}7{end}")]);
    }
}

/// Three units leave in each second, evenly: after 0.4 s one of two has left, and the other one is given back.
#[test]
fn what_is_given_back_in_the_middle_of_a_group_leaves_no_entry() {
    let mut script = Script::start();
    let limit = Limit::token_bucket("k", 3, Duration::from_secs(1)).burst(5).build().unwrap();
    script.decide(&ask(&limit, Call::Charge, 2, Some(1_000_000)));
    let outcome = script.decide(&ask(&limit, Call::Refund, 1, Some(1_400_000)));
    assert_eq!(decided(&outcome).0.remaining, 5);
    assert_eq!(script.ask::<u64>(&["DBSIZE"]), 0);
}

#[test]
fn a_user_with_the_least_rights_may_decide_everything() {
    let mut script = Script::start();
    let rights = "+evalsha +get +set +time +pexpire +pexpireat +zadd +zcard +zrange +zremrangebyrank +zremrangebyscore";
    let mut words = vec!["ACL", "SETUSER", "least", "on", "nopass", "resetkeys", "~t:*", "-@all"];
    words.extend(rights.split(' '));
    script.ask::<Value>(&words);
    script.ask::<Value>(&["AUTH", "least", ""]);
    let calls = [
        Call::Limit,
        Call::Peek,
        Call::Charge,
        Call::Refund,
        Call::Undo { charged_at: 2_000_000 },
        Call::Acquire { max_wait: Duration::from_secs(5) },
    ];
    for limit in limits() {
        for call in calls {
            for now in [1_000_000, 2_000_000, 700_000_000] {
                decided(&script.decide(&ask(&limit, call, 3, Some(now))));
            }
            decided(&script.decide(&ask(&limit, call, 3, None)));
        }
        script.decide(&Question::forget("t", &limit, "ada").decision.unwrap());
    }

    // What is refused is no absent entry, whether the name is, or what the script does.
    for limit in limits() {
        let elsewhere = Question::new("elsewhere", &[Check::new(&limit, "ada")], Call::Limit, None).decision.unwrap();
        let refused = evalsha(&[(&elsewhere, 0)]).query::<Value>(&mut script.connection).unwrap_err();
        assert!(refused.to_string().contains("no permissions"), "{refused}");
    }
}

#[test]
fn what_may_not_be_read_is_no_absent_entry() {
    let mut script = Script::start();
    script.ask::<Value>(&["ACL", "SETUSER", "default", "-get", "-zrange"]);
    for limit in limits() {
        for call in [Call::Limit, Call::Peek, Call::Charge] {
            let refused =
                evalsha(&[(&ask(&limit, call, 1, None), 0)]).query::<Value>(&mut script.connection).unwrap_err();
            assert!(refused.to_string().contains("can't run this command"), "{refused}");
        }
    }
    assert_eq!(script.ask::<u64>(&["DBSIZE"]), 0);
}

#[test]
fn an_answer_cut_short_is_no_answer() {
    let mut script = Script::start();
    let limits = limits();
    let mut decisions: Vec<_> = limits.iter().map(|limit| ask(limit, Call::Limit, 1, None)).collect();
    decisions.push(Question::forget("t", &limits[0], "ada").decision.unwrap());
    let asked: Vec<_> = decisions.iter().map(|decision| (decision, 0)).collect();
    let reply: Value = evalsha(&asked).query(&mut script.connection).unwrap();
    assert!(decode(&reply, &decisions).is_ok());
    let Value::BulkString(bytes) = reply else { panic!("{reply:?}") };
    for length in 0..bytes.len() {
        assert_eq!(decode(&Value::BulkString(bytes[..length].to_vec()), &decisions), Err(Malformed));
    }
    let longer = [&bytes[..], b"\0"].concat();
    assert_eq!(decode(&Value::BulkString(longer), &decisions), Err(Malformed));
    assert_eq!(decode(&Value::Nil, &decisions), Err(Malformed));
    // Whatever the bytes, it is an answer or not, and no panic.
    for place in 0..bytes.len() {
        for byte in [0, 1, 127, 254, 255] {
            let mut other = bytes.clone();
            other[place] = byte;
            let _ = decode(&Value::BulkString(other), &decisions);
        }
    }
}

#[test]
fn slots_are_those_of_a_cluster() {
    let mut script = Script::start_with(&["--cluster-enabled", "yes"]);
    let plain = ["", "a", "{", "}", "{}", "a{}b", "{}{a}", "a{b}c{d}", "{a", "a}", "foo{{bar}}zap", "123456789"];
    let keys = plain.iter().map(|key| key.as_bytes().to_vec());
    let ours = ["", "ada", "{x}", "Ægir", "a:b%"]
        .map(|actor| EntryName::new("tidegate", actor, "login", Shape::Level).to_key().to_vec());
    for key in keys.chain(ours) {
        let asked: u16 = ::redis::cmd("CLUSTER").arg("KEYSLOT").arg(&key).query(&mut script.connection).unwrap();
        assert_eq!(slot(&key), asked, "{:?}", String::from_utf8_lossy(&key));
    }
}

#[test]
fn rules_and_entries_are_told_once() {
    let limits: Vec<_> = (1..30).map(bucket).collect();
    let decisions: Vec<_> = (0..200).map(|index| ask(&limits[index % limits.len()], Call::Limit, 1, None)).collect();
    let call = encode(decisions.iter().map(|decision| (decision, 0)), Layout::Own, clock::now());
    assert_eq!(call.keys.len(), 1);
    let one = encode([(&decisions[0], 0)], Layout::Own, clock::now()).blob.len();
    let two = encode([(&decisions[0], 0), (&decisions[0], 0)], Layout::Own, clock::now()).blob.len();
    let rule = one - (two - one) - 5;
    assert_eq!(call.blob.len(), 5 + 200 * (two - one) + limits.len() * rule);
}

/// The windows of a calendar travel with a call, around the time that this process takes the server's clock to show.
#[test]
fn a_calendar_is_asked_for_again_where_the_server_shows_another_time() {
    const DAY: Micros = 86_400_000_000;
    const HALF: i64 = DAY.cast_signed() / 2;
    let mut script = Script::start();
    let limit = Limit::from_json(
        r#"{ "key": "plan", "type": "calendar-window", "max": 2, "unit": "day", "timeZone": "Asia/Tokyo" }"#,
    )
    .unwrap();
    let question = ask(&limit, Call::Limit, 1, None);
    let now = clock::now();
    // Off by up to a window, the answer is exact; beyond, nothing is charged, and the time comes back.
    let mut made = 0;
    for (off, known) in
        [(-6 * HALF, false), (-4 * HALF, false), (-HALF, true), (HALF, true), (4 * HALF, false), (0, true)]
    {
        let call = encode([(&question, 0)], Layout::Own, now.saturating_add_signed(off));
        let reply: Value = call.command(true).query(&mut script.connection).unwrap();
        let (server, outcomes) = decode(&reply, [&question]).unwrap();
        let server = server.unwrap();
        if !known {
            assert_eq!(outcomes, [Reply::Late { now: server }], "{off}");
            continue;
        }
        let Reply::Decided { infos, .. } = &outcomes[0] else { panic!("{outcomes:?}") };
        made += 1;
        assert_eq!((infos[0].blocked, infos[0].remaining), (made > 2, 2_u64.saturating_sub(made)), "{off}");
        let end = (server + 9 * DAY / 24).next_multiple_of(DAY) - 9 * DAY / 24;
        assert_eq!(infos[0].full_reset_ms, (end - server).div_ceil(1000), "{off}");
    }
}
