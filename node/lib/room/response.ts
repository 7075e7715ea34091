/* Decisions about requests, and their headers on responses of Node's own HTTP server. */

import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { finished } from 'node:stream'
import { type Refusal, withoutBody } from '../http/gate.js'
import { native } from '../native/native.js'
import { type Headers, isRedirection } from '../results/headers.js'
import { LimitInfo } from '../results/info.js'
import { type Later, once } from '../time/later.js'
import { RateLimitError } from './rate-limit-error.js'
import type { Room } from './room.js'

/** The part of a room that knows what becomes of its decisions. */
export type Decider = Pick<Room<never>, 'gate' | 'limiter' | 'isAddedTo' | 'isOpen' | 'settle' | 'end'>

/** A decision about the request of a response. */
export interface Decision {
  readonly room: Decider
  readonly info: LimitInfo
  /** The headers of a refusal, whoever answers it. */
  readonly refusal: Headers | undefined
  /** The one before it, of another room. */
  readonly before: Decision | undefined
  /**
   * The name, in lower case, of the first header that the framework has already, and passes when the head is written;
   * empty where there are no headers.
   */
  placed: string | undefined
}

const CARRIED = Symbol('tidegate.carried')
type WriteHead = (this: Carrying, status: unknown, second?: unknown, third?: unknown) => unknown
/** A response, or the prototype of some. */
type Carrying = Omit<ServerResponse, 'writeHead'> & { [CARRIED]?: Decision | undefined; writeHead: WriteHead }

const NODES = ServerResponse.prototype as unknown as Carrying

/** The newest decisions about requests, by their responses: one shelf for all responses of a kind. */
export class Shelf {
  readonly get: (response: object) => Decision | undefined
  readonly #set: (response: object, decision: Decision) => unknown

  constructor({ get, set }: Pick<Shelf, 'get'> & { readonly set: (response: object, decision: Decision) => unknown }) {
    this.get = get
    this.#set = set
  }

  /** Decides a request whose response is this one; nothing where it is not limited, or this room has decided it. */
  decide<Request>(room: Room<Request>, request: Request, response: object): Later<LimitInfo | undefined> {
    const newest = this.get(response)
    if (newest === undefined) return room.decide(request)
    const rooms = inOrder(newest).map(({ room }) => room)
    return room.isDecidedBy(rooms) ? undefined : room.decide(request, rooms)
  }

  /** Notes a decision about the request of a response; it is told where one before it has counted the same. */
  note(response: object, room: Decider, info: LimitInfo, refusal?: Headers): Decision {
    const before = this.get(response)
    const newest: Decision = { room, info, refusal, before, placed: undefined }
    this.#set(response, newest)
    if (before !== undefined) tellCountedTwice(newest)
    return newest
  }

  /**
   * Has an admitted request carry its headers, and ends it with its response: what it holds is released, and its charge
   * given back where the outcome says so. A response that did not begin, because the client left, is no outcome: to
   * leave early must not be a way to go on for free.
   */
  admit(response: ServerResponse, room: Decider, info: LimitInfo, ...outcome: readonly unknown[]): Decision {
    const decision = this.note(response, room, info)
    if (decision.before === undefined) hook(response as unknown as Carrying, this)
    if (room.isOpen(info)) {
      onFinished(response, () => (response.headersSent ? room.settle(info, ...outcome) : room.end(info, true)))
    }
    return decision
  }

  /** The refusal of a request with this `Accept`; what other rooms charged it is given back. */
  refuse(response: object, room: Decider, info: LimitInfo, accept: string | undefined): Refusal {
    const before = this.get(response)
    for (const { room, info } of inOrder(before)) room.end(info, false)
    const refusal = room.gate.refusal(before === undefined ? info : [...infosOf(before), info], accept)
    this.note(response, room, info, withoutBody(refusal.headers))
    return refusal
  }

  /**
   * The error for an app that answers a request itself which has been refused; the response has the headers in any case,
   * but for those that the app sets.
   */
  leave(response: ServerResponse, info: LimitInfo, { status, headers }: Refusal): RateLimitError {
    if (this.get(response)?.before === undefined) hook(response as unknown as Carrying, this)
    return new RateLimitError(info, status, withoutBody(headers))
  }
}

