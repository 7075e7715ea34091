import { ANSWER_WIDTH, Answer, bufferOf, Out } from './buffer.js'
import { answered, read, wrongType } from './errors.js'
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

/** The numbers of an answer that its headers say. */
interface Numbers {
  readonly blocked: boolean
  readonly remaining: number
  readonly resetMs: number
  readonly resetSec: number
  readonly fullResetMs: number
  readonly waitMs: number
  readonly nextMs: number
  readonly quota: number
  readonly windowMs: number
}

/** An answer, as far as its headers go. */
export interface Headed extends Numbers {
  readonly binding: number
  readonly checks: readonly (Numbers & { readonly key: string })[]
}

/** The headers of an answer, by name. */
export function headersOf(info: Headed, kind: HeaderKind, options: HeaderOptions | undefined): Headers {
  if (kind === 'x' && options === undefined) return xHeaders(info)
  const flat = fields(info, kind, options)
  const headers: Headers = {}
  for (let index = 0; index < flat.length; index += 2) {
    headers[flat[index] as string] = flat[index + 1] as string
  }
  return headers
}

/**
 * The `X-RateLimit` family, as the engine's `headers::x` writes it: here because to ask the engine takes longer than to
 * write it.
 */
function xHeaders(info: Numbers): Headers {
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

/** Names and values in turn. */
function fields(info: Headed, kind: HeaderKind, options: HeaderOptions | undefined): string[] {
  if (typeof kind !== 'string') throw wrongType('', 'headers', 'must be a string', kind)
  const draft = options === undefined ? NEWEST_DRAFT : draftFrom(options)
  if (kind === 'x') return Object.entries(xHeaders(info)).flat()
  const { checks } = info
  const buffer = bufferOf(checks.length)
  buffer[Out.Count] = checks.length
  buffer[Out.Binding] = info.binding
  write(buffer, 0, info)
  if (checks.length > 1) {
    checks.forEach((check, index) => {
      write(buffer, 1 + index, check)
    })
  }
  const keys = checks.map((check) => check.key)
  return answered(native.headers(buffer, keys, kind, draft))
}

function draftFrom(options: HeaderOptions): number {
  if (typeof options !== 'object' || options === null) throw wrongType('', 'options', 'must be an object', options)
  const draft = read(options, 'draft', '')
  if (draft === undefined || draft === null) return NEWEST_DRAFT
  if (typeof draft !== 'number') throw wrongType('', 'draft', 'must be a number', draft)
  return draft
}

function write(buffer: Float64Array, place: number, info: Numbers): void {
  const at = Out.Answers + place * ANSWER_WIDTH
  buffer[at + Answer.Fate] = info.blocked ? 1 : 0
  buffer[at + Answer.Remaining] = info.remaining
  buffer[at + Answer.ResetMs] = info.resetMs
  buffer[at + Answer.FullResetMs] = info.fullResetMs
  buffer[at + Answer.WaitMs] = info.waitMs
  buffer[at + Answer.NextMs] = info.nextMs
  buffer[at + Answer.Quota] = info.quota
  buffer[at + Answer.WindowMs] = info.windowMs
}
