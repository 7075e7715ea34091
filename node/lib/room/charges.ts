/* The fate of charges: each room that has limits in a decision says for which outcomes its own stay charged. */

import type { NativePlan } from '../native/native.js'
import type { LimitInfo } from '../results/info.js'
import { after, all, attempt, type Later } from '../time/later.js'
import type { Charging, Rules } from './rules.js'

/** The decisions in which rooms judge differently, each with its plan and what judges the charge of each rule. */
const judged = new WeakMap<
  LimitInfo,
  { readonly plan: NativePlan; readonly judges: readonly (Charging | undefined)[] }
>()

/** True if rules of rooms that judge differently are among these. */
export const areJudged = (rules: Rules<never>): boolean => rules.some(({ chargeOn }) => chargeOn !== rules[0]?.chargeOn)

/** Notes what judges each charge of a decision, where that is not the same for all of them. */
export function noteJudges(info: LimitInfo, plan: NativePlan, rules: Rules<never>): void {
  if (areJudged(rules)) judged.set(info, { plan, judges: rules.map(({ chargeOn }) => chargeOn) })
}

/** True if all of a decision stays charged after this outcome, and false if nothing does; otherwise the costs of its checks. */
export function chargedOf(
  info: LimitInfo,
  chargeOn: Charging | undefined,
  outcome: readonly unknown[],
): Later<boolean | readonly number[]> {
  const asked = judged.get(info)
  if (asked === undefined) return isCharged(chargeOn, outcome)
  const judges = [...new Set(asked.judges)]
  return after(
    all(judges, (judge) => isCharged(judge, outcome)),
    (verdicts) => {
      if (new Set(verdicts).size === 1) return verdicts[0] as boolean
      return asked.plan.costs(asked.judges.map((judge) => verdicts[judges.indexOf(judge)] as boolean))
    },
  )
}

/** The verdict on an outcome. If it cannot be determined, the charge stays, with a warning. */
function isCharged(chargeOn: Charging | undefined, outcome: readonly unknown[]): Later<boolean> {
  const failed = (error: unknown): boolean => {
    process.emitWarning(error instanceof Error ? error : String(error))
    return true
  }
  return attempt(() => chargeOn === undefined || chargeOn(...(outcome as never[])), failed, Boolean)
}
