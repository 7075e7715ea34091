import { EventEmitter } from 'node:events'
import { outOfRange, wrongType } from '../errors.js'
import { EVENT_NAMES, type FailureEventName, type ReportedFailure, type StoreEventName } from '../native/names.js'
import { setImmediate } from '../time/timers.js'

/** An event of a store. */
export interface StoreEvent<Name extends StoreEventName = StoreEventName> {
  /** Its name. */
  readonly name: Name
  /** The server that it happened to. */
  readonly server: string
  /** The reason why the store did not decide, where it did not. */
  readonly failure: Name extends FailureEventName
    ? ReportedFailure
    : Name extends Exclude<StoreEventName, FailureEventName>
      ? undefined
      : ReportedFailure | undefined
  /** The event in words, for a log. */
  readonly message: string
}

/**
 * A request that a module for a web framework denied. At most ten are told in a second for each limiter; `untold` is
 * the number of the others.
 */
export interface DeniedEvent {
  readonly name: 'denied'
  /** The key of the limit that denied. */
  readonly key: string
  /** The actor: a key, or an address marked with `ip:`. */
  readonly actor: string
  /** True for a limit in shadow mode, which would have denied and admitted the request. */
  readonly shadow: boolean
  /** The framework: `express`, `fastify`, `koa`, `hono`, `nestjs` or `web`. */
  readonly framework: string
  /** The route of the request, or the mount of the limit, where the framework tells. */
  readonly route: string | undefined
  /** Denials before this one that were not told. */
  readonly untold: number
}

const listening = new Map<number, WeakRef<Listeners>>()
const gone = new FinalizationRegistry<number>((number) => listening.delete(number))
let last = 0

/** The listeners to the events of one store. */
export class Listeners extends EventEmitter {
  /** The number by which the engine knows them. */
  readonly number = ++last

  /** Calls of the store may wait for a server. */
  readonly waits: boolean

  /** The limiter is closed. */
  isClosed = false

  constructor(waits: boolean) {
    super()
    this.waits = waits
    listening.set(this.number, new WeakRef(this))
    gone.register(this, this.number)
  }
}

const ofLimiters = new WeakMap<object, Listeners>()

/** Notes the listeners of a limiter. */
export const listenTo = (limiter: object, listeners: Listeners): unknown => ofLimiters.set(limiter, listeners)

/** The listeners of a limiter. */
export const listenersOf = (limiter: object): Listeners | undefined => ofLimiters.get(limiter)

const NAMES: readonly unknown[] = [...EVENT_NAMES, 'denied']
const QUIET: readonly string[] = ['breaker-open', 'breaker-close', 'failure']

/** The name of an event; a misspelt one is refused, because its listener would never be called. */
export function eventName(name: unknown): string {
  if (typeof name !== 'string') throw wrongType('', 'name', 'must be a string', name)
  if (NAMES.includes(name)) return name
  throw outOfRange('', 'name', `must be one of ${NAMES.join(', ')}`, name)
}

/** A listener that can be called. */
export function listenerFrom(listener: unknown): (event: unknown) => void {
  if (typeof listener !== 'function') throw wrongType('', 'listener', 'must be a function', listener)
  return listener as (event: unknown) => void
}

/** Emits an event to the listeners of this number, or else as a warning of the process. */
export function emitted(number: number, event: StoreEvent): void {
  const listeners = listening.get(number)?.deref()
  if (!listeners) return
  if (listeners.listenerCount(event.name) > 0) {
    // Later, so that an error of a listener disturbs no answer.
    setImmediate(() => listeners.emit(event.name, event))
  } else if (!QUIET.includes(event.name)) {
    const code = `TIDEGATE_${event.name.toUpperCase()}`
    process.emitWarning(event.message, { type: 'TidegateWarning', code })
  }
}
