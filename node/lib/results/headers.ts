import { answered, knownOptions, wrongType } from '../errors.js'
import { ANSWER_WIDTH, AnswerAt, bufferOf, Out } from '../native/buffer.js'
import type { InfoNumbers } from '../native/names.js'
import { native } from '../native/native.js'
import { writeNumbers } from './stub.js'

/**
 * A style of headers: the `X-RateLimit` family with `Retry-After` (`'x'`), the fields of most other libraries
 * (`'common'`), those that the IETF is standardising (`'ietf'`), `'x'` and `'ietf'` (`'both'`), or none.
 */
export type HeaderKind = 'x' | 'common' | 'ietf' | 'both' | 'none'

/** The form of the headers. */
export interface HeaderOptions {
  /**
   * The version of draft-ietf-httpapi-ratelimit-headers that the clients read: 6, 7 or 11, or the parameters that its
   * editors have proposed since. @defaultValue 11
   */
  readonly draft?: number | 'editors' | null | undefined
  /** The form of `X-RateLimit-Reset` in the style `'common'`. @defaultValue 'seconds' */
  readonly reset?: 'seconds' | 'epoch' | null | undefined
}

/** Values by name. */
export type Headers = Record<string, string>

/** The numbers of an answer that its headers are made of. */
type Numbers = Omit<InfoNumbers, 'degraded'>

/** An answer, as far as its headers need it. */
export interface Headed extends Numbers {
  readonly binding: number
  readonly checks: readonly (Numbers & { readonly key: string })[]
}

/** Further facts about an answer. */
export interface Facts {
  /** Its instant in microseconds; 0 where it is not known. */
  readonly at: number
  /** The cost of each of its checks; below 0 where it is not known. */
  readonly costs: readonly number[]
}

/** True for the statuses of redirections, whose responses get no headers of limits. */
export const isRedirection = (status: number): boolean => status >= 300 && status < 400

/** The size of a limit that is none. */
export const UNLIMITED = Number.MAX_SAFE_INTEGER
const nothing = (): Facts => ({ at: 0, costs: [] })

/** The headers of an answer, by name. `asked` is called for the styles that name more of a call than its answer. */
export function headersOf<Info extends Headed>(
  info: Info,
  kind: HeaderKind,
  options: HeaderOptions | undefined,
  asked: (info: Info) => Facts = nothing,
): Headers {
  if (kind === 'x' && options === undefined) return xHeaders(info)
  if (kind === 'common' && options === undefined && info.checks.length === 1) return commonHeaders(info)
  return byName(fields(info, kind, options, asked(info)))
}

/** Values by name, of names and values in turn. */
export function byName(flat: readonly string[]): Headers {
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
export function xHeaders(info: Numbers): Headers {
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

/** `X-RateLimit-Limit`, `-Remaining` and `-Reset` of one check, as the engine's `headers::common` writes them. */
export function commonHeaders(info: Numbers): Headers {
  if (info.quota >= UNLIMITED && !info.blocked) return {}
  const headers: Headers = {
    'X-RateLimit-Limit': `${info.quota}`,
    'X-RateLimit-Remaining': `${info.remaining}`,
    'X-RateLimit-Reset': `${info.blocked ? info.resetSec : info.fullResetSec}`,
  }
  if (info.blocked) headers['Retry-After'] = `${info.resetSec}`
  return headers
}

/** Puts {@link xHeaders} among others, under names in lower case, and returns the first of them. */
export function placeX(info: Numbers, headers: Headers): string {
  // Names that are constants: a property whose name varies takes several times as long.
  headers['x-ratelimit-remaining'] = `${info.remaining}`
  headers['x-ratelimit-clear'] = seconds(info.fullResetMs)
  return 'x-ratelimit-remaining'
}

/** Puts {@link commonHeaders} among others, under names in lower case, and returns the first of them. */
export function placeCommon(info: Numbers, headers: Headers): string {
  headers['x-ratelimit-limit'] = `${info.quota}`
  headers['x-ratelimit-remaining'] = `${info.remaining}`
  headers['x-ratelimit-reset'] = `${info.fullResetSec}`
  return 'x-ratelimit-limit'
}

/** The decimals of the seconds for each number of milliseconds. */
const DECIMALS: readonly string[] = Array.from({ length: 1000 }, (_, ms) => `${ms / 1000}`.slice(1))

/** Milliseconds as seconds: at most three decimals, no trailing zeros. */
function seconds(ms: number): string {
  const rest = ms % 1000
  return `${(ms - rest) / 1000}${DECIMALS[rest]}`
}

/** Names and values in turn. */
function fields(info: Headed, kind: HeaderKind, options: HeaderOptions | undefined, { at, costs }: Facts): string[] {
  const { draft, reset } = headerOptions(options)
  const { checks } = info
  const buffer = bufferOf(checks.length)
  buffer[Out.Count] = checks.length
  buffer[Out.Binding] = info.binding
  writeAnswer(buffer, 0, info, at)
  const several = checks.length > 1 ? checks : []
  several.forEach((check, index) => {
    writeAnswer(buffer, 1 + index, check, at)
  })
  const keys = checks.map((check) => check.key)
  const each = keys.map((_, index) => costs[index] ?? -1)
  return answered(native.headers(buffer, keys, each, kind, draft, reset))
}

/** Options, each read once; `null` is as if it were not there. A misspelt one is refused: its default would stay. */
function headerOptions(options: HeaderOptions | undefined): { draft: unknown; reset: unknown } {
  if (options === undefined) return { draft: undefined, reset: undefined }
  if (typeof options !== 'object' || options === null) throw wrongType('', 'options', 'must be an object', options)
  const { draft, reset } = knownOptions(options, ['draft', 'reset'], 'the headers')
  return { draft: draft ?? undefined, reset: reset ?? undefined }
}

function writeAnswer(buffer: Float64Array, place: number, info: Numbers, instant: number): void {
  const from = Out.Answers + place * ANSWER_WIDTH
  writeNumbers(buffer, from, info)
  buffer[from + AnswerAt.At] = instant
}
