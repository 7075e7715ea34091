/* Values that come at once or later. */

/** A value, or a promise of it. */
export type Later<T> = T | Promise<T>

/** A value once it is here, or the promise that follows it: what is there at once costs no promise. */
export function after<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}

/**
 * Goes on with the value of a call once it is here, or with what the call throws. As with `then`, an error of one of the
 * two that go on is not the other's.
 */
export function attempt<T, U>(
  call: () => T | Promise<T>,
  failed: (error: unknown) => U | Promise<U>,
  next: (value: T) => U | Promise<U>,
): U | Promise<U> {
  let value: T | Promise<T>
  try {
    value = call()
  } catch (error) {
    return failed(error)
  }
  return isPromise(value) ? Promise.resolve(value).then(next, failed) : next(value)
}

/** The same call, made once. */
export function once(call: () => void): () => void {
  let isMade = false
  return () => {
    if (isMade) return
    isMade = true
    call()
  }
}

/** A value as it is. */
export const same = <T>(value: T): T => value

/**
 * The values that all of these give, or a promise of them where one gives a promise. Where one throws, nobody waits any
 * more for the promises before it, and a rejection that nobody waits for would end the process.
 */
export function all<T, U>(items: readonly T[], give: (item: T) => U | Promise<U>): U[] | Promise<U[]> {
  const given: (U | Promise<U>)[] = []
  try {
    for (const item of items) given.push(give(item))
  } catch (error) {
    for (const one of given) if (isPromise(one)) Promise.resolve(one).catch(() => {})
    throw error
  }
  return given.some(isPromise) ? Promise.all(given) : (given as U[])
}

/** True for a promise of any library. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
