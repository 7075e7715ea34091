/* Limits that are the same for every request are tried when the app is made, not at its first request. */

import { outOfRange } from '../errors.js'
import { Limiter } from '../limiter/limiter.js'
import type { Limit } from '../limits/definition-cache.js'
import type { ReadyRule } from './rules.js'

/** Returns these rules; a list without any, and a cost or a factor that no call could have, is refused. */
export function proven<Request>(rules: readonly ReadyRule<Request>[]): readonly ReadyRule<Request>[] {
  if (rules.length === 0) throw outOfRange('', 'limits', 'must hold at least one limit', 'none')
  for (const { limit, candidate, cost, factor } of rules) {
    if (cost === 1 && factor === 1) continue
    for (const one of [limit, candidate]) if (one !== undefined) tried(one, cost, factor)
  }
  return rules
}

/** Asks for what is known of the numbers, of nobody. A cost is held against the size where its factor is known. */
function tried(limit: Limit, cost: unknown, factor: unknown): void {
  const nobody = new Limiter({ maxEntries: 1 })
  const known = typeof cost === 'number' ? { cost } : {}
  if (typeof factor === 'number') nobody.peekSync(limit, '', { ...known, factor })
  else nobody.refundSync(limit, '', known)
  nobody.close()
}
