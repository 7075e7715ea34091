// One process of the soak: calls until its input ends, and answers each line of it with its figures since the last.

import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { bucket, Limiter } from 'tidegate'

const CALLERS = 4
const PAUSE_MS = 4
// Seconds without an answer of the store that are noted: longer than a call takes that misses its deadline.
const GAP = 0.25
const [url, size, dripRate] = process.argv.slice(2)
const limiter = new Limiter(url, { timeoutMs: 100, onError: 'local' })
const shared = bucket({ key: 'soak', size: Number(size), dripRate: Number(dripRate) })
const each = bucket({ key: 'names', size: 5, dripRate: 60_000 })
const now = () => Number(process.hrtime.bigint()) / 1e9
const none = () => ({ calls: 0, degraded: 0, store: 0, alone: 0, slowest: 0, late: 0, gaps: [] })
let figures = none()
let heard = now()
let over = false

// When the store did not decide, from and to.
function hear(instant) {
  if (instant - heard > GAP) figures.gaps.push([heard, instant])
  heard = instant
}

async function ask(caller) {
  for (let named = 0; !over; named += 1) {
    const began = now()
    // One in four is a name that nobody has used before, as in a flood.
    const info = caller === 0 ? await limiter.limit(each, `name ${named}`) : await limiter.limit(shared, 'everybody')
    const ended = now()
    // Of the others a denial may be remembered, while the store is away.
    if (caller === 0 && !info.degraded) hear(ended)
    if (caller !== 0 && !info.blocked) figures[info.degraded ? 'alone' : 'store'] += 1
    figures.calls += 1
    if (info.degraded) figures.degraded += 1
    figures.slowest = Math.max(figures.slowest, ended - began)
    await sleep(PAUSE_MS)
    figures.late = Math.max(figures.late, now() - ended - PAUSE_MS / 1000)
  }
}

const callers = Array.from({ length: CALLERS }, (_, caller) => ask(caller))
for await (const _ of createInterface({ input: process.stdin })) {
  if (now() - heard > GAP) hear(now())
  const said = figures
  figures = none()
  console.log(JSON.stringify(said))
}
over = true
await Promise.all(callers)
