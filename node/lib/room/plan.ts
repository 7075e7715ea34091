/* Decisions that the engine's plan gives a meaning: of units that requests hold, and of limits that are tried, with their counts. */

import { answered } from '../errors.js'
import { columnsOf } from '../http/gate.js'
import { Hold } from '../limiter/hold.js'
import type { Limiter } from '../limiter/limiter.js'
import { type Check, OBSERVED, type ObservableCheck } from '../limiter/parts.js'
import { type NativePlan, type NativeTrialCounts, native } from '../native/native.js'
import { LimitInfo } from '../results/info.js'
import { elapsed } from '../time/timers.js'
import type { Rules } from './rules.js'

/** The roles of checks, as the engine counts them. */
const [ENFORCED, SHADOW, CANDIDATE] = [0, 1, 2]

/** A decision before it is made. */
interface Plan {
  readonly native: NativePlan
  /** The checks to decide, each once. */
  readonly checks: readonly Check[]
}

/** The plan of these rules, each with its check. */
export function planOf(rules: Rules<never>, checks: readonly Check[]): Plan {
  const asked = rules.flatMap(({ shadow, candidate }, place) => {
    const check = checks[place] as Check
    const live = { check, place, role: shadow ? SHADOW : ENFORCED }
    if (candidate === undefined) return [live]
    return [live, { check: { ...check, limit: candidate }, place, role: CANDIDATE }]
  })
  const columns = columnsOf(asked.map(({ check }) => check))
  const places = asked.map(({ place }) => place)
  const roles = asked.map(({ role }) => role)
  const plan = answered(native.makePlan(...columns, places, roles))
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

/** Releases what a decision holds, and gives back what else it charged but for these costs of its checks; true is all. */
export function endCharge(limiter: Limiter, info: LimitInfo, charged: boolean | readonly number[]): void {
  const held = holds.get(info)
  if (held === undefined) {
    if (charged === false) limiter.refund(info).catch(ignored)
    else if (charged !== true) limiter.settle(info, charged).catch(ignored)
    return
  }
  if (charged !== true) held.hold.settle(charged || held.plan.checks.map(() => 0))
  held.hold.release().catch(ignored)
}

const ignored = (): void => {}

/** Counts of a limit in shadow mode: what it would have done. */
export interface ShadowCounts {
  admitted: number
  denied: number
}

/** Counts of a candidate beside the live limit. */
export interface CandidateCounts {
  /** Both admitted the request. */
  bothAdmitted: number
  /** Both denied it. */
  bothDenied: number
  /** The live limit denied it, and the candidate would have admitted it. */
  onlyLiveDenied: number
  /** The live limit admitted it, and the candidate would have denied it. */
  onlyCandidateDenied: number
}

/** Counts by the keys of limits: those in shadow mode, and the live ones that have a candidate. */
export interface Trials {
  readonly shadow: Readonly<Record<string, Readonly<ShadowCounts>>>
  readonly candidates: Readonly<Record<string, Readonly<CandidateCounts>>>
}

export function trialsOf(counts: NativeTrialCounts): Trials {
  const shadow = counts
    .shadow()
    .map(({ key, counts: [admitted = 0, denied = 0] }) => [key, { admitted, denied }] as const)
  const candidates = counts.candidates().map(({ key, counts: each }) => {
    const [bothAdmitted = 0, bothDenied = 0, onlyLiveDenied = 0, onlyCandidateDenied = 0] = each
    return [key, { bothAdmitted, bothDenied, onlyLiveDenied, onlyCandidateDenied }] as const
  })
  return { shadow: Object.fromEntries(shadow), candidates: Object.fromEntries(candidates) }
}
