/**
 * Rate limits for Fastify 5.
 *
 * @packageDocumentation
 */

import type { FastifyInstance, FastifyReply, FastifyRequest, RawServerBase, RouteGenericInterface } from 'fastify'
import { outOfRange, wrongType } from './errors.js'
import {
  type Done,
  HOOKS,
  type Hook,
  type HookName,
  limitEarlier,
  type NamedRoute,
  nameOf,
  type Placed,
  refuseTaken,
} from './fastify/hooks.js'
import { ANSWER, type Answered, INFO, placeOn, trustOf } from './fastify/requests.js'
import type { Refusal } from './http/gate.js'
import { isRedirection } from './results/headers.js'
import type { LimitInfo } from './results/info.js'
import { clientBy, isClosed } from './room/address.js'
import { MADE_IN_REQUESTS } from './room/diagnostics.js'
import { type Counted, counted, type Trials as TrialCounts } from './room/handle.js'
import { functionOption, type OptionalLimits, type RoomOptions, type RouteOptions } from './room/options.js'
import { RateLimitError as Refused } from './room/rate-limit-error.js'
import { errorFrom, RequestError } from './room/request-error.js'
import { hookServer, onFinished, onResponses, unlessAnswered } from './room/response.js'
import { type Extension, type Framework, Room } from './room/room.js'
import { mountName, Place, routeName } from './room/route-names.js'
import type * as rules from './room/rules.js'
import { after, attempt, same } from './time/later.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The answer to this request, where it is limited. */
    rateLimit: LimitInfo | null
  }
  interface FastifyInstance {
    /** The limits of this instance, for hooks of what is no route. */
    readonly rateLimit: tidegate.RateLimit
  }
  interface FastifyContextConfig {
    /** Limits of this route, in place of those of the plugin or added to them; false for none. */
    rateLimit?: false | tidegate.RouteLimits
  }
}

const framework: Framework<FastifyRequest> = {
  kind: 'fastify',
  options: ['onBlocked', 'hook', 'global'],
  client: (request, gate) => clientBy(request.raw, gate, trustOf(request), () => request.ip),
  statusOf: (_request: FastifyRequest, reply: FastifyReply) => reply.statusCode,
  isGone: ({ raw }) => isClosed(raw),
}

/** The room of an instance; those inside find it through their prototypes. */
const ROOM = Symbol('tidegate.room')
type Housed = FastifyInstance & { [ROOM]?: Room<FastifyRequest> }

/**
 * A plugin that limits requests: `app.register(tidegate, { limits: '100/minute' })`. It limits the routes of this
 * instance, and of those inside that are registered after it; a refused request is an error with status 429.
 *
 * A route says otherwise in its `config.rateLimit`. The answer is in `request.rateLimit`. Without a `key`, the
 * client's address is limited; behind proxies it is read as the instance's `trustProxy` says, or as `trustedProxies`.
 *
 * @example
 * ```js
 * import Fastify from 'fastify'
 * import tidegate from 'tidegate/fastify'
 *
 * const app = Fastify()
 * await app.register(tidegate, { limits: '100/minute' })
 * app.get('/', (request) => ({ left: request.rateLimit.remaining }))
 * app.post('/login', { config: { rateLimit: { limits: '1/minute' } } }, () => 'welcome')
 * app.get('/health', { config: { rateLimit: false } }, () => 'fine')
 *
 * assert.deepEqual((await app.inject('/')).json(), { left: 99 })
 * const answers = [await app.inject({ method: 'POST', url: '/login' }), await app.inject({ method: 'POST', url: '/login' })]
 * assert.deepEqual(answers.map((answer) => answer.statusCode), [200, 429])
 * assert.equal((await app.inject('/health')).headers['x-ratelimit-remaining'], undefined)
 * ```
 */
function tidegate(instance: FastifyInstance, options: tidegate.RateLimitOptions, done: (error?: Error) => void): void {
  attempt<void, void>(
    () => register(instance, options),
    (error) => done(error as Error),
    () => done(),
  )
}

