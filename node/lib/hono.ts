/**
 * Rate limits for Hono 4, on every runtime of it that Node's addons run on.
 *
 * @packageDocumentation
 */

import type { IncomingMessage } from 'node:http'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { ConfigurationError, outOfRange, StoreError, wrongType } from './errors.js'
import type { Limiter } from './limiter/limiter.js'
import { isRedirection } from './results/headers.js'
import type { LimitInfo } from './results/info.js'
import { isCutShort } from './room/address.js'
import { countedTwice } from './room/diagnostics.js'
import type { Framework, Gates } from './room/framework.js'
import { functionOption, type RoomOptions, type RouteOptions, routeOptions } from './room/options.js'
import { type ChargeOn, chargeOption, settle } from './room/outcome.js'
import { RateLimitError } from './room/rate-limit-error.js'
import { RequestError } from './room/request-error.js'
import { Room } from './room/room.js'
import { mountName, routeName } from './room/route-names.js'
import type { LimitsOfRequest, RoomLimits } from './room/rules.js'
import type { Trials } from './room/trials.js'
import { ending, isNoAnswer, responseOf, withHeaders } from './room/web-response.js'
import { isPromise, type Later } from './time/later.js'

export { RateLimitError } from './room/rate-limit-error.js'
export type { RoomLimit, RoomLimits, Rule } from './room/rules.js'
export type { Trials } from './room/trials.js'

/** The part of a runtime's `getConnInfo` that is read here. */
export type GetConnInfo = (context: Context) => { remote: { address?: string } }

/** The environment of a handler behind {@link rateLimit}: `context.var.rateLimit` is the answer. */
export interface RateLimitEnv {
  Variables: {
    /** The answer to this request, where it is limited. */
    rateLimit: LimitInfo | undefined
  }
}

/** The options of {@link rateLimit}. */
export interface RateLimitOptions extends RoomOptions<Context> {
  /** The `getConnInfo` of the runtime, such as that of `@hono/node-server/conninfo`; needed where there is no `key`. */
  readonly getConnInfo?: GetConnInfo | undefined
  /**
   * The response to a refused request, in place of the one with status 429, which is sent where the function returns
   * none; `'error'` throws a {@link RateLimitError}.
   */
  readonly onBlocked?: 'error' | ((info: LimitInfo, context: Context) => Later<Response | undefined>) | undefined
  /** Statuses, or a function of the context: only these outcomes stay charged. */
  readonly chargeOn?: ChargeOn<[context: Context]> | undefined
}

/** A middleware that limits requests. */
export interface RateLimit extends MiddlewareHandler<RateLimitEnv> {
  /**
   * A middleware that adds limits to these: one decision for all of them, either every one is charged or none. On a
   * request that this middleware has decided, it decides its own limits alone.
   */
  and(more: RoomLimits<Context> | LimitsOfRequest<Context> | RouteOptions<RateLimitOptions>): RateLimit
  /** The counts of limits in shadow mode and of candidates. */
  trials(): Trials
  /** The limiter, for its events. */
  readonly limiter: Limiter
}

const NO_ADDRESS = "must be given where there is no key: the runtime's own, such as that of @hono/node-server/conninfo"

/** The address of the peer. A `getConnInfo` throws without its runtime's server, as under `app.request()` in a test. */
function peerOf(context: Context, getConnInfo: GetConnInfo): string | undefined {
  try {
    return getConnInfo(context).remote.address
  } catch (cause) {
    const mistake = 'no-client-address'
    const problem = 'it belongs to another runtime, or the request came by app.request(), where a test gives a key'
    const { page } = new ConfigurationError('', mistake)
    const message = `${mistake}: getConnInfo did not find the connection: ${problem}; see ${page}`
    throw new ConfigurationError(message, mistake, page, { cause })
  }
}

const frameworkOf = (getConnInfo: GetConnInfo | undefined): Framework<Context> => ({
  kind: 'hono',
  options: ['getConnInfo', 'onBlocked', 'chargeOn'],
  client(context: Context, { gate }: Gates): string {
    const peer = getConnInfo && peerOf(context, getConnInfo)
    if (!gate.trustsNobody) {
      // Of Node's own server; other runtimes drop no lines.
      const { incoming } = (context.env ?? {}) as { readonly incoming?: IncomingMessage }
      const isShort = incoming?.socket !== undefined && Array.isArray(incoming.rawHeaders) && isCutShort(incoming)
      return gate.client(peer, isShort ? [] : (context.req.header(gate.forwardedHeader) ?? []))
    }
    return gate.client(peer, context.req.header('x-forwarded-for') ?? context.req.header('forwarded'))
  },
  isGone: ({ req }) => req.raw.signal.aborted,
  nameOf,
})

/** The key of limits as text: the route that is being handled, or the path of the middleware. */
function nameOf({ req }: Context): string {
  const { method, path } = req.matchedRoutes[req.routeIndex] ?? { method: ALL, path: req.routePath }
  return method === ALL ? mountName(path.replace(/\/?\*$/, '')) : routeName([method], path)
}

/** The method of routes that take all of them, and of middlewares. */
const ALL = 'ALL'

