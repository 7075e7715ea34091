/* The decision of a request whose limits are tried, too: the engine says what it asks, and what the answer means. */

import { answered } from '../errors.js'
import { columnsOf } from '../http/gate.js'
import { type Check, OBSERVED, type ObservableCheck } from '../limiter/parts.js'
import type { Limit } from '../limits/definition-cache.js'
import { type NativePlan, native } from '../native/native.js'
import { LimitInfo } from '../results/info.js'
import type { ReadyRule } from './rules.js'

/** The roles of checks, as the engine counts them. */
const [ENFORCED, SHADOW, CANDIDATE] = [0, 1, 2]

/** A decision before it is made. */
export interface Plan {
  readonly native: NativePlan
  /** The checks to decide, each once. */
  readonly checks: readonly Check[]
  /** The milliseconds after which units that this answer holds are free again unless they are renewed, if it holds any. */
  leaseMs(info: LimitInfo): number | undefined
}

/** The plan of these rules, each with its check. */
export function planOf(rules: readonly ReadyRule<never>[], checks: readonly Check[]): Plan {
  const asked: Check[] = []
  const places: number[] = []
  const roles: number[] = []
  const ask = (check: Check, place: number, role: number): void => {
    asked.push(check)
    places.push(place)
    roles.push(role)
  }
  rules.forEach(({ shadow, candidate }, place) => {
    const check = checks[place] as Check
    ask(check, place, shadow ? SHADOW : ENFORCED)
    if (candidate !== undefined && !shadow) ask({ ...check, limit: candidate as Limit }, place, CANDIDATE)
  })
  const plan = answered(native.makePlan(...columnsOf(asked), places, roles))
  const planned = plan.planned()
  const kept: ObservableCheck[] = []
  for (let at = 0; at < planned.length; at += 3) {
    const check = { ...(asked[planned[at] as number] as Check), cost: planned[at + 1] as number }
    kept.push(planned[at + 2] === 1 ? { ...check, [OBSERVED]: true } : check)
  }
  const leaseMs = (info: LimitInfo): number | undefined =>
    plan.lease(info.blocked, LimitInfo.denials(info)) ?? undefined
  return { native: plan, checks: kept, leaseMs }
}
