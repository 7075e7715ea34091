/* A request's way through the limits, for all HTTP clients. */

import { answered, knownOptions, outOfRange, wrongType } from '../errors.js'
import { BlockedError } from '../limiter/blocked-error.js'
import { Hold } from '../limiter/hold.js'
import type { Limiter } from '../limiter/limiter.js'
import { Checked, compiled, type Limit } from '../limits/definition-cache.js'
import type { Definition } from '../limits/definitions.js'
import { limitFrom, parseLimits } from '../limits/read.js'
import { type NativeNext, type NativeOutgoing, native } from '../native/native.js'
import { LimitInfo } from '../results/info.js'
import { limiterOption } from '../room/options.js'
import { clocks } from '../time/clock.js'
import { elapsed } from '../time/timers.js'
import { slept } from './sleep.js'

/** A request, as functions of it see it. */
export interface OutgoingRequest {
  readonly url: URL
  /** In upper case. */
  readonly method: string
}

/** One limit: a definition, or a text such as `'100/minute'`. */
export type OutgoingLimit = string | Definition | Limit

/** The options that all HTTP clients have in common. */
export interface OutgoingOptions {
  /** The limits: one, several, or as text. Each request is charged to all of them, or it waits. */
  readonly limits: OutgoingLimit | readonly OutgoingLimit[]
  /**
   * A limiter, or the URL of a store; clients with the same URL share one limiter and its connections.
   * @defaultValue a limiter of its own, in the memory of this process
   */
  readonly limiter?: Limiter | string | URL
  /** The actor of a request. @defaultValue the host that it goes to */
  readonly key?: ((request: OutgoingRequest) => string) | undefined
  /** The key of limits that are given as text. @defaultValue 'outgoing' */
  readonly name?: string | undefined
  /** The units that a request costs. @defaultValue 1 */
  readonly cost?: number | ((request: OutgoingRequest) => number) | undefined
  /** The longest wait for a turn: beyond, it is a {@link BlockedError}. @defaultValue no bound */
  readonly maxWaitMs?: number | undefined
  /** The most repetitions of a request that the server refuses, with 429 or 503. @defaultValue 0 */
  readonly retries?: number | undefined
  /** The methods that may be repeated. @defaultValue the idempotent ones */
  readonly retryMethods?: readonly string[] | undefined
  /** The first wait where the server does not say how long; then twice as long. @defaultValue 1000 */
  readonly backoffMs?: number | undefined
  /** The longest of these waits. @defaultValue 30000 */
  readonly maxBackoffMs?: number | undefined
}

/** The turn of a request: who is charged, and the answer that charged it. */
export interface Turn {
  readonly actor: string
  readonly info: LimitInfo
  /** The units of limits of type concurrency, until the response has been read. */
  readonly held?: Hold | undefined
}

/** The consequences of a response. */
export type Next = NativeNext

type Of<T> = (request: OutgoingRequest) => T

const ENGINE = ['retries', 'retryMethods', 'backoffMs', 'maxBackoffMs', 'maxWaitMs'] as const
const OWN = ['limits', 'limiter', 'key', 'name', 'cost'] as const

/** The limit that a response raises to stop all callers. */
const STOP = Checked.of(native.stopLimit())

/** The settings of one client. */
export class Outgoing {
  readonly #limiter: Limiter
  /** Each once, as in the engine. */
  readonly #limits: readonly (Limit | Definition)[]
  /** Raised by one response to stop all callers. */
  readonly #stopping: readonly (Limit | Definition)[]
  readonly #engine: NativeOutgoing
  readonly #key: Of<string> | undefined
  readonly #cost: number | Of<number>
  readonly #maxWaitMs: number | undefined

