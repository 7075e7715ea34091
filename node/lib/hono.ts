/**
 * Rate limits for Hono 4, on every runtime of it that Node's addons run on.
 *
 * @packageDocumentation
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { ConfigurationError, StoreError, wrongType } from './errors.js'
import { withoutBody } from './http/gate.js'
import { isRedirection } from './results/headers.js'
import type { LimitInfo } from './results/info.js'
import { hidesProxies, isClosed } from './room/address.js'
import { type Extensible, extensible } from './room/handle.js'
import { functionOption, type RoomOptions } from './room/options.js'
import { isHeld } from './room/plan.js'
import { RateLimitError } from './room/rate-limit-error.js'
import { rethrow } from './room/request-error.js'
import { infosOf, onFinished, onResponses } from './room/response.js'
import { type Framework, Room } from './room/room.js'
import { mountName, routeName } from './room/route-names.js'
import { ending, isNoAnswer, responseOf, withHeaders } from './room/web-response.js'
import { attempt, type Later, once, same } from './time/later.js'

export { RateLimitError, type RoomLimit, type RoomLimits, type Rule, type Trials } from './room/handle.js'

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
export interface RateLimitOptions extends RoomOptions<Context, [context: Context]> {
  /** The `getConnInfo` of the runtime, such as that of `@hono/node-server/conninfo`; needed where there is no `key`. */
  readonly getConnInfo?: GetConnInfo | undefined
  /**
   * The response to a refused request, in place of the one with status 429, which is sent where the function returns
   * none; `'error'` throws a {@link RateLimitError}.
   */
  readonly onBlocked?: 'error' | ((info: LimitInfo, context: Context) => Later<Response | undefined>) | undefined
}

/** A middleware that limits requests. */
export interface RateLimit extends MiddlewareHandler<RateLimitEnv>, Extensible<Context, RateLimitOptions, RateLimit> {}

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
  options: ['getConnInfo', 'onBlocked'],
  client(context, gate) {
    const peer = getConnInfo && peerOf(context, getConnInfo)
    if (!gate.trustsNobody) {
      // Of Node's own server; other runtimes drop no lines.
      const { incoming } = (context.env ?? {}) as { readonly incoming?: IncomingMessage }
      const isHidden = incoming?.socket !== undefined && Array.isArray(incoming.rawHeaders) && hidesProxies(incoming)
      return gate.client(peer, isHidden ? [] : (context.req.header(gate.forwardedHeader) ?? []))
    }
    return gate.client(peer, context.req.header('x-forwarded-for') ?? context.req.header('forwarded'))
  },
  statusOf: ({ res }: Context) => res.status,
  isGone: ({ req, env }) => req.raw.signal.aborted || isClosed(env?.incoming ?? {}),
  nameOf,
})

/** The key of limits as text: the route that is being handled, or the path of the middleware. */
function nameOf({ req }: Context): string {
  const { method, path } = req.matchedRoutes[req.routeIndex] ?? { method: ALL, path: req.routePath }
  return method === ALL ? mountName(path.replace(/\/?\*$/, '')) : routeName([method], path)
}

/** Refusals: those of an app that is mounted are in another context than the limits around it. */
const refusals = new WeakSet<Response>()

/** True for a refusal, or for a copy of one, as middlewares in between make it: a handler's own 429 has no such fields. */
function isRefusal(response: Response): boolean {
  const { status, headers } = response
  const hasFields = (): boolean =>
    ['X-RateLimit-Remaining', 'RateLimit', 'RateLimit-Remaining'].some((name) => headers.has(name))
  return refusals.has(response) || (status === 429 && headers.has('Retry-After') && hasFields())
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

function middlewareOf(room: Room<Context>): RateLimit {
  const onBlocked = functionOption<RateLimitOptions['onBlocked']>(room.options, 'onBlocked', 'error')

  const limit = (context: Context, next: Next): Later<Response | undefined> =>
    attempt(
      () => onResponses.decide(room, context, context),
      (error) => {
        if (error instanceof StoreError)
          throw answering(error, new Response('Service Unavailable', { status: error.status }))
        return responseOf(room.rejection(error, context.req.header('accept')), context.req.method)
      },
      async (info) => {
        if (info === undefined) {
          await next()
          return undefined
        }
        context.set('rateLimit', info)
        return info.blocked ? blocked(info, context) : admitted(info, context, next)
      },
    )

  const admitted = async (info: LimitInfo, context: Context, next: Next): Promise<undefined> => {
    onResponses.note(context, room, info)
    try {
      await next()
    } catch (error) {
      room.end(info, true)
      throw error
    }
    // A judge of outcomes is a function of the app, and may count.
    const end = once(() => room.settle(info, context))
    if (isNoAnswer(context.res)) {
      if (isHeld(info)) end()
      return
    }
    // Rooms inside have set theirs; the outermost one knows all, but those of an app that is mounted.
    const infos = infosOf(onResponses.get(context))
    const isRefused = infos.some(({ blocked }) => blocked) || isRefusal(context.res)
    const headers = isRefused ? {} : room.gate.headers(infos.length === 1 ? info : infos, context.res.status)
    for (const name in headers) context.header(name, headers[name])
    if (!isHeld(info)) {
      end()
      return
    }
    context.res = ending(context.res, context.req.method, end)
    // Of Node's own server, which does not cancel the body of a response that waits behind another.
    const { outgoing } = (context.env ?? {}) as { readonly outgoing?: ServerResponse }
    if (outgoing?.req !== undefined) onFinished(outgoing, end)
  }

  const blocked = async (info: LimitInfo, context: Context): Promise<Response> => {
    const response = await refused(info, context)
    refusals.add(response)
    return response
  }

  const refused = async (info: LimitInfo, context: Context): Promise<Response> => {
    const refusal = onResponses.refuse(context, room, info, context.req.header('accept'))
    const response = responseOf(refusal, context.req.method)
    if (onBlocked === undefined) return response
    const kept = withoutBody(refusal.headers)
    if (onBlocked === 'error') throw answering(new RateLimitError(info, refusal.status, kept), response)
    context.status(refusal.status as 429)
    const failed = (reason: unknown): never => {
      // The response to an error of its own has them, too.
      for (const name in kept) context.header(name, kept[name])
      return rethrow(reason)
    }
    const own = (await attempt(() => onBlocked(info, context), failed, same)) ?? response
    if (isRedirection(own.status)) return own
    // Not before, or a redirection by the context would have them.
    const missing = Object.entries(kept).filter(([name]) => own.headers?.has(name) === false)
    return withHeaders(own, Object.fromEntries(missing))
  }

  return extensible(limit, room, middlewareOf)
}

/** Hono's own handler of errors answers with what an error has for a response. */
const answering = (error: Error, response: Response): Error => Object.assign(error, { getResponse: () => response })
