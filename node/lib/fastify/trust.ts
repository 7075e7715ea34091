/* The proxies that an instance of Fastify trusts: it does not say, so its reader of addresses is asked. */

import type { FastifyRequest } from 'fastify'
import { PROXIES, type Trust } from '../room/address.js'

const known = new WeakMap<object, Trust>()

/** The trust of the request's instance, whose requests have one prototype. */
export function trustOf(request: FastifyRequest): Trust {
  // Only requests of instances that trust a proxy have this.
  if (!('ips' in request)) return 'nobody'
  const prototype = Object.getPrototypeOf(request) as object
  const before = known.get(prototype)
  if (before !== undefined) return before
  const trust = asked(request, prototype)
  known.set(prototype, trust)
  return trust
}

/** Asks about a request that never was. */
function asked(request: FastifyRequest, prototype: object): Trust {
  if (request.ips === undefined) return 'nobody'
  const probe = Object.create(prototype) as { raw: unknown; readonly ip: string }
  const socket = { remoteAddress: '192.0.2.254' }
  probe.raw = { headers: { 'x-forwarded-for': PROXIES.join() }, socket, connection: socket }
  return probe.ip === PROXIES[0] ? 'everybody' : 'some'
}
