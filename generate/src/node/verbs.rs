//! The verbs of a limiter: each once, as a promise and answered at once.

use std::fmt::{self, Write as _};

use super::comment;
use crate::text::{WIDTH, paragraphs};

/// A verb: its documentation, its signature, and the function that it calls.
struct Verb {
    name: &'static str,
    /// Its paragraphs; one that begins with a space keeps its lines.
    docs: &'static [&'static str],
    /// The documentation of the twin that is answered at once, where that differs by more.
    at_once: &'static str,
    takes: Takes,
    answer: &'static str,
    /// The function and its arguments, after the store.
    call: (&'static str, &'static str),
}

/// The parameters of a verb.
enum Takes {
    /// A limit and an actor, with these options; the second ones where it is answered at once.
    Limit(&'static str, &'static str),
    /// A list of checks.
    Checks,
    /// An answer, or a limit and an actor.
    InfoOrLimit,
    /// An answer and the actual cost.
    InfoAndCost,
}

const LIMIT_OPTIONS: &str = "options?: LimitOptions<NoInfer<C>>";
const OPTIONS: &str = "options?: CallOptions<NoInfer<C>>";

const VERBS: &[Verb] = &[
    Verb {
        name: "limit",
        docs: &[
            "Charges `cost` if it fits; with `atLeast`, as much of it as there is room for.",
            " @example
```js
import { bucket, Limiter } from 'tidegate'

const tokens = bucket({ key: 'tokens', size: 300 })
const limiter = new Limiter()
assert.equal(limiter.limitSync(tokens, 'ada', { cost: 500, atLeast: 50, now: 0 }).granted, 300)
```",
        ],
        at_once: "",
        takes: Takes::Limit(LIMIT_OPTIONS, LIMIT_OPTIONS),
        answer: "LimitInfo",
        call: ("decided", "Call.Limit, limit, actor, options"),
    },
    Verb {
        name: "peek",
        docs: &["Answers as {@link limit} would, and charges nothing."],
        at_once: "",
        takes: Takes::Limit(LIMIT_OPTIONS, LIMIT_OPTIONS),
        answer: "LimitInfo",
        call: ("decided", "Call.Peek, limit, actor, options"),
    },
    Verb {
        name: "charge",
        docs: &[
            "Charges `cost` even if it does not fit, for costs that are known afterwards. The excess drains like all units.",
            "Nothing is charged, and the call is an error, where that would take the level above 2^52 units, or above \
             the units that drain in 2^53 microseconds (285 years).",
            " @example
```js
import { bucket, Limiter } from 'tidegate'

const upload = bucket({ key: 'upload', size: 100 })
const limiter = new Limiter()
limiter.chargeSync(upload, 'ada', { cost: 150, now: 0 })
assert.equal(limiter.limitSync(upload, 'ada', { now: 0 }).resetSec, 51)
```",
        ],
        at_once: "",
        takes: Takes::Limit(OPTIONS, OPTIONS),
        answer: "LimitInfo",
        call: ("decided", "Call.Charge, limit, actor, options"),
    },
    Verb {
        name: "refund",
        docs: &[
            "Gives `cost` back, never below empty; `blocked` is true if a call of cost 1 would be denied now.",
            "With the answer to a call in place of a limit and an actor, it gives back the charge of that call: at most \
             the units that have not drained since, and once. A second time changes nothing.",
            "@throws {@link LimitError} for an answer of another limiter, or one part of an answer.",
            " @example
```js
import { bucket, Limiter } from 'tidegate'

const login = bucket({ key: 'login', size: 10 })
const limiter = new Limiter()
const info = await limiter.limit(login, 'ada', { cost: 4, now: 0 })
assert.equal((await limiter.refund(info, { now: 1000 })).remaining, 10)

await limiter.limit(login, 'ada', { now: 1000 })
assert.equal((await limiter.refund(info, { now: 1000 })).remaining, 9)
```",
        ],
        at_once: "",
        takes: Takes::InfoOrLimit,
        answer: "LimitInfo",
        call: ("refunded", "limit, actor, options"),
    },
    Verb {
        name: "settle",
        docs: &[
            "Replaces the cost that a call was charged by the actual one, once: gives back the difference, or charges it. \
             Where the checks of the call cost differently, it takes a list of one cost for each.",
            "For a call that charged nothing, nothing changes.",
            "@throws {@link LimitError} for an answer of another limiter, one part of an answer, or a cost out of bounds.",
            " @example
```js
import { Limiter, tokenBucket } from 'tidegate'

const tokens = tokenBucket({ key: 'llm', count: 10_000, period: 60_000 })
const limiter = new Limiter()
const info = await limiter.limit(tokens, 'ada', { cost: 4000, now: 0 })
assert.equal((await limiter.settle(info, 1500, { now: 0 })).remaining, 8500)
assert.equal((await limiter.settle(info, 9000, { now: 0 })).remaining, 8500)
```",
        ],
        at_once: "",
        takes: Takes::InfoAndCost,
        answer: "LimitInfo",
        call: ("settled", "info, actualCost, options"),
    },
    Verb {
        name: "explain",
        docs: &[
            "Explains in words how a call would be answered and why; charges nothing.",
            " @example
```js
import { bucket, Limiter } from 'tidegate'

const login = bucket({ key: 'login', size: 10 })
const limiter = new Limiter()
limiter.limitSync(login, 'ada', { cost: 3, now: 0 })
const explanation = limiter.explainSync(login, 'ada', { now: 0 })
assert.equal(explanation.info.remaining, 7)
assert.match(String(explanation), /^\"login\" would admit this call: 7 of 10 units are free/)
```",
        ],
        at_once: "",
        takes: Takes::Limit(OPTIONS, OPTIONS),
        answer: "CallExplanation",
        call: ("explained", "limit, actor, options"),
    },
    Verb {
        name: "observe",
        docs: &[
            "Takes over what an upstream server said of its own limit: raises the entry until no more than `remaining` units are \
             left, and none before `retryAfterMs` is over. It never lowers an entry. At least one of both has to be given.",
            "@throws {@link LimitError} for a limit that is no bucket, token bucket, fixed window or smooth.",
            " @example
```js
import { Limiter, tokenBucket } from 'tidegate'

const upstream = tokenBucket({ key: 'api.example.com', count: 100, period: 60_000 })
const limiter = new Limiter()
limiter.observeSync(upstream, 'our key', { remaining: 3, now: 0 })
assert.equal(limiter.limitSync(upstream, 'our key', { now: 0 }).remaining, 2)
limiter.observeSync(upstream, 'our key', { retryAfterMs: 1500, now: 0 })
assert(limiter.limitSync(upstream, 'our key', { now: 0 }).resetMs >= 1500)
```",
        ],
        at_once: "",
        takes: Takes::Limit("options: ObserveOptions<NoInfer<C>>", "options: ObserveOptions<NoInfer<C>>"),
        answer: "LimitInfo",
        call: ("observed", "limit, actor, options"),
    },
    Verb {
        name: "reset",
        docs: &["Removes the entry of this actor; of several limits, all at once."],
        at_once: "",
        takes: Takes::Limit("options?: ContextOptions<NoInfer<C>>", "options?: ContextOptions<NoInfer<C>>"),
        answer: "void",
        call: ("reset", "limit, actor, options"),
    },
    Verb {
        name: "acquire",
        docs: &[
            "Waits for its turn, at most `maxWaitMs`. Turns come in the order of the calls. If the wait would be longer, the \
             answer is `blocked` at once and nothing is charged. With `now` given it answers at once, and `waitMs` is \
             the time to wait.",
            "@throws the signal's reason; the charge is given back.",
            " @example
```js
import { bucket, Limiter } from 'tidegate'

const mail = bucket({ key: 'mail', size: 1, dripRate: 20 })
const limiter = new Limiter()
await limiter.acquire(mail, 'ada')
const info = await limiter.acquire(mail, 'ada', { maxWaitMs: 1000 })
assert(!info.blocked && info.waitMs > 0 && info.waitMs <= 20)
```",
        ],
        at_once: "{@link acquire} with `now` given: answered at once, and `waitMs` is the time to wait.",
        takes: Takes::Limit("options?: AcquireOptions<NoInfer<C>>", "options: AcquireSyncOptions<NoInfer<C>>"),
        answer: "LimitInfo",
        call: ("acquired", "limit, actor, options"),
    },
    Verb {
        name: "limitAll",
        docs: &[
            "Decides several checks together, each with an actor of its own: either every one is charged or none.",
            " @example
```js
import { bucket, Limiter, tokenBucket } from 'tidegate'

const perAddress = bucket({ key: 'login', size: 10 })
const perUser = tokenBucket({ key: 'api', count: 100, period: 60_000 })

const info = await new Limiter().limitAll([
  { limit: perAddress, actor: '203.0.113.9' },
  { limit: perUser, actor: 'ada', cost: 95 },
])
assert.equal(info.remaining, 5)
assert.equal(info.key, 'api')
assert.deepEqual(info.checks.map((check) => check.remaining), [9, 5])
```",
        ],
        at_once: "",
        takes: Takes::Checks,
        answer: "LimitInfo",
        call: ("decidedAll", "Call.Limit, checks, options"),
    },
    Verb {
        name: "peekAll",
        docs: &["Answers as {@link limitAll} would, and charges nothing."],
        at_once: "",
        takes: Takes::Checks,
        answer: "LimitInfo",
        call: ("decidedAll", "Call.Peek, checks, options"),
    },
];

