/* Headers on responses of Node's own HTTP server, for every framework that is made of it. */

import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import type { Headers } from '../headers.js'
import type { LimitInfo } from '../info.js'
import type { Room } from './room.js'

/** A decision about the request of a response. */
interface Decision {
  readonly room: Room<never>
  readonly info: LimitInfo
  /** The headers of a refusal that the app answers itself. */
  readonly refusal?: Headers | undefined
}

const CARRIED = Symbol('tidegate.carried')
type WriteHead = (this: Carrying, ...given: unknown[]) => unknown
type Carrying = Omit<ServerResponse, 'writeHead'> & { [CARRIED]?: Carried; writeHead: WriteHead }

/** What a response carries: the decisions, and the method in whose place it writes the headers. */
interface Carried {
  readonly decisions: Decision[]
  readonly writeHead: WriteHead
}

/** The decisions that rooms have made about the request of this response. */
export function decisionsOf(response: ServerResponse): readonly Decision[] {
  return (response as unknown as Carrying)[CARRIED]?.decisions ?? NONE
}

const NONE: readonly Decision[] = []

/**
 * Puts the headers of a decision on the response when its head is written, whoever writes it: a handler, a stream, or
 * the answer to an error, which frameworks strip of headers that were set before. Only then its status is known.
 */
export function carry<Request>(
  response: ServerResponse,
  room: Room<Request>,
  info: LimitInfo,
  refusal?: Headers,
): void {
  const carrying = response as unknown as Carrying
  const decision = { room: room as unknown as Room<never>, info, refusal }
  const carried = carrying[CARRIED]
  if (carried !== undefined) {
    tellTwice(carried.decisions, decision)
    carried.decisions.push(decision)
    return
  }
  carrying[CARRIED] = { decisions: [decision], writeHead: carrying.writeHead }
  carrying.writeHead = writeHead
}

function writeHead(this: Carrying, status: unknown, second?: unknown, third?: unknown): unknown {
  const { decisions, writeHead } = this[CARRIED] as Carried
  this.writeHead = writeHead
  const headers = headersOf(decisions, typeof status === 'number' ? status : this.statusCode)
  if (isFields(second)) return writeHead.call(this, status, withFields(second, headers))
  if (isFields(third)) return writeHead.call(this, status, second, withFields(third, headers))
  for (const name in headers) this.setHeader(name, headers[name] as string)
  return third === undefined ? writeHead.call(this, status, second) : writeHead.call(this, status, second, third)
}

function headersOf(decisions: readonly Decision[], status: number): Headers {
  // The room that was asked last is the one of the route, and says how they are written.
  const { room, info, refusal } = decisions[decisions.length - 1] as Decision
  if (refusal !== undefined) return status >= 300 && status < 400 ? {} : refusal
  return room.gate.headers(decisions.length === 1 ? info : decisions.map(({ info }) => info), status)
}

/** Headers as an object; not the flat list that Node takes as well. */
const isFields = (given: unknown): given is Record<string, unknown> =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

/** A copy, because the caller's object may be a constant. A header of the caller's own wins. */
function withFields(given: Record<string, unknown>, headers: Headers): Record<string, unknown> {
  const all = { ...given }
  for (const name in headers) {
    const lower = lowerCase(name)
    if (!(lower in given) && !(name in given)) all[lower] = headers[name]
  }
  return all
}

/** The few names that there are, in the form that frameworks have them in. */
const lowerCased = new Map<string, string>()

function lowerCase(name: string): string {
  const known = lowerCased.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  lowerCased.set(name, lower)
  return lower
}

/** Tells of a request that two rooms count for the same limit. */
function tellTwice(decisions: readonly Decision[], { room, info }: Decision): void {
  for (const before of decisions) {
    if (before.room.limiter !== room.limiter) continue
    const keys = new Set(before.info.checks.map(({ key }) => key))
    const twice = info.checks.find(({ key }) => keys.has(key))
    if (twice !== undefined) room.gate.report('counted-twice', `limit "${twice.key}"`)
  }
}

/** Gives back what this request was charged, in the limits of all rooms that admitted it. */
export function giveAllBack(response: ServerResponse): void {
  for (const { room, info } of decisionsOf(response)) room.giveBack(info)
}

/** Calls when the response is finished, or its client is gone. */
export function onFinished(response: ServerResponse, call: () => void): void {
  finished(response, { readable: false }, () => call())
}

/** Names and values for a response that is written at once. */
export function setAll(response: ServerResponse, headers: Headers): void {
  for (const name in headers) response.setHeader(name, headers[name] as string)
}
