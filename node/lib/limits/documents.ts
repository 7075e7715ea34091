import { fileURLToPath } from 'node:url'
import { answered, knownOptions, LimitsError, outOfRange, wrongType } from '../errors.js'
import {
  type DocumentFailure,
  type Failure,
  type NativeDocument,
  type NativeWatched,
  native,
} from '../native/native.js'
import { clearTimeout, setImmediate, setTimeout } from '../time/timers.js'
import type { Limit } from './definition-cache.js'
import type { Definition } from './definitions.js'
import { Document, type Found } from './document.js'
import { entriesOf } from './entries.js'

/** The format of a document. */
export type LimitsFormat = 'json' | 'toml' | 'yaml'

/** Definitions by their names, or limits as text; a definition's key is its name unless it says another. */
export type NamedLimits = {
  readonly [name: string]: string | Definition | Unnamed<Definition> | readonly LimitOverride[]
}

/** Another allowance for an actor, or for all actors of a pattern, in a document. */
export interface LimitOverride {
  /** The actor. */
  readonly actor?: string
  /** A pattern of actors, in place of one: each `*` stands for any characters, or none. */
  readonly pattern?: string
  /** The name of the limit. @defaultValue all limits */
  readonly limit?: string
  /** The factor of the actor: 0.5 = twice the allowance, 2 = half, 0 = no limit. */
  readonly factor?: number
  /** A definition in place of the limit, with its key. */
  readonly definition?: string | Unnamed<Definition>
  /** No limit for the actor. */
  readonly unlimited?: true
}

type Unnamed<D> = D extends Definition ? Omit<D, 'key'> : never

let documentOf: (limits: Limits) => Document
let replace: (limits: Limits, document: Document) => void
let isOver: (limits: WatchedLimits | undefined) => boolean

/** The engine's document, if it is sound. */
function sound(read: NativeDocument | DocumentFailure | Failure): NativeDocument {
  if ('errors' in read) throw new LimitsError(read)
  return answered(read)
}

