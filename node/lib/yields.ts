/*
 * Answers that are there at once resolve without a turn of the event loop, so a loop of awaited calls would keep it from
 * its timers and sockets for as long as it runs.
 */

import { setImmediate } from './timers.js'

/** The number of checks that are answered at once before the event loop gets a turn. */
const AT_ONCE = 1024

let answered = 0
/** The event loop has not turned since this was set. */
let waiting = false

/** Of so many checks: the answer, or after too many in one turn of the event loop, a promise of it in the next. */
export function yielding<T>(answer: T | Promise<T>, checks = 1): T | Promise<T> {
  answered += checks - 1
  return isTooLong() ? yielded(answer) : answer
}

/** Counts one check: true after too many in one turn of the event loop. Short enough to be inlined with all of a call. */
export const isTooLong = (): boolean => ++answered >= AT_ONCE

/** {@link yielding} after too many. */
export function yielded<T>(answer: T | Promise<T>): T | Promise<T> {
  answered = 0
  // Waiting for a server lets the event loop turn.
  if (answer instanceof Promise) return answer
  if (waiting) return new Promise((resolve) => setImmediate(() => resolve(answer)))
  waiting = true
  // It keeps no process alive.
  setImmediate(() => {
    waiting = false
  }).unref()
  return answer
}
