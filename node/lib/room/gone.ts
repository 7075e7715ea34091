/* Requests whose client has left before they were decided. */

import type { IncomingMessage } from 'node:http'
import { ConfigurationError } from '../errors.js'

/** True for a request of Node's own whose connection is closed. */
export const isClosed = ({ socket }: IncomingMessage): boolean => socket?.destroyed === true

/**
 * The error for a request whose client has left. That it has no address is no mistake in the set-up, so the error is the
 * one that parsers of bodies have for such a request.
 */
export function aborted(cause: unknown): unknown {
  if (!(cause instanceof ConfigurationError)) return cause
  const fields = { code: 'ECONNABORTED', type: ABORTED, status: 400, statusCode: 400, expose: true }
  return Object.assign(new Error('request aborted', { cause }), fields)
}

const ABORTED = 'request.aborted'

/** True for such an error. */
export const isAborted = (error: unknown): error is Error => (error as { type?: unknown } | null)?.type === ABORTED