  constructor(given: unknown, more: readonly string[] = []) {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw wrongType('', 'options', 'must be an object with limits', given)
    }
    const options = knownOptions(given, [...OWN, ...ENGINE, ...more], 'a rate limit')
    const { key, cost = 1, name = 'outgoing', maxWaitMs } = options
    if (key !== undefined && typeof key !== 'function')
      throw wrongType('', 'key', 'must be a function of a request', key)
    if (typeof name !== 'string') throw wrongType('', 'name', 'must be a string', name)
    this.#limiter = limiterOption(options.limiter)
    const limits = limitsOf(name, options.limits)
    this.#key = key as Of<string> | undefined
    this.#cost = cost as number | Of<number>
    this.#maxWaitMs = maxWaitMs as number | undefined
    const names: string[] = []
    const values: unknown[] = []
    for (const name of ENGINE) {
      const value = options[name]
      if (value === undefined) continue
      for (const one of name === 'retryMethods' && Array.isArray(value) && value.length > 0 ? value : [value]) {
        names.push(name)
        values.push(one)
      }
    }
    const handles = limits.map((limit) => compiled(limit).handle)
    this.#engine = answered(native.makeOutgoing(handles, names, values))
    this.#limits = limits.filter(({ key }, at) => limits.findIndex((other) => other.key === key) === at)
    this.#stopping = [STOP, ...this.#engine.observed().map((index) => this.#limits[index] as Limit)]
  }

  /** The URL of a path, which may begin with two slashes. A pool of one host's connections does not say its origin. */
  urlOf(origin: string | URL | null | undefined, path: string): URL {
    if (origin !== undefined && origin !== null) {
      const base = new URL(origin)
      return path.startsWith('/') ? new URL(base.origin + path) : new URL(path, base)
    }
    if (this.#key === undefined) throw wrongType('', 'key', NO_ORIGIN, undefined)
    return new URL(`http://origin.invalid${path}`)
  }

  /**
   * Waits until a request may be sent. A turn that comes while the server has stopped all callers is given back, and
   * asked for anew.
   */
  async enter(request: OutgoingRequest, signal?: AbortSignal | null): Promise<Turn> {
    const actor = this.#key === undefined ? hostOf(request.url) : this.#key(request)
    const cost = typeof this.#cost === 'function' ? this.#cost(request) : this.#cost
    const stopped = signal === null || signal === undefined ? {} : { signal }
    let left = this.#maxWaitMs
    for (;;) {
      const wait = left === undefined ? {} : { maxWaitMs: left }
      const info = await this.#limiter.acquire([...this.#limits], actor, { cost, ...wait, ...stopped })
      if (info.blocked) throw new BlockedError(info)
      let stop: LimitInfo
      try {
        // With a clock of its own, a limiter does not wait.
        if (clocks.has(this.#limiter)) await this.pause(info.waitMs, signal)
        stop = await this.#limiter.peek(STOP, actor)
        signal?.throwIfAborted()
      } catch (error) {
        await this.giveBack({ actor, info })
        throw error
      }
      if (!stop.blocked) return { actor, info, held: this.#held(info) }
      await this.giveBack({ actor, info })
      if (left !== undefined) {
        left -= info.waitMs + stop.resetMs
        if (left < 0) throw new BlockedError(stop)
      }
      await this.pause(stop.resetMs, signal)
    }
  }

  /** Judges a response to the request of a turn, whose headers are names and values in turn. */
  judge(
    turn: Turn,
    status: number,
    headers: Iterable<readonly [string, string]>,
    method: string,
    attempt: number,
    replayable: boolean,
  ): Next {
    const names: string[] = []
    const values: string[] = []
    for (const [name, value] of headers) {
      names.push(name)
      values.push(value)
    }
    const left = turn.info.checks.map((check) => check.remaining)
    const now = clocks.get(this.#limiter)?.() ?? Date.now()
    return answered(this.#engine.judge(status, names, values, method, attempt, replayable, left, Math.random(), now))
  }

  /** Takes over what a response says; a store that fails takes no response away. */
  async observe({ actor }: Turn, { remaining, stopMs }: Next): Promise<void> {
    for (let at = 0; at < remaining.length; at += 2) {
      const limit = this.#limits[remaining[at] as number] as Limit
      await quietly(this.#limiter.observe(limit, actor, { remaining: remaining[at + 1] as number }))
    }
    if (stopMs !== undefined) {
      await quietly(this.#limiter.observe([...this.#stopping], actor, { retryAfterMs: stopMs }))
    }
  }

  #held(info: LimitInfo): Hold | undefined {
    const receipt = this.#engine.holds() ? LimitInfo.receipt(info) : undefined
    return receipt && new Hold(receipt.store, info, elapsed())
  }

  /** Gives back the charge of a request that was never sent. */
  async giveBack({ info, held }: Turn): Promise<void> {
    held?.settle(info.checks.map(() => 0))
    await quietly(held?.release() ?? this.#limiter.refund(info))
  }

  /** Releases the units that a turn holds, if it does. */
  async release({ held }: Turn): Promise<void> {
    if (held !== undefined) await quietly(held.release())
  }

  /** Waits; or advances the clock of a test. */
  async pause(ms: number, signal?: AbortSignal | null): Promise<void> {
    const advance = clocks.get(this.#limiter)?.advance
    if (advance === undefined) await slept(ms, signal ?? undefined)
    else advance(ms)
  }
}

/** The host as Python's clients say it: an IPv6 address without brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

const NO_ORIGIN = 'must be given: a pool of connections does not say its host'

/** A failure takes no response away; that of a store is reported by its limiter's events. */
function quietly(call: Promise<unknown>): Promise<unknown> {
  return call.catch(() => {})
}

function limitsOf(name: string, given: unknown): readonly Limit[] {
  const each: unknown[] = Array.isArray(given) ? given : [given]
  const texts = each.filter((limit) => typeof limit === 'string')
  const limits = texts.length > 0 ? parseLimits(name, texts.join(';')) : []
  for (const limit of each) {
    if (typeof limit === 'string') continue
    if (typeof limit !== 'object' || limit === null)
      throw wrongType('', 'limits', 'must be a limit, a text such as "100/minute", or a list of them', limit)
    limits.push(limitFrom(limit as Definition))
  }
  if (limits.length === 0) throw outOfRange('', 'limits', 'must hold at least one limit', 'none')
  return limits
}

/** One request of a client, as the module for that client describes it. */
export interface Exchange<Response> {
  readonly request: OutgoingRequest
  readonly signal?: AbortSignal | null | undefined
  /** The body can be sent again. */
  readonly replayable: boolean
  send(): Promise<Response>
  status(response: Response): number
  headers(response: Response): Iterable<readonly [string, string]>
  /** The response, which calls this when its body has been read, or given up. */
  ending(response: Response, release: () => void): Response
  /** Ends a response that nobody sees. */
  discard(response: Response): Promise<unknown> | undefined
}

/** Waits for a turn, sends, observes, and repeats where that is asked for. */
export async function exchanged<Response>(outgoing: Outgoing, call: Exchange<Response>): Promise<Response> {
  const { request, signal, replayable } = call
  for (let attempt = 0; ; attempt++) {
    const turn = await outgoing.enter(request, signal)
    let response: Response
    try {
      response = await call.send()
    } catch (error) {
      await (neverSent(error) ? outgoing.giveBack(turn) : outgoing.release(turn))
      throw error
    }
    let next: Next
    try {
      const headers = call.headers(response)
      next = outgoing.judge(turn, call.status(response), headers, request.method, attempt, replayable)
      await outgoing.observe(turn, next)
      if (next.retryInMs === undefined) {
        return turn.held === undefined ? response : call.ending(response, () => void outgoing.release(turn))
      }
    } catch (error) {
      await outgoing.release(turn)
      throw error
    }
    try {
      await call.discard(response)
    } catch {
      // A body that nobody sees may have failed.
    }
    await outgoing.release(turn)
    await outgoing.pause(next.retryInMs, signal)
  }
}

/** Codes of errors from before anything was sent. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** True for an error from before anything was sent, which `fetch` and axios have as a cause. */
export function neverSent(error: unknown): boolean {
  const { code, syscall, cause, errors } = (error ?? {}) as Record<string, unknown>
  if (typeof code === 'string' && NEVER_SENT.has(code)) return true
  // A connection that timed out, and no answer.
  if (code === 'ETIMEDOUT' && syscall === 'connect') return true
  // One for each address of the host.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(neverSent)
  return cause !== undefined && cause !== error && neverSent(cause)
}

/** A body that is in memory, or none. */
export function isInMemory(body: unknown): boolean {
  return (
    body === undefined ||
    body === null ||
    typeof body === 'string' ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof URLSearchParams
  )
}
