/* Decisions that the engine's plan gives a meaning: of limits that are tried, and of units that requests hold. */

import { answered } from '../errors.js'
import { columnsOf } from '../http/gate.js'
import { Hold } from '../limiter/hold.js'
import type { Limiter } from '../limiter/limiter.js'
import { type Check, OBSERVED, type ObservableCheck } from '../limiter/parts.js'
import { type NativePlan, native } from '../native/native.js'
import { LimitInfo } from '../results/info.js'
import { elapsed } from '../time/timers.js'
import type { ReadyRule } from './rules.js'

/** The roles of checks, as the engine counts them. */
const [ENFORCED, SHADOW, CANDIDATE] = [0, 1, 2]

/** A decision before it is made. */
export interface Plan {
  readonly native: NativePlan
  /** The checks to decide, each once. */
  readonly checks: readonly Check[]
}

/** The plan of these rules, each with its check. */
export function planOf(
  rules: readonly Pick<ReadyRule<never>, 'shadow' | 'candidate'>[],
  checks: readonly Check[],
): Plan {
  const asked = rules.flatMap(({ shadow, candidate }, place) => {
    const check = checks[place] as Check
    const live = { check, place, role: shadow ? SHADOW : ENFORCED }
    if (candidate === undefined || shadow) return [live]
    return [live, { check: { ...check, limit: candidate }, place, role: CANDIDATE }]
  })
  const columns = columnsOf(asked.map(({ check }) => check))
  const roles = asked.map(({ role }) => role)
  const plan = answered(
    native.makePlan(
      ...columns,
      asked.map(({ place }) => place),
      roles,
    ),
  )
  const planned = plan.planned()
  const kept: ObservableCheck[] = []
  for (let at = 0; at < planned.length; at += 3) {
    const check = { ...(asked[planned[at] as number]?.check as Check), cost: planned[at + 1] as number }
    kept.push(planned[at + 2] === 1 ? { ...check, [OBSERVED]: true } : check)
  }
  return { native: plan, checks: kept }
}

/** The decisions that hold units. Where the store cannot release, their lease does, and events tell of it. */
const holds = new WeakMap<LimitInfo, { readonly hold: Hold; readonly plan: Plan }>()

/** Renews what a decision has taken until it is ended; of a denied request that is given back at once. */
export function beginHold(limiter: Limiter, info: LimitInfo, plan: Plan): void {
  const receipt = LimitInfo.receipt(info)
  if (receipt === undefined || !plan.native.lease(info.blocked, LimitInfo.denials(info))) return
  if (info.blocked) limiter.release(info).catch(ignored)
  else holds.set(info, { hold: new Hold(receipt.store, info, elapsed()), plan })
}

/** True if a decision holds units until it is ended. */
export const isHeld = (info: LimitInfo): boolean => holds.has(info)

/** Releases what a decision holds, and gives back all else that it charged where it is not to stay. */
export function endCharge(limiter: Limiter, info: LimitInfo, isCharged: boolean): void {
  const held = holds.get(info)
  if (held === undefined) {
    if (!isCharged) limiter.refund(info).catch(ignored)
    return
  }
  if (!isCharged) held.hold.settle(held.plan.checks.map(() => 0))
  held.hold.release().catch(ignored)
}

const ignored = (): void => {}
