//! Replies that no server gives: those of a real one, changed.

use std::ops::Range;

use ::redis::{Value, parse_redis_value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::mutate::{fuzz, mutated_text};
use super::strategies::{KINDS, definition_of};
use super::{Script, decode, evalsha};
use crate::check::Check;
use crate::decision::{Call, Verb};
use crate::limit::{EntryKind, Limit};
use crate::store::redis::connection::handshake::Handshake;
use crate::store::remote::{EntryName, Part, Reply, Request};
use crate::time::EXACT;

/// Numbers at the edges of what a reply may have.
const NUMBERS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    0.5,
    -1.0,
    1e15,
    9_007_199_254_740_992.0,
    18_014_398_509_481_984.0,
    18_014_398_509_481_986.0,
    1.8e19,
    f64::MAX,
    f64::MIN_POSITIVE,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// A change of a reply in bytes.
#[derive(Clone, Debug)]
enum Change {
    /// A number, where one may stand or anywhere.
    Number(Index, f64),
    Byte(Index, u8),
    End(Index),
    More(Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    let number =
        prop_oneof![3 => select(NUMBERS), 1 => any::<f64>(), 1 => (0..1_u64 << 54).prop_map(|whole| whole as f64)];
    prop_oneof![
        6 => (any::<Index>(), number).prop_map(|(at, number)| Change::Number(at, number)),
        3 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => any::<Index>().prop_map(Change::End),
        1 => vec(any::<u8>(), 1..20).prop_map(Change::More),
    ]
}

impl Change {
    fn apply(self, bytes: &mut Vec<u8>) {
        let places: Range<usize> = 0..bytes.len().saturating_sub(7);
        match self {
            // Behind the time and the first flags numbers stand at every eighth byte.
            Self::Number(at, number) if !places.is_empty() => {
                let place = at.index(places.len());
                let place =
                    if place % 3 == 0 { place } else { (place / 8 * 8 + usize::from(place >= 8)).min(places.end - 1) };
                bytes[place..place + 8].copy_from_slice(&number.to_le_bytes());
            }
            Self::Byte(at, byte) if !bytes.is_empty() => {
                let place = at.index(bytes.len());
                bytes[place] = byte;
            }
            Self::End(at) => bytes.truncate(at.index(bytes.len() + 1)),
            Self::More(more) => bytes.extend(more),
            _ => {}
        }
    }
}

fn request(check: &Check<'_>, call: Call, now: Option<u64>) -> Request {
    let rules = check.limit.rules(1.0).unwrap();
    let parts = rules.placed().enumerate().map(|(entry, (_, rule))| Part {
        rule: *rule,
        cost: check.cost,
        at_least: 0,
        spent: 0,
        charged_at: None,
        entry,
        observed: None,
    });
    let names = rules.placed().map(|(EntryKind { shape, is_block }, _)| {
        EntryName { is_block, ..EntryName::new("fuzz", check.actor, check.limit.key(), shape) }.to_key()
    });
    Request::new(Verb::from(call), names.collect(), parts.collect(), now).unwrap()
}

#[test]
fn a_reply_is_malformed_or_an_answer() {
    let mut script = Script::start();
    for &kind in KINDS {
        let calls = select(vec![Call::Limit, Call::Peek, Call::Charge, Call::Refund]);
        let now = prop_oneof![Just(None), Just(Some(1_700_000_000_000_000)), Just(Some(1 << 53))];
        let script = std::cell::RefCell::new(&mut script);
        fuzz(100, (definition_of(kind), calls, now, vec(change(), 0..4)), |(definition, call, now, changes)| {
            let limit = Limit::from_json(&definition.to_string()).unwrap();
            let request = request(&Check::new(&limit, "ada"), call, now);
            let reply: Value = evalsha(&[(&request, 0)]).query(&mut script.borrow_mut().connection).unwrap();
            let Value::BulkString(mut bytes) = reply else { panic!("{reply:?}") };
            let sound = changes.is_empty();
            for change in changes {
                change.apply(&mut bytes);
            }
            match decode(&Value::BulkString(bytes), [&request]) {
                Ok((_, replies)) => {
                    if let [Reply::Decided { infos, .. }] = &replies[..] {
                        prop_assert!(infos.iter().all(|info| info.remaining <= EXACT), "{:?}", infos);
                    }
                }
                Err(malformed) => prop_assert!(!sound, "{:?}", malformed),
            }
            Ok(())
        });
    }
}

/// Replies to a handshake: `HELLO`, `SCRIPT LOAD`, the probe, `CONFIG GET` and `TIME`.
const GREETINGS: &[&str] = &[
    "*5\r\n*4\r\n$6\r\nserver\r\n$5\r\nredis\r\n$4\r\nmode\r\n$7\r\ncluster\r\n+OK\r\n*0\r\n*2\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n",
    "*5\r\n%1\r\n+mode\r\n+standalone\r\n$40\r\n0123456789012345678901234567890123456789\r\n-NOPERM no permission to run evalsha\r\n-NOPERM no\r\n*2\r\n:1700000000\r\n:5\r\n",
    "*6\r\n-ERR unknown command HELLO\r\n+OK\r\n+OK\r\n-MOVED 1 127.0.0.1:1\r\n*0\r\n*2\r\n$1\r\n0\r\n$1\r\n0\r\n",
];

const TOKENS: &[&str] = &[
    "$",
    "*",
    ":",
    "+",
    "-",
    "%",
    "~",
    "_\r\n",
    "\r\n",
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "18446744073709551615",
    "mode",
    "cluster",
    "*0\r\n",
    "$-1\r\n",
    "-ERR x\r\n",
    "-LOADING\r\n",
    "-READONLY x\r\n",
    "-ASK 1 h:1\r\n",
    ":1\r\n",
    "+OK\r\n",
    "NOSCRIPT",
    "lua",
];

#[test]
fn a_handshake_is_read_or_refused() {
    for handshake in GREETINGS {
        let Ok(Value::Array(replies)) = parse_redis_value(handshake.as_bytes()) else { panic!("{handshake}") };
        assert!(Handshake::read(&replies).is_ok(), "{handshake}");
    }
    fuzz(5000, mutated_text(GREETINGS, TOKENS), |text| {
        if let Ok(Value::Array(replies)) = parse_redis_value(text.as_bytes())
            && let Ok(said) = Handshake::read(&replies)
        {
            prop_assert!(said.time.is_none_or(|time| time <= 1 << 53), "{:?}", said);
            let _ = said.eviction();
        }
        Ok(())
    });
}
