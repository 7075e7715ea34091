/**
 * Language models: the tokens that a response used, an estimate for the next call, and limits on the tools of agents.
 *
 * @packageDocumentation
 */

import { answered, errorOf, knownOptions, wrongType } from './errors.js'
import { BlockedError } from './limiter/blocked-error.js'
import { during, Hold } from './limiter/hold.js'
import type { Limiter } from './limiter/limiter.js'
import type { Check } from './limiter/parts.js'
import { type NativeEstimator, native } from './native/native.js'
import { LimitInfo } from './results/info.js'
import { elapsed } from './time/timers.js'

/** Tokens of one call to a language model. */
export interface Usage {
  /**
   * Input tokens, as the API counts them against its limits. OpenAI counts those that it found in its cache. Anthropic
   * does not; it counts those that it wrote there.
   */
  readonly input: number
  /** Output tokens, with those of its reasoning. */
  readonly output: number
  /** Input tokens that were found in a cache: part of `input` at OpenAI, beside it at Anthropic. */
  readonly cached: number
  /** Input and output together, for an API that has one limit for both. */
  readonly total: number
}

/** Settings of an {@link Estimator}. */
export interface EstimatorOptions {
  /** The part of a hundred calls that an estimate covers, above 0 and at most 100. @defaultValue 95 */
  readonly percentile?: number | undefined
  /** The number of calls of each pair that count, the latest ones. @defaultValue 256 */
  readonly window?: number | undefined
  /** The number of calls of a pair below which there is no estimate. @defaultValue 20 */
  readonly least?: number | undefined
  /** The number of pairs of model and purpose that are kept. @defaultValue 1000 */
  readonly pairs?: number | undefined
}

const DEFAULTS = { percentile: 95, window: 256, least: 20, pairs: 1000 }

/**
 * Estimates the output tokens of a call to a language model: a percentile of the latest calls to the same model for the
 * same purpose.
 *
 * `max_tokens` bounds an output, and few outputs come near to it. To reserve it leaves most of a limit unused.
 *
 * The pair that has been recorded longest ago makes room for a new one. It learns in this process.
 *
 * @example
 * ```js
 * import { Estimator } from 'tidegate/llm'
 *
 * const estimator = new Estimator({ percentile: 95, least: 3 })
 * assert.equal(estimator.estimate('gpt-5', 'summary', 4096), 4096)
 * for (const output of [180, 220, 190]) estimator.record('gpt-5', 'summary', output)
 * assert.equal(estimator.estimate('gpt-5', 'summary', 4096), 220)
 * ```
 */
export class Estimator {
  readonly #native: NativeEstimator

  /** @throws {@link LimitError} for an unknown option, or one out of its bounds. */
  constructor(options: EstimatorOptions = {}) {
    const given = knownOptions(options, Object.keys(DEFAULTS), 'an estimator')
    const setting = (name: keyof typeof DEFAULTS) => numberOf(name, given[name] ?? DEFAULTS[name])
    this.#native = answered(
      native.makeEstimator(setting('percentile'), setting('window'), setting('least'), setting('pairs')),
    )
  }

  /** Notes the output tokens of a call that has ended. */
  record(model: string, purpose: string, output: number): void {
    const failure = this.#native.record(textOf('model', model), textOf('purpose', purpose), numberOf('output', output))
    if (failure) throw errorOf(failure)
  }

  /** The output tokens to reserve for a call, at most `most`, its own bound; `most` while too few calls are recorded. */
  estimate(model: string, purpose: string, most: number): number {
    return answered(this.#native.estimate(textOf('model', model), textOf('purpose', purpose), numberOf('most', most)))
  }

  /** The number of pairs of model and purpose that are kept. */
  get size(): number {
    return this.#native.pairs()
  }
}

function textOf(field: string, given: unknown): string {
  if (typeof given !== 'string') throw wrongType('', field, 'must be a string', given)
  if (!given.isWellFormed()) throw wrongType('', field, 'must be well-formed, without lone surrogates', given)
  return given
}

function numberOf(field: string, given: unknown): number {
  if (typeof given !== 'number') throw wrongType('', field, 'must be a number', given)
  return given
}

const paths = (names: readonly string[]) => names.map((name) => ({ name, path: name.split('.') }))
const PLACES = paths(native.usagePlaces())
const FIELDS = paths(native.usageFields())

/** Counts by the names of their fields; of a stream, the latest. */
type Counts = Map<string, number>

function read(counts: Counts, response: unknown): void {
  for (const { path } of PLACES) {
    const place = at(response, path)
    if (place === undefined || place === null) continue
    for (const field of FIELDS) {
      const count = at(place, field.path)
      if (typeof count === 'number') counts.set(field.name, count)
    }
  }
}

function at(found: unknown, path: readonly string[]): unknown {
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as Record<string, unknown>)[name]
  }
  return found
}

