/* Documents that a program has as objects, taken apart for the engine. */

import { isForeign, ownKeys, read } from '../errors.js'
import { checked } from './definition-cache.js'

/** A document taken apart: each entry before those that it holds. */
interface Entries {
  readonly names: string[]
  readonly values: unknown[]
  /** The number of entries that it holds; {@link VALUE} or {@link LIMIT} where it holds none, and {@link LIST} less the number of items of a list. */
  readonly counts: number[]
}

const VALUE = -1
const LIMIT = -2
const LIST = -3

/** A definition in an override is the fourth level; below it nothing is looked at, so an object may hold itself. */
const DEEPEST = 4
/** Far more than there may be overrides. */
const MOST_ITEMS = 20_000

/** A document taken apart. */
export function entriesOf(document: unknown): Entries {
  const entries: Entries = { names: [], values: [], counts: [] }
  collect(entries, '', document, 0)
  return entries
}

function collect(entries: Entries, name: string, given: unknown, depth: number): void {
  const { names, values, counts } = entries
  const limit = checked(given)
  const isList = Array.isArray(given) && depth < DEEPEST
  const isObject = limit === undefined && typeof given === 'object' && given !== null && !Array.isArray(given)
  const members = isObject ? ownKeys(given, 'limits', '') : []
  // A Map, whose members are no names, would be a document without limits.
  const isTable = isObject && !isForeign(given, members)
  const at = names.push(name) - 1
  values.push(limit ? limit.handle : isTable ? undefined : given)
  counts.push(limit ? LIMIT : isTable ? 0 : VALUE)
  if (isList) {
    const items = given.slice(0, MOST_ITEMS)
    values[at] = undefined
    counts[at] = LIST - items.length
    for (const item of items) collect(entries, '', item, depth + 1)
  }
  if (!isTable || depth >= DEEPEST) return
  const hasLimits = depth === 0 || (depth === 1 && name === 'limits')
  let count = 0
  for (const member of members) {
    const value = read(given, member, '')
    // A field that is undefined is not given. A limit that is undefined is a mistake, which the engine names.
    const isLimit = hasLimits && !(depth === 0 && member === 'overrides')
    if (value === undefined && !isLimit) continue
    collect(entries, member, value, depth + 1)
    count++
  }
  counts[at] = count
}
