/* Mistakes in the set-up that a room can see: each is reported once, with its code. */

import cluster from 'node:cluster'
import type { Gate } from '../http/gate.js'
import type { Limiter } from '../limiter/limiter.js'
import { native } from '../native/native.js'
import { countsAlone } from './options.js'

const seen = new WeakSet<Limiter>()

/** Tells of mistakes that the limiter of a new room shows; each limiter is looked at once. */
export function tellOfLimiter(gate: Gate, limiter: Limiter, isShared: boolean): void {
  if (!isShared && countsAlone(limiter)) memoryManyWorkers(gate)
  if (seen.has(limiter)) return
  seen.add(limiter)
  if (!isShared) limiterPerRequest(gate)
  else
    limiter.ping().catch((error: unknown) => {
      gate.report('store-unreachable', error instanceof Error ? error.message : String(error))
    })
}

/**
 * Tells of memory in more than one worker process or worker thread; the first of each may be the only one. Runners of
 * tests start threads of their own.
 */
function memoryManyWorkers(gate: Gate): void {
  const threads = native.servingThreads()
  if (cluster.isWorker && (cluster.worker?.id ?? 0) > 1) gate.report('memory-many-workers')
  else if (threads > 1 && process.env.NODE_ENV !== 'test') gate.report('memory-many-workers', `${threads} threads`)
}

/** The frame of Node's that is on the stack while a request is begun. */
const IN_REQUEST = /\b(parserOnIncoming|onServerStream|onSessionHeaders)\b/
/** One is a room that is made when it is first needed. */
export const MADE_IN_REQUESTS = 3
/** The number of limiters made in requests, by the place in the program. */
const places = new Map<string, number>()
const MOST_PLACES = 100
/** Reports limiters in memory that are made anew for each request, so that no request is ever limited. */
function limiterPerRequest(gate: Gate): void {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 100
  const { stack = '' } = new Error()
  Error.stackTraceLimit = stackTraceLimit
  if (!IN_REQUEST.test(stack)) return
  const made = (places.get(stack) ?? 0) + 1
  if (made > 1 || places.size < MOST_PLACES) places.set(stack, made)
  if (made >= MADE_IN_REQUESTS) gate.report('limiter-per-request')
}
