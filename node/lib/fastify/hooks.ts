/* Hooks of Fastify that decide, and the routes that were there before them. */

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { routeName } from '../room/route-names.js'
import { attempt } from '../time/later.js'

export type Done = (error?: Error) => void
/** A decision about a request, in a hook. */
export type Hook = (request: FastifyRequest, reply: FastifyReply, done: Done) => void
export type HookName = 'onRequest' | 'preValidation' | 'preHandler'

export const HOOKS: readonly HookName[] = ['onRequest', 'preValidation', 'preHandler']

export interface Placed {
  readonly name: HookName
  readonly run: Hook
}

/**
 * Limits the routes of an instance that were added before its plugin was loaded, which without `await` are all of
 * them. The hooks of the instance run for those as well, so they leave out the routes that come later.
 */
export function limitEarlier(
  instance: FastifyInstance,
  hookFor: (route: FastifyRequest['routeOptions']) => Placed | undefined,
): void {
  // What Fastify prints for none.
  if (instance.printRoutes() === '(empty tree)') return
  const later = Symbol('tidegate.later')
  instance.addHook('onRoute', (route) => {
    route.config = Object.assign({ ...route.config }, { [later]: true })
  })
  for (const name of HOOKS) {
    const run = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
      const { routeOptions } = request
      if (request.is404 || later in routeOptions.config) return done()
      attempt<Placed | undefined, void>(
        () => hookFor(routeOptions),
        (error) => done(error as Error),
        (placed) => (placed?.name === name ? placed.run(request, reply, done) : done()),
      )
    }
    // Its types know the hooks one by one.
    instance.addHook(name as 'onRequest', run)
  }
}

/** Refuses an instance in which two plugins would read the limits of a route, each as its own. */
export function refuseTaken(instance: FastifyInstance): void {
  // The decorator of `@fastify/rate-limit`, which takes `rateLimit` of an instance and of routes for its own, too.
  if (!instance.hasDecorator('createRateLimit')) return
  const error = new Error('@fastify/rate-limit has the names of tidegate/fastify: register one of them')
  throw Object.assign(error, { code: 'FST_ERR_DEC_ALREADY_PRESENT' })
}

export type NamedRoute = Pick<RouteOptions, 'method' | 'url'>

/**
 * The key of a route's limits as text; `/*` is all that is no route. Fastify makes a route for HEAD of one for GET: both
 * count as that, or a client would have its limit twice.
 */
export function nameOf({ method = [], url = '/*' }: Partial<NamedRoute>, server: FastifyInstance): string {
  const given = [method].flat()
  const methods = given.join() === 'HEAD' && server.hasRoute({ method: 'GET', url }) ? ['GET'] : given
  return routeName(server.supportedMethods.every((each) => methods.includes(each)) ? [] : methods, url)
}