/** A property of the response: of Node's own, which all have one hidden class, it costs next to nothing. */
export const onResponses = new Shelf({
  get: (response) => (response as Carrying)[CARRIED],
  set: (response, decision) => {
    ;(response as Carrying)[CARRIED] = decision
  },
})

const decisions = new WeakMap<object, Decision>()

/**
 * A map, for a framework that gives each response another prototype: with that it gives it another hidden class, and
 * then each look at a property is a slow one.
 */
export const besideResponses = new Shelf({
  get: (response) => decisions.get(response),
  set: (response, decision) => decisions.set(response, decision),
})

/** A decision and those before it, the oldest first. */
const inOrder = (newest: Decision | undefined): readonly Decision[] =>
  newest === undefined ? [] : [...inOrder(newest.before), newest]

/** Tells of a limit that this decision and one before it have charged for one actor. */
function tellCountedTwice(newest: Decision): void {
  const counted = native.makeCounted()
  let twice: string | null | undefined
  for (const { info } of inOrder(newest)) {
    const { store, parts } = LimitInfo.receipt(info) ?? { store: undefined, parts: [] }
    const enforced = parts.filter(({ observed }) => !observed)
    twice = counted.note(
      store?.handle ?? 0,
      info.blocked,
      enforced.map(({ limit }) => limit.handle),
      enforced.map(({ actor }) => actor),
      enforced.map(({ cost }) => cost),
      enforced.map(({ factor }) => factor),
    )
  }
  if (twice) newest.room.gate.report('counted-twice', `limit "${twice}"`)
}

/** The answers of a decision and of those before it. */
export const infosOf = (newest: Decision | undefined): readonly LimitInfo[] => inOrder(newest).map(({ info }) => info)

/**
 * Puts the headers of the newest decision among those that a framework passes when the head is written. They are taken
 * out again where the status turns out to be a redirection's.
 */
export function placeHeaders(newest: Decision, among: Headers): void {
  const { room, info, refusal, before } = newest
  if (refusal === undefined && before === undefined) {
    newest.placed = room.gate.place(info, among)
    if (newest.placed !== undefined) return
  }
  const headers = headersOf(newest, 200)
  let first = ''
  for (const name in headers) {
    const lower = lowerCase(name)
    among[lower] = headers[name] as string
    first ||= lower
  }
  newest.placed = first
}

/** The mark of methods that write what a response carries. */
const HOOKED = Symbol('tidegate.hooked')
/**
 * Has all responses of a prototype write what they carry. A framework with a prototype of its own gives it: to
 * change a method of each response takes longer than all the rest.
 */
export function hookPrototype(prototype: object, shelf: Shelf = onResponses): void {
  const carrying = prototype as Carrying
  if (!(HOOKED in carrying.writeHead)) carrying.writeHead = hookOver(carrying.writeHead, shelf)
}

/**
 * Puts the headers of decisions on a response when its head is written, whether by a handler, a stream, or the answer to an
 * error, which frameworks strip of headers that were set before. Only then its status is known.
 */
function hook(response: Carrying, shelf: Shelf): void {
  // Prototypes were hooked before their responses came.
  if (shelf === besideResponses && !Object.hasOwn(response, 'writeHead')) return
  const { writeHead } = response
  if (writeHead === NODES.writeHead) response.writeHead = nodesHook
  else if (!(HOOKED in writeHead)) response.writeHead = hookOver(writeHead, shelf)
}

/** The one of Node's own responses, which needs no function for each of them. */
const nodesHook: WriteHead = hookOver(function (this: Carrying, status, second, third) {
  return NODES.writeHead.call(this, status, second, third)
}, onResponses)

function hookOver(original: WriteHead, shelf: Shelf): WriteHead {
  const writeHead: WriteHead = function (this: Carrying, status: unknown, second?: unknown, third?: unknown): unknown {
    const newest = shelf.get(this)
    if (newest === undefined) return original.call(this, status, second, third)
    const code = typeof status === 'number' ? status : this.statusCode
    const { placed } = newest
    if (placed && isRedirection(code)) {
      for (const name in headersOf(newest, 200)) {
        if (isFields(second)) delete second[lowerCase(name)]
        // Fastify sets them on the response itself, where it sends a stream.
        this.removeHeader(name)
      }
    }
    if (placed !== undefined && isFields(second) && placed in second) return original.call(this, status, second)
    const headers = headersOf(newest, code)
    if (isFields(second)) return original.call(this, status, withFields(second, headers))
    if (isFields(third)) return original.call(this, status, second, withFields(third, headers))
    // A refusal may have others by now, from the app.
    setAll(this as unknown as ServerResponse, headers, newest.refusal !== undefined)
    return original.call(this, status, second, third)
  }
  return Object.assign(writeHead, { [HOOKED]: true })
}

