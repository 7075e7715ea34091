import { answered, errorOf } from '../errors.js'
import { Call } from '../native/buffer.js'
import { native } from '../native/native.js'
import { infoFrom, LimitInfo, type Part, type Store } from '../results/info.js'
import { clearTimeout, elapsed, setTimeout } from '../time/timers.js'
import type { Read } from './call-options.js'
import { type Answer, actorsOf, bufferFor, decideSeveral } from './checks.js'
import { expectInto, ignore, numbered, release, replyQueue } from './queue.js'
import { wakeRung, whenRung } from './waiting.js'

/**
 * Waits for a turn. The engine keeps the ticket in the wait queue and returns the time to sleep; freeing the ticket
 * gives its charge back. Calls that wait are still answered when the limiter is closed meanwhile.
 */
export async function acquiredLater(store: Store, parts: readonly Part[], options: Read): Promise<LimitInfo> {
  const { now, signal } = options
  signal?.throwIfAborted()
  if (store.shared) return handled(store, Call.Acquire, parts, options)
  if (now !== undefined || store.clock !== undefined) return decideSeveral(store, Call.Acquire, parts, options)
  const buffer = bufferFor(store, Call.Acquire, parts, options)
  const steps = answered(native.startSteps(buffer, actorsOf(parts)))
  for (;;) {
    const sleepMs = answered(native.nextStep(steps, buffer))
    if (sleepMs < 0) break
    await waited(sleepMs, signal, steps)
  }
  // Who came next may fit now.
  wakeRung()
  const info = infoFrom(buffer, store, parts, true)
  // A call that waited in vain gives nothing back: whether it was charged, its answer does not say.
  if (info.blocked) LimitInfo.open(info, false)
  return info
}

/** Charges what fits now; in a shared store it is given back where the signal aborts meanwhile. */
export function limitedLater(store: Store, parts: readonly Part[], options: Read): Answer {
  return store.shared ? handled(store, Call.Limit, parts, options) : decideSeveral(store, Call.Limit, parts, options)
}

/** Waits for a turn of a shared store, for which the engine sleeps. */
function handled(store: Store, call: number, parts: readonly Part[], options: Read): Promise<LimitInfo> {
  const { signal } = options
  const buffer = bufferFor(store, call, parts, options)
  const number = numbered(buffer)
  const handle = native.startAcquire(buffer, actorsOf(parts))
  if (typeof handle !== 'number') {
    release(number)
    throw errorOf(handle)
  }
  return new Promise((resolve, reject) => {
    const over = (): void => {
      signal?.removeEventListener('abort', cancel)
      native.freeAcquire(handle)
    }
    const cancel = (): void => {
      // The engine gives the charge back, also where the answer is on its way already.
      if (native.cancelAcquire(replyQueue(), handle)) ignore(number)
      else release(number)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', cancel, { once: true })
    expectInto(number, {
      resolve(info: LimitInfo) {
        over()
        if (info.blocked && options.now === undefined) LimitInfo.open(info, false)
        resolve(info)
      },
      reject(reason) {
        over()
        reject(reason)
      },
      read: (buffer, at) => infoFrom(buffer, store, parts, true, at),
    })
  })
}

/** The longest delay that a timer takes; a longer wait takes several. */
const LONGEST_TIMER = 2 ** 31 - 1

/**
 * Waits, at most until units are released for these steps, unless the signal aborts first: then they are freed, and the
 * promise rejects with the reason.
 */
function waited(ms: number, signal: AbortSignal | undefined, steps: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = elapsed() + ms
    let timer: ReturnType<typeof setTimeout> | undefined
    const over = (): void => {
      clearTimeout(timer)
      forget()
      signal?.removeEventListener('abort', cancel)
      resolve()
    }
    const wait = (): void => {
      const left = end - elapsed()
      if (left > 0) timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMER))
      else over()
    }
    const cancel = (): void => {
      clearTimeout(timer)
      forget()
      native.freeSteps(steps)
      wakeRung()
      reject(signal?.reason)
    }
    const forget = whenRung(steps, over)
    // Between two waits there is no listener.
    if (signal?.aborted) return cancel()
    signal?.addEventListener('abort', cancel, { once: true })
    wait()
  })
}
