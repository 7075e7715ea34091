import { type Compiled, chosen } from './compiled.js'
import type { Choice, Definition } from './definitions.js'
import { errorOf, read, wrongType } from './errors.js'
import { Answer as Answers, Call, CHECK_WIDTH, frameOf, In, Out, Small } from './frame.js'
import { infoFrom, LimitInfo, type Part, type Receipt, type Store } from './info.js'
import { expect, numbered, release } from './mailbox.js'
import { type Failure, native, type Spent } from './native.js'
import { DEFAULTS, ON_CHECK, optionsFrom, type Read } from './options.js'

/** A limit and who is being limited, with what the call costs: one part of a decision of several. */
export interface Check<C = unknown> {
  /** A definition, checked or in the wire form, or a function of a context. */
  readonly limit: Definition | Choice<C>
  /** Who is being limited: a user id, an address, an API key. */
  readonly actor: string
  /** How many units the call takes: a whole number of at least 0. @defaultValue 1 */
  readonly cost?: number | undefined
  /** Scales the limit for this actor: 0.5 = twice the allowance, 2 = half, 0 = no limit. @defaultValue 1 */
  readonly factor?: number | undefined
}

/** When a decision takes place, and how long it may wait. */
export type When = Pick<Read, 'now' | 'maxWaitMs'>

const { frame, small, limit: charge } = native

/** Whether a call charges what it admits. */
const charges = (call: number): boolean => call === Call.Limit || call === Call.Charge || call === Call.Acquire

/** An answer, or the promise of one where a store that others share has to be asked. */
export type Answer<T = LimitInfo> = T | Promise<T>

/**
 * Charges one unit now, as nearly every call does, in a store that nobody shares. It is small enough for the compiler to
 * put it, with the making of the answer, where it is called.
 */
export function limitOne(store: Store, limit: Compiled, actor: unknown): LimitInfo {
  small[Small.Limiter] = store.handle
  small[Small.Limit] = limit.handle
  const failure = charge(actor)
  if (failure !== undefined || frame[Out.Count] !== 0)
    return otherwise(failure, store, Call.Limit, limit, actor, DEFAULTS)
  const at = frame[Out.Answers + Answers.At] as number
  return new LimitInfo(small, 0, at, limit.key, 0, true, store, DEFAULTS, limit, actor)
}

/** Decides one check. Everything crosses in the shared frame but the actor, which is the cheapest there is. */
export function decideOne(store: Store, call: number, limit: Compiled, actor: unknown, options: Read): Answer {
  if (call === Call.Limit && options === DEFAULTS && !store.shared) return limitOne(store, limit, actor)
  writeCall(frame, store, call, options)
  frame[In.Checks] = limit.handle
  frame[In.Checks + 1] = options.cost
  frame[In.Checks + 2] = options.factor
  if (store.shared) return askOne(store, call, limit, actor, options)
  const failure = native.decide(actor)
  if (failure !== undefined || frame[Out.Count] !== 0) return otherwise(failure, store, call, limit, actor, options)
  const at = frame[Out.Answers + Answers.At] as number
  return new LimitInfo(small, 0, at, limit.key, 0, charges(call), store, options, limit, actor)
}

/** What is not answered in small numbers. */
function otherwise(
  failure: Failure | undefined,
  store: Store,
  call: number,
  limit: Compiled,
  actor: unknown,
  options: Read,
): LimitInfo {
  if (failure !== undefined) throw errorOf(failure)
  return infoOne(frame, 0, store, call, limit, actor, options)
}

/** Asks a store that others share for the check that is in the frame. */
function askOne(store: Store, call: number, limit: Compiled, actor: unknown, options: Read): Answer {
  const number = numbered(frame)
  const failure = native.ask(actor)
  const read = (frame: Float64Array, at: number) => infoOne(frame, at, store, call, limit, actor, options)
  if (failure === undefined && isPending(frame)) return expect(number, read)
  release(number)
  if (failure !== undefined) throw errorOf(failure)
  return read(frame, 0)
}

/** The answer of one check, from `start` on; a limit that is made of two rules has more numbers than one. */
function infoOne(
  frame: Float64Array,
  start: number,
  store: Store,
  call: number,
  limit: Compiled,
  actor: unknown,
  options: Read,
): LimitInfo {
  if (frame[start + Out.Count] === 1) {
    const from = start + Out.Answers
    const at = frame[from + Answers.At] as number
    return new LimitInfo(frame, from, at, limit.key, 0, charges(call), store, options, limit, actor)
  }
  return infoFrom(frame, store, [{ limit, actor, cost: options.cost, factor: options.factor }], charges(call), start)
}

