/**
 * Rate limits for NestJS 11 and 12, over Express and Fastify: HTTP, GraphQL and websockets.
 *
 * @packageDocumentation
 */

import { type CustomDecorator, type DynamicModule, type FactoryProvider, Module, SetMetadata } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { TidegateGuard } from './nest/guard.js'
import {
  type AsyncOptions,
  LIMITS,
  OPTIONS,
  type RateLimitOptions,
  type RoomLimits,
  type RouteLimits,
} from './nest/module-options.js'
import { Rooms } from './nest/rooms.js'
import { routeOptions } from './room/options.js'

export { RateLimitException, type RefusalExtensions, type RefusedMessage } from './nest/exceptions.js'
export { TidegateGuard } from './nest/guard.js'
export type {
  AsyncOptions,
  GetRequest,
  PlatformRequest,
  RateLimitOptions,
  RoomLimit,
  RoomLimits,
  RouteLimits,
} from './nest/module-options.js'
export type { Trials } from './room/handle.js'

/**
 * Limits a route, or all routes of a controller together, in place of the module's limits.
 *
 * The key of a limit as text is its `name`, or else the route (`GET /users/{id}`, or `Class.method` where there is none) or
 * the controller (`Class`).
 */
export function RateLimit(limits: RouteLimits | RoomLimits): CustomDecorator<symbol> {
  return SetMetadata(LIMITS, routeOptions(limits))
}

/** Exempts a route, or a controller, from all limits. */
export function SkipRateLimit(): CustomDecorator<symbol> {
  return SetMetadata(LIMITS, false)
}

/**
 * The module that limits the requests of an app: `imports: [TidegateModule.forRoot({ limits: '100/minute' })]`.
 *
 * The answer is in `request.rateLimit`, for a message of a websocket in `client.rateLimit`. Without a `key`, the
 * client's address is limited. Behind proxies, the platform's own setting or `trustedProxies` decides which address
 * that is.
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

  /** The module with options from other providers. */
  static forRootAsync({ imports = [], inject = [], useFactory }: AsyncOptions): DynamicModule {
    return { ...moduleOf({ provide: OPTIONS, useFactory, inject }), imports }
  }
}

Module({})(TidegateModule)

function moduleOf(options: FactoryProvider): DynamicModule {
  return {
    module: TidegateModule,
    global: true,
    providers: [options, Rooms, TidegateGuard, { provide: APP_GUARD, useExisting: TidegateGuard }],
    exports: [Rooms, TidegateGuard],
  }
}
