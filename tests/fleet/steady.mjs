// One process of a fleet that calls steadily, whatever happens; prints every call, and how late its own timers came.
// A call is when it began, how long it took, whether it was denied and whether the store did not decide it. Times are
// seconds of the system's monotonic clock, which all processes share.

import { setTimeout as sleep } from 'node:timers/promises'
import { bucket, Limiter } from 'tidegate'

const CALLERS = 4
const PAUSE_MS = 4
const [url, seconds, size, dripRate] = process.argv.slice(2)
const limiter = new Limiter(url, { timeoutMs: 100, onError: 'local' })
const shared = bucket({ key: 'steady', size: Number(size), dripRate: Number(dripRate) })
const now = () => Number(process.hrtime.bigint()) / 1e9
const end = now() + Number(seconds)
const calls = []
let late = 0

async function ask() {
  for (let began = now(); began < end; began = now()) {
    const { blocked, degraded } = await limiter.limit(shared, 'everybody')
    const answered = now()
    calls.push([began, answered - began, blocked, degraded])
    await sleep(PAUSE_MS)
    late = Math.max(late, now() - answered - PAUSE_MS / 1000)
  }
}

await Promise.all(Array.from({ length: CALLERS }, ask))
console.log(JSON.stringify({ calls, late }))
