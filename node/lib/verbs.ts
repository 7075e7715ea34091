/* The verbs of a limiter: each reads what the caller passed and decides it, at once or as a promise. */

import { acquired } from './acquire.js'
import { Call } from './buffer.js'
import { type Answer, decideOne, decideSeveral, limitFew, resetSeveral } from './checks.js'
import { compiled } from './compiled.js'
import { mustWait, wrongType } from './errors.js'
import { type Standing, standing } from './explain.js'
import { LimitInfo, type Store } from './info.js'
import { DEFAULTS, ON_ACQUIRE, ON_CALL, ON_DECISION, ON_RESET, optionsFrom } from './options.js'
import { type Asked, partsOf, partsOfChecks, plainParts } from './parts.js'
import { after } from './queue.js'
import { settled } from './settle.js'
import { yielding } from './yields.js'

/** Refuses a call that is to be answered at once where the store is shared. */
export function neverWaits(store: Store): void {
  if (store.shared) throw mustWait()
}

/** Decides one limit or several for one actor. */
export function decided(
  store: Store,
  call: number,
  limit: unknown,
  actor: unknown,
  given: unknown,
  atOnce = false,
): Answer {
  if (atOnce) neverWaits(store)
  if (Array.isArray(limit) || typeof limit === 'function') {
    const few = call === Call.Limit && given === undefined && store.plain && Array.isArray(limit)
    const answer = few ? limitFew(store, limit, actor) : undefined
    return answer ?? decidedParts(store, call, partsOf(limit, actor, given, { takes: ON_CALL, atOnce }))
  }
  const known = compiled(limit)
  // Asked here, because nearly every call gives none and the reader of options is too large to be inlined.
  const asked = given === undefined ? DEFAULTS : optionsFrom(given, ON_CALL, known.key)
  return decideOne(store, call, known, actor, asked)
}

function decidedParts(store: Store, call: number, asked: Asked | Promise<Asked>): Answer {
  return after(asked, ({ parts, asked }) => decideSeveral(store, call, parts, asked))
}

/** Decides several checks, each with an actor of its own. */
export function decidedAll(store: Store, call: number, checks: unknown, given: unknown, atOnce: boolean): Answer {
  if (atOnce) neverWaits(store)
  const plain = given === undefined ? plainParts(checks) : undefined
  const answer =
    plain !== undefined
      ? decideSeveral(store, call, plain, DEFAULTS)
      : decidedParts(store, call, partsOfChecks(checks, given, { takes: ON_DECISION, atOnce }))
  return atOnce ? answer : yielding(answer, (checks as unknown[]).length)
}

/** Gives a cost back, or what the call with this answer was charged. */
export function refunded(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Answer {
  if (atOnce) neverWaits(store)
  if (limit instanceof LimitInfo) return settled(store, limit, 0, actor)
  return decided(store, Call.Refund, limit, actor, given, atOnce)
}

/** Says why a call would be answered as it would. */
export function explained(
  store: Store,
  limit: unknown,
  actor: unknown,
  given: unknown,
  atOnce: boolean,
): Answer<Standing> {
  if (atOnce) neverWaits(store)
  const asked = partsOf(limit, actor, given, { takes: ON_CALL, atOnce })
  return after(asked, ({ parts, asked }) => standing(store, parts, asked))
}

/** Removes what was charged to an actor. */
export function reset(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Answer<void> {
  if (atOnce) neverWaits(store)
  return after(partsOf(limit, actor, given, { takes: ON_RESET, atOnce }), ({ parts }) => resetSeveral(store, parts))
}

/** Waits for a turn. */
export function acquiredLater(store: Store, limit: unknown, actor: unknown, given: unknown): Answer {
  const asked = partsOf(limit, actor, given, { takes: ON_ACQUIRE, atOnce: false })
  return after(asked, ({ parts, asked }) => acquired(store, parts, asked))
}

/** Reserves a turn at an instant of the caller's choosing. */
export function acquiredAtOnce(store: Store, limit: unknown, actor: unknown, given: unknown): LimitInfo {
  neverWaits(store)
  const { parts, asked } = partsOf(limit, actor, given, { takes: ON_ACQUIRE, atOnce: true }) as Asked
  if (asked.now === undefined && store.clock === undefined) {
    throw wrongType(parts[0]?.limit.key ?? '', 'now', 'must be given, for nothing can be waited for here', undefined)
  }
  return decideSeveral(store, Call.Acquire, parts, asked) as LimitInfo
}
