/*
 * Node's own timers, taken when this package is loaded. Test frameworks replace the global ones, and then neither an
 * answer of the engine nor a wait for one's turn would ever end.
 */

import perfHooks from 'node:perf_hooks'
import timers from 'node:timers'
import promises from 'node:timers/promises'

/** A timer that may be left to the end of the process. */
interface Timer {
  unref(): unknown
}

const scheduler: unknown = promises.scheduler
/** Methods of the scheduler's class, which test frameworks leave as they are, and which take no timer of the module's. */
const { yield: turn, wait } = Object.getPrototypeOf(scheduler ?? {}) as {
  yield?: () => Promise<void>
  wait?: (ms: number, options: { signal: AbortSignal }) => Promise<void>
}

// Of Node's own module, because the global ones may be replaced before this package is loaded; and so may these be.
const immediate = timers.setImmediate(() => {})
timers.clearImmediate(immediate)
const timeout = timers.setTimeout(() => {}, 0)
timers.clearTimeout(timeout)

/** Calls in the next turn of the event loop. */
export const setImmediate: (call: () => void) => Timer =
  turn === undefined || '_onImmediate' in immediate
    ? timers.setImmediate
    : (call) => {
        void turn.call(scheduler).then(call)
        return { unref() {} }
      }

/** Calls after so many milliseconds. */
export const setTimeout: (call: () => void, ms: number) => Timer =
  wait === undefined || '_onTimeout' in timeout
    ? timers.setTimeout
    : (call, ms) => {
        const stop = new AbortController()
        void wait.call(scheduler, ms, stop).then(call, () => {})
        return Object.assign(stop, { unref() {} })
      }

/** Stops such a timer. */
export function clearTimeout(timer: Timer | undefined): void {
  if (timer instanceof AbortController) timer.abort()
  else timers.clearTimeout(timer as NodeJS.Timeout | undefined)
}

const { performance } = perfHooks
// Sinon replaces the object's own method, perhaps before this package is loaded, and never that of its class.
const { now = performance.now } = Object.getPrototypeOf(performance) as { now?: () => number }

/** Milliseconds of a clock that only goes forward. */
export const elapsed = (): number => now.call(performance)
