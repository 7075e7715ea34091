import { EventEmitter } from 'node:events'
import { outOfRange, type ReportedFailure, wrongType } from './errors.js'
import { setImmediate } from './timers.js'

/** Something that happened to a store. */
export interface StoreEvent<Name extends StoreEventName = StoreEventName> {
  /** What kind of thing it is. */
  readonly name: Name
  /** The server that it happened to. */
  readonly server: string
  /** Why the store did not decide; nothing where all is well again. */
  readonly failure: Name extends 'breakerClose' | 'overflow' ? undefined : ReportedFailure
  /** The whole of it in words, for a log. */
  readonly message: string
}

/**
 * What kind of thing happened to a store:
 *
 * - `breakerOpen`: a server failed, and calls are answered without it until a probe finds it well
 * - `breakerClose`: the server is asked again
 * - `failure`: a call failed in a way that says nothing about the next one; told once a minute for each failure
 * - `overflow`: the store in this process's memory is full, and new clients share entries; told once a minute
 */
export type StoreEventName = 'breakerOpen' | 'breakerClose' | 'failure' | 'overflow'

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

const NAMES: readonly unknown[] = ['breakerOpen', 'breakerClose', 'failure', 'overflow'] satisfies StoreEventName[]

/** A misspelt name is refused, for nothing would ever be heard of it. */
export function eventName(name: unknown): string {
  if (typeof name !== 'string') throw wrongType('', 'name', 'must be a string', name)
  if (NAMES.includes(name)) return name
  throw outOfRange('', 'name', 'must be "breakerOpen", "breakerClose", "failure" or "overflow"', name)
}

/** A listener that can be called, whatever it makes of it. */
export function listenerFrom(listener: unknown): (event: unknown) => void {
  if (typeof listener !== 'function') throw wrongType('', 'listener', 'must be a function', listener)
  return listener as (event: unknown) => void
}

/** Tells whoever listens to this number. What a listener throws is nobody else's trouble. */
export function told(number: number, event: StoreEvent): void {
  const listeners = listening.get(number)?.deref()
  if (listeners && listeners.listenerCount(event.name) > 0) {
    setImmediate(() => listeners.emit(event.name, event))
  } else if (event.name === 'overflow') {
    process.emitWarning(event.message, { type: 'TidegateWarning', code: 'TIDEGATE_OVERFLOW' })
  }
}
