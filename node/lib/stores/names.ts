import type { Limiter } from '../limiter.js'

/** The number of stores that asked for each name, by limiter. */
const claims = new WeakMap<Limiter, Map<string, number>>()

/**
 * The name of a store that is given none: the first store of a limiter has the name itself, the next ones a number
 * behind it. So two stores never share an entry by mistake.
 */
export function claimedName(limiter: Limiter, name: string): string {
  const known = claims.get(limiter) ?? new Map<string, number>()
  claims.set(limiter, known)
  const count = (known.get(name) ?? 0) + 1
  known.set(name, count)
  return count === 1 ? name : `${name}-${count}`
}
