/**
 * Rate limits for Koa 2 and 3.
 *
 * @packageDocumentation
 */

import type { DefaultContext, Middleware, Next, ParameterizedContext } from 'koa'
import type { Refusal } from './http/gate.js'
import type { LimitInfo } from './results/info.js'
import { clientBy, isClosed, type Trust } from './room/address.js'
import { type Extensible, extensible } from './room/handle.js'
import { functionOption, type RoomOptions } from './room/options.js'
import { rethrow } from './room/request-error.js'
import { onResponses } from './room/response.js'
import { type Framework, Room } from './room/room.js'
import { APP, mountName, routeName, takesAll } from './room/route-names.js'
import { attempt } from './time/later.js'

export { RateLimitError, type RoomLimit, type RoomLimits, type Rule, type Trials } from './room/handle.js'

/** The part of a context's state that a rate limit sets. */
export interface RateLimitState {
  /** The answer to this request, where it is limited. */
  rateLimit?: LimitInfo
}

/** The context of a request. */
export type Context = ParameterizedContext<RateLimitState, DefaultContext>

/** The options of {@link rateLimit}. */
export interface RateLimitOptions extends RoomOptions<Context, [context: Context]> {
  /** The response to a refused request, in place of the one with status 429; `'error'` throws a {@link RateLimitError}. */
  readonly onBlocked?: 'error' | ((info: LimitInfo, context: Context, next: Next) => unknown) | undefined
}

/** A middleware that limits requests. */
export interface RateLimit extends Middleware<RateLimitState>, Extensible<Context, RateLimitOptions, RateLimit> {}

const framework: Framework<Context> = {
  kind: 'koa',
  options: ['onBlocked'],
  client: (context, gate) => clientBy(context.req, gate, trustOf(context), () => context.ip),
  statusOf: ({ status }: Context) => status,
  isGone: ({ req }) => isClosed(req),
  nameOf,
}

/** A layer of @koa/router, as it notes those that match a request; one of `router.use` has no methods. */
interface Layer {
  readonly path: unknown
  readonly methods: readonly string[]
}

/** The key of limits as text: the route of @koa/router that is being handled, or the prefix of the router. */
function nameOf({ _matchedRoute: path, matched, method }: Context): string {
  if (path === undefined) return APP
  const takes = ({ methods }: Layer): boolean => methods.length === 0 || methods.includes(method)
  const layers = ((matched ?? []) as readonly Layer[]).filter((layer) => layer.path === path && takes(layer))
  const methods = layers.at(-1)?.methods ?? []
  if (methods.length > 0) return routeName(takesAll(methods) ? [] : methods, `${path}`)
  return mountName(`${path}`.replace(WILDCARD, ''))
}

/** The wildcard of @koa/router behind the prefix of a router that has a middleware. */
const WILDCARD = /(\/?\(\.\*\)|\{\/\*\w+\}|\/?\*\w*)$/

/** The trust of an app. Koa takes the left-most address, unless `maxIpsCount` says how many proxies there are. */
function trustOf({ app }: Context): Trust {
  if (!app.proxy) return 'nobody'
  const isList = (app.proxyIpHeader?.toLowerCase() ?? 'x-forwarded-for') === 'x-forwarded-for'
  return isList && !(app.maxIpsCount > 0) ? 'everybody' : 'some'
}

/**
 * A middleware that limits requests: `app.use(rateLimit({ limits: '100/minute' }))`. It answers a refused request with
 * status 429, and puts the headers on all others, those to errors included.
 *
 * The answer is in `context.state.rateLimit`. Without a `key`, the client's address is limited. Behind proxies, give
 * `trustedProxies`, or the app's `proxy` with `maxIpsCount`: with `proxy` alone, Koa takes an address that clients can
 * write themselves, so one proxy is trusted then, and a warning says so.
 *
 * @throws {@link LimitError} for an unknown or invalid option.
 *
 * @example
 * ```js
 * import Koa from 'koa'
 * import { rateLimit } from 'tidegate/koa'
 *
 * const app = new Koa()
 * app.use(rateLimit({ limits: '2/minute' }))
 * app.use((context) => {
 *   context.body = { left: context.state.rateLimit.remaining }
 * })
 *
 * const server = app.listen(0, '127.0.0.1')
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
  return middlewareOf(new Room<Context>(options, framework))
}

function send(context: Context, { status, headers, body }: Refusal): void {
  context.status = status
  context.set(headers)
  context.body = body
}

function middlewareOf(room: Room<Context>): RateLimit {
  const onBlocked = functionOption<RateLimitOptions['onBlocked']>(room.options, 'onBlocked', 'error')

  const limit = (context: Context, next: Next): unknown =>
    attempt<LimitInfo | undefined, unknown>(
      () => onResponses.decide(room, context, context.res),
      (error) => send(context, room.rejection(error, context.req.headers.accept)),
      (info) => {
        if (info === undefined) return next()
        context.state.rateLimit = info
        if (info.blocked) return blocked(info, context, next)
        onResponses.admit(context.res, room, info, context)
        return next()
      },
    )

  const blocked = (info: LimitInfo, context: Context, next: Next): unknown => {
    const refusal = onResponses.refuse(context.res, room, info, context.req.headers.accept)
    if (onBlocked === undefined) return send(context, refusal)
    const error = onResponses.leave(context.res, info, refusal)
    if (onBlocked === 'error') throw error
    context.status = error.status
    // A function that only writes a log has not answered.
    const answered = (answer: unknown): unknown => {
      const isLeft = context.status === error.status && !context.body && context.writable && context.respond !== false
      if (isLeft) send(context, refusal)
      return answer
    }
    return attempt(() => onBlocked(info, context, next), rethrow, answered)
  }

  return extensible(limit, room, middlewareOf)
}
