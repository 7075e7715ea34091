/** The same types through `require`; the compiler checks it, nobody runs it. */

import type { LimitInfo } from 'tidegate'

import tidegate = require('tidegate')

const {
  bucket,
  fixedWindow,
  LimitError,
  Limiter,
  legacy,
  rateLimitHeaders,
  StoreError,
  sendRateLimitHeaders,
  tokenBucket,
} = tidegate

async function all(): Promise<LimitInfo> {
  const limiter: tidegate.Limiter = new Limiter({ maxEntries: 5 })
  const limits: tidegate.AnyLimit = [
    bucket({ key: 'login', size: 1 }),
    tokenBucket({ key: 'api', count: 1, period: 1 }),
    fixedWindow({ key: 'daily', max: 1, period: 1 }),
    legacy({ key: 'notes' }),
  ]
  const info = await limiter.limit(limits, 'ada', { cost: 1 })
  const headers: Record<string, string> = rateLimitHeaders(info, 'both')
  sendRateLimitHeaders({ setHeader: (name: string, value: string) => console.log(name, value) }, info)
  console.log(headers, LimitError, StoreError)
  return info
}

// @ts-expect-error a bucket has a size
bucket({ key: 'login' })
all()
