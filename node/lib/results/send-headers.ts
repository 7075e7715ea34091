import { wrongType } from '../errors.js'
import { type HeaderKind, type HeaderOptions, type Headers, headersOf } from './headers.js'
import { LimitInfo } from './info.js'

/**
 * The HTTP headers that go with an answer, by name.
 *
 * @throws {@link LimitError} for a kind or a draft that does not exist.
 *
 * @example
 * ```js
 * import { bucket, Limiter, rateLimitHeaders } from 'tidegate'
 *
 * const door = bucket({ key: 'door', size: 1 })
 * const limiter = new Limiter()
 * limiter.limitSync(door, 'ada', { now: 0 })
 * const denied = limiter.limitSync(door, 'ada', { now: 245 })
 * assert.deepEqual(rateLimitHeaders(denied), {
 *   'X-RateLimit-Remaining': '0',
 *   'X-RateLimit-Clear': '0.755',
 *   'X-RateLimit-Reset': '0.755',
 *   'Retry-After': '1',
 * })
 * ```
 */
export function rateLimitHeaders(info: LimitInfo, kind: HeaderKind = 'x', options?: HeaderOptions): Headers {
  if (typeof (info as LimitInfo | null | undefined)?.remaining !== 'number') {
    const problem = info instanceof Promise ? 'must be an answer: await the call' : 'must be an answer'
    throw wrongType('', 'info', problem, info)
  }
  return headersOf(info, kind, options, info instanceof LimitInfo ? LimitInfo.asked : undefined)
}

/** A response on which headers can be set: Node's own, and so Express's, or Fastify's reply. */
export type Reply =
  | { setHeader(name: string, value: string): unknown }
  | { header(name: string, value: string): unknown }

/**
 * Sets the headers that go with an answer on a response of Express, Fastify or `node:http`. It sets nothing else:
 * the status of a denial (429) and its body are the caller's.
 *
 * @throws {@link LimitError} for a kind or a draft that does not exist, or what is no response.
 *
 * @example
 * ```js
 * import { createServer } from 'node:http'
 * import { bucket, Limiter, sendRateLimitHeaders } from 'tidegate'
 *
 * const login = bucket({ key: 'login', size: 10 })
 * const limiter = new Limiter()
 * const server = createServer((request, response) => {
 *   const info = limiter.limitSync(login, request.socket.remoteAddress ?? '')
 *   sendRateLimitHeaders(response, info)
 *   response.statusCode = info.blocked ? 429 : 200
 *   response.end()
 * })
 * await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
 * const response = await fetch(`http://127.0.0.1:${server.address().port}`)
 * assert.equal(response.headers.get('X-RateLimit-Remaining'), '9')
 * server.close()
 * server.closeAllConnections()
 * ```
 */
export function sendRateLimitHeaders(
  reply: Reply,
  info: LimitInfo,
  kind: HeaderKind = 'x',
  options?: HeaderOptions,
): void {
  const headers = rateLimitHeaders(info, kind, options)
  const set = setter(reply)
  for (const name in headers) set.call(reply, name, headers[name] as string)
}

type Setter = (this: Reply, name: string, value: string) => unknown

function setter(reply: Reply): Setter {
  const { setHeader, header } = (reply ?? {}) as Record<string, unknown>
  if (typeof setHeader === 'function') return setHeader as Setter
  if (typeof header === 'function') return header as Setter
  throw wrongType('', 'reply', 'must be a response with setHeader or header', reply)
}
