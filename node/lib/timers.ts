/*
 * Node's own timers, taken when this package is loaded. Test frameworks replace the global ones, and then neither an
 * answer of the engine nor a wait for one's turn would ever end.
 */

import perfHooks from 'node:perf_hooks'
import timers from 'node:timers'

// Of Node's own modules, because the global ones may be replaced before this package is loaded.
export const { setImmediate, setTimeout, clearTimeout } = timers

const { performance } = perfHooks
// Sinon replaces the object's own method, perhaps before this package is loaded, and never that of its class.
const { now = performance.now } = Object.getPrototypeOf(performance) as { now?: () => number }

/** Milliseconds of a clock that only goes forward. */
export const elapsed = (): number => now.call(performance)
