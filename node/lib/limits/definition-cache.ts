import { answered, ownKeys, read, wrongType } from '../errors.js'
import { type Made, native } from '../native/native.js'
import type { Definition } from './definitions.js'

/** A compiled definition. */
export interface Compiled {
  /** The number by which the engine knows it. */
  readonly handle: number
  readonly key: string
}

/** Frees the engine's definition when its objects have been collected. */
const collected = new FinalizationRegistry<number>((handle) => native.freeLimit(handle))

function compile(
  names: readonly string[],
  values: readonly unknown[],
  handle = answered(native.makeLimit(names, values)),
): Compiled {
  const of = (name: string) => values[names.indexOf(name)]
  const compiled = { handle, key: of('key') as string }
  collected.register(compiled, handle)
  return compiled
}

/** A definition that has been checked; its fields are those of the wire form. */
export class Checked {
  readonly #compiled: Compiled

  /** `handle` is given where the engine has made the limit already. */
  constructor(names: readonly string[], values: readonly unknown[], handle?: number) {
    this.#compiled = compile(names, values, handle)
    names.forEach((name, index) => {
      Object.defineProperty(this, name, { value: values[index], enumerable: true })
    })
    Object.freeze(this)
  }

  /** A limit that the engine has made from something else than an object. */
  static of({ handle, wire }: Made): Limit {
    const fields = JSON.parse(wire) as Record<string, unknown>
    return new Checked(Object.keys(fields), Object.values(fields), handle) as unknown as Limit
  }

  static compiled(limit: object): Compiled | undefined {
    // Not `#compiled in limit`, which takes longer with each further type of limit that it meets.
    if (!(limit instanceof Checked)) return undefined
    try {
      return limit.#compiled
    } catch {
      // An object that only inherits from one.
      return undefined
    }
  }
}

/** A definition that has been checked once and cannot change; it costs the least to use. */
export type Limit<D extends Definition = Definition> = { readonly [Field in keyof D]: Exclude<D[Field], null> }

/** Own enumerable fields with their values, each read once; what is `undefined` or `null` is not there. */
export function fieldsOf(definition: unknown): [names: string[], values: unknown[]] {
  if (typeof definition !== 'object' || definition === null || Array.isArray(definition)) {
    const problem = 'must be an object; parseLimits(key, text) reads text'
    throw wrongType('', 'definition', problem, definition)
  }
  const names: string[] = []
  const values: unknown[] = []
  let key = ''
  for (const name of ownKeys(definition, 'definition', '')) {
    const value = read(definition, name, key)
    if (value === undefined || value === null) continue
    if (name === 'key' && typeof value === 'string') key = value
    names.push(name)
    values.push(value)
  }
  return [names, values]
}

/**
 * Definitions that came as plain objects, by key. They are known by their content and not by their identity, so a
 * literal written in the call is compiled once, and one that was changed since is noticed.
 */
const known = new Map<string, Literal[]>()
const MOST_KEYS = 1000
const MOST_PER_KEY = 8
/** A longer key was made at run time, and is not worth its memory. */
const LONGEST_KEY = 1024

interface Literal {
  readonly names: readonly string[]
  readonly values: readonly unknown[]
  readonly compiled: Compiled
}

function literal(definition: unknown): Compiled {
  const seen = typeof definition === 'object' && definition !== null ? find(definition) : undefined
  if (seen) return seen
  const [names, values] = fieldsOf(definition)
  const compiled = compile(names, values)
  const all = Object.keys(definition as object)
  // Fields that are absent are compared where they were left out as well.
  const given = all.map((name) => values[names.indexOf(name)] ?? (definition as Record<string, unknown>)[name])
  remember({ names: all, values: given, compiled })
  return compiled
}

/** The cached definition with these fields, in this order, with these values. */
function find(definition: object): Compiled | undefined {
  try {
    const fields = definition as Record<string, unknown> & { key?: string }
    const variants = known.get(fields.key as string)
    if (variants === undefined) return undefined
    const names = Object.keys(fields)
    for (const { names: theirs, values, compiled } of variants) {
      let same = names.length === theirs.length
      for (let index = 0; same && index < names.length; index++) {
        const name = names[index] as string
        same = name === theirs[index] && fields[name] === values[index]
      }
      if (same) return compiled
    }
  } catch {
    // The reader of single fields reports the error.
  }
  return undefined
}

/** Bounded, so that keys made up at run time do not pile up; what was remembered first goes first. */
function remember(literal: Literal): void {
  const { key } = literal.compiled
  if (key.length > LONGEST_KEY) return
  const variants = known.get(key) ?? []
  if (variants.length === 0 && known.size >= MOST_KEYS) known.delete(known.keys().next().value as string)
  if (variants.length >= MOST_PER_KEY) variants.shift()
  variants.push(literal)
  known.set(key, variants)
}

/** The compiled definition, whether it was checked before or comes as a plain object. */
export function compiled(limit: unknown): Compiled {
  return checked(limit) ?? literal(limit)
}

/** The compiled definition of one that was checked before. */
export function checked(limit: unknown): Compiled | undefined {
  return typeof limit === 'object' && limit !== null ? Checked.compiled(limit) : undefined
}
