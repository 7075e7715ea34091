import { outOfRange, wrongType } from '../errors.js'
import type { Later } from '../time/later.js'

/** The outcomes that stay charged: statuses, or a function of what a framework passes with the response. */
export type ChargeOn<Outcome extends readonly unknown[]> = readonly number[] | ((...outcome: Outcome) => Later<boolean>)

/** What a framework passes of a request's outcome. */
export type Outcome = readonly never[]

/** The outcomes that stay charged as a function; nothing where all of them do. */
export function chargeOption(
  given: unknown,
  statusOf: (...outcome: Outcome) => number,
): ((...outcome: Outcome) => Later<boolean>) | undefined {
  if (given === undefined) return undefined
  if (typeof given === 'function') return given as (...outcome: Outcome) => Later<boolean>
  if (!Array.isArray(given)) throw wrongType('', 'chargeOn', 'must be a list of statuses or a function', given)
  for (const status of given) {
    if (!(Number.isInteger(status) && status >= 100 && status < 600)) {
      throw outOfRange('', 'chargeOn', 'must be statuses from 100 to 599', status)
    }
  }
  const statuses: ReadonlySet<number> = new Set(given)
  return (...outcome) => statuses.has(statusOf(...outcome))
}
