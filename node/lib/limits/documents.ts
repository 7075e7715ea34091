import { fileURLToPath } from 'node:url'
import { answered, LimitsError, ownKeys, read } from '../errors.js'
import { type Document, type DocumentFailure, type Failure, native } from '../native/native.js'
import { Checked, checked, fieldsOf, type Limit } from './definition-cache.js'
import type { Definition } from './definitions.js'

/** The format of a document. */
export type LimitsFormat = 'json' | 'toml' | 'yaml'

/** Definitions by their names, or limits as text; a definition's key is its name unless it says another. */
export type NamedLimits = { readonly [name: string]: string | Definition | Unnamed<Definition> }

type Unnamed<D> = D extends Definition ? Omit<D, 'key'> : never

/**
 * Limits by their names, read from a document and checked as a whole.
 *
 * Under each name stands a limit as text (see {@link parseLimit}) or a definition in the wire form, whose `key` is the
 * name unless it says another. The names are at the top of the document, or under `limits`. No two limits may have the
 * same key, and each has to limit something.
 *
 * @example
 * ```js
 * import { Limiter, Limits, LimitsError } from 'tidegate'
 *
 * const limits = Limits.fromText('api: 100/minute burst 20\nlogin: { type: bucket, size: 10 }', 'yaml')
 * assert.deepEqual([...limits.keys()], ['api', 'login'])
 * assert.equal(new Limiter().limitSync(limits.get('login'), 'ada').remaining, 9)
 *
 * assert.throws(
 *   () => Limits.fromText('{ "login": { "type": "bucket", "size": 0 } }', 'json'),
 *   (error) => error instanceof LimitsError && error.errors[0].path === 'login.size',
 * )
 * ```
 */
export class Limits implements Iterable<[name: string, limit: Limit]> {
  readonly #limits: ReadonlyMap<string, Limit>

  private constructor(limits: ReadonlyMap<string, Limit>) {
    this.#limits = limits
  }

  /**
   * Reads a file, at once, in the format that its name ends with: `.json`, `.toml`, `.yaml` or `.yml`.
   *
   * @throws {@link LimitsError} with all errors in it.
   */
  static load(path: string | URL): Limits {
    return Limits.#from(native.loadLimits(path instanceof URL ? fileURLToPath(path) : path))
  }

  /**
   * Reads a text in this format.
   *
   * @throws {@link LimitsError} with all errors in it.
   */
  static fromText(text: string, format: LimitsFormat): Limits {
    return Limits.#from(native.readLimits(text, format))
  }

  /**
   * Reads an object, such as a section of a program's own settings. Each name has a limit as in a file, or a definition
   * that was made before.
   *
   * @throws {@link LimitsError} with all errors in it.
   *
   * @example
   * ```js
   * import { bucket, Limits } from 'tidegate'
   *
   * const limits = Limits.fromObject({ api: '100/minute', login: bucket({ key: 'login', size: 10 }) })
   * assert.deepEqual([...limits.keys()], ['api', 'login'])
   * ```
   */
  static fromObject(named: NamedLimits | { readonly limits: NamedLimits }): Limits {
    const entries: Entries = { names: [], values: [], counts: [] }
    collect(entries, '', named, 0)
    return Limits.#from(native.limitsFromEntries(entries.names, entries.values, entries.counts))
  }

  static #from(read: Document | DocumentFailure | Failure): Limits {
    if ('errors' in read) throw new LimitsError(read)
    const { names, limits } = answered(read)
    // All of the engine's numbers are held before anything can fail.
    const checked = limits.map((made) => Checked.of(made))
    return new Limits(new Map(names.map((name, index) => [name, checked[index] as Limit])))
  }

  /** The limit with this name. */
  get(name: string): Limit | undefined {
    return this.#limits.get(name)
  }

  /** True if there is a limit with this name. */
  has(name: string): boolean {
    return this.#limits.has(name)
  }

  /** The number of limits. */
  get size(): number {
    return this.#limits.size
  }

  /** The names, in the order of the document. */
  keys(): IterableIterator<string> {
    return this.#limits.keys()
  }

  /** The limits, in the order of the document. */
  values(): IterableIterator<Limit> {
    return this.#limits.values()
  }

  /** Names and limits, in the order of the document. */
  entries(): IterableIterator<[name: string, limit: Limit]> {
    return this.#limits.entries()
  }

  /** {@link entries}. */
  [Symbol.iterator](): IterableIterator<[name: string, limit: Limit]> {
    return this.#limits.entries()
  }
}

