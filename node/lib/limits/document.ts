/* The definitions of one document, with the overrides of actors. */

import { outOfRange } from '../errors.js'
import type { NativeDocument } from '../native/native.js'
import { Checked, type Limit } from './definition-cache.js'

/** The definition and the factor of an actor. */
export interface Found {
  readonly limit: Limit
  readonly factor: number
}

/** A document as it was read; it never changes. */
export class Document {
  readonly limits: ReadonlyMap<string, Limit>
  readonly #native: NativeDocument
  readonly #hasOverrides: boolean
  /** The definitions of overrides, by the numbers of these. */
  readonly #overriding: ReadonlyMap<number, Limit>

  constructor(read: NativeDocument) {
    const { names, limits, overrides, overriding, definitions } = read.contents()
    // All of the engine's numbers are held before anything can fail.
    const [named, others] = [limits, definitions].map((made) => made.map((one) => Checked.of(one)))
    this.limits = new Map(names.map((name, index) => [name, named?.[index] as Limit]))
    this.#overriding = new Map(overriding.map((number, index) => [number, others?.[index] as Limit]))
    this.#native = read
    this.#hasOverrides = overrides
  }

  /** The limit with this name, which there has to be. */
  limit(name: string): Limit {
    const limit = this.limits.get(name)
    if (limit === undefined) throw outOfRange('', 'name', 'must be the name of a limit', name)
    return limit
  }

  /** The definition and the factor of an actor at the limit of this name. */
  find(name: string, actor: string): Found {
    const limit = this.limit(name)
    // The limiter has the error for what is no actor.
    const isAsked = this.#hasOverrides && typeof actor === 'string'
    const [number, factor] = isAsked ? this.#native.overriding(name, actor) : []
    if (number === undefined || factor === undefined) return { limit, factor: 1 }
    return { limit: this.#overriding.get(number) ?? limit, factor }
  }

  /** The overrides in the wire form. */
  get overrides(): readonly object[] {
    const { overrides = [] } = JSON.parse(this.#native.json()) as { overrides?: readonly object[] }
    return overrides
  }
}