/**
 * Limits by their names, read from a document and checked as a whole.
 *
 * Under each name stands a limit as text (see {@link parseLimit}) or a definition in the wire form, whose `key` is the
 * name unless it says another. The names are at the top of the document, or under `limits`. No two limits may have the
 * same key, and each has to limit something. Beside them, `overrides` may have other allowances for single actors: see
 * {@link Limits.check}.
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
  #document: Document

  /** Limits are read: see {@link load}, {@link fromText} and {@link fromObject}. */
  protected constructor(document: Document) {
    this.#document = document
  }

  static {
    documentOf = (limits) => limits.#document
    replace = (limits, document) => {
      limits.#document = document
    }
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
  static fromObject(
    named: NamedLimits | { readonly limits: NamedLimits; readonly overrides?: readonly LimitOverride[] },
  ): Limits {
    const { names, values, counts } = entriesOf(named)
    return Limits.#from(native.limitsFromEntries(names, values, counts))
  }

  /**
   * Reads a file now, and looks every two seconds if it is another one: see {@link WatchedLimits}. A text under a key of
   * Redis or Valkey is watched too: the URL of the server, a `/`, and the key, which ends as the name of a file, such as
   * `'redis://localhost:6379/0/limits.toml'`. In a key `/`, `?` and `%` are percent-encoded.
   *
   * It rejects with a {@link LimitsError}, with all errors in it, where the first document is wrong.
   *
   * @example
   * ```js
   * import { mkdtempSync, writeFileSync } from 'node:fs'
   * import { tmpdir } from 'node:os'
   * import { join } from 'node:path'
   * import { Limits } from 'tidegate'
   *
   * const path = join(mkdtempSync(join(tmpdir(), 'limits-')), 'limits.json')
   * writeFileSync(path, '{ "api": "100/minute" }')
   * const limits = await Limits.watch(path)
   * assert.equal(limits.get('api').count, 100)
   *
   * writeFileSync(path, '{ "api": "500/minute" }')
   * assert.equal(await limits.reload(), true)
   * assert.equal(limits.get('api').count, 500)
   * limits.close()
   * ```
   */
  static async watch(source: string | URL, options: WatchOptions = {}): Promise<WatchedLimits> {
    return WatchedLimits.started(source, options)
  }

  static #from(read: NativeDocument | DocumentFailure | Failure): Limits {
    return new Limits(new Document(sound(read)))
  }

  /**
   * The check of a limit for an actor, for `limitAll` and the like: with the definition and the factor of the first
   * override that concerns both, or else those of the limit.
   *
   * @throws RangeError where no limit has this name.
   *
   * @example
   * ```js
   * import { Limiter, Limits } from 'tidegate'
   *
   * const limits = Limits.fromObject({
   *   api: '100/minute',
   *   overrides: [{ pattern: 'team-*', limit: 'api', definition: '5000/minute' }],
   * })
   * const limiter = new Limiter()
   * assert.equal(limiter.limitAllSync([limits.check('api', 'ada')]).remaining, 99)
   * assert.equal(limiter.limitAllSync([limits.check('api', 'team-7')]).remaining, 4999)
   * ```
   */
  check(name: string, actor: string): Found & { readonly actor: string } {
    return { ...this.#document.find(name, actor), actor }
  }

  /** The overrides, in the order of the document. */
  get overrides(): readonly LimitOverride[] {
    return this.#document.overrides as readonly LimitOverride[]
  }

  /**
   * Some of these limits, for the `limits` of a module for a web framework. A document that is watched has to have them
   * from now on: one without them is wrong.
   *
   * @throws RangeError where no limit has one of the names.
   */
  select(...names: string[]): SelectedLimits {
    for (const name of names) this.#document.limit(name)
    return new SelectedLimits(this, names)
  }

  /** The limit with this name. */
  get(name: string): Limit | undefined {
    return this.#document.limits.get(name)
  }

  /** True if there is a limit with this name. */
  has(name: string): boolean {
    return this.#document.limits.has(name)
  }

  /** The number of limits. */
  get size(): number {
    return this.#document.limits.size
  }

  /** The names, in the order of the document. */
  keys(): IterableIterator<string> {
    return this.#document.limits.keys()
  }

  /** The limits, in the order of the document. */
  values(): IterableIterator<Limit> {
    return this.#document.limits.values()
  }

  /** Names and limits, in the order of the document. */
  entries(): IterableIterator<[name: string, limit: Limit]> {
    return this.#document.limits.entries()
  }

  /** {@link entries}. */
  [Symbol.iterator](): IterableIterator<[name: string, limit: Limit]> {
    return this.#document.limits.entries()
  }
}

/** Some limits of a document, as {@link Limits.select} returns them. */
export class SelectedLimits {
  readonly #limits: Limits
  /** Their names. */
  readonly names: readonly string[]

  /** See {@link Limits.select}. */
  constructor(limits: Limits, names: readonly string[]) {
    this.#limits = limits
    this.names = names
  }

  /** The document as it is now. */
  get document(): Document {
    return documentOf(this.#limits)
  }
}

/** The limits of a document, some or all, as a room asks for them. */
export function chosenLimits(given: unknown): (() => ChosenLimits) | undefined {
  if (given instanceof SelectedLimits) return () => ({ document: given.document, names: given.names })
  if (!(given instanceof Limits)) return undefined
  return () => {
    const document = documentOf(given)
    return { document, names: [...document.limits.keys()] }
  }
}

/** Limits of a document as it is now. */
export interface ChosenLimits {
  readonly document: Document
  readonly names: readonly string[]
}

export type { Document, Found }

/** The options of {@link Limits.watch}. */
export interface WatchOptions {
  /** Milliseconds from one look to the next. @defaultValue 2000 */
  readonly every?: number | undefined
  /** Called when other limits hold. */
  readonly onChange?: ((limits: WatchedLimits) => void) | undefined
  /**
   * Called when a document cannot be read or is wrong, once for each mistake. Without it, such a mistake is a warning of
   * the process, with the code `TIDEGATE_LIMITS_WRONG`.
   */
  readonly onError?: ((error: LimitsError) => void) | undefined
}

const WATCH_OPTIONS = ['every', 'onChange', 'onError']

/**
 * Limits of a document that may change while the program runs: always those that hold now.
 *
 * The document is read again and again, by a timer that keeps no process alive. Where it is another one, it is checked as
 * a whole, and all of its limits and overrides hold from then on. Where it is wrong, those before it stay. A text that is
 * new is read twice, 100 ms apart, before it counts, so that a half-written file does not. Limits that nobody has any
 * more are watched no more.
 */
export class WatchedLimits extends Limits {
  readonly #watched: NativeWatched
  readonly #options: WatchOptions
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  private constructor(watched: NativeWatched, options: WatchOptions) {
    super(new Document(watched.current()))
    this.#watched = watched
    this.#options = options
    WatchedLimits.#lookLater(new WeakRef(this), watched)
  }

