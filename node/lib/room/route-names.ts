/* Keys of limits as text without a name: the engine's rule for all frameworks, and the places that have them. */

import { METHODS } from 'node:http'
import { answered } from '../errors.js'
import type { Limiter } from '../limiter/limiter.js'
import { type NativeNames, native } from '../native/native.js'

/** The key of limits that stand before a whole app. */
export const APP = native.appName()

/** Names by methods and paths, which an app has a bounded number of; more than this are not kept. */
const known = new Map<string, string>()
const MOST_KNOWN = 10_000

/** The key of a route's limits; without methods the route takes all of them. */
export function routeName(methods: readonly string[], path: string): string {
  const id = `${methods} ${path}`
  const before = known.get(id)
  if (before !== undefined) return before
  const name = native.routeName(methods, answered(native.template(path, 'colons')))
  if (known.size < MOST_KNOWN) known.set(id, name)
  return name
}

/** The key of limits that stand before all that is below a path. */
export const mountName = (path: string): string => (/^\/*$/.test(path) ? APP : routeName([], path.replace(/\/+$/, '')))

/** True for a route of all methods that there are. */
export const takesAll = (methods: readonly string[]): boolean => methods.length >= METHODS.length

const claims = new WeakMap<Limiter, NativeNames>()
const gone = new FinalizationRegistry<Place>(({ names, number }) => names.release(number))
let places = 0

export class Place {
  readonly number = ++places
  readonly names: NativeNames

  /** A place whose names are forgotten when nothing is left of what stands on it. */
  constructor(limiter: Limiter, standing?: object) {
    this.names = claims.get(limiter) ?? native.makeNames()
    claims.set(limiter, this.names)
    if (standing !== undefined) gone.register(standing, this)
  }

  /** Notes a name of this place; false where another place of the limiter has it. */
  claims(name: string): boolean {
    return this.names.claim(name, this.number)
  }
}