function headersOf(newest: Decision, status: number): Headers {
  // The room that was asked last is the one of the route, and says how they are written.
  const { room, info, refusal, before } = newest
  if (refusal !== undefined) return isRedirection(status) ? {} : refusal
  return room.gate.headers(before === undefined ? info : infosOf(newest), status)
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

/** Calls, once, when the response is finished, or its client is gone. */
export function onFinished(response: ServerResponse, call: () => void): void {
  const { req, socket } = response
  // Behind another response of its connection it has no socket, and Node does not tell it when the connection closes.
  const ends = socket === null && req?.socket instanceof Socket ? endsOf(req.socket) : undefined
  const over = once(() => {
    ends?.delete(over)
    call()
  })
  ends?.add(over)
  finished(response, { readable: false }, over)
  if (ends !== undefined && req.socket.destroyed) setImmediate(over)
}

/** Calls at the end of connections: one listener for each, however many requests a client sends at once. */
const ends = new WeakMap<Socket, Set<() => void>>()

function endsOf(socket: Socket): Set<() => void> {
  const known = ends.get(socket)
  if (known !== undefined) return known
  const calls = new Set<() => void>()
  ends.set(socket, calls)
  socket.once('close', () => {
    for (const call of calls) call()
  })
  return calls
}

/** Sets headers; those that the response has already may stay. */
export function setAll(response: ServerResponse, headers: Headers, stay = false): void {
  const { setHeader } = response
  for (const name in headers) {
    if (!stay || !response.hasHeader(name)) setHeader.call(response, name, headers[name] as string)
  }
}

/** The time for an answer that is neither there nor promised. */
const PATIENCE_MS = 10_000

/**
 * Has a refused request answered that a function of the app was called for, so that it does not hang where the function
 * writes a log and nothing else. One that does not take the response (its third argument) can only do that; any other
 * one has some time, as a template takes it.
 */
export function unlessAnswered(
  onBlocked: { readonly length: number },
  response: ServerResponse,
  isAnswered: () => boolean,
  refuse: () => void,
): void {
  if (isAnswered()) return
  if (onBlocked.length >= 3) {
    const timer = setTimeout(() => {
      if (!isAnswered()) refuse()
    }, PATIENCE_MS).unref()
    onFinished(response, () => clearTimeout(timer))
  } else refuse()
}

type Call = (this: ServerResponse, request: IncomingMessage, options?: object) => void
type Made = Record<symbol, unknown>

/**
 * Has a server of Node's make responses that write what they carry, where it makes plain ones: the class that the option
 * `ServerResponse` of `http.createServer` gives. The responses of any other server are hooked one by one.
 */
export function hookServer(server: object): void {
  for (const symbol of Object.getOwnPropertySymbols(server)) {
    if ((server as Made)[symbol] !== ServerResponse) continue
    carrying ??= carryingResponses()
    ;(server as Made)[symbol] = carrying
  }
}

let carrying: typeof ServerResponse | undefined

/** The class of responses that have a place for a decision; Node's own, where that cannot be extended so. */
function carryingResponses(): typeof ServerResponse {
  // A function, as Node's own is: the objects of a class that extends it take several times as long to make and to use.
  function CarryingResponse(this: ServerResponse, request: IncomingMessage, options?: object): void {
    ;(ServerResponse as unknown as Call).call(this, request, options)
    // To add it takes longer once the response is in use.
    ;(this as object as Carrying)[CARRIED] = undefined
  }
  Object.setPrototypeOf(CarryingResponse, ServerResponse)
  Object.setPrototypeOf(CarryingResponse.prototype, ServerResponse.prototype)
  // They look like any other.
  Object.defineProperty(CarryingResponse, 'name', { value: ServerResponse.name, configurable: true })
  hookPrototype(CarryingResponse.prototype)
  const made = CarryingResponse as unknown as typeof ServerResponse
  try {
    new made(new IncomingMessage(new Socket()))
    return made
  } catch {
    return ServerResponse
  }
}
