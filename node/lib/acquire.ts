import { Call } from './buffer.js'
import { actorsOf, bufferFor, decideSeveral } from './checks.js'
import { answered, errorOf } from './errors.js'
import { infoFrom, LimitInfo, type Part, type Store } from './info.js'
import { native } from './native.js'
import type { Read } from './options.js'
import { expectInto, ignore, numbered, release, replyQueue } from './queue.js'
import { clearTimeout, elapsed, setTimeout } from './timers.js'

/**
 * Waits for its turn. The engine keeps the place in the line and says how long to sleep; giving the place up gives back
 * what was charged. A limiter that is closed meanwhile still answers those who wait.
 */
export async function acquired(store: Store, parts: readonly Part[], asked: Read): Promise<LimitInfo> {
  const { now, signal } = asked
  signal?.throwIfAborted()
  if (store.shared) return turn(store, parts, asked)
  if (now !== undefined || store.clock !== undefined) return decideSeveral(store, Call.Acquire, parts, asked)
  const buffer = bufferFor(store, Call.Acquire, parts, asked)
  const waiting = answered(native.startTurn(buffer, actorsOf(parts)))
  for (;;) {
    const sleepMs = answered(native.stepTurn(waiting, buffer))
    if (sleepMs < 0) break
    await waited(sleepMs, signal, () => native.freeTurn(waiting))
  }
  const info = infoFrom(buffer, store, parts, true)
  // Whoever waited in vain was not charged, whatever the limit does with those who are denied at once.
  if (info.blocked) LimitInfo.turn(info, false)
  return info
}

/** Waits for its turn with a store that others share, or with a `now` asks for one: the engine does all of it. */
function turn(store: Store, parts: readonly Part[], asked: Read): Promise<LimitInfo> {
  const { signal } = asked
  const buffer = bufferFor(store, Call.Acquire, parts, asked)
  const number = numbered(buffer)
  const running = native.startWaiting(buffer, actorsOf(parts))
  if (typeof running !== 'number') {
    release(number)
    throw errorOf(running)
  }
  return new Promise((resolve, reject) => {
    const over = (): void => {
      signal?.removeEventListener('abort', giveUp)
      native.freeWaiting(running)
    }
    const giveUp = (): void => {
      // The engine gives back what was charged, also where the answer is on its way already.
      if (native.giveUpWaiting(replyQueue(), running)) ignore(number)
      else release(number)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    expectInto(number, {
      resolve(info: LimitInfo) {
        over()
        if (info.blocked && asked.now === undefined) LimitInfo.turn(info, false)
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

/** Waits, unless the signal gives the wait up first: then `undo` runs once, and the promise rejects with the reason. */
function waited(ms: number, signal: AbortSignal | undefined, undo: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = elapsed() + ms
    let timer: NodeJS.Timeout | undefined
    const wait = (): void => {
      const left = end - elapsed()
      if (left > 0) {
        timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMER))
      } else {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
    }
    const giveUp = (): void => {
      clearTimeout(timer)
      undo()
      reject(signal?.reason)
    }
    // Between two waits nobody listens.
    if (signal?.aborted) return giveUp()
    signal?.addEventListener('abort', giveUp, { once: true })
    wait()
  })
}
