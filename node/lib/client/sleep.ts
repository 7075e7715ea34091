import { clearTimeout, elapsed, setTimeout } from '../time/timers.js'

/** The longest delay that a timer takes; a longer wait takes several. */
const LONGEST_TIMER = 2 ** 31 - 1

/** Waits, unless the signal aborts first: then it rejects with the reason. */
export function slept(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const end = elapsed() + ms
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const wait = (): void => {
      const left = end - elapsed()
      if (left > 0) {
        timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMER))
        return
      }
      signal?.removeEventListener('abort', stop)
      resolve()
    }
    signal?.addEventListener('abort', stop, { once: true })
    wait()
  })
}
