/* Apps of Express: their settings, and the prototypes of their requests and responses. */

import { IncomingMessage, ServerResponse } from 'node:http'
import { PROXIES, type Trust } from '../room/address.js'
import { besideResponses, hookPrototype } from '../room/response.js'

export type Settings = Readonly<Record<string, unknown>>

interface App {
  readonly settings: Settings
  readonly parent?: App
  readonly request: object
  readonly response: object
}

/**
 * The settings of apps by the prototypes of their requests. Express gives each request another prototype, and with it
 * another hidden class: a look at a property of it takes as long as a decision.
 */
const known = new WeakMap<object, Settings>()

/** The settings of the app that a request is in; nothing where it is none of Express's. An app that is new is prepared. */
export function settingsOf(request: object): Settings | undefined {
  const prototype = Object.getPrototypeOf(request) as { app?: Partial<App> }
  const settings = known.get(prototype)
  if (settings !== undefined) return settings
  return Object.hasOwn(prototype, 'app') && isApp(prototype.app) ? prepared(prototype.app, prototype) : undefined
}

export function trustOf(settings: Settings = {}): Trust {
  const given = settings['trust proxy']
  if (given === false || given === undefined) return 'nobody'
  if (given === true) return 'everybody'
  const trusts = settings['trust proxy fn']
  return typeof trusts === 'function' && trustsAll(trusts as Trusts) ? 'everybody' : 'some'
}

type Trusts = (address: string, hop: number) => unknown

/** The functions that were asked; an app may be given another one while it runs. */
const asked = new WeakMap<Trusts, boolean>()

function trustsAll(trusts: Trusts): boolean {
  const before = asked.get(trusts)
  if (before !== undefined) return before
  let all = false
  try {
    all = PROXIES.every((address, hop) => trusts(address, hop))
  } catch {
    // It does not trust what it does not take.
  }
  asked.set(trusts, all)
  return all
}

const isApp = (given: Partial<App> | undefined): given is App =>
  typeof given?.settings === 'object' && typeof given.request === 'object' && typeof given.response === 'object'

/**
 * Requests and responses have the prototypes of the app that they are in at the time, which have those of the app around
 * it, and the outermost ones those of Express. What stands in these once takes less time than properties of each
 * request. It stands in Express's own, because an app may be mounted in several others, or after its first request.
 */
function prepared(app: App, prototype: object): Settings {
  let outermost = app
  while (outermost.parent !== undefined) outermost = outermost.parent
  const [request, response] = [baseOf(outermost.request), baseOf(outermost.response)]
  for (const each of [response, outermost.response, app.response]) hookPrototype(each, besideResponses)
  if (!('rateLimit' in request)) Object.defineProperty(request, 'rateLimit', ANSWER)
  known.set(prototype, app.settings)
  return app.settings
}

/** The prototype of Express's own that this one of an app has; itself, where it has Node's. */
function baseOf(prototype: object): object {
  const base = Object.getPrototypeOf(prototype) as object | null
  return base === null || base === IncomingMessage.prototype || base === ServerResponse.prototype ? prototype : base
}

/** The newest answer; it can be set, as any property of a request. */
const ANSWER: PropertyDescriptor & ThisType<{ readonly res?: ServerResponse }> = {
  configurable: true,
  get() {
    return this.res === undefined ? undefined : besideResponses.get(this.res)?.info
  },
  set(value: unknown) {
    Object.defineProperty(this, 'rateLimit', { value, configurable: true, enumerable: true, writable: true })
  },
}
