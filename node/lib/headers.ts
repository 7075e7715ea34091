import { answered, read, wrongType } from './errors.js'
import { ANSWER_WIDTH, Answer, frameOf, Out } from './frame.js'
import type { LimitInfo } from './info.js'
import { native } from './native.js'

/** The `X-RateLimit` family with `Retry-After`, the fields that the IETF is standardising, or both. */
export type HeaderKind = 'x' | 'ietf' | 'both'

/** How to write the IETF fields. */
export interface HeaderOptions {
  /** The version of draft-ietf-httpapi-ratelimit-headers that the clients read: 6, 7 or 11. @defaultValue 11 */
  readonly draft?: number | undefined
}

/** Values by name. */
export type Headers = Record<string, string>

const NEWEST_DRAFT = 11

/** As names of properties they are known to Node, which takes longer over a header whose name it has not met before. */
const X_NAMES = Object.keys(Object.fromEntries(native.xNames().map((name) => [name, ''])))

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
  const flat = fields(info, kind, options)
  const headers: Headers = {}
  for (let index = 0; index < flat.length; index += 2) {
    headers[flat[index] as string] = flat[index + 1] as string
  }
  return headers
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
  const flat = fields(info, kind, options)
  const set = setter(reply)
  for (let index = 0; index < flat.length; index += 2) {
    set.call(reply, flat[index] as string, flat[index + 1] as string)
  }
}

type Setter = (this: Reply, name: string, value: string) => unknown

function setter(reply: Reply): Setter {
  const { setHeader, header } = (reply ?? {}) as Record<string, unknown>
  if (typeof setHeader === 'function') return setHeader as Setter
  if (typeof header === 'function') return header as Setter
  throw wrongType('', 'reply', 'must be a response with setHeader or header', reply)
}

/** Names and values in turn. */
function fields(info: LimitInfo, kind: HeaderKind, options: HeaderOptions | undefined): string[] {
  if (typeof info !== 'object' || info === null) throw wrongType('', 'info', 'must be an answer', info)
  if (typeof kind !== 'string') throw wrongType('', 'headers', 'must be a string', kind)
  const draft = options === undefined ? NEWEST_DRAFT : draftFrom(options)
  if (kind === 'x') {
    write(native.frame, 0, info)
    const lines = answered(native.xValues())
    const flat: string[] = []
    for (let from = 0, field = 0; from <= lines.length; field++) {
      const end = lines.indexOf('\n', from)
      const next = end < 0 ? lines.length : end
      flat.push(X_NAMES[field] as string, lines.slice(from, next))
      from = next + 1
    }
    return flat
  }
  const { checks } = info
  const frame = frameOf(checks.length)
  frame[Out.Count] = checks.length
  frame[Out.Binding] = info.binding
  write(frame, 0, info)
  if (checks.length > 1) {
    checks.forEach((check, index) => {
      write(frame, 1 + index, check)
    })
  }
  const keys = checks.map((check) => check.key)
  return answered(native.headers(frame, keys, kind, draft))
}

function draftFrom(options: HeaderOptions): number {
  if (typeof options !== 'object' || options === null) throw wrongType('', 'options', 'must be an object', options)
  const draft = read(options, 'draft', '')
  if (draft === undefined) return NEWEST_DRAFT
  if (typeof draft !== 'number') throw wrongType('', 'draft', 'must be a number', draft)
  return draft
}

function write(frame: Float64Array, place: number, info: LimitInfo): void {
  const at = Out.Answers + place * ANSWER_WIDTH
  frame[at + Answer.Fate] = info.blocked ? 1 : 0
  frame[at + Answer.Remaining] = info.remaining
  frame[at + Answer.ResetMs] = info.resetMs
  frame[at + Answer.FullResetMs] = info.fullResetMs
  frame[at + Answer.WaitMs] = info.waitMs
  frame[at + Answer.NextMs] = info.nextMs
  frame[at + Answer.Quota] = info.quota
  frame[at + Answer.WindowMs] = info.windowMs
}
