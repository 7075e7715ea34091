/* The calls of a limiter: each reads its arguments and decides, at once or as a promise. */

import { mustWait, outOfRange, wrongType } from '../errors.js'
import { compiled } from '../limits/definition-cache.js'
import { Call } from '../native/buffer.js'
import { LimitInfo, type Store } from '../results/info.js'
import { after, type Later } from '../time/later.js'
import { acquiredLater } from './acquire.js'
import {
  DEFAULTS,
  ON_ACQUIRE,
  ON_BLOCK,
  ON_CALL,
  ON_DECISION,
  ON_LIMIT,
  ON_OBSERVE,
  ON_RESET,
  optionsFrom,
} from './call-options.js'
import { type Answer, decideOne, decideSeveral, limitFew, resetSeveral } from './checks.js'
import { type CallExplanation, explainedCall } from './explain.js'
import { type CallArguments, partsOf, partsOfChecks, plainParts } from './parts.js'
import { isCopy, releasedInfo, renewedInfo, settledInfo } from './settle.js'
import { wakeRung } from './waiting.js'
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
  const options = given === undefined ? DEFAULTS : optionsFrom(given, takes, known.key)
  return decideOne(store, call, known, actor, options)
}

function decidedParts(store: Store, call: number, args: Later<CallArguments>): Answer {
  return after(args, ({ parts, options }) => decideSeveral(store, call, parts, options))
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
  if (!(limit instanceof LimitInfo) && !isCopy(limit)) {
    return after(decided(store, Call.Refund, limit, actor, given, atOnce), (info) => {
      wakeRung()
      return info
    })
  }
  const answer = settled(store, limit, 0, actor, atOnce)
  return atOnce ? answer : yielding(answer)
}

/** Replaces the costs that a call was charged by the actual ones. */
export function settled(store: Store, info: unknown, actualCost: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  return settledInfo(store, info, actualCost, given)
}

/** Gives back what a call holds. */
export function released(store: Store, info: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  return releasedInfo(store, info, given)
}

/** Holds what a call holds for another lease. */
export function renewed(store: Store, info: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  return renewedInfo(store, info, given)
}

/** Explains how a call would be answered. */
export function explained(
  store: Store,
  limit: unknown,
  actor: unknown,
  given: unknown,
  atOnce: boolean,
): Later<CallExplanation> {
  neverWaits(store, atOnce)
  const args = partsOf(limit, actor, given, { takes: ON_CALL, atOnce })
  return after(args, ({ parts, options }) => explainedCall(store, parts, options))
}

/** Takes over what an upstream server said of its own limit. */
export function observed(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  const args = partsOf(limit, actor, given, { takes: ON_OBSERVE, atOnce })
  const answer = after(args, ({ parts, options }) => {
    const { remaining } = options
    if (remaining !== undefined && !(remaining >= 0)) {
      throw outOfRange(parts[0]?.limit.key ?? '', 'remaining', 'must be at least 0', remaining)
    }
    return decideSeveral(store, Call.Observe, parts, options)
  })
  return atOnce ? answer : yielding(answer)
}

/** Denies every call of a limit for a time. */
export function closed(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  const args = partsOf(limit, actor, given, { takes: ON_BLOCK, atOnce })
  const answer = after(args, ({ parts, options }) => {
    if (options.forMs === undefined) throw wrongType(parts[0]?.limit.key ?? '', 'forMs', 'must be given', undefined)
    return decideSeveral(store, Call.Block, parts, options)
  })
  return atOnce ? answer : yielding(answer)
}

/** Removes the entries of an actor. */
export function reset(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Later<void> {
  neverWaits(store, atOnce)
  return after(partsOf(limit, actor, given, { takes: ON_RESET, atOnce }), ({ parts }) => resetSeveral(store, parts))
}

/** Waits for a turn; at once, it reserves one at an instant of the caller's choosing. */
export function acquired(store: Store, limit: unknown, actor: unknown, given: unknown, atOnce: boolean): Answer {
  neverWaits(store, atOnce)
  return after(partsOf(limit, actor, given, { takes: ON_ACQUIRE, atOnce }), ({ parts, options }) => {
    if (!atOnce) return acquiredLater(store, parts, options)
    if (options.now === undefined && store.clock === undefined) {
      throw wrongType(parts[0]?.limit.key ?? '', 'now', 'must be given, for nothing can be waited for here', undefined)
    }
    return decideSeveral(store, Call.Acquire, parts, options)
  })
}
