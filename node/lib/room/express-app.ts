/* Apps of Express: their settings, and the prototypes of their requests and responses. */

import type { ServerResponse } from 'node:http'
import { answerOf, besideResponses, hookPrototype } from './response.js'
import { PROXIES, type Trust } from './trust.js'

/** The settings of an app by their names. */
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

/** The trust of an app of Express. */
export function trustOf(settings: Settings): Trust {
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
 * it. What stands in these once takes less time than properties of each request.
 */
function prepared(app: App, prototype: object): Settings {
  let outermost = app
  hookPrototype(outermost.response, besideResponses)
  while (outermost.parent !== undefined) outermost = outermost.parent
  hookPrototype(outermost.response, besideResponses)
  if (!('rateLimit' in outermost.request)) Object.defineProperty(outermost.request, 'rateLimit', ANSWER)
  known.set(prototype, app.settings)
  return app.settings
}

/** The newest answer; it can be set, as any property of a request. */
const ANSWER: PropertyDescriptor & ThisType<{ readonly res?: ServerResponse }> = {
  configurable: true,
  get() {
    return this.res === undefined ? undefined : answerOf(this.res)
  },
  set(value: unknown) {
    Object.defineProperty(this, 'rateLimit', { value, configurable: true, enumerable: true, writable: true })
  },
}