/** A document taken apart: each entry before those that it holds. */
interface Entries {
  readonly names: string[]
  readonly values: unknown[]
  /** The number of entries that it holds; {@link VALUE} or {@link LIMIT} where it holds none. */
  readonly counts: number[]
}

const VALUE = -1
const LIMIT = -2

/** A definition in a table of its own is the third level; below it nothing is looked at, so an object may hold itself. */
const DEEPEST = 3

function collect(entries: Entries, name: string, given: unknown, depth: number): void {
  const { names, values, counts } = entries
  const limit = checked(given)
  const isTable = limit === undefined && typeof given === 'object' && given !== null && !Array.isArray(given)
  const at = names.push(name) - 1
  values.push(limit ? limit.handle : isTable ? undefined : given)
  counts.push(limit ? LIMIT : isTable ? 0 : VALUE)
  if (!isTable || depth >= DEEPEST) return
  let count = 0
  for (const member of ownKeys(given, 'limits', '')) {
    const value = read(given, member, '')
    if (value === undefined) continue
    collect(entries, member, value, depth + 1)
    count++
  }
  counts[at] = count
}

/**
 * Checks a definition in the wire form, such as one from a file. Without a `type` it is a legacy limit. A field that is
 * `null` counts as not given.
 *
 * @throws {@link LimitError} naming the key, the field and the value at fault.
 *
 * @example
 * ```js
 * import { Limiter, limitFrom } from 'tidegate'
 *
 * const login = limitFrom(JSON.parse('{ "key": "login", "type": "bucket", "size": 10, "dripRate": null }'))
 * assert.equal(new Limiter().limitSync(login, 'ada').remaining, 9)
 * assert.throws(() => limitFrom({ key: 'login', type: 'bucket' }), /size/)
 * ```
 */
export function limitFrom(definition: object): Limit {
  if (typeof definition === 'object' && definition !== null && Checked.compiled(definition)) return definition as Limit
  return new Checked(...fieldsOf(definition)) as unknown as Limit
}

/**
 * Reads one limit from text: a count, `/` or `per`, and a period; then perhaps a type (`fixed-window`, `sliding-window`,
 * `sliding-counter`, `sliding-log`, `calendar-window`, or `token-bucket`, which it is unless it says otherwise) and what
 * that may say.
 *
 * @throws {@link LimitError} that says what was expected at which character.
 *
 * @example
 * ```js
 * import { Limiter, parseLimit } from 'tidegate'
 *
 * const api = parseLimit('api', '5/15m burst 20')
 * assert.deepEqual({ ...api }, { key: 'api', type: 'token-bucket', count: 5, period: 900_000, burst: 20 })
 * assert.equal(new Limiter().limitSync(api, 'ada').remaining, 19)
 * assert.equal(parseLimit('daily', '1000/day fixed-window').type, 'fixed-window')
 * assert.throws(() => parseLimit('api', '10/fortnight'), RangeError)
 * ```
 */
export function parseLimit(key: string, text: string): Limit {
  return Checked.of(answered(native.parseLimit(key, text)))
}

/**
 * Reads a list of limits from text, with `;` between them, to be decided together. A limit that stands alone has `key`
 * as its key; of several, each has `key`, an `@` and its period. No two may have the same period.
 *
 * @throws {@link LimitError} that says what was expected at which character.
 *
 * @example
 * ```js
 * import { Limiter, parseLimits } from 'tidegate'
 *
 * const api = parseLimits('api', '100/minute; 10/second')
 * assert.deepEqual(api.map((limit) => limit.key), ['api@1m', 'api@1s'])
 * assert.equal(new Limiter().limitSync(api, 'ada').remaining, 9)
 * ```
 */
export function parseLimits(key: string, text: string): Limit[] {
  const made = answered(native.parseLimits(key, text))
  return made.map((one) => Checked.of(one))
}

/**
 * The JSON Schema (draft 2020-12) of a definition in the wire form; under `$defs.limits` that of a document.
 *
 * @example
 * ```js
 * import { limitJsonSchema } from 'tidegate'
 *
 * assert.equal(limitJsonSchema().$defs.bucket.properties.dripRate.default, 1000)
 * ```
 */
export function limitJsonSchema(): Record<string, unknown> {
  return JSON.parse(native.jsonSchema())
}
