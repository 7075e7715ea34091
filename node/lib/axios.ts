/**
 * Limits for calls that axios makes: it waits for the turn of each, and takes over what the server says.
 *
 * @packageDocumentation
 */

import axios, { type AxiosAdapter, type AxiosError, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios'
import { exchanged, isInMemory, Outgoing, type OutgoingOptions } from './client/outgoing.js'
import { wrongType } from './errors.js'
import { untilForgotten } from './http/body.js'

export type { OutgoingLimit, OutgoingOptions, OutgoingRequest } from './client/outgoing.js'
export { BlockedError } from './limiter/blocked-error.js'

/**
 * An instance of axios, by what is needed of it: axios has its types twice, for `import` and for `require`, and neither
 * takes the other's instances.
 */
export interface AxiosLike {
  readonly defaults: object
  // biome-ignore lint/suspicious/noExplicitAny: the configuration of either.
  getUri(config?: any): string
}

/**
 * Makes an instance of axios wait for the turn of each request, and returns it:
 * `rateLimit(axios.create(), { limits: '100/minute' })`.
 *
 * A request whose turn does not come within `maxWaitMs` rejects with a {@link BlockedError} and is not sent. A redirect
 * belongs to its request. A `timeout` of axios begins when the request is sent.
 *
 * @throws {@link LimitError} for an unknown or invalid option.
 *
 * @example
 * ```js
 * import { createServer } from 'node:http'
 * import axios from 'axios'
 * import { rateLimit } from 'tidegate/axios'
 *
 * const server = createServer((request, response) => response.end('hello')).listen(0, '127.0.0.1')
 * await new Promise((ready) => server.once('listening', ready))
 *
 * const baseURL = `http://127.0.0.1:${server.address().port}`
 * const api = rateLimit(axios.create({ baseURL }), { limits: '2/minute', maxWaitMs: 1000 })
 * assert.equal((await api.get('/')).data, 'hello')
 * assert.equal((await api.get('/')).status, 200)
 * await assert.rejects(api.get('/'), { code: 'ERR_BLOCKED' })
 * server.close()
 * server.closeAllConnections()
 * ```
 */
export function rateLimit<Instance extends AxiosLike>(instance: Instance, options: OutgoingOptions): Instance {
  const given: unknown = instance
  if (typeof given !== 'function' || !('defaults' in given)) {
    throw wrongType('', 'instance', 'must be an instance of axios', given)
  }
  const outgoing = new Outgoing(options)
  const defaults = instance.defaults as { adapter?: Parameters<typeof axios.getAdapter>[0] | undefined }
  const below = defaults.adapter
  const limited: AxiosAdapter = async (config) => {
    const adapter = axios.getAdapter(below, config)
    const { signal, unsubscribe } = signalOf(config)
    const { response, error } = await exchanged<Outcome>(outgoing, {
      request: { url: urlOf(instance, config), method: (config.method ?? 'get').toUpperCase() },
      signal,
      replayable: isInMemory(config.data),
      send: () => adapter(config).then((response) => ({ response }), outcomeOf),
      status: ({ response }) => response.status,
      headers: ({ response }) => linesOf(response),
      ending(outcome, release) {
        const { response } = outcome
        const { data } = response
        // Of axios's adapter over fetch.
        if (data instanceof ReadableStream) response.data = untilForgotten(data, release)
        else if (isOpen(config, data)) data.once('close', release)
        else release()
        return outcome
      },
      discard: ({ response: { data } }) => (data instanceof ReadableStream ? data.cancel() : data?.destroy?.()),
    }).finally(unsubscribe)
    if (error !== undefined) throw error
    return response
  }
  defaults.adapter = limited
  return instance
}

/** A stream that has not ended while the response was taken over. */
function isOpen({ responseType }: InternalAxiosRequestConfig, data: { once?: unknown; closed?: boolean } | undefined) {
  return responseType === 'stream' && typeof data?.once === 'function' && data.closed !== true
}

/** A response, and the error that axios makes of it where its status is none of those that are wanted. */
interface Outcome {
  readonly response: AxiosResponse
  readonly error?: AxiosError
}

function outcomeOf(error: AxiosError): Outcome {
  if (error.response === undefined) throw error
  return { response: error.response, error }
}

/** A signal that the token of earlier versions keeps until it is taken back. */
type OfToken = AbortSignal & { unsubscribe(): void }

/** The signal by which a caller gives up, and a call that takes it back. */
function signalOf({ signal, cancelToken }: InternalAxiosRequestConfig): {
  signal?: AbortSignal | undefined
  unsubscribe?: () => void
} {
  if (signal instanceof AbortSignal) return { signal }
  const made = (cancelToken as { toAbortSignal?(): OfToken } | undefined)?.toAbortSignal?.()
  return made === undefined ? {} : { signal: made, unsubscribe: () => made.unsubscribe() }
}

function urlOf(instance: AxiosLike, config: InternalAxiosRequestConfig): URL {
  const page = (globalThis as { location?: { href: string } }).location?.href
  return new URL(instance.getUri(config), page)
}

function* linesOf({ headers }: AxiosResponse): Iterable<[string, string]> {
  for (const [name, value] of Object.entries(headers)) {
    for (const line of Array.isArray(value) ? value : [value]) yield [name, String(line)]
  }
}
