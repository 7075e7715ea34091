/* The limiters that stores count in: the caller's own, or one for each URL; and the names of stores there. */

import { Limiter } from '../limiter/limiter.js'
import { isShared, noLimiter } from '../room/options.js'

/** A limiter as one store uses it. */
export interface UsedLimiter {
  readonly limiter: Limiter
  /** Closes the limiter, unless it is the caller's, or another store uses it still. */
  close(): Promise<void>
}

interface Shared {
  readonly limiter: Limiter
  users: number
}

/** Limiters by the URL of their store: stores of one URL share connections, and do not take the same name twice. */
const byUrl = new Map<string, Shared>()

/** The limiter that the option of a store asks for. */
export function usedLimiter(given: unknown): UsedLimiter {
  if (given instanceof Limiter) return { limiter: given, close: async () => {} }
  if (given === undefined) return owned(new Limiter())
  if (typeof given !== 'string' && !(given instanceof URL)) throw noLimiter(given)
  const url = String(given)
  const known = byUrl.get(url)
  if (known !== undefined) return sharing(url, known)
  const limiter = new Limiter(url)
  if (!isShared(limiter)) return owned(limiter)
  const made = { limiter, users: 0 }
  byUrl.set(url, made)
  return sharing(url, made)
}

const owned = (limiter: Limiter): UsedLimiter => ({ limiter, close: () => limiter.close() })

function sharing(url: string, shared: Shared): UsedLimiter {
  shared.users++
  let open = true
  return {
    limiter: shared.limiter,
    close: async () => {
      if (!open) return
      open = false
      if (--shared.users > 0) return
      byUrl.delete(url)
      await shared.limiter.close()
    },
  }
}

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
