/* The exceptions of refused requests, messages and fields. */

import { BadRequestException, HttpException, ServiceUnavailableException } from '@nestjs/common'
import { StoreError } from '../errors.js'
import type { LimitInfo } from '../results/info.js'
import { isAborted, RequestError } from '../room/request-error.js'

const CODE = 'RATE_LIMITED'

/** The extensions of a GraphQL error for a refused field. */
export interface RefusalExtensions {
  readonly code: typeof CODE
  /** Seconds until the field would be admitted. */
  readonly retryAfter: number
}

/** The data of the event `exception` for a refused message of a websocket. */
export interface RefusedMessage extends RefusalExtensions {
  readonly status: 'error'
  readonly message: string
  /** The event or pattern of the message. */
  readonly cause: { readonly pattern: unknown }
}

/**
 * A refused request or GraphQL field: an exception for filters. The response has the headers, whatever a filter writes.
 */
export class RateLimitException extends HttpException {
  /** The answer that refused the request. */
  readonly info: LimitInfo
  /** The extensions of the error, where the exception is one of GraphQL. */
  readonly extensions: RefusalExtensions

  constructor(info: LimitInfo, status: number, cause: Error) {
    super(cause.message, status, { cause })
    this.info = info
    this.extensions = extensionsOf(info)
  }
}

/**
 * The exception for a store that could not decide, a key or a cost that is none, or a client that has left; its cause is
 * for filters, and not for the client. Others stay as they are, and are logged.
 */
export function exceptionOf(error: unknown): unknown {
  if (error instanceof StoreError) return new ServiceUnavailableException(undefined, { cause: error })
  if (error instanceof RequestError) return new HttpException(error.message, error.status, { cause: error })
  return isAborted(error) ? new BadRequestException(error.message, { cause: error }) : error
}

/** An exception as `@nestjs/websockets` sends it to the client; others become its "Internal server error". */
function inWebsocket(data: Omit<RefusedMessage, 'status' | 'code' | 'retryAfter'> & { readonly code: string }): Error {
  // Only apps with gateways have the package, and they have loaded it.
  const { WsException } = require('@nestjs/websockets') as typeof import('@nestjs/websockets')
  return new WsException({ status: 'error', ...data })
}

export const websocketException = (info: LimitInfo, message: string, pattern: unknown): Error =>
  Object.assign(inWebsocket({ message, ...extensionsOf(info), cause: { pattern } }), { info })

/** The exception for a message whose key or cost is none, or whose client has left; other errors stay as they are. */
export function websocketError(error: unknown, pattern: unknown): unknown {
  if (!(error instanceof RequestError || isAborted(error))) return error
  const { message, code } = error as Error & { readonly code: string }
  return inWebsocket({ message, code, cause: { pattern } })
}

const extensionsOf = ({ resetSec }: LimitInfo): RefusalExtensions => ({ code: CODE, retryAfter: resetSec })
