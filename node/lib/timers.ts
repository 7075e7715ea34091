/*
 * Node's own timers, taken when this package is loaded. Test frameworks replace the global ones, and then neither an
 * answer of the engine nor a wait for one's turn would ever end.
 */

import timers from 'node:timers'

export const { setImmediate, setTimeout, clearTimeout } = timers

const { nextTick } = process
const { performance } = globalThis
const { now } = performance

/** Runs when this turn of the event loop is done with what it is at. */
export const afterThis = (work: () => void): void => nextTick.call(process, work)

/** Milliseconds of a clock that only goes forward. */
export const elapsed = (): number => now.call(performance)
