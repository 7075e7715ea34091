import { EventEmitter } from 'node:events'
import { outOfRange, wrongType } from './errors.js'
import type { ReportedFailure } from './failures.js'
import { native } from './native.js'
import { setImmediate } from './timers.js'

/** Something that happened to a store. */
export interface StoreEvent<Name extends StoreEventName = StoreEventName> {
  /** What kind of thing it is. */
  readonly name: Name
  /** The server that it happened to. */
  readonly server: string
  /** Why the store did not decide, where it did not. */
  readonly failure: Name extends 'breaker-open' | 'failure' | 'degraded'
    ? ReportedFailure
    : Name extends 'breaker-close' | 'recovered' | 'eviction' | 'unverified' | 'cluster' | 'overflow'
      ? undefined
      : ReportedFailure | undefined
  /** The whole of it in words, for a log. */
  readonly message: string
}

/**
 * What kind of thing happened to a store; the names are those of Python's log records and of Rust, too:
 *
 * - `breaker-open`: a server failed, and calls are answered without it until a probe succeeds
 * - `breaker-close`: the server is asked again
 * - `failure`: a call failed in a way that does not open the breaker; told once a minute for each failure
 * - `degraded`: calls were answered without the store, or failed; told at the first, and then once a minute at the
 *   most, with counts
 * - `recovered`: the store decides again; told once a minute at the most
 * - `eviction`: the server may forget blocked clients when it is full; told once
 * - `unverified`: the server's certificate is not looked at, because that was asked for; told once
 * - `cluster`: the server is a node of a cluster though the URL does not say so, and is used as one; told once
 * - `overflow`: the store in this process's memory is full, and new clients share entries; told once a minute
 *
 * The last six are warnings of the process (`process.emitWarning`) where nobody listens to them.
 */
export type StoreEventName =
  | 'breaker-open'
  | 'breaker-close'
  | 'failure'
  | 'degraded'
  | 'recovered'
  | 'eviction'
  | 'unverified'
  | 'cluster'
  | 'overflow'

const listening = new Map<number, WeakRef<Listeners>>()
const gone = new FinalizationRegistry<number>((number) => listening.delete(number))
let last = 0

/** Who wants to be told what happens to one store. */
export class Listeners extends EventEmitter {
  /** What the engine knows them by. */
  readonly number = ++last

  constructor() {
    super()
    listening.set(this.number, new WeakRef(this))
    gone.register(this, this.number)
  }
}

const NAMES: readonly unknown[] = native.eventNames()
const WARNINGS: readonly string[] = ['degraded', 'recovered', 'eviction', 'unverified', 'cluster', 'overflow']

/** A misspelt name is refused, for nothing would ever be heard of it. */
export function eventName(name: unknown): string {
  if (typeof name !== 'string') throw wrongType('', 'name', 'must be a string', name)
  if (NAMES.includes(name)) return name
  throw outOfRange('', 'name', `must be one of ${NAMES.join(', ')}`, name)
}

/** A listener that can be called, whatever it makes of it. */
export function listenerFrom(listener: unknown): (event: unknown) => void {
  if (typeof listener !== 'function') throw wrongType('', 'listener', 'must be a function', listener)
  return listener as (event: unknown) => void
}

/** Tells whoever listens to this number, or the process. What a listener throws is nobody else's trouble. */
export function told(number: number, event: StoreEvent): void {
  const listeners = listening.get(number)?.deref()
  if (!listeners) return
  if (listeners.listenerCount(event.name) > 0) {
    setImmediate(() => listeners.emit(event.name, event))
  } else if (WARNINGS.includes(event.name)) {
    const code = `TIDEGATE_${event.name.toUpperCase()}`
    process.emitWarning(event.message, { type: 'TidegateWarning', code })
  }
}