function usageIn(counts: Counts): Usage | undefined {
  const usage = native.usageOf([...counts.keys()], [...counts.values()])
  return usage ?? undefined
}

/**
 * The tokens of a response: an object of a client, or one as JSON has it; nothing where it says none.
 *
 * It knows OpenAI's chat completions and responses, Anthropic's messages, the messages of LangChain and the results of
 * the Vercel AI SDK.
 *
 * @example
 * ```js
 * import { usageOf } from 'tidegate/llm'
 *
 * const usage = usageOf({ usage: { input_tokens: 12, output_tokens: 80, cache_read_input_tokens: 300 } })
 * assert.deepEqual(usage, { input: 12, output: 80, cached: 300, total: 92 })
 * assert.equal(usageOf({ choices: [] }), undefined)
 * ```
 */
export function usageOf(response: unknown): Usage | undefined {
  const counts: Counts = new Map()
  read(counts, response)
  return usageIn(counts)
}

/**
 * A stream of events, passed on unchanged, whose `usage` is known at its end.
 *
 * Of OpenAI's chat completions, a stream says its usage with `stream_options: { include_usage: true }` only.
 *
 * @example
 * ```js
 * import { UsageStream } from 'tidegate/llm'
 *
 * async function* events() {
 *   yield { choices: ['Hi'] }
 *   yield { usage: { prompt_tokens: 3, completion_tokens: 1 } }
 * }
 * const stream = new UsageStream(events())
 * for await (const event of stream) assert.ok(event)
 * assert.equal(stream.usage.total, 4)
 * ```
 */
export class UsageStream<Event> implements AsyncIterable<Event> {
  readonly #stream: AsyncIterable<Event> | Iterable<Event>
  readonly #counts: Counts = new Map()

  /** A stream around the one of a client. */
  constructor(stream: AsyncIterable<Event> | Iterable<Event>) {
    this.#stream = stream
  }

  /** The tokens that the events so far have said; nothing until one does. */
  get usage(): Usage | undefined {
    return usageIn(this.#counts)
  }

  /** The events, as they come. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    for await (const event of this.#stream) {
      read(this.#counts, event)
      yield event
    }
  }
}

/**
 * Limits calls of a function, such as a tool of an agent: per user and session, or as you like.
 *
 * `checks` gets the arguments of a call and returns its checks, as {@link Limiter.limitAll} takes them. They are one
 * decision. Units of a `concurrency` are held until the function has ended. A call that is denied rejects with
 * {@link BlockedError}, whose message says when to retry. With `denied` it returns what that function makes of the
 * error, such as a sentence for the model.
 *
 * @example
 * ```js
 * import { Limiter, tokenBucket } from 'tidegate'
 * import { limitTool } from 'tidegate/llm'
 *
 * const byUser = tokenBucket({ key: 'search-user', count: 100, period: 3_600_000 })
 * const bySession = tokenBucket({ key: 'search-session', count: 1, period: 60_000 })
 * const search = limitTool(
 *   new Limiter(),
 *   ({ user, session }) => [{ limit: byUser, actor: user }, { limit: bySession, actor: session }],
 *   async ({ query }) => `nothing about ${query}`,
 * )
 * assert.equal(await search({ user: 'ada', session: 's1', query: 'tides' }), 'nothing about tides')
 * await assert.rejects(search({ user: 'ada', session: 's1', query: 'moons' }), { code: 'ERR_BLOCKED' })
 * ```
 */
export function limitTool<Arguments extends unknown[], Result>(
  limiter: Limiter,
  checks: (...given: Arguments) => readonly Check[],
  tool: (...given: Arguments) => Result,
  denied?: (error: BlockedError) => Result,
): (...given: Arguments) => Promise<Awaited<Result>> {
  if (typeof tool !== 'function' || isGenerator(tool)) {
    throw wrongType('', 'tool', 'must be a function that returns a value or a promise', tool)
  }
  return async (...given): Promise<Awaited<Result>> => {
    const began = elapsed()
    const info = await limiter.limitAll(checks(...given))
    const called = async (): Promise<Awaited<Result>> => await tool(...given)
    if (!info.blocked) return await heldDuring(info, began, called)
    const error = new BlockedError(info)
    if (denied === undefined) throw error
    return await denied(error)
  }
}

/** True for a function that has done nothing yet when it returns. */
const isGenerator = (tool: unknown): boolean => Object.prototype.toString.call(tool).endsWith('GeneratorFunction]')

/** Does work; what its call took of limits of type concurrency is held meanwhile. */
function heldDuring<T>(info: LimitInfo, began: number, work: () => Promise<T>): Promise<T> {
  const receipt = LimitInfo.receipt(info)
  const handles = receipt?.parts.map(({ limit }) => limit.handle) ?? []
  const holds = receipt !== undefined && Array.isArray(native.heldOf(handles, true))
  return holds ? during(new Hold(receipt.store, info, began), work) : work()
}
