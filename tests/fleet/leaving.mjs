/** Two calls to a node that leaves the cluster's map; prints what came of each, and how soon. */

import { setTimeout as sleep } from 'node:timers/promises'
import { bucket, Limiter } from 'tidegate'

// So long that a busy machine sends a call on in time.
const DEADLINE_MS = 600

const limiter = new Limiter(process.argv[2], { timeoutMs: DEADLINE_MS, onError: 'allow' })
const limit = bucket({ key: 'leaving', size: 10, dripRate: 3_600_000 })
const answered = []

async function call(actor) {
  const started = performance.now()
  const info = await limiter.limit(limit, actor)
  answered.push([info.degraded, (performance.now() - started) / 1000])
}

await sleep(DEADLINE_MS)
call('held')
await sleep(DEADLINE_MS / 8)
call('moved')
for (const until = performance.now() + DEADLINE_MS + 2000; answered.length < 2 && performance.now() < until; ) {
  await sleep(10)
}
console.log(JSON.stringify({ answered, pending: 2 - answered.length }))
