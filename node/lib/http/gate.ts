/* What the modules for web frameworks share: the client, the headers, refusals, and mistakes in the configuration. */

import { answered, knownOptions, wrongType } from '../errors.js'
import type { Check } from '../limiter/parts.js'
import { compiled } from '../limits/definition-cache.js'
import type { MistakeCode } from '../native/names.js'
import { type NativeGate, native, type RequestErrorName } from '../native/native.js'
import {
  byName,
  commonHeaders,
  type HeaderKind,
  type Headers,
  isRedirection,
  placeCommon,
  placeX,
  UNLIMITED,
  xHeaders,
} from '../results/headers.js'
import { LimitInfo } from '../results/info.js'

export { ConfigurationError } from '../errors.js'
export type { RateLimitPolicy, RateLimits } from '../native/rate-limits.js'
export { parseHeaders } from './parse-headers.js'

/** The options that all frameworks have in common; `null` is as if an option were not given. */
export interface GateOptions {
  /**
   * The proxies in front of the application: their number, or their addresses and networks; `'loopback'`,
   * `'linklocal'` and `'uniquelocal'` name the usual ones, `'unix'` is a peer without an address.
   * @defaultValue none: the peer is the client
   */
  readonly trustedProxies?: number | string | boolean | readonly string[] | null | undefined
  /**
   * The header in which the proxies write addresses; `'forwarded'` has the form of RFC 7239. Only this header is read.
   * @defaultValue 'x-forwarded-for'
   */
  readonly forwardedHeader?: string | null | undefined
  /** The bits of an IPv6 address that make one client. @defaultValue 64 */
  readonly ipv6Prefix?: number | null | undefined
  /** The style of the headers. @defaultValue 'common' */
  readonly headers?: HeaderKind | null | undefined
  /** The draft of the IETF's fields. @defaultValue 11 */
  readonly draft?: number | 'editors' | null | undefined
  /** The form of `X-RateLimit-Reset` in the style `'common'`. @defaultValue 'seconds' */
  readonly reset?: 'seconds' | 'epoch' | null | undefined
  /** The status of a refusal. @defaultValue 429 */
  readonly status?: number | null | undefined
  /** The body of a refusal; `'auto'` goes by the request's `Accept`. @defaultValue 'auto' */
  readonly body?: 'auto' | 'problem' | 'json' | 'text' | 'none' | null | undefined
  /** Codes of mistakes that are not warned of. */
  readonly silence?: MistakeCode | readonly MistakeCode[] | null | undefined
  /** The name of the limiter, for which each mistake is warned of once. */
  readonly scope?: string | null | undefined
}

/** The response to a request that is denied. */
export interface Refusal {
  /** The status, 429 unless set. */
  readonly status: number
  /** The headers, with `Retry-After`, `Cache-Control` and `Content-Type`; no `Content-Length`. */
  readonly headers: Headers
  /** The body; empty if there is none. */
  readonly body: string
  /** The value of `Content-Type`; empty without a body. */
  readonly mediaType: string
  /** The seconds until the request would be admitted, at least 1; 0 where no answer is blocked. */
  readonly retryAfter: number
}

/** The headers of a refusal without those of its body, which somebody else writes. */
export const withoutBody = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith('content-')))

/** One line of a header, all of them, or none. */
export type Lines = string | readonly string[] | undefined

/** The names of its options. */
export const GATE_OPTIONS = native.gateOptions()
/** Those that may be a list, which is one pair for each of its items. */
const LISTS = ['trustedProxies', 'silence']

/** The HTTP part of a middleware: the client, the headers, the refusal. Make one for an application. */
export class Gate {
  /** The name of the header whose lines {@link client} takes, in lower case. */
  readonly forwardedHeader: string
  /** True if no proxy is trusted, so that the forwarded header is ignored. */
  readonly trustsNobody: boolean
  readonly #native: NativeGate
  readonly #options: GateOptions
  #trusting: Gate | undefined
  /** The style, where it is written here. */
  readonly #style: 'x' | 'common' | undefined

