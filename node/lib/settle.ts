import { type Answer, settleSeveral } from './checks.js'
import { outOfRange, StoreError, wrongType } from './errors.js'
import { LimitInfo, type Store } from './info.js'
import type { Spent } from './native.js'
import { ON_CORRECTION, optionsFrom } from './options.js'

/** Recognizes an answer that went through JSON or `structuredClone`, or is of another copy of this package. */
export function isCopy(info: unknown): boolean {
  if (typeof info !== 'object' || info === null || info instanceof LimitInfo) return false
  try {
    return Object.hasOwn(info, 'blocked')
  } catch {
    // A proxy that throws is reported where its fields are read.
    return false
  }
}

/** Replaces the costs that a call was charged by the actual ones, once; afterwards it changes nothing. */
export function settledInfo(store: Store, info: unknown, actualCost: unknown, given: unknown): Answer {
  const problem = 'must be the answer that a call of this limiter gave'
  if (isCopy(info)) throw outOfRange('', 'info', problem, 'a copy of one')
  if (!(info instanceof LimitInfo)) throw wrongType('', 'info', 'must be the answer to a call', info)
  const receipt = LimitInfo.receipt(info)
  if (receipt === undefined) throw outOfRange(info.key, 'info', problem, 'a part of one')
  if (receipt.store !== store) throw outOfRange(info.key, 'info', problem, 'one of another limiter')
  const key = receipt.parts[0]?.limit.key ?? ''
  const spent: Spent = Array.isArray(actualCost)
    ? Array.from(actualCost, (cost: unknown) => costFrom(key, cost))
    : costFrom(key, actualCost)
  const asked = optionsFrom(given, ON_CORRECTION, info.key)

  const open = LimitInfo.open(info, false)
  const failed = (error: unknown): never => {
    const mayHaveHappened = error instanceof StoreError && error.mayHaveHappened
    if (open && !mayHaveHappened) LimitInfo.open(info, true)
    throw error
  }
  try {
    const answer = settleSeveral(receipt, info, open, spent, asked)
    return answer instanceof Promise ? answer.catch(failed) : answer
  } catch (error) {
    return failed(error)
  }
}

function costFrom(key: string, cost: unknown): number {
  if (typeof cost !== 'number') throw wrongType(key, 'cost', 'must be a number', cost)
  return cost
}
