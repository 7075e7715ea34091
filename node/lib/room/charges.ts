/* The fate of charges: each room that has limits in a decision says for which outcomes its own stay charged. */

import type { Check } from '../limiter/parts.js'
import { compiled } from '../limits/definition-cache.js'
import { LimitInfo } from '../results/info.js'
import { after, all, attempt, type Later } from '../time/later.js'
import type { Charging } from './options.js'
import type { Rules } from './rules.js'

/** A check that a room asked for, and what judges its charge. */
interface Judged {
  readonly chargeOn: Charging | undefined
  readonly key: string
  readonly actor: string
  readonly cost: number
}

/** The checks of decisions in which rooms judge differently. */
const judged = new WeakMap<LimitInfo, readonly Judged[]>()

/** Notes what judges each charge of a decision, where that is not the same for all of them. */
export function noteJudges(info: LimitInfo, rules: Rules<never>, checks: readonly Check[]): void {
  const each = rules.flatMap(({ chargeOn, candidate }, place) => {
    const { limit, actor, cost } = checks[place] as Check
    const keys = [compiled(limit).key, ...(candidate === undefined ? [] : [candidate.key])]
    return keys.map((key): Judged => ({ chargeOn, key, actor, cost: cost as number }))
  })
  judged.set(info, each)
}

/** True if rules of rooms that judge differently are among these. */
export const areJudged = (rules: Rules<never>): boolean => rules.some(({ chargeOn }) => chargeOn !== rules[0]?.chargeOn)

/**
 * True if all of a decision stays charged after this outcome, and false if nothing does; otherwise the costs of its checks.
 * What several rooms asked for is charged once, and stays so if one of them says it.
 */
export function chargedOf(
  info: LimitInfo,
  chargeOn: Charging | undefined,
  outcome: readonly unknown[],
): Later<boolean | readonly number[]> {
  const asked = judged.get(info)
  if (asked === undefined) return isCharged(chargeOn, outcome)
  const judges = [...new Set(asked.map(({ chargeOn }) => chargeOn))]
  return after(
    all(judges, (judge) => isCharged(judge, outcome)),
    (verdicts) => {
      const kept = asked.filter(({ chargeOn }) => verdicts[judges.indexOf(chargeOn)])
      if (kept.length === 0 || kept.length === asked.length) return kept.length > 0
      const parts = LimitInfo.receipt(info)?.parts ?? []
      return parts.map(({ limit, actor, cost }) => {
        const same = kept.filter((one) => one.key === limit.key && one.actor === actor)
        return Math.min(cost, Math.max(0, ...same.map(({ cost }) => cost)))
      })
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
