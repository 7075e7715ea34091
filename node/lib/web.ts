/**
 * Rate limits for handlers of the web's own `Request` and `Response`, in any framework.
 *
 * @packageDocumentation
 */

import { wrongType } from './errors.js'
import { untilForgotten } from './http/body.js'
import type { Refusal } from './http/gate.js'
import type { Headers } from './results/headers.js'
import type { LimitInfo } from './results/info.js'
import { type Extensible, extensible } from './room/handle.js'
import type { RoomOptions } from './room/options.js'
import { isHeld } from './room/plan.js'
import { type Framework, Room } from './room/room.js'
import { ending, forgotten, responseOf, withHeaders } from './room/web-response.js'
import { once } from './time/later.js'

export type { RoomLimit, RoomLimits, Rule, Trials } from './room/handle.js'

/** The options of {@link rateLimit}. */
export interface RateLimitOptions extends RoomOptions<Request, [request: Request, response: Response]> {}

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
  /**
   * The handler's response with the headers, unless it is a redirection; it settles `chargeOn`. Units of limits of type
   * concurrency are held until its body has ended, or is given up.
   */
  apply(response: Response): Response
  /** Releases these units where the handler has failed, so that there is no response. */
  release(): void
}

/** Checks a request. */
export interface RateLimit extends Extensible<Request, RateLimitOptions, RateLimit> {
  (request: Request, peer?: Peer): Promise<Limited>
}

/** The addresses of peers, which requests do not carry. */
const addresses = new WeakMap<Request, string | undefined>()

const framework: Framework<Request> = {
  kind: 'web',
  options: [],
  client(request, gate) {
    const { headers } = request
    const name = gate.trustsNobody ? 'x-forwarded-for' : gate.forwardedHeader
    const lines = headers.get(name) ?? (gate.trustsNobody ? headers.get('forwarded') : null) ?? []
    return gate.client(addresses.get(request), lines)
  },
  statusOf: (_request: Request, response: Response) => response.status,
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

const NOTHING = {
  info: undefined,
  headers: {},
  response: undefined,
  apply: (response: Response) => response,
  release() {},
}

const refused = ({ method }: Request, refusal: Refusal, info?: LimitInfo): Limited => {
  return { ...NOTHING, info, headers: refusal.headers, response: responseOf(refusal, method) }
}

function checkOf(room: Room<Request>): RateLimit {
  const limited = (request: Request, accept: string | undefined, info: LimitInfo | undefined): Limited => {
    if (info === undefined) return { ...NOTHING, headers: {} }
    if (info.blocked) return refused(request, room.gate.refusal(info, accept), info)
    const watch = {}
    const apply = (response: Response): Response => {
      // A judge of outcomes is a function of the app, and may count.
      const end = once(() => room.settle(info, request, response))
      const own = withHeaders(response, room.gate.headers(info, response.status))
      if (isHeld(info)) {
        // From here on the body holds, which outlives this answer.
        forgotten.unregister(watch)
        return ending(own, request.method, end, untilForgotten)
      }
      end()
      return own
    }
    const release = (): void => room.end(info, true)
    if (isHeld(info)) forgotten.register(apply, release, watch)
    return { info, headers: room.gate.headers(info), response: undefined, apply, release }
  }

  const check = async (request: Request, peer: Peer = {}): Promise<Limited> => {
    if (typeof request?.headers?.get !== 'function') throw wrongType('', 'request', 'must be a Request', request)
    addresses.set(request, peer?.address)
    const accept = request.headers.get('accept') ?? undefined
    try {
      return limited(request, accept, await room.decide(request))
    } catch (error) {
      return refused(request, room.rejection(error, accept))
    }
  }

  return extensible(check, room, checkOf)
}
