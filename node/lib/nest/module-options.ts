/* The options of the module and its decorators. */

import type { ServerResponse } from 'node:http'
import type { ExecutionContext, FactoryProvider, ModuleMetadata } from '@nestjs/common'
import type { ChargeOn, OptionalLimits, RoomOptions, RouteOptions } from '../room/options.js'
import type * as rules from '../room/rules.js'

/** The request of the platform: Express's, or Fastify's; of a websocket its client. */
// biome-ignore lint/suspicious/noExplicitAny: an app has the request of its platform, which this module cannot name.
export type PlatformRequest = any

/** A definition, a limit as text, or either with settings of its own. */
export type RoomLimit = rules.RoomLimit<PlatformRequest>
/** One limit, or several that are decided together. */
export type RoomLimits = rules.RoomLimits<PlatformRequest>

/** Gives the request of a context, of which `found` is the one that is usual for its kind, if any. */
export type GetRequest = (context: ExecutionContext, found: PlatformRequest) => PlatformRequest

type HttpOutcome = [request: PlatformRequest, response: PlatformRequest]

/** The options of the module. */
export interface RateLimitOptions extends OptionalLimits<Omit<RoomOptions<PlatformRequest, HttpOutcome>, 'body'>> {
  /**
   * Limits every route, not only those with `@RateLimit()`; with `false` the module needs no `limits`.
   * @defaultValue true
   */
  readonly global?: boolean | undefined
  /** The outcomes of HTTP that stay charged; the charge of others is given back. @defaultValue all of them */
  readonly chargeOn?: ChargeOn<HttpOutcome> | undefined
  /**
   * The request of a context, in place of the one that is found: `key` and the others get it, and it gets `rateLimit`.
   * A context without one is not limited. Contexts other than HTTP, GraphQL and websockets are limited only by this.
   */
  readonly getRequest?: GetRequest | undefined
}

/** The options of a route or a controller. */
export interface RouteLimits extends RouteOptions<Omit<RateLimitOptions, 'global' | 'getRequest'>> {
  /**
   * Adds these limits to those that would hold otherwise, of the controller or else of the module, in one decision, in
   * place of replacing them. @defaultValue false
   */
  readonly adds?: boolean | undefined
}

/** The options of a module that other providers make. */
export interface AsyncOptions extends Pick<ModuleMetadata, 'imports'>, Pick<FactoryProvider, 'inject'> {
  /** Makes the options, of what is injected. */
  readonly useFactory: (...injected: PlatformRequest[]) => RateLimitOptions | Promise<RateLimitOptions>
}

/** The response of Express, or the reply of Fastify. */
export type PlatformResponse = ServerResponse & {
  readonly raw?: ServerResponse
  header?(name: string, value: string): unknown
}

export const OPTIONS = Symbol('tidegate.options')
/** The key of what `@RateLimit()` and `@SkipRateLimit()` leave on a target. */
export const LIMITS = Symbol('tidegate.limits')
