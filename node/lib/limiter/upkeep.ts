import { errorOf } from '../errors.js'
import { type Failure, native } from '../native/native.js'
import type { Store } from '../results/info.js'
import { expect, numbered, release, replyQueue } from './queue.js'
import { wakeRung } from './waiting.js'

/** The health of a store. */
export interface Health {
  /** The servers that were tested; none in memory. */
  readonly servers: readonly string[]
  /** The milliseconds that the slowest of them took to decide. */
  readonly roundTripMs: number
  /** The milliseconds by which the clock of a server is ahead of this host's; the server's clock decides. */
  readonly clockAheadMs: number
  /** The `maxmemory-policy` of the first, where the user may ask for it. */
  readonly memoryPolicy?: string
  /** Problems, in words, that do not keep calls from being decided. */
  readonly warnings: readonly string[]
}

type Begin = (limiter: number, queue: number, call: number) => Failure | null

/** The health of the store. */
export function ping(store: Store): Promise<Health> {
  return asked(store, native.startPing)
}

/** Removes every entry of the limiter's namespace. */
export async function clear(store: Store): Promise<number> {
  const removed = await asked<number>(store, native.startClear)
  wakeRung()
  return removed
}

function asked<T>(store: Store, begin: Begin): Promise<T> {
  const call = numbered(native.callBuffer)
  // A value comes as it is.
  const answer = expect<T>(call, () => undefined as T)
  const failure = begin(store.handle, replyQueue(), call)
  if (failure === null) return answer
  release(call)
  return Promise.reject(errorOf(failure))
}