  static {
    isOver = (limits) => limits === undefined || limits.#isClosed
  }

  /** @internal */
  static async started(source: string | URL, given: WatchOptions): Promise<WatchedLimits> {
    const options = knownOptions(given, WATCH_OPTIONS, 'a watch') as WatchOptions
    const { every = 2000, onChange, onError } = options
    if (typeof every !== 'number') throw wrongType('', 'every', 'must be a number', every)
    if (!(every > 0)) throw outOfRange('', 'every', 'must be above 0', every)
    for (const [name, value] of Object.entries({ onChange, onError })) {
      if (value !== undefined && typeof value !== 'function') throw wrongType('', name, 'must be a function', value)
    }
    const isFile = source instanceof URL && source.protocol === 'file:'
    const read = await native.watchLimits(
      isFile ? fileURLToPath(source) : source instanceof URL ? source.href : source,
      every,
    )
    if ('errors' in read) throw new LimitsError(read)
    return new WatchedLimits(answered(read), options)
  }

  /** The timer, and a look, hold no limits that nobody else has. */
  static #lookLater(known: WeakRef<WatchedLimits>, watched: NativeWatched): void {
    const told = (found: boolean | DocumentFailure): void => {
      const limits = known.deref()
      if (limits === undefined || isOver(limits)) return
      WatchedLimits.#lookLater(known, watched)
      limits.#tell(found)
    }
    const look = (): void => {
      if (!isOver(known.deref())) watched.look().then(told)
    }
    const timer = setTimeout(look, Math.min(watched.pause(), LONGEST_TIMER))
    timer.unref()
    const limits = known.deref()
    if (limits !== undefined) limits.#timer = timer
  }

  #tell(found: boolean | DocumentFailure): void {
    // Later, so that an error of a listener is one of the program's, and of no promise.
    if (typeof found === 'boolean') {
      if (!found) return
      replace(this, new Document(this.#watched.current()))
      setImmediate(() => this.#options.onChange?.(this))
      return
    }
    const error = new LimitsError(found)
    const { onError } = this.#options
    if (onError !== undefined) {
      setImmediate(() => onError(error))
      return
    }
    const message = `the limits before still hold: ${error.message}`
    process.emitWarning(message, { type: 'TidegateWarning', code: 'TIDEGATE_LIMITS_WRONG' })
  }

  override select(...names: string[]): SelectedLimits {
    const selected = super.select(...names)
    for (const name of names) this.#watched.need(name)
    return selected
  }

  /**
   * Reads the document now, without waiting for the next look; true if other limits hold. It rejects with a
   * {@link LimitsError} where the document is wrong; the limits before it still hold.
   */
  async reload(): Promise<boolean> {
    const found = await this.#watched.reload()
    if (typeof found !== 'boolean') throw new LimitsError(found)
    if (!found || this.#isClosed) return false
    this.#tell(found)
    return true
  }

  /** Looks no more; the limits stay as they are. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer as Parameters<typeof clearTimeout>[0])
  }

  /** {@link close}. */
  [Symbol.dispose](): void {
    this.close()
  }
}

/** The longest delay that a timer takes. */
const LONGEST_TIMER = 2 ** 31 - 1
