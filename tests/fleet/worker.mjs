// One process of a fleet: so many calls at once on one key, for so long; prints how many were admitted.

import { bucket, Limiter } from 'tidegate'

const [url, concurrency, seconds] = process.argv.slice(2)
const limiter = new Limiter(url, { timeoutMs: 5000, onError: 'raise', denyCacheMs: 0 })
const shared = bucket({ key: 'fleet', size: 100, dripRate: 10 })
const end = performance.now() + Number(seconds) * 1000
let [admitted, asked] = [0, 0]

async function ask() {
  while (performance.now() < end) {
    const info = await limiter.limit(shared, 'everybody')
    asked += 1
    if (!info.blocked) admitted += 1
  }
}

await Promise.all(Array.from({ length: Number(concurrency) }, ask))
console.log(JSON.stringify({ admitted, asked, clock: Date.now() / 1000 }))