function register(instance: Housed, given: tidegate.RateLimitOptions): void {
  const outer = instance[ROOM]
  const inside = outer !== undefined && given.limiter === undefined
  if (outer === undefined) refuseTaken(instance)
  const name = mountName(instance.prefix)
  const room = inside
    ? outer.extend(given, { adds: true, framework: { name } })
    : new Room(given, { ...framework, name })
  const { global = true } = given
  if (typeof global !== 'boolean') throw wrongType('', 'global', 'must be a boolean', global)
  // A plugin that is registered a second time, with a limiter of its own, is the nearest one from then on.
  Object.defineProperty(instance, ROOM, { value: room, configurable: true })
  if (outer === undefined) {
    // Fastify refuses a name that another plugin has.
    instance.decorateRequest('rateLimit', ANSWER)
    const hookFor = madeHooks(instance)
    instance.decorate<tidegate.RateLimit>('rateLimit', {
      getter(this: Housed) {
        const nearest = this[ROOM] ?? room
        return counted((options) => hookFor(nearest, options) as tidegate.RateLimitHook, nearest)
      },
    })
  }
  hookServer(instance.server)
  const placedOn = hooksOf(room, instance, global)
  limitEarlier(instance, ({ config, method, url }) => placedOn(config.rateLimit, { method, url: url ?? '' }))
  instance.addHook('onRoute', function (this: Housed, route) {
    refuseTaken(this)
    const config = route.config?.rateLimit
    const nearest = this[ROOM] ?? room
    // A room inside that adds to this one decides for both.
    if (config === false || (nearest !== room && nearest.isAddedTo(room))) return
    const placed = placedOn(nearest === room ? config : undefined, route)
    if (placed === undefined) return
    const { name, run } = placed
    const before = [(route[name] ?? []) as Hook | Hook[]].flat()
    if (!before.includes(run)) route[name] = [run, ...before] as never
  })
}

/** Hooks of routes by their configuration and name: a route for HEAD that Fastify makes of one for GET has the same. */
function hooksOf(room: Room<FastifyRequest>, instance: FastifyInstance, global: boolean) {
  const everywhere = hookOf(room)
  const each = new WeakMap<object, Map<string, Placed>>()
  return (config: false | tidegate.RouteLimits | undefined, route: NamedRoute): Placed | undefined => {
    if (config === undefined) return global ? everywhere : undefined
    if (config === false) return undefined
    const known = each.get(config) ?? new Map<string, Placed>()
    const name = nameOf(route, instance)
    // A route for HEAD is known by that where the one for GET takes other methods as well.
    const before = known.get(routeName([route.method].flat(), route.url)) ?? known.get(name)
    const placed = before ?? hookOf(roomOf(room, config, { framework: { name } }))
    each.set(config, known.set(name, placed))
    if ([route.method].flat().includes('GET')) known.set(routeName(['HEAD'], route.url), placed)
    return placed
  }
}

/** A framework in which the request says the route. */
const ANYWHERE: Partial<Framework<FastifyRequest>> = {
  nameOf: ({ routeOptions, server }) => nameOf(routeOptions as Partial<NamedRoute>, server),
}

/** The hooks that an app makes of its limits. */
function madeHooks(instance: FastifyInstance) {
  let isReady = false
  let madeInRequests = 0
  let place: Place | undefined
  instance.addHook('onReady', async () => {
    isReady = true
    refuseTaken(instance)
  })
  return (room: Room<FastifyRequest>, options: tidegate.RouteLimits | undefined): Hook => {
    if (isReady && ++madeInRequests === MADE_IN_REQUESTS) room.gate.report('limiter-per-request', IN_REQUESTS)
    if (options !== undefined) {
      // One that is made again for each request stands where the one before it did.
      if (isReady) place ??= new Place(room.limiter)
      return hookOf(roomOf(room, options, { framework: ANYWHERE, ...(place && { place }) })).run
    }
    if (room.options.limits !== undefined) return hookOf(room).run
    throw wrongType('', 'limits', 'must be given, as the plugin has none', undefined)
  }
}

const IN_REQUESTS = 'app.rateLimit(): make the hook before the app is ready'

/** The room of a route that says otherwise. */
function roomOf(room: Room<FastifyRequest>, config: tidegate.RouteLimits, how: Extension<FastifyRequest>) {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw wrongType('', 'rateLimit', 'must be false or an object with options', config)
  }
  const { adds = false, ...options } = config
  if (typeof adds !== 'boolean') throw wrongType('', 'adds', 'must be a boolean', adds)
  return room.extend(options, { ...how, adds: adds && options.limits !== undefined })
}

function send(reply: FastifyReply, { status, headers, body }: Refusal): void {
  reply.code(status).headers(headers).send(Buffer.from(body))
}

const redirectionOf = (status: number): number => (isRedirection(status) ? status : 302)

