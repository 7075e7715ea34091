/* The checks of a call whose units are held. */

import { answered } from '../errors.js'
import type { Compiled } from '../limits/definition-cache.js'
import { native } from '../native/native.js'
import type { Part } from '../results/info.js'

/** The engine's result for calls of one limit, about which nothing changes. */
const known = new WeakMap<Compiled, readonly number[]>()

/**
 * The shortest lease in milliseconds, and the indices of the checks whose units are held. Throws if there are none, as of
 * an answer or of a call.
 */
export function heldOf(parts: readonly Part[], ofAnswer = true): readonly number[] {
  const only = parts.length === 1 ? parts[0]?.limit : undefined
  const before = only === undefined ? undefined : known.get(only)
  if (before !== undefined) return before
  const handles = parts.map(({ limit }) => limit.handle)
  const held = answered(native.heldOf(handles, ofAnswer))
  if (only !== undefined) known.set(only, held)
  return held
}
