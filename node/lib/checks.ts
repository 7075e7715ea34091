import { type Compiled, compiled } from './compiled.js'
import type { Definition } from './definitions.js'
import { errorOf, read, wrongType } from './errors.js'
import { Answer, Call, CHECK_WIDTH, frameOf, In, Out } from './frame.js'
import { infoFrom, LimitInfo } from './info.js'
import { native } from './native.js'
import { ON_CHECK, optionsFrom, type Read } from './options.js'

/** A limit and who is being limited, with what the call costs: one part of a decision of several. */
export interface Check {
  /** A definition, checked or in the wire form. */
  readonly limit: Definition
  /** Who is being limited: a user id, an address, an API key. */
  readonly actor: string
  /** How many units the call takes: a whole number of at least 0. @defaultValue 1 */
  readonly cost?: number | undefined
  /** Scales the limit for this actor: 0.5 = twice the allowance, 2 = half, 0 = no limit. @defaultValue 1 */
  readonly factor?: number | undefined
}

/** A check that has been read out of what the caller passed. */
export interface Part {
  readonly limit: Compiled
  readonly actor: unknown
  readonly cost: number
  readonly factor: number
}

/** When a decision takes place, and how long it may wait. */
type When = Pick<Read, 'now' | 'maxWaitMs'>

const { frame } = native

/** Decides one check. Everything crosses in the shared frame but the actor, which is the cheapest there is. */
export function decideOne(limiter: number, call: number, limit: Compiled, actor: unknown, options: Read): LimitInfo {
  writeCall(frame, limiter, call, options)
  frame[In.Checks] = limit.handle
  frame[In.Checks + 1] = options.cost
  frame[In.Checks + 2] = options.factor
  const failure = native.decide(actor)
  if (failure !== undefined) throw errorOf(failure)
  if (frame[Out.Count] === 1) return new LimitInfo(frame, Out.Answers, limit.key, 0)
  return infoFrom(frame, [limit.key])
}

/** Decides several checks together, all or nothing; `waitedMs` is what the call has waited before. */
export function decideSeveral(
  limiter: number,
  call: number,
  parts: readonly Part[],
  when: When,
  waitedMs = 0,
): LimitInfo {
  const frame = ask(limiter, call, parts, when)
  frame[Out.Answers + Answer.WaitMs] = waitedMs + (frame[Out.Answers + Answer.WaitMs] as number)
  return infoFrom(
    frame,
    parts.map((part) => part.limit.key),
  )
}

/** Forgets what was charged to several checks. */
export function resetSeveral(limiter: number, parts: readonly Part[]): void {
  ask(limiter, Call.Reset, parts, { now: undefined, maxWaitMs: undefined })
}

function ask(limiter: number, call: number, parts: readonly Part[], when: When): Float64Array {
  const frame = frameOf(parts.length)
  writeCall(frame, limiter, call, when)
  parts.forEach(({ limit, cost, factor }, index) => {
    const at = In.Checks + index * CHECK_WIDTH
    frame[at] = limit.handle
    frame[at + 1] = cost
    frame[at + 2] = factor
  })
  const failure = native.decideSeveral(
    frame,
    parts.map((part) => part.actor),
  )
  if (failure) throw errorOf(failure)
  return frame
}

function writeCall(frame: Float64Array, limiter: number, call: number, { now, maxWaitMs }: When): void {
  frame[In.Limiter] = limiter
  frame[In.Call] = call
  frame[In.HasNow] = now === undefined ? 0 : 1
  frame[In.Now] = now ?? 0
  frame[In.HasMaxWait] = maxWaitMs === undefined ? 0 : 1
  frame[In.MaxWait] = maxWaitMs ?? 0
}

/** The checks of a `limitAll`, each property read once. */
export function partsFrom(checks: unknown): Part[] {
  if (!Array.isArray(checks)) throw wrongType('', 'checks', 'must be an array', checks)
  return Array.from(checks, (check: unknown) => {
    if (typeof check !== 'object' || check === null) throw wrongType('', 'check', 'must be an object', check)
    const limit = compiled(read(check, 'limit', ''))
    const { cost, factor } = optionsFrom(check, ON_CHECK, limit.key, ['limit', 'actor'])
    return { limit, actor: read(check, 'actor', limit.key), cost, factor }
  })
}
