/* The acquires in memory that sleep, and what ends a sleep before its time. */

import { native } from '../native/native.js'

/** Ends of sleeps, by the numbers of their acquires. */
const asleep = new Map<number, () => void>()

/** Has this called when units are released for which an acquire waits; returns what takes that back. */
export function whenRung(steps: number, wake: () => void): () => void {
  asleep.set(steps, wake)
  return () => asleep.delete(steps)
}

/** Wakes those for which units have been released in memory. To be called after everything that may release some. */
export function wakeRung(): void {
  if (asleep.size === 0) return
  for (const steps of native.rungSteps()) asleep.get(steps)?.()
}
