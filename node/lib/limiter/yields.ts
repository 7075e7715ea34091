/*
 * Answers that are known at once resolve without an iteration of the event loop, so a loop of awaited calls would keep it
 * from its timers and sockets for as long as it runs.
 */

import { setImmediate } from '../time/timers.js'

/** The number of checks that are answered at once before the event loop may go on. */
const AT_ONCE = 1024

let answered = 0
/** True until the event loop has gone on. */
let waiting = false

/** The answer to so many checks; after too many in one iteration of the event loop, a promise of it in the next. */
export function yielding<T>(answer: T | Promise<T>, checks = 1): T | Promise<T> {
  answered += checks - 1
  return isTooLong() ? yielded(answer) : answer
}

/** Counts one check: true after too many in one iteration of the event loop. Short enough to be inlined. */
export const isTooLong = (): boolean => ++answered >= AT_ONCE

/** {@link yielding} after too many. */
export function yielded<T>(answer: T | Promise<T>): T | Promise<T> {
  answered = 0
  // Waiting for a server lets the event loop go on.
  if (answer instanceof Promise) return answer
  if (waiting) return new Promise((resolve) => setImmediate(() => resolve(answer)))
  waiting = true
  // It keeps no process alive.
  setImmediate(() => {
    waiting = false
  }).unref()
  return answer
}
