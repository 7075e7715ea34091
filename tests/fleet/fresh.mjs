// The first calls of a hundred limiters, one after the other; prints how many waited for a tenth of a second.

import { bucket, Limiter } from 'tidegate'

const [url] = process.argv.slice(2)
const limit = bucket({ key: 'fresh', size: 10_000 })
let slow = 0
for (let made = 0; made < 100; made++) {
  const began = performance.now()
  const limiter = new Limiter(url, { timeoutMs: 10_000, onError: 'raise' }).on('cluster', () => {})
  await limiter.limit(limit, 'ada')
  slow += performance.now() - began >= 100 ? 1 : 0
}
console.log(slow)
