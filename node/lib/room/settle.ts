import type { LimitInfo } from '../info.js'
import { isPromise } from './later.js'
import type { Room } from './room.js'
import type { Later } from './rules.js'

/** Gives a charge back where the outcome says so. An outcome that cannot be told leaves the charge, with a warning. */
export function settle<Request>(room: Room<Request>, info: LimitInfo, chargeIf: () => Later<boolean>): void {
  const decided = (charge: boolean): void => {
    if (!charge) room.giveBack(info)
  }
  const failed = (error: unknown): void => process.emitWarning(error instanceof Error ? error : String(error))
  try {
    const charge = chargeIf()
    if (isPromise(charge)) charge.then(decided).catch(failed)
    else decided(charge)
  } catch (error) {
    failed(error)
  }
}
