import { errorOf } from '../errors.js'
import { type Compiled, compiled } from '../limits/definition-cache.js'
import {
  AnswerAt,
  answersOfTwo,
  bufferOf,
  Call,
  CHECK_WIDTH,
  CheckAt,
  FAST_WIDTH,
  In,
  MOST_CHECKS,
  Out,
} from '../native/buffer.js'
import { type Failure, native, type Spent } from '../native/native.js'
import { infoFrom, LimitInfo, type Part, type Receipt, type Store } from '../results/info.js'
import type { Later } from '../time/later.js'
import { DEFAULTS, type Read } from './call-options.js'
import { expect, numbered, release } from './queue.js'
import { wakeRung } from './waiting.js'

/** The instant of a decision, and the numbers of its call. */
export type When = Pick<Read, 'now' | 'maxWaitMs' | 'atLeast' | 'remaining' | 'retryAfterMs' | 'forMs'>

const { callBuffer: buffer, fastBuffer: fast, limit: charge, decideFew: chargeFew } = native

/** True if a call charges what it admits. */
const charges = (call: number): boolean => call === Call.Limit || call === Call.Charge || call === Call.Acquire

/** An answer, or the promise of one where a shared store has to be asked. */
export type Answer = Later<LimitInfo>

/**
 * Charges one unit now, in memory: nearly every call. It is small enough for the compiler to put it, with the making of
 * the answer, where it is called.
 */
export function limitOne(store: Store, limit: Compiled, actor: unknown): LimitInfo {
  buffer[In.Limiter] = store.handle
  buffer[In.Checks] = limit.handle
  const failure = charge(actor)
  if (failure !== undefined || buffer[Out.Count] !== 0)
    return otherwise(failure, store, Call.Limit, limit, actor, DEFAULTS)
  const at = buffer[Out.Answers + AnswerAt.At] as number
  return new LimitInfo(fast, 0, at, limit.key, 0, true, store, DEFAULTS, limit, actor)
}

/**
 * {@link limitOne} of a few limits together, for one actor; nothing where one of them is neither checked nor an object.
 */
export function limitFew(store: Store, limits: readonly unknown[], actor: unknown): LimitInfo | undefined {
  const count = limits.length
  if (count < 2 || count > MOST_CHECKS) return undefined
  const few = new Array<Compiled>(count)
  for (let index = 0; index < count; index++) {
    const one = limits[index]
    if (typeof one !== 'object') return undefined
    few[index] = compiled(one)
  }
  // A getter of a definition may make a call of its own, so nothing is written before all are read.
  for (let index = 0; index < count; index++) {
    const at = In.Checks + index * CHECK_WIDTH
    buffer[at] = (few[index] as Compiled).handle
    buffer[at + CheckAt.Cost] = 1
    buffer[at + CheckAt.Factor] = 1
  }
  buffer[In.Limiter] = store.handle
  buffer[In.Call] = Call.Limit
  buffer[In.HasNow] = 0
  buffer[In.CheckCount] = count
  const failure = chargeFew(actor)
  if (failure !== undefined) throw errorOf(failure)
  if (buffer[Out.Count] !== 0) {
    const parts = few.map((limit): Part => ({ limit, actor, cost: 1, factor: 1 }))
    return infoFrom(buffer, store, parts, true)
  }
  return infoOfFew(true, store, DEFAULTS, count, few[buffer[Out.Binding] as number] as Compiled, few, actor)
}

/** Decides one check. Everything crosses in the shared call buffer but the actor, which is the cheapest there is. */
export function decideOne(store: Store, call: number, limit: Compiled, actor: unknown, options: Read): Answer {
  if (call === Call.Limit && options === DEFAULTS && store.plain) return limitOne(store, limit, actor)
  if (options.atLeast !== undefined) {
    return decideSeveral(store, call, [{ limit, actor, cost: options.cost, factor: options.factor }], options)
  }
  writeCall(buffer, store, call, options)
  buffer[In.Checks] = limit.handle
  buffer[In.Checks + CheckAt.Cost] = options.cost
  buffer[In.Checks + CheckAt.Factor] = options.factor
  if (store.shared) return askOne(store, call, limit, actor, options)
  const failure = native.decide(actor)
  if (failure !== undefined || buffer[Out.Count] !== 0) return otherwise(failure, store, call, limit, actor, options)
  const at = buffer[Out.Answers + AnswerAt.At] as number
  return new LimitInfo(fast, 0, at, limit.key, 0, charges(call), store, options, limit, actor)
}

/** An answer that is not in the fast buffer. */
function otherwise(
  failure: Failure | undefined,
  store: Store,
  call: number,
  limit: Compiled,
  actor: unknown,
  options: Read,
): LimitInfo {
  if (failure !== undefined) throw errorOf(failure)
  return infoOne(buffer, 0, store, call, limit, actor, options)
}

