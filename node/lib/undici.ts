/**
 * Limits for calls that undici makes: an interceptor that waits for the turn of each, and takes over what the server
 * says.
 *
 * @packageDocumentation
 */

import { DecoratorHandler, type Dispatcher } from 'undici'
import { type Next, neverSent, Outgoing, type OutgoingOptions, type Turn } from './client/outgoing.js'

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

/** A request, and its repetitions. */
class Call implements Handler {
  /** The handler below, whose methods may be those of older versions. */
  readonly #below: Below
  #attempt = 0
  #turn: Turn | undefined
  /** The response that is not passed on, because the request is repeated. */
  #refused: Next | undefined
  #isSent = false
  readonly #url: URL
  readonly #signal: AbortSignal | undefined

  constructor(
    readonly outgoing: Outgoing,
    readonly dispatch: Dispatcher.Dispatch,
    readonly options: Dispatcher.DispatchOptions,
    handler: Handler,
  ) {
    this.#below = new DecoratorHandler(handler) as unknown as Below
    this.#url = outgoing.urlOf(options.origin, options.path)
    const { signal } = options as { signal?: unknown }
    this.#signal = signal instanceof AbortSignal ? signal : undefined
  }

  begin(): void {
    const { method } = this.options
    this.#isSent = false
    this.outgoing.enter({ url: this.#url, method }, this.#signal).then(
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
    if (next.retryInMs !== undefined) {
      this.#refused = next
      return
    }
    void this.outgoing.observe(turn, next)
    this.#below.onResponseStart(controller, status, headers, message)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#refused === undefined) this.#below.onResponseData(controller, chunk)
  }

  onResponseEnd(controller: Controller, trailers: ResponseHeaders): void {
    const refused = this.#refused
    const turn = this.#turn as Turn
    if (refused === undefined) {
      void this.outgoing.release(turn)
      this.#below.onResponseEnd(controller, trailers)
      return
    }
    this.#refused = undefined
    this.#again(refused).catch((error) => this.#below.onResponseError(controller, error))
  }

  onResponseError(controller: Controller | undefined, error: Error): void {
    const turn = this.#turn as Turn
    const fail = (): void => this.#below.onResponseError(controller as never, error)
    const isSent = this.#isSent && !neverSent(error)
    void (isSent ? this.outgoing.release(turn) : this.outgoing.giveBack(turn)).finally(fail)
  }

  async #again(next: Next): Promise<void> {
    const turn = this.#turn as Turn
    await this.outgoing.observe(turn, next)
    await this.outgoing.release(turn)
    this.#attempt++
    await this.outgoing.pause(next.retryInMs as number, this.#signal)
    this.begin()
  }
}

function* lines(headers: ResponseHeaders): Iterable<[string, string]> {
  for (const [name, value] of Object.entries(headers)) {
    for (const line of Array.isArray(value) ? value : [value]) if (line !== undefined) yield [name, String(line)]
  }
}