/** Whether the answer to what was asked in this frame is yet to come. */
const isPending = (frame: Float64Array): boolean => (frame[Out.Count] as number) < 0

/** Decides several checks together, all or nothing. */
export function decideSeveral(store: Store, call: number, parts: readonly Part[], when: When): Answer {
  return asked(frameFor(store, call, parts, when), store, parts, charges(call))
}

/** Makes of what a decision charged what was spent, if its receipt is open; else it only says how things stand. */
export function settleSeveral(
  { store, parts, chargedAt }: Receipt,
  { blocked, degraded }: LimitInfo,
  open: boolean,
  spent: Spent,
  when: When,
): Answer {
  const frame = frameFor(store, Call.Refund, parts, when)
  frame[In.ChargedAt] = chargedAt
  frame[In.Receipt] = (blocked ? 1 : 0) + (degraded ? 2 : 0) + (open ? 4 : 0)
  return answer(frame, store, parts, (frame, at) => infoFrom(frame, store, parts, false, at), spent)
}

/** Removes what was charged to several checks, all at once. */
export function resetSeveral(store: Store, parts: readonly Part[]): Answer<void> {
  const frame = frameFor(store, Call.Reset, parts, { now: undefined, maxWaitMs: undefined })
  return answer(frame, store, parts, () => {})
}

/** The frame of a decision of several checks, written and still to be asked. */
export function frameFor(store: Store, call: number, parts: readonly Part[], when: When): Float64Array {
  const frame = frameOf(parts.length)
  writeCall(frame, store, call, when)
  parts.forEach(({ limit, cost, factor }, index) => {
    const at = In.Checks + index * CHECK_WIDTH
    frame[at] = limit.handle
    frame[at + 1] = cost
    frame[at + 2] = factor
  })
  return frame
}

/** The actors of several checks, as they go beside their frame. */
export const actorsOf = (parts: readonly Part[]): unknown[] => parts.map((part) => part.actor)

/** The answer to what is in the frame. */
function asked(frame: Float64Array, store: Store, parts: readonly Part[], charges: boolean): Answer {
  return answer(frame, store, parts, (frame, at) => infoFrom(frame, store, parts, charges, at))
}

/** What `read` makes of the numbers that answer what is in the frame. */
function answer<T>(
  frame: Float64Array,
  store: Store,
  parts: readonly Part[],
  read: (frame: Float64Array, at: number) => T,
  spent?: Spent,
): Answer<T> {
  if (store.shared) return askedLater((frame, actors) => native.askSeveral(frame, actors, spent), frame, parts, read)
  const failure = native.decideSeveral(frame, actorsOf(parts), spent)
  if (failure) throw errorOf(failure)
  return read(frame, 0)
}

/** The same of a store that others share, through one of the engine's ways to ask it. */
export function askedLater<T>(
  ask: typeof native.askSeveral,
  frame: Float64Array,
  parts: readonly Part[],
  read: (frame: Float64Array, at: number, text: string) => T,
): Answer<T> {
  const number = numbered(frame)
  const failure = ask(frame, actorsOf(parts))
  if (!failure && isPending(frame)) return expect(number, read)
  release(number)
  if (failure) throw errorOf(failure)
  return read(frame, 0, '')
}

function writeCall(frame: Float64Array, store: Store, call: number, { now, maxWaitMs }: When): void {
  frame[In.Limiter] = store.handle
  frame[In.Call] = call
  frame[In.HasNow] = now === undefined ? 0 : 1
  if (now !== undefined) frame[In.Now] = now
  frame[In.HasMaxWait] = maxWaitMs === undefined ? 0 : 1
  if (maxWaitMs !== undefined) frame[In.MaxWait] = maxWaitMs
}

/** The checks of a `limitAll`, each property read once; a limit may turn out to be several. */
export function partsFrom(checks: unknown, context: () => unknown): Part[] {
  if (!Array.isArray(checks)) throw wrongType('', 'checks', 'must be an array', checks)
  return Array.from(checks).flatMap((check: unknown) => {
    if (typeof check !== 'object' || check === null) throw wrongType('', 'check', 'must be an object', check)
    const limits = chosen(read(check, 'limit', ''), context)
    const key = limits[0]?.key ?? ''
    const { cost, factor } = optionsFrom(check, ON_CHECK, key, ['limit', 'actor'])
    const actor = read(check, 'actor', key)
    return limits.map((limit) => ({ limit, actor, cost, factor }))
  })
}
