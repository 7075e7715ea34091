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

/** A value as it is. */
export const same = <T>(value: T): T => value

/** All values, or a promise of them where one is a promise. */
export function all<T>(values: readonly (T | Promise<T>)[]): T[] | Promise<T[]> {
  return values.some(isPromise) ? Promise.all(values) : (values as T[])
}

/** True for a promise of any library. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
