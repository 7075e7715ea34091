/* The request and the response of each kind of context, and the client's address in it. */

import type { IncomingMessage } from 'node:http'
import type { ExecutionContext } from '@nestjs/common'
import { settingsOf, trustOf as trustOfExpress } from '../express/app.js'
import { trustOf } from '../fastify/requests.js'
import type { Gate } from '../http/gate.js'
import { clientBy, isClosed } from '../room/address.js'
import { besideResponses, onResponses, type Shelf } from '../room/response.js'
import type { GetRequest, PlatformRequest, PlatformResponse } from './module-options.js'

export interface Incoming {
  readonly kind: 'http' | 'graphql' | 'ws' | 'other'
  readonly request: PlatformRequest
  readonly response?: PlatformResponse | undefined
  /** Node's own response, and the place of its decisions. */
  readonly raw?: PlatformResponse | undefined
  readonly shelf: Shelf
}

/** The request of a context; nothing where there is none, or where this kind of context has no limits. */
export function incomingOf(context: ExecutionContext, getRequest: GetRequest | undefined): Incoming | undefined {
  const found = foundIn(context)
  if (getRequest === undefined) return found.kind === 'other' ? undefined : found
  const request = getRequest(context, found.request)
  return request === undefined || request === null ? undefined : { ...found, request }
}

function foundIn(context: ExecutionContext): Incoming {
  const kind = context.getType<string>()
  if (kind === 'graphql') return inGraphql(context.getArgs())
  if (kind === 'ws') return { kind, request: context.getArgByIndex(0), shelf: onResponses }
  if (kind !== 'http') return { kind: 'other', request: undefined, shelf: onResponses }
  const [request, response] = context.getArgs<[PlatformRequest, PlatformResponse | undefined]>()
  const isExpress = response !== undefined && settingsOf(response) !== undefined
  const [raw, shelf] = isExpress ? [response, besideResponses] : [rawOf(response), onResponses]
  return { kind, request, response, raw, shelf }
}

/** Node's own response, where it is not Express's: Fastify's has it in `raw`. */
const rawOf = (response: PlatformResponse | undefined): PlatformResponse | undefined => response?.raw ?? response

/** Drivers name the parts of their context each in their own way; an app may have made it anew, without them. */
function inGraphql(args: PlatformRequest[]): Incoming {
  // A resolver of references has no arguments.
  const context = (args.length === 3 ? args[1] : args[2]) ?? {}
  const { req, request, res, response, reply } = context
  const given = req ?? request ?? reply?.request ?? context
  const answer = res ?? reply ?? response ?? given.res
  return {
    kind: 'graphql',
    // A subscription over a websocket has the request that opened it.
    request: given.extra?.request ?? given,
    response: answer,
    raw: rawOf(answer),
    shelf: onResponses,
  }
}

/** True for a field below another one, which is a part of an answer that was admitted. */
export function isInnerField(context: ExecutionContext): boolean {
  return context.getArgs().at(-1)?.path?.prev !== undefined
}

/** The client's address, as the platform reads it where it trusts proxies. */
export function clientIn(request: PlatformRequest, gate: Gate): string {
  const settings = settingsOf(request)
  const raw: IncomingMessage | undefined = settings === undefined ? messageOf(request) : request
  // The peer of a client of `ws`. Behind a proxy that is the proxy, so the request that opened the socket is needed.
  if (raw === undefined) return gate.client(gate.trustsNobody ? request._socket?.remoteAddress : undefined)
  const isFastify = settings === undefined && request.raw !== undefined
  const trust = isFastify
    ? trustOf(request)
    : trustOfExpress(settings ?? { 'trust proxy': request.app?.get?.('trust proxy') })
  return clientBy(raw, gate, trust, () => request.ip)
}

export function isGoneIn(request: PlatformRequest): boolean {
  // A client of `ws` may have no request, but it has its socket.
  return isClosed(messageOf(request) ?? { socket: request?._socket })
}

/** Node's own request: Fastify's has it in `raw`, a client of socket.io in `request`. */
function messageOf(request: PlatformRequest): IncomingMessage | undefined {
  const raw = request.raw ?? request
  if (isMessage(raw)) return raw
  return isMessage(request.request) ? request.request : undefined
}

const isMessage = (given: PlatformRequest): given is IncomingMessage =>
  typeof given?.socket === 'object' && typeof given.headers === 'object'
