/* Functions of the app: what they answer with, and what they throw. */

import { isPromise } from './later.js'
import type { Later } from './rules.js'

/** Asks a function of the app about a request. What it throws is always an error. */
export function asked<Request, T>(ask: (request: Request) => Later<T>, request: Request): Later<T> {
  let answer: Later<T>
  try {
    answer = ask(request)
  } catch (reason) {
    throw errorFrom(reason)
  }
  return isPromise(answer) ? Promise.resolve(answer).catch(rethrow) : answer
}

function rethrow(reason: unknown): never {
  throw errorFrom(reason)
}

/** An error for anything that is thrown: frameworks take nothing for success, and Express takes some words for orders. */
export function errorFrom(reason: unknown): unknown {
  if (typeof reason === 'object' && reason !== null) return reason
  return new Error('a function of the rate limit failed, and not with an error', { cause: reason })
}
