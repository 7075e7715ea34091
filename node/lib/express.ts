/**
 * Rate limits for Express 4 and 5.
 *
 * @packageDocumentation
 */

import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { settingsOf, trustOf } from './express/app.js'
import { nameOf } from './express/mounts.js'
import type { Refusal } from './http/gate.js'
import type { LimitInfo } from './results/info.js'
import { clientBy, isClosed } from './room/address.js'
import { type Extensible, extensible } from './room/handle.js'
import { functionOption, type RoomOptions } from './room/options.js'
import { errorFrom, RequestError } from './room/request-error.js'
import { besideResponses, onResponses, type Shelf, setAll, unlessAnswered } from './room/response.js'
import { type Framework, Room } from './room/room.js'
import { attempt } from './time/later.js'

export { RateLimitError, type RoomLimit, type RoomLimits, type Rule, type Trials } from './room/handle.js'

declare global {
  namespace Express {
    interface Request {
      /** The answer to this request, where it is limited. */
      rateLimit?: LimitInfo
    }
  }
}

/** The options of {@link rateLimit}. */
export interface RateLimitOptions extends RoomOptions<Request, [request: Request, response: Response]> {
  /**
   * The response to a refused request, in place of the one with status 429; `'error'` passes a {@link RateLimitError}
   * to `next`. A function that does not take the response sees the request, which then gets that response.
   */
  readonly onBlocked?:
    | 'error'
    | ((info: LimitInfo, request: Request, response: Response, next: NextFunction) => unknown)
    | undefined
}

/** A middleware that limits requests. */
export interface RateLimit extends RequestHandler, Extensible<Request, RateLimitOptions, RateLimit> {}

const framework: Framework<Request> = {
  kind: 'express',
  options: ['onBlocked'],
  client: (request, gate) => clientBy(request, gate, trustOf(settingsOf(request)), () => request.ip),
  statusOf: (_request: Request, response: Response) => response.statusCode,
  isGone: isClosed,
  nameOf,
}

/**
 * A middleware that limits requests: `app.use(rateLimit({ limits: '100/minute' }))`. It answers a refused request with
 * status 429, and puts the headers on all others.
 *
 * The answer is in `request.rateLimit`. Without a `key`, the client's address is limited. Behind proxies, the app's
 * `trust proxy` or `trustedProxies` decides which address that is.
 *
 * @throws {@link LimitError} for an unknown or invalid option.
 *
 * @example
 * ```js
 * import express from 'express'
 * import { rateLimit } from 'tidegate/express'
 *
 * const app = express()
 * app.use(rateLimit({ limits: '2/minute' }))
 * app.get('/', (request, response) => response.json({ left: request.rateLimit.remaining }))
 *
 * const server = app.listen(0, '127.0.0.1')
 * await new Promise((ready) => server.once('listening', ready))
 * const get = () => fetch(`http://127.0.0.1:${server.address().port}`)
 * const answers = [await get(), await get(), await get()]
 * assert.deepEqual(await answers[0].json(), { left: 1 })
 * assert.deepEqual(answers.map((answer) => answer.status), [200, 200, 429])
 * assert.equal(answers[2].headers.get('Retry-After'), '30')
 * server.close()
 * server.closeAllConnections()
 * ```
 */
export function rateLimit(options: RateLimitOptions): RateLimit {
  return middlewareOf(new Room<Request>(options, framework))
}

function send(response: Response, { status, headers, body }: Refusal): void {
  // Something else has answered in the meantime, as a middleware with a timeout does.
  if (response.headersSent) return
  response.statusCode = status
  setAll(response, headers)
  response.end(body)
}

function middlewareOf(room: Room<Request>): RateLimit {
  const onBlocked = functionOption<RateLimitOptions['onBlocked']>(room.options, 'onBlocked', 'error')

  const limit = (request: Request, response: Response, next: NextFunction): void => {
    // A framework that is made of Node's own request and response, as Express is, may use this, too.
    const shelf = settingsOf(request) === undefined ? onResponses : besideResponses
    attempt(
      () => shelf.decide(room, request, response),
      (error) => {
        // Express writes a log of every error.
        if (error instanceof RequestError) send(response, room.rejection(error, request.headers.accept))
        else next(error)
      },
      (info) => {
        if (info?.blocked) return blocked(info, request, response, shelf, next)
        if (info !== undefined) {
          if (shelf === onResponses) request.rateLimit = info
          shelf.admit(response, room, info, request, response)
        }
        next()
      },
    )
  }

  const blocked = (info: LimitInfo, request: Request, response: Response, shelf: Shelf, next: NextFunction) => {
    const refusal = shelf.refuse(response, room, info, request.headers.accept)
    if (onBlocked === undefined) {
      request.rateLimit = info
      return send(response, refusal)
    }
    const error = shelf.leave(response, info, refusal)
    if (onBlocked === 'error') return next(error)
    let isPassed = false
    const pass = (reason?: unknown): void => {
      isPassed = true
      next(reason)
    }
    const isAnswered = () => isPassed || response.headersSent
    response.statusCode = error.status
    attempt(
      () => onBlocked(info, request, response, pass as NextFunction),
      (reason) => {
        // What it throws is no refusal, but an error as that of any handler.
        if (!response.headersSent) response.statusCode = 200
        pass(errorFrom(reason))
      },
      () => unlessAnswered(onBlocked, response, isAnswered, () => send(response, refusal)),
    )
  }

  return extensible(limit, room, middlewareOf)
}
