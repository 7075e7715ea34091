/*
 * The timer of all that this thread holds. A hold is due after the same time again and again, so those with the same time
 * are due in the order in which they were added: no list has to be sorted.
 */

import { clearTimeout, elapsed, setTimeout } from '../time/timers.js'

/** A call that is made once it is due. */
export interface Renewal {
  readonly due: number
  readonly call: () => void
}

/** The renewals that are due so many milliseconds after they were added, in order. */
const queues = new Map<number, Set<Renewal>>()

let timer: ReturnType<typeof setTimeout> | undefined
/** The time for which the timer is set. */
let wakes = Number.POSITIVE_INFINITY

/** The longest delay that a timer takes. */
const LONGEST_TIMER = 2 ** 31 - 1

/** Calls after so many milliseconds, unless that is taken back; it keeps no process alive. */
export function renewAfter(ms: number, call: () => void): () => void {
  const renewal = { due: elapsed() + ms, call }
  const queue = queues.get(ms) ?? new Set()
  if (queue.size === 0) queues.set(ms, queue)
  queue.add(renewal)
  wakeAt(renewal.due)
  // A queue that is empty then is dropped when the timer goes off, and used again until then.
  return () => queue.delete(renewal)
}

function wakeAt(due: number): void {
  if (due >= wakes) return
  clearTimeout(timer)
  wakes = due
  timer = setTimeout(wake, Math.min(Math.max(Math.ceil(due - elapsed()), 1), LONGEST_TIMER))
  timer.unref()
}

function wake(): void {
  wakes = Number.POSITIVE_INFINITY
  const now = elapsed()
  const due: Renewal[] = []
  for (const [ms, queue] of queues) {
    for (const renewal of queue) {
      if (renewal.due > now) break
      queue.delete(renewal)
      due.push(renewal)
    }
    if (queue.size === 0) queues.delete(ms)
  }
  for (const { call } of due) call()
  for (const queue of queues.values()) {
    for (const first of queue) {
      wakeAt(first.due)
      break
    }
  }
}
