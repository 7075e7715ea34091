/*
 * The reply queue: calls whose answers are still to come. The engine delivers all replies at once, in a typed array: one
 * record after another, and beside them, in the same order, everything that is not a number.
 */

import { errorOf } from '../errors.js'
import { ANSWER_WIDTH, answersBehind, Head, In, Kind, Out } from '../native/buffer.js'
import { type Failure, native } from '../native/native.js'
import { setImmediate } from '../time/timers.js'
import { emitted, type StoreEvent } from './events.js'

/** The promise of an answer. */
export interface PendingCall<T> {
  readonly resolve: (answer: T) => void
  readonly reject: (reason: unknown) => void
  /** Makes the answer of the numbers that begin here. */
  readonly read: (buffer: Float64Array, at: number, text: string) => T
}

const UNUSED: PendingCall<unknown> = { resolve() {}, reject() {}, read() {} }

/** The calls that wait for their answers, by number. */
const expected: PendingCall<unknown>[] = []
const free: number[] = []

let opened: { readonly queue: number; readonly buffer: Float64Array } | undefined

/** The reply queue of this environment, which is opened when it is first needed. */
export function replyQueue(): number {
  // Woken again and again, Node does not get to its timers and sockets for as long as answers come. So each iteration of
  // the event loop delivers once.
  opened ??= native.openQueue(() => void setImmediate(empty))
  return opened.queue
}

/** True if the end of this iteration of the event loop is to send calls. */
let isEndAwaited = false

function endIteration(): void {
  isEndAwaited = false
  native.endIteration()
}

/** A number for a call that is about to be made, written down with the reply queue for its answer. */
export function numbered(buffer: Float64Array): number {
  const call = free.pop() ?? expected.push(UNUSED) - 1
  buffer[In.Queue] = replyQueue()
  buffer[In.Id] = call
  return call
}

/** Frees the number of a call for which no reply comes any more. */
export function release(call: number): void {
  expected[call] = UNUSED
  free.push(call)
}

/** Ignores the reply for this call. */
export function ignore(call: number): void {
  expected[call] = UNUSED
}

/** Waits for the reply for this call. */
export function expectInto<T>(call: number, pending: PendingCall<T>): void {
  expected[call] = pending as PendingCall<unknown>
}

/** The answer to this call, which may be sent together with others of this iteration of the event loop. */
export function expect<T>(call: number, read: PendingCall<T>['read']): Promise<T> {
  if (!isEndAwaited) {
    isEndAwaited = true
    setImmediate(endIteration)
  }
  return new Promise((resolve, reject) => expectInto(call, { resolve, reject, read }))
}

type Beside = Failure | StoreEvent | Float64Array | string

function empty(): void {
  // The server works on the next calls while those that are answered go on.
  if (isEndAwaited) native.endIteration()
  native.drainQueue(replyQueue(), receive)
}

/** Resolves the calls of the records in the reply buffer; called by the engine. */
function receive(count: number, beside: readonly Beside[] = []): void {
  const { buffer: replies } = opened as { buffer: Float64Array }
  let at = 0
  let next = 0
  for (let record = 0; record < count; record++) {
    const to = replies[at] as number
    const kind = replies[at + Head.Kind] as Kind
    at += Head.Numbers
    if (kind === Kind.Event) {
      emitted(to, beside[next++] as StoreEvent)
      continue
    }
    const { resolve, reject, read } = expected[to] as PendingCall<unknown>
    release(to)
    switch (kind) {
      case Kind.Answer:
        resolve(read(replies, at, ''))
        at += lengthAt(replies, at)
        break
      case Kind.Explained:
        resolve(read(replies, at, beside[next++] as string))
        at += lengthAt(replies, at)
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

function lengthAt(replies: Float64Array, at: number): number {
  return Out.Answers + (1 + answersBehind(replies, at)) * ANSWER_WIDTH
}