function hookOf(room: Room<FastifyRequest>): Placed {
  const { body, hook = 'onRequest' } = room.options as unknown as tidegate.RateLimitOptions
  if (!HOOKS.includes(hook)) throw outOfRange('', 'hook', `must be one of ${HOOKS.join(', ')}`, hook)
  const onBlocked = functionOption<tidegate.RateLimitOptions['onBlocked']>(room.options, 'onBlocked')

  /** Decides; `ended` is called where the hook has answered the request itself, so that the handler does not run. */
  const decide = (request: FastifyRequest, reply: FastifyReply, done: Done, ended?: () => void): void =>
    attempt(
      () => onResponses.decide(room, request, reply.raw),
      (error) => {
        if (body === undefined || !(error instanceof RequestError)) return done(error as Error)
        if (ended !== undefined) onFinished(reply.raw, ended)
        send(reply, room.rejection(error, request.raw.headers.accept))
      },
      (info) => {
        if (info !== undefined) (request as Answered)[INFO] = info
        if (info?.blocked) {
          // A handler that waits must not go on before the response is there.
          if (ended !== undefined) onFinished(reply.raw, ended)
          return blocked(info, request, reply, done)
        }
        if (info !== undefined) placeOn(reply, onResponses.admit(reply.raw, room, info, request, reply))
        done()
      },
    ) as undefined

  const blocked = (info: LimitInfo, request: FastifyRequest, reply: FastifyReply, done: Done) => {
    const refusal = onResponses.refuse(reply.raw, room, info, request.raw.headers.accept)
    if (onBlocked === undefined && body !== undefined) return send(reply, refusal)
    const error = onResponses.leave(reply.raw, info, refusal)
    if (onBlocked === undefined) return done(error)
    // To call `done` would run the handler: the reply is sent here, or by what was called.
    const settled = (payload: unknown): void => {
      if (payload === reply || reply.sent) return
      if (payload === undefined) unlessAnswered(onBlocked, reply.raw, () => reply.sent, usual)
      else reply.send(payload)
    }
    const usual = (): void => (body === undefined ? done(error) : send(reply, refusal))
    reply.code(error.status)
    const { redirect } = reply
    // Fastify redirects with the status that is set, which is that of a refusal.
    reply.redirect = (url, code) => redirect.call(reply, url, code ?? redirectionOf(reply.statusCode))
    attempt(
      () => {
        const given = onBlocked(info, request, reply)
        return given === reply ? undefined : after(given, settled)
      },
      (reason) => {
        // What it throws is no refusal, but an error as that of any handler.
        reply.code(200)
        done(errorFrom(reason) as Error)
      },
      same,
    )
  }

  // Three parameters: Fastify counts them.
  const run = (request: FastifyRequest, reply: FastifyReply, done?: Done): Promise<void> | undefined => {
    if (done !== undefined) {
      decide(request, reply, done)
      return undefined
    }
    return new Promise((resolve, reject) => {
      // Not with the reply, which is a promise itself.
      const settled = (error?: Error): void => (error === undefined ? resolve() : reject(error))
      decide(request, reply, settled, settled)
    })
  }
  return { name: hook, run }
}

namespace tidegate {
  /** The options of the plugin. */
  export interface RateLimitOptions
    extends OptionalLimits<RoomOptions<FastifyRequest, [request: FastifyRequest, reply: FastifyReply]>> {
    /**
     * Limits every route, not only those with a `config.rateLimit`; with `false` the plugin needs no `limits`.
     * @defaultValue true
     */
    readonly global?: boolean | undefined
    /** The hook that decides; in `preHandler` the body is known. @defaultValue 'onRequest' */
    readonly hook?: HookName | undefined
    /**
     * The response to a refused request: the function sends the reply, or returns its payload. Without it, or if it does
     * neither, a refused request is an error with status 429, for `setErrorHandler`; or, with the option `body`, a
     * response with that body.
     */
    readonly onBlocked?: ((info: LimitInfo, request: FastifyRequest, reply: FastifyReply) => unknown) | undefined
  }

  /** The limits of a route, with options in place of those of the plugin. */
  export interface RouteLimits extends RouteOptions<RateLimitOptions> {
    /** Adds the limits to those of the plugin: one decision for all of them. @defaultValue false */
    readonly adds?: boolean | undefined
  }

  /** A request to any server, over HTTP/2 too. */
  type AnyRequest = FastifyRequest<RouteGenericInterface, RawServerBase>
  type AnyReply = FastifyReply<RouteGenericInterface, RawServerBase>

  /** A hook that limits requests. */
  export interface RateLimitHook {
    (request: AnyRequest, reply: AnyReply, done: (error?: Error) => void): void
    /** The promise rejects for a refused request, unless `onBlocked` or `body` has answered it: see `reply.sent`. */
    (request: AnyRequest, reply: AnyReply): Promise<void>
  }

  /** The limits of an instance. */
  export interface RateLimit extends Counted {
    /**
     * A hook for handlers that are not routes, such as the one for routes that are not found. Make it before the app is
     * ready. A handler or a hook may call it, too: without `done` it returns a promise, which rejects if the request is
     * refused.
     */
    (options?: RouteLimits): RateLimitHook
  }

  /** The error for a refused request, as `setErrorHandler` gets it. */
  export const RateLimitError = Refused
  export type RateLimitError = Refused
  export type RoomLimit = rules.RoomLimit<FastifyRequest>
  export type RoomLimits = rules.RoomLimits<FastifyRequest>
  export type Rule = rules.Rule<FastifyRequest>
  export type Trials = TrialCounts
}

// The marks that fastify-plugin makes: no scope of its own, and the versions that it is for.
Object.assign(tidegate, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'tidegate',
  [Symbol.for('plugin-meta')]: { fastify: '>=5', name: 'tidegate' },
  default: tidegate,
})

export = tidegate
