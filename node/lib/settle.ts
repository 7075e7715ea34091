import { type Answer, decideSeveral, undoSeveral } from './checks.js'
import { errorOf, outOfRange, StoreError, type StoreFailure, wrongType } from './errors.js'
import { Call } from './frame.js'
import { LimitInfo, type Part, type Store } from './info.js'
import { after } from './mailbox.js'
import { native } from './native.js'
import { ON_CORRECTION, optionsFrom } from './options.js'

/** Makes of the costs that a call was charged those that were used, once; afterwards it changes nothing. */
export function settled(store: Store, info: unknown, actualCost: unknown, given: unknown): Answer {
  if (!(info instanceof LimitInfo)) throw wrongType('', 'info', 'must be the answer to a call', info)
  const problem = 'must be the answer that a call of this limiter gave'
  const receipt = LimitInfo.receipt(info)
  if (receipt === undefined) throw outOfRange(info.key, 'info', problem, 'a part of one')
  if (receipt.store !== store) throw outOfRange(info.key, 'info', problem, 'one of another limiter')
  const { parts } = receipt
  const actual = costsFrom(parts, actualCost)
  const asked = optionsFrom(given, ON_CORRECTION, info.key)

  const open = LimitInfo.turn(info, false)
  const spent: number[] = parts.map((part, index) =>
    open && (!info.blocked || part.limit.countsBlocked) ? (actual[index] as number) : part.cost,
  )
  const some = (sign: 1 | -1): boolean => parts.some((part, index) => sign * ((spent[index] as number) - part.cost) > 0)
  const more = (): Part[] =>
    parts.map((part, index) => ({ ...part, cost: Math.max(0, (spent[index] as number) - part.cost) }))
  // Only a charge can be refused; then nothing has been given back yet.
  const charged = () => (some(1) ? decideSeveral(store, Call.Charge, more(), asked) : undefined)
  const undone = (after: LimitInfo | undefined) =>
    after && !some(-1) ? after : undoSeveral(store, parts, spent, receipt, asked)
  const closed = (answer: LimitInfo): LimitInfo => {
    LimitInfo.turn(answer, false)
    return answer
  }
  const failed = (error: unknown): never => {
    // What may have been done already is not done again.
    if (!mayBeDone(error)) LimitInfo.turn(info, open)
    throw error
  }
  try {
    const answer = after(after(charged(), undone), closed)
    return answer instanceof Promise ? answer.catch(failed) : answer
  } catch (error) {
    return failed(error)
  }
}

/** With these, a store may have done what it was asked for before it could say so. */
const UNCERTAIN: readonly StoreFailure[] = ['timeout', 'disconnected', 'unreplicated', 'other']

function mayBeDone(error: unknown): boolean {
  return error instanceof StoreError && UNCERTAIN.includes(error.failure)
}

/** The actual cost of each check: one for all, or a list of them. */
function costsFrom(parts: readonly Part[], actual: unknown): number[] {
  const key = parts[0]?.limit.key ?? ''
  const problem = 'must be a list of one cost for each check where the checks cost differently'
  if (Array.isArray(actual)) {
    if (actual.length !== parts.length) {
      throw outOfRange(key, 'actualCost', problem, `${actual.length} costs for ${parts.length} checks`)
    }
    return Array.from(actual, (cost: unknown, index) => costFrom(parts[index]?.limit.key ?? '', cost))
  }
  const cost = costFrom(key, actual)
  if (cost > 0 && parts.some((part) => part.cost !== parts[0]?.cost))
    throw wrongType(key, 'actualCost', problem, actual)
  return parts.map(() => cost)
}

function costFrom(key: string, cost: unknown): number {
  if (typeof cost !== 'number') throw wrongType(key, 'actualCost', 'must be a number', cost)
  const failure = native.checkCost(key, cost)
  if (failure) throw errorOf(failure)
  return cost
}
