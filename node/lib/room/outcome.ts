import { outOfRange, wrongType } from '../errors.js'
import type { LimitInfo } from '../results/info.js'
import { isPromise, type Later } from '../time/later.js'
import type { Room } from './room.js'

/** Ends a decision as the outcome says. If that cannot be determined, the charge stays, with a warning. */
export function settle<Request>(room: Room<Request>, info: LimitInfo, charges: () => Later<boolean>): void {
  const decided = (charge: boolean): void => room.end(info, charge)
  const failed = (error: unknown): void => {
    room.end(info, true)
    process.emitWarning(error instanceof Error ? error : String(error))
  }
  try {
    const charge = charges()
    if (isPromise(charge)) Promise.resolve(charge).then(decided).catch(failed)
    else decided(charge)
  } catch (error) {
    failed(error)
  }
}

/** The outcomes that stay charged: statuses, or a function of what a framework passes with the response. */
export type ChargeOn<Outcome extends readonly unknown[]> = readonly number[] | ((...outcome: Outcome) => Later<boolean>)

/** The outcomes that stay charged as a function; nothing where all of them do. */
export function chargeOption<Outcome extends readonly unknown[]>(
  options: Readonly<Record<string, unknown>>,
  statusOf: (...outcome: Outcome) => number,
): ((...outcome: Outcome) => Later<boolean>) | undefined {
  const given = options.chargeOn
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
