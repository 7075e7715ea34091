/**
 * Limits for calls that `fetch` makes: it waits for the turn of each, and takes over what the server says.
 *
 * @packageDocumentation
 */

import { exchanged, isInMemory, Outgoing, type OutgoingOptions } from './client/outgoing.js'
import { wrongType } from './errors.js'
import { untilForgotten } from './http/body.js'

export type { OutgoingLimit, OutgoingOptions, OutgoingRequest } from './client/outgoing.js'
export { BlockedError } from './limiter/blocked-error.js'

/** The options of {@link rateLimit}. */
export interface FetchOptions extends OutgoingOptions {
  /** The `fetch` that sends. @defaultValue the global one, at the time of the call */
  readonly fetch?: typeof fetch | undefined
}

/**
 * A `fetch` that waits for the turn of each request: `const fetch = rateLimit({ limits: '100/minute' })`.
 *
 * A request whose turn does not come within `maxWaitMs` rejects with a {@link BlockedError} and is not sent. A redirect
 * belongs to its request. A body that is a stream is sent once.
 *
 * @throws {@link LimitError} for an unknown or invalid option.
 *
 * @example
 * ```js
 * import { createServer } from 'node:http'
 * import { BlockedError, rateLimit } from 'tidegate/fetch'
 *
 * const server = createServer((request, response) => response.end('hello')).listen(0, '127.0.0.1')
 * await new Promise((ready) => server.once('listening', ready))
 * const url = `http://127.0.0.1:${server.address().port}`
 *
 * const fetch = rateLimit({ limits: '2/minute', maxWaitMs: 1000 })
 * assert.equal(await (await fetch(url)).text(), 'hello')
 * assert.equal((await fetch(url)).status, 200)
 * await assert.rejects(fetch(url), (error) => error instanceof BlockedError && error.info.resetSec === 30)
 * server.close()
 * server.closeAllConnections()
 * ```
 */
export function rateLimit(options: FetchOptions): typeof fetch {
  const outgoing = new Outgoing(options, ['fetch'])
  const given = options.fetch
  if (given !== undefined && typeof given !== 'function') throw wrongType('', 'fetch', 'must be a function', given)
  return async (input, init) => {
    // That of another fetch is of another class.
    const request = typeof input === 'object' && 'url' in input ? input : undefined
    const url = new URL(request?.url ?? String(input))
    const method = (init?.method ?? request?.method ?? 'GET').toUpperCase()
    return exchanged<Response>(outgoing, {
      request: { url, method },
      signal: init?.signal ?? request?.signal,
      replayable: isReplayable(init?.body ?? request?.body),
      send: () => (given ?? globalThis.fetch)(input, init),
      status: (response) => response.status,
      headers: (response) => response.headers,
      ending,
      discard: (response) => response.body?.cancel(),
    })
  }
}

function isReplayable(body: unknown): boolean {
  return isInMemory(body) || body instanceof FormData || body instanceof Blob
}

/** The same response, which calls `release` when its body has been read, or given up. */
function ending(response: Response, release: () => void): Response {
  // The `fetch` that sends may have read the body.
  if (response.body === null || response.body.locked || !canBeMade(response)) {
    release()
    return response
  }
  return named(new Response(untilForgotten(response.body, release), response), response)
}

/** A response with the URL of another one, which no program can give it; its clones too. */
function named(made: Response, { url, redirected, type }: Response): Response {
  return Object.defineProperties(made, {
    url: { value: url },
    redirected: { value: redirected },
    type: { value: type },
    clone: { value: () => named(Response.prototype.clone.call(made), made) },
  })
}

/** True for a status and a reason that a program may give a response; a server may send others. */
function canBeMade({ status, statusText }: Response): boolean {
  try {
    return Boolean(new Response(null, { status, statusText }))
  } catch {
    return false
  }
}