const OPENING: &str = "// Generated by `make generate` from generate/src/node/verbs.rs: change it there.

import { Call } from './buffer.js'
import { acquired, decided, decidedAll, explained, observed, refunded, reset, settled } from './calls.js'
import { limitOne } from './checks.js'
import type { AnyLimit } from './choice.js'
import { checked } from './definition_cache.js'
import type { CallExplanation } from './explain.js'
import type { LimitInfo, Store } from './info.js'
import type {
  AcquireOptions,
  AcquireSyncOptions,
  CallOptions,
  ContextOptions,
  DecisionOptions,
  LimitOptions,
  ObserveOptions,
  TimeOptions,
} from './options.js'
import type { Check } from './parts.js'
import { isTooLong, yielded } from './yields.js'

/** The verbs of a limiter, each as a promise and, under the name with `Sync`, answered at once. */
export abstract class Verbs {
  readonly #store: Store

  /** @internal */
  constructor(store: Store) {
    this.#store = store
  }
";

/// The commonest call, written so that the compiler puts all of it where it is called.
const PLAIN: &str = "const plain = options === undefined && store.plain ? checked(limit) : undefined";

/// `node/lib/verbs.ts`.
pub(crate) fn class() -> Result<String, fmt::Error> {
    let mut code = OPENING.to_owned();
    for verb in VERBS {
        for is_sync in [false, true] {
            method(&mut code, verb, is_sync)?;
        }
    }
    Ok(code + "}\n")
}

fn method(code: &mut String, verb: &Verb, is_sync: bool) -> fmt::Result {
    let Verb { name, docs, at_once, answer, call: (function, arguments), .. } = verb;
    let at_once = match *at_once {
        "" => format!("{{@link {name}}}, answered at once."),
        at_once => at_once.to_owned(),
    };
    let docs = if is_sync { vec![at_once] } else { docs.iter().map(|text| (*text).to_owned()).collect() };
    *code += "\n";
    *code += &comment(&paragraphs(&docs, 5), "  ");
    let call = format!("{function}(this.#store, {arguments}, {is_sync})");
    let body = match (*name, is_sync) {
        // Not an `async` function, which would take three more microtasks to pass on the promise of a shared store.
        ("limit", false) => format!(
            "    try {{\n      const store = this.#store\n      {PLAIN}\n      \
             if (plain !== undefined) {{\n        const info = limitOne(store, plain, actor)\n        \
             return Promise.resolve(isTooLong() ? yielded(info) : info)\n      }}\n      \
             return Promise.resolve({call})\n    \
             }} catch (error) {{\n      return Promise.reject(error)\n    }}\n"
        ),
        ("limit", true) => format!(
            "    const store = this.#store\n    {PLAIN}\n    if (plain !== undefined) return limitOne(store, plain, actor)\n    \
             return {call} as {answer}\n"
        ),
        (_, true) if *answer == "void" => format!("    {call}\n"),
        (_, true) => format!("    return {call} as {answer}\n"),
        (_, false) => format!("    return {call}\n"),
    };
    let (prefix, suffix) = match (*name, is_sync) {
        (_, true) => ("", "Sync"),
        ("limit", false) => ("", ""),
        _ => ("async ", ""),
    };
    let returns = if is_sync { (*answer).to_owned() } else { format!("Promise<{answer}>") };
    let generic = "<C, T extends string = never>";
    let limit = |options| ["limit: AnyLimit<C, T>", "actor: string", options];
    let checks = ["checks: readonly Check<C, T>[]", "options?: DecisionOptions<NoInfer<C>>"];
    let time = "options?: TimeOptions";
    let name = format!("  {prefix}{name}{suffix}");
    match verb.takes {
        Takes::Limit(later, at_once) => {
            let options = if is_sync { at_once } else { later };
            signature(code, &format!("{name}{generic}"), &limit(options), &returns, " {")?;
        }
        Takes::Checks => signature(code, &format!("{name}{generic}"), &checks, &returns, " {")?,
        Takes::InfoAndCost => {
            let parameters = ["info: LimitInfo", "actualCost: number | readonly number[]", time];
            signature(code, &name, &parameters, &returns, " {")?;
        }
        Takes::InfoOrLimit => {
            signature(code, &name, &["info: LimitInfo", time], &returns, "")?;
            signature(code, &format!("{name}{generic}"), &limit(OPTIONS), &returns, "")?;
            let parameters = ["limit: unknown", "actor: unknown", "options?: unknown"];
            signature(code, &name, &parameters, &returns, " {")?;
        }
    }
    writeln!(code, "{body}  }}")
}

fn signature(code: &mut String, name: &str, parameters: &[&str], returns: &str, end: &str) -> fmt::Result {
    let line = format!("{name}({}): {returns}{end}", parameters.join(", "));
    if line.len() <= WIDTH {
        return writeln!(code, "{line}");
    }
    writeln!(code, "{name}(")?;
    for parameter in parameters {
        writeln!(code, "    {parameter},")?;
    }
    writeln!(code, "  ): {returns}{end}")
}
