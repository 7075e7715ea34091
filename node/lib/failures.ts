/**
 * Why a store that others share did not decide a call:
 *
 * - `timeout`: no answer in time
 * - `unavailable`: not asked, because it failed lately
 * - `unreachable`: there is no connection to be had
 * - `disconnected`: the connection broke while the answer was awaited
 * - `not-ready`: it loads its data, runs a long script, or its cluster is down
 * - `read-only`: it is a replica
 * - `out-of-memory`: its memory is full and it may not evict
 * - `denied`: it refuses this user, or this command to this user
 * - `moving`: the slot is being moved
 * - `unreplicated`: charged, but fewer replicas than wanted had it in time
 * - `other`: any other error, or an answer that makes no sense
 */
export type ReportedFailure =
  | 'timeout'
  | 'unavailable'
  | 'unreachable'
  | 'disconnected'
  | 'not-ready'
  | 'read-only'
  | 'out-of-memory'
  | 'denied'
  | 'moving'
  | 'unreplicated'
  | 'other'

/**
 * Why a store did not decide a call: what a server {@link ReportedFailure | failed} with, or that the limiter was
 * `closed`, or that the call `must-wait` and was to be answered at once.
 */
export type StoreFailure = ReportedFailure | 'closed' | 'must-wait'
