import { ServerResponse } from 'node:http'
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import { outOfRange } from '../errors.js'
import { settingsOf } from '../express/app.js'
import { placeOn } from '../fastify/reply.js'
import type { Limiter } from '../limiter/limiter.js'
import type { LimitInfo } from '../results/info.js'
import { isHeld } from '../room/plan.js'
import { RateLimitError } from '../room/rate-limit-error.js'
import { RequestError } from '../room/request-error.js'
import { besideResponses, onFinished, onResponses, type Shelf } from '../room/response.js'
import type { Trials } from '../room/trials.js'
import { attempt, type Later } from '../time/later.js'
import { type Incoming, incomingOf } from './contexts.js'
import { exceptionOf, RateLimitException, websocketError, websocketException } from './exceptions.js'
import { tellFields } from './fields.js'
import type { PlatformRequest, PlatformResponse } from './module-options.js'
import { Rooms, type TargetRoom } from './rooms.js'

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
    const target = this.#rooms.targetOf(context)
    if (target === undefined) return true
    const incoming = incomingOf(context, this.#rooms.getRequest)
    if (incoming === undefined) return true
    const failed = (error: unknown): never => {
      if (incoming.kind === 'ws') throw websocketError(error, context.switchToWs().getPattern())
      throw incoming.kind === 'http' || error instanceof RequestError ? exceptionOf(error) : error
    }
    return attempt(
      () => this.#decide(target, incoming, context),
      failed,
      (info) => this.#proceed(info, target, incoming, context),
    )
  }

  /** The counts of limits in shadow mode and of candidates. */
  trials(): Trials {
    return this.#rooms.base.trials()
  }

  /** The limiter, for its events. */
  get limiter(): Limiter {
    return this.#rooms.base.limiter
  }

  #decide(
    room: TargetRoom,
    { kind, request, response }: Incoming,
    context: ExecutionContext,
  ): Later<LimitInfo | undefined> {
    if (kind === 'http' && response !== undefined) {
      const { raw, shelf } = carrierOf(response)
      return shelf.decide(room, request, raw)
    }
    // A response has several fields, a socket several messages: what is decided once is the context.
    const { decided } = this.#rooms
    if (decided.has(context)) return undefined
    decided.add(context)
    return room.decide(request)
  }

  #proceed(info: LimitInfo | undefined, room: TargetRoom, incoming: Incoming, context: ExecutionContext): boolean {
    if (info === undefined) return true
    const { kind, request, response } = incoming
    const isHttp = kind === 'http' && response !== undefined
    // A request of Express finds its answer by its prototype, where it is not another one than the response's.
    const hasAnswer = isHttp && this.#rooms.getRequest === undefined && settingsOf(request) !== undefined
    if (!hasAnswer) request.rateLimit = info
    if (isHttp) return proceedHttp(info, room, request, response)
    if (isHeld(info)) endWith(response, room, info)
    if (kind === 'graphql') tellFields(response, room, info)
    if (!info.blocked) return true
    const error = new RateLimitError(info, room.gate.refusal(info).status)
    if (kind === 'ws') throw websocketException(info, error.message, context.switchToWs().getPattern())
    throw new RateLimitException(info, error.status, error)
  }
}

Injectable()(TidegateGuard)
Inject(Rooms)(TidegateGuard, undefined, 0)

/** Releases what a field of GraphQL holds when its response has ended; a message of a websocket has no such end. */
function endWith(response: PlatformResponse | undefined, room: TargetRoom, info: LimitInfo): void {
  const raw = response && rawOf(response)
  if (raw instanceof ServerResponse) {
    onFinished(raw, () => room.end(info, true))
    return
  }
  room.end(info, false)
  throw outOfRange(info.key, 'limits', 'must not be of type concurrency where there is no response to end', info.key)
}

function proceedHttp(info: LimitInfo, room: TargetRoom, request: PlatformRequest, response: PlatformResponse): boolean {
  const { raw, shelf } = carrierOf(response)
  if (info.blocked) {
    const { headers } = shelf === besideResponses ? request : rawOf(request)
    const error = shelf.leave(raw, room, info, shelf.refuse(raw, room, info, headers.accept))
    throw new RateLimitException(info, error.status, error)
  }
  const decision = shelf.admit(raw, room, info, request, response)
  if (raw !== response) placeOn(response as unknown as FastifyReply, decision)
  return true
}

/** Node's own response, and the place of its decisions. */
const carrierOf = (response: PlatformResponse): { readonly raw: PlatformResponse; readonly shelf: Shelf } =>
  settingsOf(response) === undefined
    ? { raw: rawOf(response), shelf: onResponses }
    : { raw: response, shelf: besideResponses }

/** Node's own request or response, where it is not Express's: Fastify's has it in `raw`. */
const rawOf = <Message extends { readonly raw?: Message }>(message: Message): Message => message.raw ?? message
