/* Denied requests, told to listeners: so many in a second, and the others by their number. */

import { type DeniedEvent, listenersOf } from '../limiter/events.js'
import type { Limiter } from '../limiter/limiter.js'
import { type NativeDenials, native } from '../native/native.js'
import { setImmediate } from '../time/timers.js'

const denials = new WeakMap<Limiter, NativeDenials>()

export const isHeard = (limiter: Limiter): boolean => (listenersOf(limiter)?.listenerCount('denied') ?? 0) > 0

/** Tells of a denied request, later, so that an error of a listener disturbs no answer. */
export function tellDenied(limiter: Limiter, denied: Omit<DeniedEvent, 'name' | 'untold'>): void {
  const counts = denials.get(limiter) ?? native.makeDenials()
  denials.set(limiter, counts)
  const untold = counts.note(Date.now())
  if (untold === null || untold === undefined) return
  const event: DeniedEvent = { name: 'denied', ...denied, untold }
  setImmediate(() => listenersOf(limiter)?.emit('denied', event))
}
