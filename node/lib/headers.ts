import { answered, read, wrongType } from './errors.js'
import { ANSWER_WIDTH, Answer, frameOf, Out } from './frame.js'
import type { LimitInfo } from './info.js'
import { native } from './native.js'

/** The `X-RateLimit` family with `Retry-After`, the fields that the IETF is standardising, or both. */
export type HeaderKind = 'x' | 'ietf' | 'both'

/** How to write the IETF fields. */
export interface HeaderOptions {
  /** The version of draft-ietf-httpapi-ratelimit-headers that the clients read: 6, 7 or 11. @defaultValue 11 */
  readonly draft?: number | null | undefined
}

/** Values by name. */
export type Headers = Record<string, string>

const NEWEST_DRAFT = 11

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
  if (kind === 'x' && options === undefined) return xHeaders(answer(info))
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

/**
 * The `X-RateLimit` family, as the engine's `headers::x` writes it: here because to ask the engine takes longer than to
 * write it.
 */
function xHeaders(info: LimitInfo): Headers {
  // As names of properties they are known to Node, which takes longer over a header whose name it has not met before.
  const headers: Headers = {
    'X-RateLimit-Remaining': `${info.remaining}`,
    'X-RateLimit-Clear': seconds(info.fullResetMs),
  }
  if (info.blocked) {
    headers['X-RateLimit-Reset'] = seconds(info.resetMs)
    headers['Retry-After'] = `${info.resetSec}`
  }
  return headers
}

/** What stands behind the seconds for each number of milliseconds. */
const DECIMALS: readonly string[] = Array.from({ length: 1000 }, (_, ms) => `${ms / 1000}`.slice(1))

/** Milliseconds as seconds: at most three decimals, no trailing zeros. */
function seconds(ms: number): string {
  const rest = ms % 1000
  return `${(ms - rest) / 1000}${DECIMALS[rest]}`
}

function answer(info: LimitInfo): LimitInfo {
  if (typeof info !== 'object' || info === null) throw wrongType('', 'info', 'must be an answer', info)
  return info
}

/** Names and values in turn. */
function fields(given: LimitInfo, kind: HeaderKind, options: HeaderOptions | undefined): string[] {
  const info = answer(given)
  if (typeof kind !== 'string') throw wrongType('', 'headers', 'must be a string', kind)
  const draft = options === undefined ? NEWEST_DRAFT : draftFrom(options)
  if (kind === 'x') return Object.entries(xHeaders(info)).flat()
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
  if (draft === undefined || draft === null) return NEWEST_DRAFT
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