/**
 * A middleware that limits requests: `app.use(rateLimit({ limits: '100/minute', getConnInfo }))`. It answers a refused
 * request with status 429, and puts the headers on all others, those to errors included.
 *
 * The answer is in `context.var.rateLimit`. Without a `key`, the client's address is limited, which `getConnInfo` of
 * the runtime tells; behind proxies, say how many with `trustedProxies`.
 *
 * @throws {@link LimitError} for an unknown or invalid option.
 *
 * @example
 * ```js
 * import { serve } from '@hono/node-server'
 * import { getConnInfo } from '@hono/node-server/conninfo'
 * import { Hono } from 'hono'
 * import { rateLimit } from 'tidegate/hono'
 *
 * const app = new Hono()
 * app.use(rateLimit({ limits: '2/minute', getConnInfo }))
 * app.get('/', (context) => context.json({ left: context.var.rateLimit.remaining }))
 *
 * const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
 * await new Promise((ready) => server.once('listening', ready))
 * const get = () => fetch(`http://127.0.0.1:${server.address().port}`)
 * const answers = [await get(), await get(), await get()]
 * assert.deepEqual(await answers[0].json(), { left: 1 })
 * assert.deepEqual(answers.map((answer) => answer.status), [200, 200, 429])
 * server.close()
 * server.closeAllConnections()
 * ```
 */
export function rateLimit(options: RateLimitOptions): RateLimit {
  const getConnInfo = options?.getConnInfo
  const room = new Room<Context>(options, frameworkOf(getConnInfo))
  functionOption(room.options, 'getConnInfo')
  if (getConnInfo === undefined && options.key === undefined) throw wrongType('', 'getConnInfo', NO_ADDRESS, undefined)
  return middlewareOf(room)
}

/** The decisions of rooms about a request. */
const DECIDED = Symbol('tidegate.decided')
interface Decision {
  readonly room: Room<Context>
  readonly info: LimitInfo
}

function decisionsOf(context: Context & { [DECIDED]?: Decision[] }): Decision[] {
  const known = context[DECIDED] ?? []
  context[DECIDED] = known
  return known
}

function middlewareOf(room: Room<Context>): RateLimit {
  const { onBlocked } = room.options as unknown as RateLimitOptions
  if (onBlocked !== undefined && onBlocked !== 'error' && typeof onBlocked !== 'function') {
    throw outOfRange('', 'onBlocked', "must be a function or 'error'", onBlocked)
  }
  const chargeOn = chargeOption(room.options, (context: Context) => context.res.status)

  const limit = (context: Context, next: Next): Promise<Response | undefined> => {
    const before = decisionsOf(context)
    const rooms = before.map(({ room }) => room)
    // One that adds to this room has decided for both.
    if (rooms.some((other) => other === room || other.isAddedTo(room))) return passOn(next)
    const rejected = async (error: unknown): Promise<Response> => {
      if (!(error instanceof RequestError)) return failed(error)
      return responseOf(room.gate.rejection(error.mistake, context.req.header('accept')), context.req.method)
    }
    let info: Later<LimitInfo | undefined>
    try {
      info = room.decide(context, rooms)
    } catch (error) {
      return rejected(error)
    }
    return isPromise(info) ? info.then((info) => proceed(info, context, next), rejected) : proceed(info, context, next)
  }

  /** Hono's own handler of errors answers with what an error has for a response. */
  const failed = (error: unknown): never => {
    if (!(error instanceof StoreError)) throw error
    throw Object.assign(error, { getResponse: () => new Response('Service Unavailable', { status: error.status }) })
  }

  const proceed = async (info: LimitInfo | undefined, context: Context, next: Next): Promise<Response | undefined> => {
    if (info === undefined) return passOn(next)
    context.set('rateLimit', info)
    const decided = decisionsOf(context)
    countedTwice(decided, room, info)
    decided.push({ room, info })
    const infos = (): LimitInfo[] => decided.map(({ info }) => info)
    if (info.blocked) {
      for (const before of decided) before.room.end(before.info, false)
      return blocked(info, infos(), context)
    }
    const end = (): void => {
      if (chargeOn === undefined) room.end(info, true)
      else settle(room, info, () => chargeOn(context))
    }
    try {
      await next()
    } catch (error) {
      room.end(info, true)
      throw error
    }
    const isHeld = room.holds(info)
    if (isNoAnswer(context.res)) {
      if (isHeld) end()
      return undefined
    }
    // Rooms inside have set theirs; the outermost one knows all.
    const headers = room.gate.headers(decided.length === 1 ? info : infos(), context.res.status)
    for (const name in headers) {
      if (decided.some(({ info }) => info.blocked)) break
      context.header(name, headers[name])
    }
    if (isHeld) context.res = ending(context.res, context.req.method, end)
    else if (chargeOn !== undefined) end()
    return undefined
  }

  const blocked = async (info: LimitInfo, infos: readonly LimitInfo[], context: Context): Promise<Response> => {
    const refusal = room.gate.refusal(infos, context.req.header('accept'))
    const response = responseOf(refusal, context.req.method)
    if (onBlocked === undefined) return response
    const kept = Object.entries(refusal.headers).filter(([name]) => !name.toLowerCase().startsWith('content-'))
    if (onBlocked === 'error') {
      // Hono's own handler of errors answers with what an error has for a response.
      const error = new RateLimitError(info, refusal.status, Object.fromEntries(kept))
      throw Object.assign(error, { getResponse: () => response })
    }
    context.status(refusal.status as 429)
    for (const [name, value] of kept) context.header(name, value)
    const own = (await onBlocked(info, context)) ?? response
    // Hono forgets what was set before where a handler makes a response by itself.
    const missing = isRedirection(own.status) ? [] : kept.filter(([name]) => own.headers?.has(name) === false)
    return missing.length === 0 ? own : withHeaders(own, Object.fromEntries(missing))
  }

  return Object.assign(limit, {
    and: (more: unknown) => middlewareOf(room.extend(routeOptions(more), { adds: true })),
    trials: () => room.trials(),
    limiter: room.limiter,
  }) as unknown as RateLimit
}

async function passOn(next: Next): Promise<undefined> {
  await next()
  return undefined
}
