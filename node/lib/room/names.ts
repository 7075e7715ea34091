import type { Limiter } from '../limiter.js'

/** The number of times that each name was asked for, by limiter. */
const claims = new WeakMap<Limiter, Map<string, number>>()

/**
 * The key of limits that are given as text without a name: the first room that asks has the name itself, the next ones
 * a number behind it. So two rooms never share an entry by mistake.
 */
export function claimedName(limiter: Limiter, name: string): string {
  const known = claims.get(limiter) ?? new Map<string, number>()
  claims.set(limiter, known)
  const count = (known.get(name) ?? 0) + 1
  known.set(name, count)
  return count === 1 ? name : `${name}-${count}`
}
