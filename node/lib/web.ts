/**
 * Rate limits for handlers of the web's own `Request` and `Response`, in any framework.
 *
 * @packageDocumentation
 */

import { wrongType } from './errors.js'
import type { Headers } from './headers.js'
import type { Refusal } from './http.js'
import type { LimitInfo } from './info.js'
import type { Limiter } from './limiter.js'
import { responseOf, withHeaders } from './room/fetch.js'
import type { Framework, Gates } from './room/framework.js'
import { type RoomOptions, type RouteOptions, routeOptions } from './room/options.js'
import { RequestError } from './room/request-error.js'
import { Room } from './room/room.js'
import type { LimitsOfRequest, RoomLimits } from './room/rules.js'
import { type ChargeOn, chargeOption, settle } from './room/settle.js'
import type { Trials } from './room/trials.js'

export type { RoomLimit, RoomLimits, Rule } from './room/rules.js'
export type { Trials } from './room/trials.js'

/** The options of {@link rateLimit}. */
export interface RateLimitOptions extends RoomOptions<Request> {
  /** Statuses, or a function: only these outcomes stay charged. {@link Limited.apply} gives back the others. */
  readonly chargeOn?: ChargeOn<[request: Request, response: Response]> | undefined
}

/** Facts that a request does not say itself. */
export interface Peer {
  /**
   * The address of the peer, as the server or the platform gives it; never a header that a client can write. Needed
   * where there is no `key`.
   */
  readonly address?: string | undefined
}

/** The answer to a request. */
export interface Limited {
  /** The answer of the limiter; nothing where the request is not limited, or cannot be. */
  readonly info: LimitInfo | undefined
  /** The headers for the response, by name. */
  readonly headers: Headers
  /** The response to a request that is refused, or that has a key or a cost that is none; nothing where it may pass. */
  readonly response: Response | undefined
  /** The handler's response with the headers, unless it is a redirection; it settles `chargeOn`. */
  apply(response: Response): Response
}

/** Checks a request. */
export interface RateLimit {
  (request: Request, peer?: Peer): Promise<Limited>
  /** A check that adds limits to these: one decision for all of them, either every one is charged or none. */
  and(more: RoomLimits<Request> | LimitsOfRequest<Request> | RouteOptions<RateLimitOptions>): RateLimit
  /** The counts of limits in shadow mode and of candidates. */
  trials(): Trials
  /** The limiter, for its events. */
  readonly limiter: Limiter
}

/** The addresses of peers, which requests do not carry. */
const addresses = new WeakMap<Request, string | undefined>()

const framework: Framework<Request> = {
  kind: 'web',
  options: ['chargeOn'],
  client(request: Request, { gate }: Gates): string {
    const { headers } = request
    const name = gate.trustsNobody ? 'x-forwarded-for' : gate.forwardedHeader
    const lines = headers.get(name) ?? (gate.trustsNobody ? headers.get('forwarded') : null) ?? []
    return gate.client(addresses.get(request), lines)
  },
  isGone: ({ signal }) => signal?.aborted === true,
}

/**
 * A check of requests, for a handler that takes a `Request` and answers with a `Response`: a route handler of Next, or
 * an app that is made of nothing else.
 *
 * @throws {@link LimitError} for an unknown or invalid option.
 *
 * @example
 * ```js
 * import { rateLimit } from 'tidegate/web'
 *
 * const check = rateLimit({ limits: '1/minute' })
 * async function handler(request, address) {
 *   const limited = await check(request, { address })
 *   if (limited.response) return limited.response
 *   return limited.apply(Response.json({ left: limited.info.remaining }))
 * }
 *
 * const request = new Request('http://localhost/')
 * const answers = [await handler(request, '203.0.113.9'), await handler(request, '203.0.113.9')]
 * assert.deepEqual(answers.map((answer) => answer.status), [200, 429])
 * assert.equal(answers[0].headers.get('X-RateLimit-Remaining'), '0')
 * ```
 */
export function rateLimit(options: RateLimitOptions): RateLimit {
  return checkOf(new Room<Request>(options, framework))
}

const refused = (request: Request, refusal: Refusal, info?: LimitInfo): Limited => {
  const { headers } = refusal
  return { info, headers, response: responseOf(refusal, request.method), apply: (response) => response }
}

function checkOf(room: Room<Request>): RateLimit {
  const chargeOn = chargeOption(room.options, (_request: Request, response: Response) => response.status)

  const limited = (request: Request, info: LimitInfo | undefined): Limited => {
    if (info === undefined) return { info, headers: {}, response: undefined, apply: (response) => response }
    if (info.blocked) {
      return refused(request, room.gate.refusal(info, request.headers.get('accept') ?? undefined), info)
    }
    const apply = (response: Response): Response => {
      if (chargeOn !== undefined) settle(room, info, () => chargeOn(request, response))
      return withHeaders(response, room.gate.headers(info, response.status))
    }
    return { info, headers: room.gate.headers(info), response: undefined, apply }
  }

  const check = async (request: Request, peer: Peer = {}): Promise<Limited> => {
    if (typeof request?.headers?.get !== 'function') throw wrongType('', 'request', 'must be a Request', request)
    addresses.set(request, peer?.address)
    try {
      return limited(request, await room.decide(request))
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      const rejection = room.gate.rejection(error.mistake, request.headers.get('accept') ?? undefined)
      return refused(request, rejection)
    }
  }

  return Object.assign(check, {
    and: (more: unknown) => checkOf(room.extend(routeOptions(more), { adds: true })),
    trials: () => room.trials(),
    limiter: room.limiter,
  }) as RateLimit
}
