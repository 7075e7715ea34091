import { outOfRange, StoreError, wrongType } from '../errors.js'
import { Call } from '../native/buffer.js'
import type { Spent } from '../native/native.js'
import { LimitInfo, type Part, type Receipt, type Store } from '../results/info.js'
import { after } from '../time/later.js'
import { ON_CORRECTION, optionsFrom } from './call-options.js'
import { type Answer, settleSeveral, type When } from './checks.js'
import { heldOf } from './held.js'

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

/** The answer of a call of this limiter, and its receipt. */
function receiptOf(store: Store, info: unknown): { info: LimitInfo; receipt: Receipt } {
  const problem = 'must be the answer that a call of this limiter gave'
  if (isCopy(info)) throw outOfRange('', 'info', problem, 'a copy of one')
  if (!(info instanceof LimitInfo)) throw wrongType('', 'info', 'must be the answer to a call', info)
  const receipt = LimitInfo.receipt(info)
  if (receipt === undefined) throw outOfRange(info.key, 'info', problem, 'a part of one')
  if (receipt.store !== store) throw outOfRange(info.key, 'info', problem, 'one of another limiter')
  return { info, receipt }
}

/** Replaces the costs that a call was charged by the actual ones, once; afterwards it changes nothing. */
export function settledInfo(store: Store, given: unknown, actualCost: unknown, options: unknown): Answer {
  const { info, receipt } = receiptOf(store, given)
  const key = receipt.parts[0]?.limit.key ?? ''
  const spent: Spent = Array.isArray(actualCost)
    ? Array.from(actualCost, (cost: unknown) => costFrom(key, cost))
    : costFrom(key, actualCost)
  return used(receipt, info, spent, optionsFrom(options, ON_CORRECTION, info.key))
}

/** The part of a receipt that is of units which are held, and the indices of its checks. */
function heldPart(receipt: Receipt): { held: Receipt; indices: readonly number[] } {
  const [, ...indices] = heldOf(receipt.parts)
  if (receipt.parts.length === 1) return { held: receipt, indices }
  return { held: { ...receipt, parts: indices.map((index) => receipt.parts[index] as Part) }, indices }
}

/** Gives back what the call of this answer holds, and nothing else of it. */
export function releasedInfo(store: Store, given: unknown, options: unknown): Answer {
  const { info, receipt } = receiptOf(store, given)
  const { held } = heldPart(receipt)
  return used(held, info, 0, optionsFrom(options, ON_CORRECTION, info.key))
}

/** Holds what the call of this answer holds for another lease. */
export function renewedInfo(store: Store, given: unknown, options: unknown): Answer {
  const { info, receipt } = receiptOf(store, given)
  const { held, indices } = heldPart(receipt)
  const asked = optionsFrom(options, ON_CORRECTION, info.key)
  const open = LimitInfo.isOpen(info)
  return after(settleSeveral(held, info, open, 0, asked, Call.Renew), (renewed) => {
    // Where the store and this process alone decide in turns, nothing was renewed.
    if (!open || renewed.blocked || renewed.degraded !== info.degraded) return renewed
    LimitInfo.open(info, false)
    const { parts, chargedAt } = LimitInfo.receipt(renewed) as Receipt
    const charged = receipt.parts.map((part, index): Part => {
      const place = indices.indexOf(index)
      const { atLeast, ...rest } = part
      const cost = atLeast === undefined ? part.cost : info.granted
      const at = place < 0 ? (part.chargedAt ?? receipt.chargedAt) : (parts[place]?.chargedAt ?? chargedAt)
      return { ...rest, cost, chargedAt: at }
    })
    LimitInfo.renew(renewed, charged)
    return renewed
  })
}

/** Uses a receipt, once. */
function used(receipt: Receipt, info: LimitInfo, spent: Spent, asked: When): Answer {
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
