/* One process that calls the server: `worker.mjs URL REDIS LIMIT CALLERS SECONDS`, with fetch. */

import { once, setMaxListeners } from 'node:events'
import { Limiter } from 'tidegate'
import { rateLimit } from 'tidegate/fetch'

const [url, redis, limit, callers, seconds] = process.argv.slice(2)
const limiter = new Limiter(redis, { timeoutMs: 5000, onError: 'raise' })
const fetch = rateLimit({ limits: JSON.parse(limit), limiter })
await limiter.ping()
console.log('ready')
await once(process.stdin, 'data')
const end = AbortSignal.timeout(Number(seconds) * 1000)
setMaxListeners(0, end)

async function call() {
  while (!end.aborted) {
    const response = await fetch(url, { signal: end })
    await response.text()
  }
}

const done = await Promise.allSettled(Array.from({ length: Number(callers) }, call))
const isEnd = ({ name }) => name === 'TimeoutError' || name === 'AbortError'
for (const { reason } of done) if (reason !== undefined && !isEnd(reason)) throw reason
process.exit(0)
