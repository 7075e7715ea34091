import type { IncomingMessage } from 'node:http'
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import type { LimitInfo } from '../info.js'
import type { Limiter } from '../limiter.js'
import { RateLimitError } from '../room/error.js'
import { settingsOf } from '../room/express-app.js'
import { placeOn } from '../room/fastify-reply.js'
import { isPromise } from '../room/later.js'
import { admit, decideFor, refuseTo } from '../room/node.js'
import { RequestError } from '../room/request-error.js'
import { besideResponses, onResponses } from '../room/response.js'
import type { Later } from '../room/rules.js'
import type { Trials } from '../room/trials.js'
import { type Incoming, incomingOf } from './contexts.js'
import { exceptionOf, RateLimitException, websocketError, websocketException } from './exceptions.js'
import { tellFields } from './fields.js'
import type { PlatformRequest, PlatformResponse } from './options.js'
import { type Place, Rooms } from './rooms.js'

/**
 * Decides requests of HTTP, fields of GraphQL and messages of websockets. The module applies it to every route.
 *
 * NestJS 11 has no global guards for gateways: there `@UseGuards(TidegateGuard)` has to stand on them.
 */
export class TidegateGuard implements CanActivate {
  readonly #rooms: Rooms

  /** @internal */
  constructor(rooms: Rooms) {
    this.#rooms = rooms
  }

  /** Admits a request, or throws a {@link RateLimitException}; for a message of a websocket, a `WsException`. */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const place = this.#rooms.placeOf(context)
    if (place === undefined) return true
    const incoming = incomingOf(context, this.#rooms.getRequest)
    if (incoming === undefined) return true
    const failed = (error: unknown): never => {
      if (incoming.kind === 'ws') throw websocketError(error, context.switchToWs().getPattern())
      throw incoming.kind === 'http' || error instanceof RequestError ? exceptionOf(error) : error
    }
    let info: Later<LimitInfo | undefined>
    try {
      info = this.#decide(place, incoming, context)
    } catch (error) {
      return failed(error)
    }
    if (isPromise(info)) return info.then((info) => this.#proceed(info, place, incoming, context), failed)
    return this.#proceed(info, place, incoming, context)
  }

  /** The counts of limits in shadow mode and of candidates. */
  trials(): Trials {
    return this.#rooms.base.room.trials()
  }

  /** The limiter, for its events. */
  get limiter(): Limiter {
    return this.#rooms.base.room.limiter
  }

  #decide(
    { room }: Place,
    { kind, request, response }: Incoming,
    context: ExecutionContext,
  ): Later<LimitInfo | undefined> {
    if (kind === 'http' && response !== undefined) {
      const isExpress = settingsOf(response) !== undefined
      if (isExpress) return decideFor(room, request, response, besideResponses)
      return decideFor(room, request, rawOf(response), onResponses)
    }
    // A response has several fields, a socket several messages: what is decided once is the context.
    const { decided } = this.#rooms
    if (decided.has(context)) return undefined
    decided.add(context)
    return room.decide(request)
  }

  #proceed(info: LimitInfo | undefined, place: Place, incoming: Incoming, context: ExecutionContext): boolean {
    if (info === undefined) return true
    const { kind, request, response } = incoming
    const isHttp = kind === 'http' && response !== undefined
    // A request of Express finds its answer by its prototype, where it is not another one than the response's.
    const hasAnswer = isHttp && this.#rooms.getRequest === undefined && settingsOf(request) !== undefined
    if (!hasAnswer) request.rateLimit = info
    if (isHttp) return proceedHttp(info, place, request, response)
    const { room } = place
    if (kind === 'graphql') tellFields(response, room, info)
    if (!info.blocked) return true
    const error = new RateLimitError(info, room.gate.refusal(info).status)
    if (kind === 'ws') throw websocketException(info, error.message, context.switchToWs().getPattern())
    throw new RateLimitException(info, error.status, error)
  }
}

Injectable()(TidegateGuard)
Inject(Rooms)(TidegateGuard, undefined, 0)

function proceedHttp(
  info: LimitInfo,
  { room, chargeOn }: Place,
  request: PlatformRequest,
  response: PlatformResponse,
): boolean {
  const isExpress = settingsOf(response) !== undefined
  const raw = isExpress ? response : rawOf(response)
  const shelf = isExpress ? besideResponses : onResponses
  if (info.blocked) {
    const incoming: IncomingMessage = isExpress ? request : (request.raw ?? request)
    const { error } = refuseTo(incoming, raw, shelf, room, info)
    throw new RateLimitException(info, error.status, error)
  }
  const decision = admit(raw, shelf, room, info, chargeOn === undefined ? undefined : () => chargeOn(request, response))
  if (raw !== response) placeOn(response as unknown as FastifyReply, decision)
  return true
}

/** Node's own response, where it is not Express's: Fastify's has it in `raw`. */
const rawOf = (response: PlatformResponse): PlatformResponse => response.raw ?? response