/** Sends the check in the call buffer to a shared store. */
function askOne(store: Store, call: number, limit: Compiled, actor: unknown, options: Read): Answer {
  const number = numbered(buffer)
  const failure = native.ask(actor)
  const read = (buffer: Float64Array, at: number) => infoOne(buffer, at, store, call, limit, actor, options)
  if (failure === undefined && isPending(buffer)) return expect(number, read)
  release(number)
  if (failure !== undefined) throw errorOf(failure)
  return read(buffer, 0)
}

/** The answer of one check, from `start` on; a limit that is made of two rules has more numbers than one. */
function infoOne(
  buffer: Float64Array,
  start: number,
  store: Store,
  call: number,
  limit: Compiled,
  actor: unknown,
  options: Read,
): LimitInfo {
  if (buffer[start + Out.Count] === 1) {
    const from = start + Out.Answers
    const at = buffer[from + AnswerAt.At] as number
    return new LimitInfo(buffer, from, at, limit.key, 0, charges(call), store, options, limit, actor)
  }
  return infoFrom(buffer, store, [{ limit, actor, cost: options.cost, factor: options.factor }], charges(call), start)
}

/** True if the answer to the call in this buffer is still to come. */
const isPending = (buffer: Float64Array): boolean => (buffer[Out.Count] as number) < 0

/** Decides several checks together, all or nothing. */
export function decideSeveral(store: Store, call: number, parts: readonly Part[], when: When): Answer {
  const { atLeast } = when
  if (atLeast !== undefined) {
    const taking = parts.map((part): Part => ({ ...part, atLeast }))
    return asked(bufferFor(store, call, taking, when), store, taking, charges(call))
  }
  const few = !store.shared && parts.length > 1 && parts.length <= MOST_CHECKS
  // Those that are not enforced never cross in the shared call buffer.
  if (few && !parts.some(({ observed }) => observed)) return decideFew(store, call, parts, when)
  return asked(bufferFor(store, call, parts, when), store, parts, charges(call))
}

/** Decides a few checks together. Like one, they cross in the shared call buffer. */
function decideFew(store: Store, call: number, parts: readonly Part[], when: When): LimitInfo {
  writeCall(buffer, store, call, when)
  writeParts(buffer, parts)
  buffer[In.CheckCount] = parts.length
  const failure = charged(parts)
  if (failure !== undefined) throw errorOf(failure)
  if (buffer[Out.Count] !== 0) return infoFrom(buffer, store, parts, charges(call))
  const { limit, actor } = parts[buffer[Out.Binding] as number] as Part
  return infoOfFew(charges(call), store, parts, parts.length, limit, undefined, actor)
}

/** The answer to a call of a few checks, in the fast buffer; `asked` are its checks, or the options of all of them. */
function infoOfFew(
  charges: boolean,
  store: Store,
  asked: Read | readonly Part[],
  count: number,
  decided: Compiled,
  few: readonly Compiled[] | undefined,
  actor: unknown,
): LimitInfo {
  // The answer of each check is seldom read, so it is made when it is.
  const several = count === 2 ? answersOfTwo(fast) : []
  for (let index = several.length; index < count * FAST_WIDTH; index++) several.push(fast[FAST_WIDTH + index] as number)
  const at = buffer[Out.Answers + AnswerAt.At] as number
  const binding = buffer[Out.Binding] as number
  return new LimitInfo(fast, 0, at, decided.key, binding, charges, store, asked, few, actor, several)
}

/** Decides the checks in the call buffer; an actor of all is passed once. */
function charged(parts: readonly Part[]): Failure | undefined {
  const { actor } = parts[0] as Part
  const { actor: next } = parts[1] as Part
  // Spread out, they would be passed three times as slowly.
  if (parts.length === 2) return actor === next ? chargeFew(actor) : chargeFew(actor, next)
  if (parts.every((part) => part.actor === actor)) return chargeFew(actor)
  return chargeFew(...actorsOf(parts))
}

/** Replaces the charges of a decision by the actual costs, if its receipt is open; else it only peeks. */
export function settleSeveral(
  { store, parts, chargedAt }: Receipt,
  { blocked, degraded, granted }: LimitInfo,
  open: boolean,
  spent: Spent,
  when: When,
  call: Call.Refund | Call.Renew = Call.Refund,
): Answer {
  const flags = (blocked ? 1 : 0) + (degraded ? 2 : 0) + (open ? 4 : 0)
  if (call === Call.Refund && spent === 0 && parts.length === 1 && !store.shared && !parts[0]?.observed) {
    return undoOne(store, parts, chargedAt, blocked, granted, flags, when)
  }
  const charged = parts.map((part) => ({ ...part, cost: unitsOf(part, blocked, granted) }))
  const buffer = bufferFor(store, call, charged, when)
  buffer[In.ChargedAt] = chargedAt
  for (let index = 0; index < parts.length; index++) {
    const at = In.Checks + index * CHECK_WIDTH
    buffer[at + CheckAt.ChargedAt] = parts[index]?.chargedAt ?? chargedAt
    if (parts[index]?.observed && parts[index]?.denied) buffer[at + CheckAt.Observed] = 3
  }
  buffer[In.Receipt] = flags
  // What is charged now is charged at the instant of this answer.
  const now = call === Call.Renew ? parts.map(({ chargedAt: _, ...part }): Part => part) : parts
  return answer(buffer, store, parts, (buffer, at) => infoFrom(buffer, store, now, false, at), spent)
}

