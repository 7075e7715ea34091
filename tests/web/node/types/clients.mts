/** Uses the modules for HTTP clients; the compiler checks it, nobody runs it. */

import axios from 'axios'
import { concurrency, Limiter, tokenBucket } from 'tidegate'
import { rateLimit as ofAxios } from 'tidegate/axios'
import { type BlockedError, type FetchOptions, type OutgoingRequest, rateLimit as ofFetch } from 'tidegate/fetch'
import { type OutgoingOptions, rateLimit as ofUndici } from 'tidegate/undici'
import { Agent } from 'undici'

const key = ({ url, method }: OutgoingRequest): string => `${method} ${url.host}`
const options: OutgoingOptions = {
  limits: ['10/second', tokenBucket({ key: 'api', count: 1, period: 1 }), concurrency({ key: 'c', max: 1, lease: 1 })],
  limiter: new Limiter(),
  key,
  name: 'api',
  cost: ({ method }) => (method === 'POST' ? 5 : 1),
  maxWaitMs: 1000,
  retries: 2,
  retryMethods: ['GET', 'POST'],
  backoffMs: 100,
  maxBackoffMs: 1000,
}
const withFetch: FetchOptions = { ...options, fetch }
const limited: typeof fetch = ofFetch(withFetch)
const response: Response = await limited('https://api.example.com', { method: 'POST' })
const dispatcher = new Agent().compose(ofUndici(options))
const { data } = await ofAxios(axios.create(), options).get<string>('https://api.example.com')
// @ts-expect-error limits are needed
ofFetch({})
// @ts-expect-error no option
ofFetch({ limits: '1/second', retrys: 1 })

export default [response, dispatcher, data, (error: BlockedError) => error.retryAfterMs]
