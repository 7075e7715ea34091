/**
 * Limits for calls that undici makes: an interceptor that waits for the turn of each, and takes over what the server
 * says.
 *
 * @packageDocumentation
 */

import { DecoratorHandler, type Dispatcher } from 'undici'
import { neverSent, Outgoing, type OutgoingOptions, type Turn } from './client/outgoing.js'
import { elapsed } from './time/timers.js'

export type { OutgoingLimit, OutgoingOptions, OutgoingRequest } from './client/outgoing.js'
export { BlockedError } from './limiter/blocked-error.js'

/**
 * An interceptor that waits for the turn of each request: `new Agent().compose(rateLimit({ limits: '100/minute' }))`.
 *
 * A `Pool` or a `Client` does not say its host, so there a `key` is needed. A request whose turn does not come within
 * `maxWaitMs` fails with a {@link BlockedError} and is not sent. Each redirect is a request where the interceptor of
 * redirects comes first.
 *
 * @throws {@link LimitError} for an unknown or invalid option.
 *
 * @example
 * ```js
 * import { createServer } from 'node:http'
 * import { rateLimit } from 'tidegate/undici'
 * import { Agent, request } from 'undici'
 *
 * const server = createServer((request, response) => response.end('hello')).listen(0, '127.0.0.1')
 * await new Promise((ready) => server.once('listening', ready))
 * const url = `http://127.0.0.1:${server.address().port}`
 *
 * const dispatcher = new Agent().compose(rateLimit({ limits: '2/minute', maxWaitMs: 1000 }))
 * assert.equal(await (await request(url, { dispatcher })).body.text(), 'hello')
 * await (await request(url, { dispatcher })).body.dump()
 * await assert.rejects(request(url, { dispatcher }), { code: 'ERR_BLOCKED' })
 * server.close()
 * server.closeAllConnections()
 * ```
 */
export function rateLimit(options: OutgoingOptions): Dispatcher.DispatcherComposeInterceptor {
  const outgoing = new Outgoing(options)
  return (dispatch) => (options, handler) => {
    new Call(outgoing, dispatch, options, handler).begin()
    return true
  }
}

type Handler = Dispatcher.DispatchHandler
type Controller = Dispatcher.DispatchController
type ResponseHeaders = Parameters<NonNullable<Handler['onResponseStart']>>[2]

type Below = Required<
  Pick<
    Handler,
    'onRequestStart' | 'onRequestUpgrade' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd' | 'onResponseError'
  >
>

/** A response that is not passed on, because the request is repeated. */
interface Refused {
  readonly retryInMs: number
  /** The end of the calls that take over what it says. */
  readonly observed: Promise<void>
  /** The time until which its body may go on, so that the connection can be used again. */
  readonly until: number
}

/** A body of a refused response may take so long at least. */
const LEAST_MS = 1000

/** A request, and its repetitions. */
class Call implements Handler {
  /** The handler below, whose methods may be those of older versions. */
  readonly #below: Below
  #attempt = 0
  #turn: Turn | undefined
  #refused: Refused | undefined
  #isSent = false
  /** The connection of a refused response was ended here. */
  #isCut = false
  readonly #url: URL

  constructor(
    readonly outgoing: Outgoing,
    readonly dispatch: Dispatcher.Dispatch,
    readonly options: Dispatcher.DispatchOptions,
    handler: Handler,
  ) {
    this.#below = new DecoratorHandler(handler) as unknown as Below
    this.#url = outgoing.urlOf(options.origin, options.path)
  }

  /** Lets the handler below abort while the request waits, which has no connection yet; a signal of that. */
  #waiting(): AbortSignal {
    const waiting = new AbortController()
    const { signal } = waiting
    const controller = {
      abort: (reason: Error) => waiting.abort(reason),
      get aborted() {
        return signal.aborted
      },
      get reason() {
        return signal.reason
      },
      paused: false,
      pause() {},
      resume() {},
    }
    this.#below.onRequestStart(controller, {})
    return signal
  }

  begin(signal = this.#waiting()): void {
    const { method } = this.options
    this.#isSent = false
    this.#isCut = false
    this.outgoing.enter({ url: this.#url, method }, signal).then(
      (turn) => {
        this.#turn = turn
        try {
          this.dispatch(this.options, this)
        } catch (error) {
          this.onResponseError(undefined, error as Error)
        }
      },
      (error) => this.#below.onResponseError(undefined as never, error),
    )
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#below.onRequestStart(controller, context)
    // Its caller may have given up while it waited.
    this.#isSent = !controller.aborted
  }

  onRequestUpgrade(...given: Parameters<Below['onRequestUpgrade']>): void {
    const turn = this.#turn as Turn
    // From here on nothing is heard of it but by its socket.
    given[3].once('close', () => void this.outgoing.release(turn))
    this.#below.onRequestUpgrade(...given)
  }

  onResponseStart(controller: Controller, status: number, headers: ResponseHeaders, message?: string): void {
    const { body, method } = this.options
    const isReplayable = body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array
    const turn = this.#turn as Turn
    // What comes before the response proper, such as 103.
    if (status < 200) {
      this.#below.onResponseStart(controller, status, headers, message)
      return
    }
    const next = this.outgoing.judge(turn, status, lines(headers), method, this.#attempt, isReplayable)
    // At once: all callers wait from here on, however long the body takes.
    const observed = this.outgoing.observe(turn, next)
    const { retryInMs } = next
    if (retryInMs === undefined) this.#below.onResponseStart(controller, status, headers, message)
    else this.#refused = { retryInMs, observed, until: elapsed() + Math.max(retryInMs, LEAST_MS) }
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const refused = this.#refused
    if (refused === undefined) {
      this.#below.onResponseData(controller, chunk)
    } else if (elapsed() > refused.until) {
      this.#isCut = true
      controller.abort(new Error('a response that nobody sees did not end'))
    }
  }

  onResponseEnd(controller: Controller, trailers: ResponseHeaders): void {
    const refused = this.#refused
    const turn = this.#turn as Turn
    if (refused === undefined) {
      void this.outgoing.release(turn)
      this.#below.onResponseEnd(controller, trailers)
      return
    }
    this.#again(refused, controller)
  }

  onResponseError(controller: Controller | undefined, error: Error): void {
    const turn = this.#turn as Turn
    // A body that nobody sees may fail, unless the caller gives up.
    if (this.#refused !== undefined && (this.#isCut || controller?.aborted !== true)) {
      this.#again(this.#refused, controller)
      return
    }
    const fail = (): void => this.#below.onResponseError(controller as never, error)
    const isSent = this.#isSent && !neverSent(error)
    void (isSent ? this.outgoing.release(turn) : this.outgoing.giveBack(turn)).finally(fail)
  }

  #again(refused: Refused, controller: Controller | undefined): void {
    this.#refused = undefined
    this.#repeat(refused).catch((error) => this.#below.onResponseError(controller as never, error))
  }

  async #repeat({ retryInMs, observed }: Refused): Promise<void> {
    await observed
    await this.outgoing.release(this.#turn as Turn)
    this.#attempt++
    const signal = this.#waiting()
    await this.outgoing.pause(retryInMs, signal)
    this.begin(signal)
  }
}

function* lines(headers: ResponseHeaders): Iterable<[string, string]> {
  for (const [name, value] of Object.entries(headers)) {
    for (const line of Array.isArray(value) ? value : [value]) if (line !== undefined) yield [name, String(line)]
  }
}
