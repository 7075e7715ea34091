import { decideSeveral, type Part } from './checks.js'
import { Call } from './frame.js'
import type { LimitInfo } from './info.js'
import type { Read } from './options.js'

/**
 * Waits for its turn. The engine says how long: a limit that can reserve a place is charged at once and names the wait
 * until it, any other says when to try again. `limiter` is asked each time, for it may be closed meanwhile.
 */
export async function acquired(limiter: () => number, parts: readonly Part[], asked: Read): Promise<LimitInfo> {
  const { now, maxWaitMs, signal } = asked
  signal?.throwIfAborted()
  const started = performance.now()
  let info = decideSeveral(limiter(), Call.Acquire, parts, asked)
  if (now !== undefined) return info
  let waitedMs = 0
  while (info.blocked && (maxWaitMs === undefined || waitedMs + info.resetMs <= maxWaitMs)) {
    await waited(info.resetMs, signal)
    waitedMs = Math.ceil(performance.now() - started)
    const left = maxWaitMs === undefined ? undefined : Math.max(0, maxWaitMs - waitedMs)
    info = decideSeveral(limiter(), Call.Acquire, parts, { now, maxWaitMs: left }, waitedMs)
  }
  if (!info.blocked && info.waitMs > waitedMs) {
    await waited(info.waitMs - waitedMs, signal, () => decideSeveral(limiter(), Call.Refund, parts, asked))
  }
  return info
}

/** The longest delay that a timer takes; a longer wait takes several. */
const LONGEST_TIMER = 2 ** 31 - 1

/** Waits, unless the signal gives the wait up first: then `undo` runs once, and the promise rejects with the reason. */
function waited(ms: number, signal: AbortSignal | undefined, undo?: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = performance.now() + ms
    let timer: NodeJS.Timeout
    const wait = (): void => {
      const left = end - performance.now()
      if (left > 0) {
        timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMER))
      } else {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
    }
    const giveUp = (): void => {
      clearTimeout(timer)
      try {
        undo?.()
      } catch {
        // A limiter that was closed meanwhile has nothing left to give back to.
      }
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    wait()
  })
}
