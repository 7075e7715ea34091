/**
 * Rate limits for Express 4 and 5.
 *
 * @packageDocumentation
 */

import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { wrongType } from './errors.js'
import { settingsOf, trustOf } from './express/app.js'
import { nameOf } from './express/mounts.js'
import type { Refusal } from './http/gate.js'
import type { Limiter } from './limiter/limiter.js'
import type { LimitInfo } from './results/info.js'
import { clientBy } from './room/address.js'
import type { Framework, Gates } from './room/framework.js'
import { isClosed } from './room/gone.js'
import { admit, decideFor, refuse, refuseTo, unlessAnswered } from './room/node.js'
import { type RoomOptions, type RouteOptions, routeOptions } from './room/options.js'
import { type ChargeOn, chargeOption } from './room/outcome.js'
import { errorFrom, RequestError } from './room/request-error.js'
import { besideResponses, onResponses, type Shelf, setAll } from './room/response.js'
import { Room } from './room/room.js'
import type { LimitsOfRequest, RoomLimits } from './room/rules.js'
import type { Trials } from './room/trials.js'
import { isPromise, type Later } from './time/later.js'

export { RateLimitError } from './room/rate-limit-error.js'
export type { RoomLimit, RoomLimits, Rule } from './room/rules.js'
export type { Trials } from './room/trials.js'

declare global {
  namespace Express {
    interface Request {
      /** The answer to this request, where it is limited. */
      rateLimit?: LimitInfo
    }
  }
}

/** The options of {@link rateLimit}. */
export interface RateLimitOptions extends RoomOptions<Request> {
  /**
   * The response to a refused request, in place of the one with status 429; `'error'` passes a {@link RateLimitError}
   * to `next`. A function that does not take the response sees the request, which then gets that response.
   */
  readonly onBlocked?:
    | 'error'
    | ((info: LimitInfo, request: Request, response: Response, next: NextFunction) => unknown)
    | undefined
  /** Statuses, or a function of the response: only these outcomes stay charged. */
  readonly chargeOn?: ChargeOn<[request: Request, response: Response]> | undefined
}

/** A middleware that limits requests. */
export interface RateLimit extends RequestHandler {
  /**
   * A middleware that adds limits to these: one decision for all of them, either every one is charged or none. If this
   * middleware has already decided the request, the new one decides only the added limits.
   */
  and(more: RoomLimits<Request> | LimitsOfRequest<Request> | RouteOptions<RateLimitOptions>): RateLimit
  /** The counts of limits in shadow mode and of candidates. */
  trials(): Trials
  /** The limiter, for its events. */
  readonly limiter: Limiter
}

const framework: Framework<Request> = {
  kind: 'express',
  options: ['onBlocked', 'chargeOn'],
  client(request: Request, gates: Gates): string {
    const settings = settingsOf(request)
    return clientBy(request, gates, settings === undefined ? 'nobody' : trustOf(settings), () => request.ip)
  },
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
  const options = room.options as unknown as RateLimitOptions
  const { onBlocked } = options
  if (onBlocked !== undefined && onBlocked !== 'error' && typeof onBlocked !== 'function') {
    throw wrongType('', 'onBlocked', "must be a function or 'error'", onBlocked)
  }
  const chargeOn = chargeOption(room.options, (_request: Request, response: Response) => response.statusCode)

  const limit = (request: Request, response: Response, next: NextFunction): void => {
    // A framework that is made of Node's own request and response, as Express is, may use this, too.
    const shelf = settingsOf(request) === undefined ? onResponses : besideResponses
    let info: Later<LimitInfo | undefined>
    try {
      info = decideFor(room, request, response, shelf)
    } catch (error) {
      failed(error, request, response, next)
      return
    }
    if (isPromise(info)) {
      info.then(
        (info) => proceed(info, request, response, shelf, next),
        (error) => failed(error, request, response, next),
      )
    } else proceed(info, request, response, shelf, next)
  }

  const failed = (error: unknown, request: Request, response: Response, next: NextFunction): void => {
    // Express writes a log of every error.
    if (error instanceof RequestError) send(response, room.gate.rejection(error.mistake, request.headers.accept))
    else next(error)
  }

  const proceed = (
    info: LimitInfo | undefined,
    request: Request,
    response: Response,
    shelf: Shelf,
    next: NextFunction,
  ): void => {
    if (info === undefined) {
      next()
      return
    }
    if (info.blocked) {
      blocked(info, request, response, shelf, next)
      return
    }
    if (shelf === onResponses) request.rateLimit = info
    admit(response, shelf, room, info, chargeOn === undefined ? undefined : () => chargeOn(request, response))
    next()
  }

  const blocked = (info: LimitInfo, request: Request, response: Response, shelf: Shelf, next: NextFunction): void => {
    if (onBlocked === undefined) {
      request.rateLimit = info
      send(response, refuse(request, response, shelf, room, info))
      return
    }
    const { error, refusal } = refuseTo(request, response, shelf, room, info)
    if (onBlocked === 'error') {
      next(error)
      return
    }
    let isPassed = false
    const pass = (reason?: unknown): void => {
      isPassed = true
      next(reason)
    }
    const failed = (reason: unknown): void => {
      // What it throws is no refusal, but an error as that of any handler.
      if (!response.headersSent) response.statusCode = 200
      pass(errorFrom(reason))
    }
    const settled = (): void => {
      unlessAnswered(
        onBlocked,
        response,
        () => isPassed || response.headersSent,
        () => send(response, refusal),
      )
    }
    response.statusCode = error.status
    try {
      const answered = onBlocked(info, request, response, pass as NextFunction)
      if (isPromise(answered)) answered.then(settled, failed)
      else settled()
    } catch (reason) {
      failed(reason)
    }
  }

  return Object.assign(limit, {
    and: (more: unknown) => middlewareOf(room.extend(routeOptions(more), { adds: true })),
    trials: () => room.trials(),
    limiter: room.limiter,
  }) as RateLimit
}
