/* The answer in Fastify's requests, the proxies that it trusts, and the headers of its replies. What it does not say is asked of its own objects. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Headers } from '../results/headers.js'
import type { LimitInfo } from '../results/info.js'
import { PROXIES, type Trust } from '../room/address.js'
import { type Decision, placeHeaders } from '../room/response.js'

type Reply = Pick<FastifyReply, 'header' | 'headers' | 'removeHeader'>

/** The name of the property in which replies keep their headers; null where they do not. */
let known: symbol | null | undefined

const PROBE = 'x-tidegate-probe'

/**
 * Places the headers of the newest decision on a reply: in the object that it keeps them in, by their names in lower
 * case, which takes half the time that `reply.header` does.
 */
export function placeOn(reply: Reply, decision: Decision): void {
  if (known === undefined) known = found(reply) ?? null
  const kept = known === null ? undefined : (reply as unknown as Record<symbol, Headers | undefined>)[known]
  const headers = kept ?? {}
  placeHeaders(decision, headers)
  if (kept === undefined) reply.headers(headers)
}

/** Asks a reply where it keeps a header. */
function found(reply: Reply): symbol | undefined {
  reply.header(PROBE, '1')
  const symbol = Object.getOwnPropertySymbols(reply).find((symbol) => {
    const value: unknown = reply[symbol as never]
    return typeof value === 'object' && value !== null && (value as Headers)[PROBE] === '1'
  })
  reply.removeHeader(PROBE)
  return symbol
}

export const INFO = Symbol('tidegate.info')
export type Answered = FastifyRequest & { [INFO]?: LimitInfo | null }

/** The answer to a request: a property of the prototype, because Fastify writes all others into every request. */
export const ANSWER = {
  getter(this: FastifyRequest): LimitInfo | null {
    return (this as Answered)[INFO] ?? null
  },
  setter(this: FastifyRequest, info: LimitInfo | null): void {
    ;(this as Answered)[INFO] = info
  },
}

/** The trust of instances, by the prototypes of their requests. */
const trusts = new WeakMap<object, Trust>()

/** The trust of the request's instance, whose requests have one prototype. */
export function trustOf(request: FastifyRequest): Trust {
  // Only requests of instances that trust a proxy have this.
  if (!('ips' in request)) return 'nobody'
  const prototype = Object.getPrototypeOf(request) as object
  const before = trusts.get(prototype)
  if (before !== undefined) return before
  // A request that never was.
  const probe = Object.create(prototype) as { raw: unknown; readonly ip: string }
  const socket = { remoteAddress: '192.0.2.254' }
  probe.raw = { headers: { 'x-forwarded-for': PROXIES.join() }, socket, connection: socket }
  const trust = request.ips === undefined ? 'nobody' : probe.ip === PROXIES[0] ? 'everybody' : 'some'
  trusts.set(prototype, trust)
  return trust
}
