/**
 * Rate limits for NestJS 11, over Express and Fastify.
 *
 * @packageDocumentation
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type CanActivate,
  type CustomDecorator,
  type DynamicModule,
  type ExecutionContext,
  type FactoryProvider,
  HttpException,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  SetMetadata,
} from '@nestjs/common'
import { APP_GUARD, Reflector } from '@nestjs/core'
import type { FastifyRequest } from 'fastify'
import { outOfRange, wrongType } from './errors.js'
import type { LimitInfo } from './info.js'
import { clientOf } from './room/address.js'
import { trustOf } from './room/fastify-trust.js'
import { admit, decideFor, refusalError } from './room/node.js'
import { type RoomOptions, type RouteOptions, routeOptions } from './room/options.js'
import { placeHeaders } from './room/response.js'
import { type Framework, Room } from './room/room.js'
import type * as rules from './room/rules.js'
import { type ChargeOn, chargeOption } from './room/settle.js'

export type { Trials } from './room/trials.js'

/** The request of the platform: Express's, or Fastify's. */
// biome-ignore lint/suspicious/noExplicitAny: an app has the request of its platform, which this module cannot name.
export type PlatformRequest = any
type Response = ServerResponse & { raw?: ServerResponse; header(name: string, value: string): unknown }

/** A definition, a limit as text, or either with settings of its own. */
export type RoomLimit = rules.RoomLimit<PlatformRequest>
/** One limit, or several that are decided together. */
export type RoomLimits = rules.RoomLimits<PlatformRequest>

/** The options of the module. */
export interface RateLimitOptions extends Omit<RoomOptions<PlatformRequest>, 'body'> {
  /** Limits every route, not only those with `@RateLimit()`. @defaultValue true */
  readonly global?: boolean | undefined
  /** The outcomes that stay charged; the charge of others is given back. @defaultValue all of them */
  readonly chargeOn?: ChargeOn<[request: PlatformRequest, response: PlatformRequest]> | undefined
}

/** The options of a route or a controller. */
export interface RouteLimits extends RouteOptions<Omit<RateLimitOptions, 'global'>> {
  /** Adds these limits to those of the module, in one decision, in place of replacing them. @defaultValue false */
  readonly adds?: boolean | undefined
}

/** The options of a module that other providers make. */
export interface AsyncOptions extends Pick<ModuleMetadata, 'imports'>, Pick<FactoryProvider, 'inject'> {
  /** Makes the options, of what is injected. */
  readonly useFactory: (...injected: PlatformRequest[]) => RateLimitOptions | Promise<RateLimitOptions>
}

const OPTIONS = Symbol('tidegate.options')
const LIMITS = Symbol('tidegate.limits')

/**
 * Limits a route, or all routes of a controller together, in place of the module's limits.
 *
 * The limit of a text without a name is that of the route (`Class.method`) or the controller (`Class`).
 */
export function RateLimit(limits: RouteLimits | RoomLimits): CustomDecorator<symbol> {
  return SetMetadata(LIMITS, routeOptions(limits))
}

/** Leaves a route, or a controller, without a limit. */
export function SkipRateLimit(): CustomDecorator<symbol> {
  return SetMetadata(LIMITS, false)
}

/** A refused request: an exception for filters, whose response has the headers whoever writes it. */
export class RateLimitException extends HttpException {
  /** The answer that refused the request. */
  readonly info: LimitInfo

  constructor(info: LimitInfo, status: number, cause: Error) {
    super(cause.message, status, { cause })
    this.info = info
  }
}

const framework: Framework<PlatformRequest> = {
  options: ['chargeOn', 'global', 'adds'],
  client(request: PlatformRequest, { gate, trusting }): string {
    const raw: IncomingMessage = request.raw ?? request
    if (!gate.trustsNobody) return clientOf(raw, gate)
    const trusted = request.raw === undefined ? request.app?.get('trust proxy') : trustOf(request as FastifyRequest)
    if (trusted === undefined || trusted === false || trusted === 'nobody') return clientOf(raw, gate)
    // The platform would take the left-most address, which clients can write themselves.
    if (trusted === true || trusted === 'everybody') return clientOf(raw, trusting)
    return gate.client(request.ip)
  },
}

interface Place {
  readonly room: Room<PlatformRequest>
  readonly chargeOn: ((request: PlatformRequest, response: PlatformRequest) => rules.Later<boolean>) | undefined
}

/** Decides requests of HTTP; those of other contexts pass. The module applies it to every route. */
export class TidegateGuard implements CanActivate {
  readonly #reflector = new Reflector()
  readonly #base: Place
  readonly #global: boolean
  /** The places of `@RateLimit()`, by its options and the name of its target. */
  readonly #places = new WeakMap<object, Map<string, Place>>()