/** The units that a check of a call asked for in the end: where it left them open, a denial is one of the least. */
function unitsOf({ cost, atLeast }: Part, blocked: boolean, granted: number): number {
  if (atLeast === undefined) return cost
  return blocked ? atLeast : granted
}

/** Gives back all that one check was charged, in memory; like a decision of one, it crosses in the shared call buffer. */
function undoOne(
  store: Store,
  parts: readonly Part[],
  chargedAt: number,
  blocked: boolean,
  granted: number,
  flags: number,
  when: When,
): LimitInfo {
  const part = parts[0] as Part
  const { limit, actor, factor, chargedAt: own = chargedAt } = part
  writeCall(buffer, store, Call.Undo, when)
  buffer[In.ChargedAt] = chargedAt
  buffer[In.Receipt] = flags
  buffer[In.Checks] = limit.handle
  buffer[In.Checks + CheckAt.Cost] = unitsOf(part, blocked, granted)
  buffer[In.Checks + CheckAt.Factor] = factor
  buffer[In.Checks + CheckAt.ChargedAt] = own
  // An earlier answer may have been written here.
  buffer[In.Checks + CheckAt.Observed] = 0
  const failure = native.decide(actor)
  if (failure !== undefined) throw errorOf(failure)
  wakeRung()
  if (buffer[Out.Count] !== 0) return infoFrom(buffer, store, parts, false)
  const at = buffer[Out.Answers + AnswerAt.At] as number
  return new LimitInfo(fast, 0, at, limit.key, 0, false, store, parts, undefined, actor)
}

/** Removes the entries of several checks, all at once. */
export function resetSeveral(store: Store, parts: readonly Part[]): Later<void> {
  const buffer = bufferFor(store, Call.Reset, parts, DEFAULTS)
  return answer(buffer, store, parts, () => {})
}

/** The call buffer of a decision of several checks, written and still to be asked. */
export function bufferFor(store: Store, call: number, parts: readonly Part[], when: When): Float64Array {
  const buffer = bufferOf(parts.length)
  writeCall(buffer, store, call, when)
  writeParts(buffer, parts)
  for (let index = 0; index < parts.length; index++) {
    if (parts[index]?.observed) buffer[In.Checks + index * CHECK_WIDTH + CheckAt.Observed] = 1
  }
  return buffer
}

function writeParts(buffer: Float64Array, parts: readonly Part[]): void {
  for (let index = 0; index < parts.length; index++) {
    const { limit, cost, factor } = parts[index] as Part
    const at = In.Checks + index * CHECK_WIDTH
    buffer[at] = limit.handle
    buffer[at + 1] = cost
    buffer[at + 2] = factor
  }
}

/** The actors of several checks, as they go beside their call buffer. */
export const actorsOf = (parts: readonly Part[]): unknown[] => parts.map((part) => part.actor)

/** The answer to what is in the call buffer. */
function asked(buffer: Float64Array, store: Store, parts: readonly Part[], charges: boolean): Answer {
  return answer(buffer, store, parts, (buffer, at) => infoFrom(buffer, store, parts, charges, at))
}

/** The answer that `read` makes of the numbers that answer what is in the call buffer. */
function answer<T>(
  buffer: Float64Array,
  store: Store,
  parts: readonly Part[],
  read: (buffer: Float64Array, at: number) => T,
  spent?: Spent,
): Later<T> {
  if (store.shared) return askedLater((buffer, actors) => native.askSeveral(buffer, actors, spent), buffer, parts, read)
  const failure = native.decideSeveral(buffer, actorsOf(parts), spent)
  if (failure) throw errorOf(failure)
  wakeRung()
  return read(buffer, 0)
}

/** The same of a shared store, through one of the engine's ways to ask it. */
export function askedLater<T>(
  ask: typeof native.askSeveral,
  buffer: Float64Array,
  parts: readonly Part[],
  read: (buffer: Float64Array, at: number, text: string) => T,
): Later<T> {
  const number = numbered(buffer)
  const failure = ask(buffer, actorsOf(parts))
  if (!failure && isPending(buffer)) return expect(number, read)
  release(number)
  if (failure) throw errorOf(failure)
  return read(buffer, 0, '')
}

function writeCall(buffer: Float64Array, store: Store, call: number, when: When): void {
  const number = when.maxWaitMs ?? when.atLeast ?? when.retryAfterMs ?? when.forMs
  const now = when.now ?? store.clock?.()
  buffer[In.Limiter] = store.handle
  buffer[In.Call] = call
  buffer[In.HasNow] = now === undefined ? 0 : 1
  if (now !== undefined) buffer[In.Now] = now
  buffer[In.HasMaxWait] = number === undefined ? 0 : 1
  if (number !== undefined) buffer[In.MaxWait] = number
  if (call === Call.Observe) buffer[In.Remaining] = when.remaining ?? -1
}
