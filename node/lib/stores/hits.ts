/* Hits in a window, for the stores of other libraries: they count here, and decide themselves. */

import { errorOf, knownOptions, outOfRange, wrongType } from '../errors.js'
import { Limiter } from '../limiter/limiter.js'
import type { Limit } from '../limits/definition-cache.js'
import { fixedWindow } from '../limits.js'
import type { LimitInfo } from '../results/info.js'
import { countsAlone } from '../room/options.js'
import { claimedName, type UsedLimiter, usedLimiter } from './limiters.js'
import { Recent } from './recent.js'

/** The options of a store. */
export interface StoreOptions {
  /**
   * A limiter, which stays the caller's, or the URL of a store. Stores of one URL share a limiter. An option that is
   * there but `undefined` is an error, as a URL that is not set must not mean memory.
   * @defaultValue a limiter of its own, in the memory of this process
   */
  readonly limiter?: Limiter | string | URL
  /**
   * The name before every key. Over a shared store, stores with the same prefix count together.
   * @defaultValue the name of the library, with a number behind it for the second store of a limiter, or of a URL
   */
  readonly prefix?: string | undefined
}

/** A client's hits. */
export interface Hits {
  /** The hits in this window; 0 if there is none. */
  readonly count: number
  /** Milliseconds until the window ends; 0 if there is none. */
  readonly leftMs: number
}

/** The most hits in a window, the most that there can be; what decides is the library's own limit, far below. */
export const MOST_HITS = 1_000_000_000_000
const OPTIONS = ['limiter', 'prefix']

/** The options as an object of their own; a misspelt one is refused. */
export function storeOptions(given: unknown = {}, example = 'new Store({ limiter })'): StoreOptions {
  const options = knownOptions(objectOf(given, example), OPTIONS, 'a store')
  const { prefix } = options
  if (prefix !== undefined && typeof prefix !== 'string') throw wrongType('', 'prefix', 'must be a string', prefix)
  if (prefix === '') throw outOfRange('', 'prefix', 'must not be empty', prefix)
  return options as StoreOptions
}

/** The options of a store, not yet read. A limiter or a URL in their place is named. */
export function objectOf(given: unknown, example: string): object {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrongType('', 'options', 'must be an object', given)
  }
  const { name } = given.constructor ?? {}
  if (name === Limiter.name || name === URL.name) {
    const message = `options must be an object with options, got a ${name}; write ${example}`
    throw errorOf({ kind: 'type', key: '', field: 'options', value: `a ${name}`, message, mayHaveHappened: false })
  }
  return given
}

/** Counts of hits, in windows that start at a client's first hit. */
export class HitCounter {
  readonly limiter: Limiter
  readonly prefix: string
  /** True where no other store counts on these keys: in this process, under a name that no other one has. */
  readonly isAlone: boolean
  readonly #used: UsedLimiter
  readonly #unit: number
  readonly #windows = new Recent<Limit>((period) => {
    return fixedWindow({ key: this.prefix, max: MOST_HITS, period, anchor: 'first-request' })
  })

  /** `unit` is the cost of a hit. */
  constructor({ limiter, prefix }: StoreOptions, library: string, unit = 1) {
    this.#unit = unit
    this.#used = usedLimiter(limiter)
    this.limiter = this.#used.limiter
    this.isAlone = countsAlone(this.limiter) && (prefix === undefined || this.limiter !== limiter)
    this.prefix = prefix ?? claimedName(this.limiter, library)
  }

  /** Counts a hit. */
  async add(client: string, windowMs: number): Promise<Hits> {
    const hits = hitsOf(await this.limiter.limit(this.window(windowMs), client, { cost: this.#unit }), this.#unit)
    return { ...hits, count: Math.max(hits.count, 1) }
  }

  /** The hits until now. */
  async read(client: string, windowMs: number): Promise<Hits> {
    return hitsOf(await this.limiter.peek(this.window(windowMs), client), this.#unit)
  }

  /**
   * Takes a hit back, but for a small part of its cost, so that a window without hits lasts until its end; that takes a
   * `unit` above 1. With nothing to take back, a window without hits begins.
   */
  async remove(client: string, windowMs: number): Promise<void> {
    const [limit, unit] = [this.window(windowMs), this.#unit]
    const used = usedOf(await this.limiter.refund(limit, client, { cost: unit - 1 }))
    if (used === 0) await this.limiter.charge(limit, client)
    // Parts must not add up to a hit. Each one is answered once with their number, so one of them takes them back.
    else if (used % unit === unit / 2) await this.limiter.refund(limit, client, { cost: unit / 2 - 1 })
  }

  /** Forgets the hits of a client. */
  async reset(client: string, windowMs: number): Promise<void> {
    await this.limiter.reset(this.window(windowMs), client)
  }

  /** Closes the limiter, unless it is the caller's, or another store uses it still. */
  async close(): Promise<void> {
    await this.#used.close()
  }

  /** The window of this length. */
  protected window(windowMs: number): Limit {
    return this.#windows.get(windowMs)
  }
}

/** The key of a client as text: libraries pass on what an app's own function returns, such as the id of a user. */
export const clientText = (key: string | number | bigint): string =>
  typeof key === 'number' || typeof key === 'bigint' ? `${key}` : key

/** The hits that an answer tells of. Where the store could not decide and `onError` is `deny`, nothing remains, and any library refuses. */
export function hitsOf(info: LimitInfo, unit = 1): Hits {
  return { count: Math.floor(usedOf(info) / unit), leftMs: info.fullResetMs }
}

const usedOf = ({ quota, remaining }: LimitInfo): number => Math.max(Math.min(quota, MOST_HITS) - remaining, 0)
