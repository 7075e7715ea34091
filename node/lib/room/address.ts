/* The client of a request of Node's own HTTP server. */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ConfigurationError } from '../errors.js'
import type { Gate } from '../http.js'

const CLIENT = Symbol('tidegate.client')

/** The client of a connection, as a gate said it. */
interface Known {
  readonly gate: Gate
  readonly client: string
}

type Knowing = Socket & { [CLIENT]?: Known }

/** The client's address: the peer's, or behind trusted proxies the one that they forward. */
export function clientOf(request: IncomingMessage, gate: Gate): string {
  if (!gate.trustsNobody) return gate.client(request.socket.remoteAddress, linesOf(request, gate.forwardedHeader))
  // Nothing but the peer counts, so it is read once a connection, and so is a forwarded header that shows a mistake:
  // Node makes an object of a request's headers when they are first asked for.
  const socket = request.socket as Knowing
  const known = socket[CLIENT]
  if (known !== undefined && known.gate === gate) return known.client
  const { headers } = request
  const client = gate.client(socket.remoteAddress, headers['x-forwarded-for'] ?? headers.forwarded)
  socket[CLIENT] = { gate, client }
  return client
}

/**
 * The client's address as the framework has read it of what trusted proxies forward. Where that is none, as the
 * `unknown` of some proxies, it is the peer's, and not a mistake in the set-up.
 */
export function clientAs(read: string | undefined, request: IncomingMessage, gate: Gate): string {
  try {
    return gate.client(read)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return gate.client(request.socket.remoteAddress)
  }
}

/** The client's address behind proxies that are trusted with this header. */
export function linesOf({ headers }: IncomingMessage, name: string): string | readonly string[] {
  return headers[name] ?? []
}