  /** @throws {@link LimitError} for an option that does not exist, or a value that it does not take. */
  constructor(options?: GateOptions | null) {
    this.#options = knownOptions(options ?? {}, GATE_OPTIONS, 'a gate')
    const pairs = Object.entries(this.#options).flatMap(([name, value]) =>
      LISTS.includes(name) ? [value].flat().map((item) => [name, item] as const) : [[name, value] as const],
    )
    const names = pairs.map(([name]) => name)
    const values = pairs.map(([, value]) => value)
    this.#native = answered(native.makeGate(names, values))
    this.forwardedHeader = this.#native.headerName()
    this.trustsNobody = this.#native.trustsNobody()
    const style = this.#options.headers ?? 'common'
    const isHere = style === 'x' || (style === 'common' && (this.#options.reset ?? 'seconds') === 'seconds')
    this.#style = isHere ? style : undefined
  }

  /**
   * The client of a request, by the address of its peer and all lines of the {@link forwardedHeader}, in order.
   *
   * @throws {@link ConfigurationError} where there is no address.
   */
  client(peer: string | null | undefined, lines?: Lines): string {
    if (typeof peer !== 'string' && peer !== undefined && peer !== null) {
      throw wrongType('', 'peer', 'must be a string', peer)
    }
    const found = answered(this.#native.client(peer ?? undefined, linesOf(lines)))
    if (typeof found === 'string') return found
    tell(found.code as MistakeCode, found.text)
    return found.actor
  }

  /** The gate for an app whose framework trusts every proxy: it tells of that, and trusts one. */
  get trusting(): Gate {
    this.#trusting ??= new Gate({ ...this.#options, trustedProxies: true })
    return this.#trusting
  }

  /** The headers of a response with this status, of one answer or of all that belong to it. */
  headers(infos: LimitInfo | readonly LimitInfo[], status = 200): Headers {
    const style = this.#style
    if (style !== undefined && infos instanceof LimitInfo) {
      if (isRedirection(status)) return {}
      if (style === 'common') return commonHeaders(deciding(infos))
      return infos.quota >= UNLIMITED && !infos.blocked ? {} : xHeaders(infos)
    }
    const { numbers, keys } = answersOf(infos)
    return byName(this.#native.headers(numbers, keys, status))
  }

  /**
   * Puts the headers of an answer that admits among others, under names in lower case, and returns the first of them;
   * nothing where {@link headers} has to write them.
   */
  place(info: LimitInfo, headers: Headers): string | undefined {
    const style = this.#style
    if (style === undefined || info.blocked || info.quota >= UNLIMITED) return undefined
    return style === 'x' ? placeX(info, headers) : placeCommon(deciding(info), headers)
  }

  /** The response to a denied request, by all lines of its `Accept`; `detail` replaces the sentence in it. */
  refusal(infos: LimitInfo | readonly LimitInfo[], accept?: Lines, detail?: string): Refusal {
    const { numbers, keys } = answersOf(infos)
    const { headers, ...rest } = this.#native.refusal(numbers, keys, linesOf(accept), detail)
    return { ...rest, headers: byName(headers) }
  }

  /** The response to a request that cannot be decided, by the name of its error. It has no `Retry-After`. */
  rejection(name: RequestErrorName, accept?: Lines): Refusal {
    const { headers, ...rest } = answered(this.#native.rejection(name, linesOf(accept)))
    return { ...rest, headers: byName(headers) }
  }

  /** Reports a mistake that a middleware found, once and unless it is silenced. True if it is reported now. */
  report(mistake: MistakeCode, detail = ''): boolean {
    const text = this.#native.report(mistake, detail)
    if (text === undefined || text === null) return false
    tell(mistake, answered(text))
    return true
  }
}

/** Warns of a mistake. */
function tell(code: MistakeCode, text: string): void {
  process.emitWarning(text, { type: 'TidegateWarning', code })
}

/** The sentence of every mistake, by its code. */
export const MISTAKES = new Map(Object.entries(byName(native.mistakes()))) as ReadonlyMap<MistakeCode, string>

/** Forgets the mistakes that were reported, for tests. */
export const forgetMistakes = (): void => native.forgetMistakes()

/** The answer of the check that decides. */
const deciding = (info: LimitInfo): LimitInfo =>
  LimitInfo.isOfOne(info) ? info : (info.checks[info.binding] as LimitInfo)

/**
 * One check for each limit and actor: a check that several places make is charged once, with the larger of the costs.
 *
 * @throws {@link LimitError} for an invalid definition or cost.
 */
export function combine(checks: readonly Check[]): Check[] {
  const numbers = answered(native.combine(...columnsOf(checks)))
  const kept: Check[] = []
  for (let at = 0; at < numbers.length; at += 2) {
    kept.push({ ...(checks[numbers[at] as number] as Check), cost: numbers[at + 1] as number })
  }
  return kept
}

/**
 * The columns of a table of checks: handles, actors, costs, factors.
 *
 * @internal
 */
export function columnsOf(checks: readonly Check[]): [number[], string[], number[], number[]] {
  return [
    checks.map(({ limit }) => compiled(limit).handle),
    checks.map(({ actor }) => actor),
    checks.map((check) => numberOf(check, 'cost')),
    checks.map((check) => numberOf(check, 'factor')),
  ]
}

function numberOf(check: Check, field: 'cost' | 'factor'): number {
  const value: unknown = check[field] ?? 1
  if (typeof value !== 'number') throw wrongType(compiled(check.limit).key, field, 'must be a number', value)
  return value
}

const linesOf = (lines: Lines): readonly string[] =>
  lines === undefined || lines === null ? [] : typeof lines === 'string' ? [lines] : lines

/** The numbers of answers, each in a row in the order in which `src/http` reads them. */
function answersOf(infos: LimitInfo | readonly LimitInfo[]): { numbers: Float64Array; keys: string[] } {
  const keys: string[] = []
  const each: number[] = []
  for (const info of infos instanceof LimitInfo ? [infos] : infos) {
    if (!(info instanceof LimitInfo)) throw wrongType('', 'infos', 'must be answers', info)
    const { at, costs } = LimitInfo.asked(info)
    for (const [index, check] of info.checks.entries()) {
      const { blocked, remaining, resetMs, fullResetMs, nextMs, quota, windowMs, key } = check
      const cost = costs[index] ?? -1
      each.push(blocked ? 1 : 0, remaining, resetMs, fullResetMs, nextMs, quota, windowMs, at, cost)
      keys.push(key)
    }
  }
  return { numbers: Float64Array.from(each), keys }
}
