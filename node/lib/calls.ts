/* The calls of a limiter: each reads its arguments and decides, at once or as a promise. */

import { acquiredLater } from './acquire.js'
import { Call } from './buffer.js'
import { type Answer, decideOne, decideSeveral, limitFew, resetSeveral } from './checks.js'
import { compiled } from './definition_cache.js'
import { mustWait, outOfRange, wrongType } from './errors.js'
import { type CallExplanation, explainedCall } from './explain.js'
import { LimitInfo, type Store } from './info.js'
import { DEFAULTS, ON_ACQUIRE, ON_CALL, ON_DECISION, ON_LIMIT, ON_OBSERVE, ON_RESET, optionsFrom } from './options.js'
import { type Asked, partsOf, partsOfChecks, plainParts } from './parts.js'
import { after } from './queue.js'
import { isCopy, settledInfo } from './settle.js'
import { yielding } from './yields.js'

/** Refuses a call that is to be answered at once where the store is shared. */
function neverWaits(store: Store, atOnce: boolean): void {
  if (atOnce && store.shared) throw mustWait()
}

/** Decides one limit or several for one actor. */
export function decided(
  store: Store,
  call: number,
  limit: unknown,
  actor: unknown,
  given: unknown,
  atOnce: boolean,
): Answer {
  neverWaits(store, atOnce)
  const answer = decidedOf(store, call, limit, actor, given, atOnce)
  return atOnce ? answer : yielding(answer)
}

function decidedOf(
  store: Store,
  call: number,
  limit: unknown,
  actor: unknown,
  given: unknown,
  atOnce: boolean,
): Answer {
  const takes = call === Call.Limit || call === Call.Peek ? ON_LIMIT : ON_CALL
  if (Array.isArray(limit) || typeof limit === 'function') {
    const few = call === Call.Limit && given === undefined && store.plain && Array.isArray(limit)
    const answer = few ? limitFew(store, limit, actor) : undefined
    return answer ?? decidedParts(store, call, partsOf(limit, actor, given, { takes, atOnce }))
  }
  const known = compiled(limit)
  // Asked here, because nearly every call gives none and the reader of options is too large to be inlined.
  const asked = given === undefined ? DEFAULTS : optionsFrom(given, takes, known.key)
  return decideOne(store, call, known, actor, asked)
}

function decidedParts(store: Store, call: number, asked: Asked | Promise<Asked>): Answer {
  return after(asked, ({ parts, asked }) => decideSeveral(store, call, parts, asked))
}

/** Decides several checks, each with an actor of its own. */
export function decidedAll(store: Store, call: number, checks: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  const plain = given === undefined ? plainParts(checks) : undefined
  const answer =
    plain !== undefined
      ? decideSeveral(store, call, plain, DEFAULTS)
      : decidedParts(store, call, partsOfChecks(checks, given, { takes: ON_DECISION, atOnce }))
  return atOnce ? answer : yielding(answer, (checks as unknown[]).length)
}

/** Gives a cost back, or the charge of the call with this answer. */
export function refunded(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Answer {
  if (!(limit instanceof LimitInfo) && !isCopy(limit)) return decided(store, Call.Refund, limit, actor, given, atOnce)
  const answer = settled(store, limit, 0, actor, atOnce)
  return atOnce ? answer : yielding(answer)
}

/** Replaces the costs that a call was charged by the actual ones. */
export function settled(store: Store, info: unknown, actualCost: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  return settledInfo(store, info, actualCost, given)
}

/** Explains how a call would be answered. */
export function explained(
  store: Store,
  limit: unknown,
  actor: unknown,
  given: unknown,
  atOnce: boolean,
): Answer<CallExplanation> {
  neverWaits(store, atOnce)
  const asked = partsOf(limit, actor, given, { takes: ON_CALL, atOnce })
  return after(asked, ({ parts, asked }) => explainedCall(store, parts, asked))
}

/** Takes over what an upstream server said of its own limit. */
export function observed(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  const asked = partsOf(limit, actor, given, { takes: ON_OBSERVE, atOnce })
  const answer = after(asked, ({ parts, asked }) => {
    const { remaining } = asked
    if (remaining !== undefined && !(remaining >= 0)) {
      throw outOfRange(parts[0]?.limit.key ?? '', 'remaining', 'must be at least 0', remaining)
    }
    return decideSeveral(store, Call.Observe, parts, asked)
  })
  return atOnce ? answer : yielding(answer)
}

/** Removes the entries of an actor. */
export function reset(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Answer<void> {
  neverWaits(store, atOnce)
  return after(partsOf(limit, actor, given, { takes: ON_RESET, atOnce }), ({ parts }) => resetSeveral(store, parts))
}

/** Waits for a turn; at once, it reserves one at an instant of the caller's choosing. */
export function acquired(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  return after(partsOf(limit, actor, given, { takes: ON_ACQUIRE, atOnce }), ({ parts, asked }) => {
    if (!atOnce) return acquiredLater(store, parts, asked)
    if (asked.now === undefined && store.clock === undefined) {
      throw wrongType(parts[0]?.limit.key ?? '', 'now', 'must be given, for nothing can be waited for here', undefined)
    }
    return decideSeveral(store, Call.Acquire, parts, asked)
  })
}
