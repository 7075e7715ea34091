/*
 * Calls whose answers are yet to come. The engine hands over all that is there at once, in the typed array that
 * `src/reply_buffer.rs` lays out: one record after another, and beside them, in the same order, what is not numbers.
 */

import { ANSWER_WIDTH, In, Out } from './buffer.js'
import { errorOf } from './errors.js'
import { type StoreEvent, type StoreEventName, told } from './events.js'
import { type Failure, native } from './native.js'
import { setImmediate } from './timers.js'

/** The kinds of records. */
enum Kind {
  Answer = 0,
  /** The answer is in a call buffer of its own, beside. */
  Large = 1,
  /** An answer, and a text beside. */
  Explained = 2,
  Done = 3,
  Failure = 4,
  Event = 5,
  /** A value, beside. */
  Value = 6,
}

/** For whom a record is, and of what kind. */
const HEAD = 2

/** Somebody who waits for an answer. */
export interface Expected<T> {
  readonly resolve: (answer: T) => void
  readonly reject: (reason: unknown) => void
  /** Makes the answer of the numbers that begin here. */
  readonly read: (buffer: Float64Array, at: number, text: string) => T
}

const nobody: Expected<unknown> = { resolve() {}, reject() {}, read() {} }

/** Who waits, by the number of the call. */
const expected: Expected<unknown>[] = []
const free: number[] = []

let opened: { readonly queue: number; readonly buffer: Float64Array } | undefined

/** The reply queue of this environment, which is opened when it is first needed. */
export function replyQueue(): number {
  // Woken again and again, Node does not get to its timers and sockets for as long as answers come. So each delivery
  // waits for its turn of the event loop.
  opened ??= native.openQueue(() => void setImmediate(empty))
  return opened.queue
}

/** A number for a call that is about to be made, written down with the reply queue for its answer. */
export function numbered(buffer: Float64Array): number {
  const call = free.pop() ?? expected.push(nobody) - 1
  buffer[In.Queue] = replyQueue()
  buffer[In.Id] = call
  return call
}

/** Nothing comes for this call any more. */
export function release(call: number): void {
  expected[call] = nobody
  free.push(call)
}

/** What comes for this call is of no interest any more. */
export function ignore(call: number): void {
  expected[call] = nobody
}

/** Waits for what comes for this call. */
export function expectInto<T>(call: number, who: Expected<T>): void {
  expected[call] = who as Expected<unknown>
}

/** What comes for this call. */
export function expect<T>(call: number, read: Expected<T>['read']): Promise<T> {
  return new Promise((resolve, reject) => expectInto(call, { resolve, reject, read }))
}

/** What an answer is once it is here, or follows it. */
export function after<T, U>(answer: T | Promise<T>, next: (answer: T) => U | Promise<U>): U | Promise<U> {
  return answer instanceof Promise ? answer.then(next) : next(answer)
}

type Beside = Failure | StoreEvent<StoreEventName> | Float64Array | string

function empty(): void {
  native.drainQueue(replyQueue(), receive)
}

/** Called by the engine: so many records are in the reply buffer. */
function receive(count: number, beside: readonly Beside[] = []): void {
  const { buffer: inbox } = opened as { buffer: Float64Array }
  let at = 0
  let next = 0
  for (let record = 0; record < count; record++) {
    const to = inbox[at] as number
    const kind = inbox[at + 1] as Kind
    at += HEAD
    if (kind === Kind.Event) {
      told(to, beside[next++] as StoreEvent<StoreEventName>)
      continue
    }
    const { resolve, reject, read } = expected[to] as Expected<unknown>
    release(to)
    switch (kind) {
      case Kind.Answer:
        resolve(read(inbox, at, ''))
        at += lengthAt(inbox, at)
        break
      case Kind.Explained:
        resolve(read(inbox, at, beside[next++] as string))
        at += lengthAt(inbox, at)
        break
      case Kind.Large: {
        const buffer = beside[next++] as Float64Array
        const text = typeof beside[next] === 'string' ? (beside[next++] as string) : ''
        resolve(read(buffer, 0, text))
        break
      }
      case Kind.Value:
        resolve(beside[next++])
        break
      case Kind.Done:
        resolve(undefined)
        break
      case Kind.Failure:
        reject(errorOf(beside[next++] as Failure))
        break
    }
  }
}

function lengthAt(inbox: Float64Array, at: number): number {
  const count = inbox[at + Out.Count] as number
  return Out.Answers + (count > 1 ? 1 + count : 1) * ANSWER_WIDTH
}
