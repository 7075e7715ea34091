/* The client of a request of Node's own HTTP server. */

import type { IncomingMessage } from 'node:http'
import type { Server, Socket } from 'node:net'
import { ConfigurationError } from '../errors.js'
import type { Gate } from '../http/gate.js'

/** The addresses that an app's framework believes: nobody's, every proxy's, or those of some. */
export type Trust = 'nobody' | 'everybody' | 'some'

/** More addresses than any app has proxies, of a network that is for documentation alone. */
export const PROXIES: readonly string[] = Array.from({ length: 64 }, (_, host) => `192.0.2.${host + 1}`)

/**
 * True where the client has closed the connection. The system knows it before Node does, which still reads what was
 * sent before: such a socket has an address of its own, and none of a peer. One of Unix has neither.
 */
export const isClosed = ({ socket }: { readonly socket?: Socket | undefined }): boolean =>
  socket !== undefined &&
  (socket.destroyed || (socket.remoteAddress === undefined && socket.localAddress !== undefined))

const CLIENT = Symbol('tidegate.client')

/** A connection with its client, as a gate said it. */
type Knowing = Socket & { [CLIENT]?: { readonly gate: Gate; readonly client: string } }

/** The client's address: the peer's, or behind trusted proxies the one that they forward. */
export function clientOfRequest(request: IncomingMessage, gate: Gate): string {
  if (!gate.trustsNobody) {
    const lines = hidesProxies(request) ? [] : request.headers[gate.forwardedHeader]
    return gate.client(request.socket.remoteAddress, lines)
  }
  // Nothing but the peer counts, so it is read once a connection, and so is a forwarded header that shows a mistake:
  // Node makes an object of a request's headers when they are first asked for.
  const socket = request.socket as Knowing
  const known = socket[CLIENT]
  if (known?.gate === gate) return known.client
  const { headers } = request
  const client = gate.client(socket.remoteAddress, headers['x-forwarded-for'] ?? headers.forwarded)
  socket[CLIENT] = { gate, client }
  return client
}

/** The client's address in an app whose framework may trust proxies, which the options of the room go before. */
export function clientBy(request: IncomingMessage, gate: Gate, trust: Trust, read: () => string | undefined): string {
  if (!gate.trustsNobody || trust === 'nobody') return clientOfRequest(request, gate)
  // The framework would take the left-most address, which clients can write themselves.
  if (trust === 'everybody') return clientOfRequest(request, gate.trusting)
  if (isCutShort(request)) return gate.client(request.socket.remoteAddress)
  try {
    return gate.client(read())
  } catch (error) {
    // Of an element that is none, as the `unknown` of some proxies, which is not a mistake in the set-up.
    if (!(error instanceof ConfigurationError)) throw error
    return gate.client(request.socket.remoteAddress)
  }
}

/**
 * True for a request whose forwarded header says nothing: it may be cut short, or its client has left, and has no address
 * any more. A proxy over a Unix socket never had one.
 */
export const hidesProxies = (request: IncomingMessage): boolean =>
  isCutShort(request) || (request.socket.remoteAddress === undefined && isClosed(request) && !isOverUnix(request))

function isOverUnix({ socket }: IncomingMessage): boolean {
  const { server } = socket as Socket & { readonly server?: Pick<Server, 'address'> }
  return typeof server?.address?.() === 'string'
}

/**
 * True for a request of so many header lines that Node dropped some, or may have. Proxies append theirs, so a client
 * that sends enough of them would hide that line, and have its own believed.
 */
function isCutShort({ rawHeaders, socket }: IncomingMessage): boolean {
  const { server } = socket as Socket & { readonly server?: { readonly maxHeadersCount?: number | null } }
  // Those that Node's server reads, where it is not told another number; 0 is all of them.
  const most = server?.maxHeadersCount ?? 1000
  // A server of somebody else's may have none.
  return most > 0 && rawHeaders?.length >= 2 * most
}
