import { ServerResponse } from 'node:http'
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import { outOfRange } from '../errors.js'
import { settingsOf } from '../express/app.js'
import { placeOn } from '../fastify/requests.js'
import { withoutBody } from '../http/gate.js'
import type { Limiter } from '../limiter/limiter.js'
import type { LimitInfo } from '../results/info.js'
import { isHeld, type Trials } from '../room/plan.js'
import { RateLimitError } from '../room/rate-limit-error.js'
import { isAborted, RequestError } from '../room/request-error.js'
import { besideResponses, onFinished } from '../room/response.js'
import { attempt, type Later } from '../time/later.js'
import { type Incoming, incomingOf } from './contexts.js'
import { exceptionOf, RateLimitException, websocketError, websocketException } from './exceptions.js'
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
      const isClients = error instanceof RequestError || isAborted(error)
      throw incoming.kind === 'http' || isClients ? exceptionOf(error) : error
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

  #decide(room: TargetRoom, incoming: Incoming, context: ExecutionContext): Later<LimitInfo | undefined> {
    const { kind, request, raw, shelf } = incoming
    if (kind === 'http' && raw !== undefined) return shelf.decide(room, request, raw)
    // A response has several fields, a socket several messages: what is decided once is the context.
    const { decided } = this.#rooms
    if (decided.has(context)) return undefined
    decided.add(context)
    return room.decide(request)
  }

  #proceed(info: LimitInfo | undefined, room: TargetRoom, incoming: Incoming, context: ExecutionContext): boolean {
    if (info === undefined) return true
    const { kind, request, response, raw, shelf } = incoming
    const isHttp = kind === 'http' && raw !== undefined
    // A request of Express finds its answer by its prototype, where it is not another one than the response's.
    const hasAnswer = isHttp && this.#rooms.getRequest === undefined && settingsOf(request) !== undefined
    if (!hasAnswer && Object(request) === request) request.rateLimit = info
    if (isHttp && !info.blocked) {
      const decision = shelf.admit(raw, room, info, request, response)
      if (raw !== response) placeOn(response as unknown as FastifyReply, decision)
      return true
    }
    if (isHttp) {
      const { headers } = shelf === besideResponses ? request : (request.raw ?? request)
      const error = shelf.leave(raw, info, shelf.refuse(raw, room, info, headers.accept))
      throw new RateLimitException(info, error.status, error)
    }
    if (isHeld(info)) endWith(raw, room, info)
    if (kind === 'graphql') tellFields(incoming, room, info)
    if (!info.blocked) return true
    const error = new RateLimitError(info, room.gate.refusal(info).status)
    if (kind === 'ws') throw websocketException(info, error.message, context.switchToWs().getPattern())
    throw new RateLimitException(info, error.status, error)
  }
}

Injectable()(TidegateGuard)
Inject(Rooms)(TidegateGuard, undefined, 0)

/** Releases what a field of GraphQL holds when its response has ended; a message of a websocket has no such end. */
function endWith(raw: unknown, room: TargetRoom, info: LimitInfo) {
  if (raw instanceof ServerResponse) return onFinished(raw, () => room.end(info, true))
  room.end(info, false)
  throw outOfRange(info.key, 'limits', 'must not be of type concurrency where there is no response to end', info.key)
}

/** The answers that headers tell of: of each room the newest one that admitted, and the refusal with the longest wait. */
interface Answers {
  admitted?: LimitInfo
  refused?: LimitInfo
}

const answersOf = new WeakMap<object, Map<TargetRoom, Answers>>()

/** Puts the headers of an answer on a response that has not begun, merged with those of the other fields. */
function tellFields({ response, raw }: Incoming, room: TargetRoom, info: LimitInfo): void {
  if (raw === undefined || typeof raw.setHeader !== 'function' || raw.headersSent) return
  const rooms = answersOf.get(raw) ?? new Map<TargetRoom, Answers>()
  answersOf.set(raw, rooms)
  const answers = rooms.get(room) ?? {}
  rooms.set(room, answers)
  if (!info.blocked) answers.admitted = info
  else if (answers.refused === undefined || answers.refused.resetMs < info.resetMs) answers.refused = info
  const each = [...rooms.values()].flatMap(({ admitted, refused }) => [admitted, refused])
  const infos = each.filter((info) => info !== undefined)
  const isRefused = infos.some(({ blocked }) => blocked)
  // The body of a refusal is the driver's.
  const headers = isRefused ? withoutBody(room.gate.refusal(infos).headers) : room.gate.headers(infos)
  for (const name in headers) {
    if (response?.raw !== undefined) response.header?.(name, headers[name] as string)
    else raw.setHeader(name, headers[name] as string)
  }
}
