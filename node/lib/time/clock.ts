import { outOfRange, wrongType } from '../errors.js'

/** A clock in place of the system's: a function, such as `Date.now`, or an object with one. */
export type TimeSource = (() => number) | { now(): number }

/** The clock of a limiter. */
export interface ClockOption {
  /**
   * The milliseconds since the epoch, in place of the system's clock. Every call is then decided as if `now` were given:
   * `acquire` answers at once, and `waitMs` is the time to wait. A `now` that is given wins.
   * @defaultValue the system's clock, or that of the store
   */
  readonly clock?: TimeSource | null | undefined
}

/** Reads a clock, which a test may be able to advance. */
export interface Now {
  (): number
  readonly advance?: ((ms: number) => unknown) | undefined
}

/** The clocks of limiters that have one of their own. */
export const clocks = new WeakMap<object, Now>()

const TELLS = 'must tell milliseconds since the epoch as a number'

/** The function that reads this clock; nothing for the system's own. */
export function clockFrom(given: unknown): Now | undefined {
  if (given === undefined || given === null) return undefined
  const ask = typeof given === 'function' ? (given as Now) : asking(given)
  const read = (): number => {
    const now: unknown = ask()
    if (typeof now !== 'number') throw wrongType('', 'clock', TELLS, now)
    if (now >= 0 && now < Infinity) return now
    throw outOfRange('', 'clock', TELLS, now)
  }
  const { advance } = given as { advance?: unknown }
  return typeof advance === 'function' ? Object.assign(read, { advance: advance.bind(given) }) : read
}

function asking(given: unknown): Now {
  const clock = given as { now?: unknown }
  if (typeof given === 'object' && typeof clock.now === 'function') return () => (clock as { now(): number }).now()
  throw wrongType('', 'clock', 'must be a function, or an object with now()', given)
}