  constructor(options: RateLimitOptions) {
    const { global = true, body } = (options ?? {}) as RateLimitOptions & { body?: unknown }
    if (typeof global !== 'boolean') throw wrongType('', 'global', 'must be a boolean', global)
    if (body !== undefined) throw outOfRange('', 'body', 'must be left to an exception filter', body)
    this.#global = global
    this.#base = placeOf(new Room<PlatformRequest>(options, framework))
  }

  /** Admits a request, or throws a {@link RateLimitException}. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true
    const place = this.#placeOf(context)
    if (place === undefined) return true
    const { room, chargeOn } = place
    const request: PlatformRequest = context.switchToHttp().getRequest()
    const response: Response = context.switchToHttp().getResponse()
    const raw = response.raw ?? response
    const info = await decideFor(room, request, raw)
    if (info === undefined) return true
    request.rateLimit = info
    if (info.blocked) {
      const error = refusalError(request.raw ?? request, raw, room, info)
      throw new RateLimitException(info, error.status, error)
    }
    admit(raw, room, info, chargeOn === undefined ? undefined : () => chargeOn(request, response))
    if (response.raw !== undefined) placeHeaders(raw, (name, value) => response.header(name, value))
    return true
  }

  #placeOf(context: ExecutionContext): Place | undefined {
    const handler = context.getHandler()
    const controller = context.getClass()
    const own = this.#reflector.get<false | RouteLimits | undefined>(LIMITS, handler)
    const limits = own ?? this.#reflector.get<false | RouteLimits | undefined>(LIMITS, controller)
    if (limits === undefined) return this.#global ? this.#base : undefined
    if (limits === false) return undefined
    const name = own === undefined ? controller.name : `${controller.name}.${handler.name}`
    const known = this.#places.get(limits) ?? new Map<string, Place>()
    const place = known.get(name) ?? this.#make(name, limits)
    this.#places.set(limits, known.set(name, place))
    return place
  }

  #make(name: string, { adds = false, ...options }: RouteLimits): Place {
    if (typeof adds !== 'boolean') throw wrongType('', 'adds', 'must be a boolean', adds)
    const { room } = this.#base
    return placeOf(room.extend({ name, ...options }, { adds: adds && options.limits !== undefined }))
  }
}

Injectable()(TidegateGuard)
Inject(OPTIONS)(TidegateGuard, undefined, 0)

function placeOf(room: Room<PlatformRequest>): Place {
  const statusOf = (_request: PlatformRequest, response: PlatformRequest): number => response.statusCode
  return { room, chargeOn: chargeOption(room.options, statusOf) }
}

/**
 * The module that limits the requests of an app: `imports: [TidegateModule.forRoot({ limits: '100/minute' })]`.
 *
 * The answer is in `request.rateLimit`. Without a `key`, the client's address is limited; behind proxies it is read as
 * the platform's own setting says, or as `trustedProxies`.
 *
 * @example
 * ```js
 * import 'reflect-metadata'
 * import { Controller, Get, Module } from '@nestjs/common'
 * import { NestFactory } from '@nestjs/core'
 * import { RateLimit, TidegateModule } from 'tidegate/nestjs'
 *
 * class Notes {
 *   list() {
 *     return 'notes'
 *   }
 * }
 * // With decorators: @RateLimit('1/minute') @Get() list() { … }
 * const list = Object.getOwnPropertyDescriptor(Notes.prototype, 'list')
 * for (const decorate of [Get(), RateLimit('1/minute')]) decorate(Notes.prototype, 'list', list)
 * Controller('notes')(Notes)
 * class App {}
 * Module({ imports: [TidegateModule.forRoot({ limits: '100/minute' })], controllers: [Notes] })(App)
 *
 * const app = await NestFactory.create(App, { logger: false })
 * await app.listen(0, '127.0.0.1')
 * const url = `${await app.getUrl()}/notes`
 * assert.deepEqual([(await fetch(url)).status, (await fetch(url)).status], [200, 429])
 * await app.close()
 * ```
 */
// biome-ignore lint/complexity/noStaticOnlyClass: modules of Nest are classes.
export class TidegateModule {
  /** The module with these options. */
  static forRoot(options: RateLimitOptions): DynamicModule {
    return moduleOf({ provide: OPTIONS, useFactory: () => options })
  }

  /** The module with options that other providers make. */
  static forRootAsync({ imports = [], inject = [], useFactory }: AsyncOptions): DynamicModule {
    return { ...moduleOf({ provide: OPTIONS, useFactory, inject }), imports }
  }
}

Module({})(TidegateModule)

function moduleOf(options: FactoryProvider): DynamicModule {
  return {
    module: TidegateModule,
    global: true,
    providers: [options, TidegateGuard, { provide: APP_GUARD, useExisting: TidegateGuard }],
    exports: [TidegateGuard],
  }
}
