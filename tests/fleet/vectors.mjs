// Plays the golden answers over the store at a URL; prints how many were checked.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Limiter } from 'tidegate'

const [url, namespace] = process.argv.slice(2)
const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8'))
const files = [read('decisions'), read('beyond')]
const of = (name) => files.flatMap((file) => file[name])
const vectors = { one: of('one'), changing: of('changing'), together: of('together') }
const limiter = new Limiter(url, { namespace, timeoutMs: 10_000, onError: 'raise' })
let checked = 0

function answer(info) {
  const { blocked, remaining, resetMs, resetSec, fullResetMs, fullResetSec, waitMs } = info
  return { blocked, remaining, resetMs, resetSec, fullResetMs, fullResetSec, waitMs }
}

function merged(info) {
  return { ...answer(info), binding: info.binding }
}

async function play(actor, limit, factor, step) {
  const { call, cost, now, maxWaitMs, remaining, retryAfterMs, forMs } = step
  checked += 1
  if (call === 'reset') {
    await limiter.reset(limit, actor)
    return
  }
  const others = {
    acquire: { cost, factor, now, maxWaitMs },
    observe: { remaining, retryAfterMs, factor, now },
    block: { forMs, factor, now },
  }
  const options = others[call] ?? { cost, factor, now }
  assert.deepEqual(answer(await limiter[call](limit, actor, options)), step.want, JSON.stringify({ limit, step }))
}

async function together(actors, { limits, factors, steps }) {
  for (const step of steps) {
    const checks = limits.map((limit, index) => ({
      limit,
      actor: actors[index],
      cost: step.costs[index],
      factor: factors[index],
    }))
    const info = await limiter[`${step.call}All`](checks, { now: step.now })
    assert.deepEqual(merged(info), step.want, JSON.stringify({ limits, step }))
    assert.deepEqual(info.checks.map(answer), step.each, JSON.stringify({ limits, step }))
    checked += 1
  }
}

for (const [number, { limit, factor, steps }] of vectors.one.entries()) {
  for (const step of steps) await play(`one ${number}`, limit, factor, step)
}
for (const [number, { limits, steps }] of vectors.changing.entries()) {
  for (const step of steps) await play(`changing ${number}`, limits[step.limit], step.factor, step)
}
for (const [number, sequence] of vectors.together.entries()) {
  const keys = sequence.limits.map(({ key }) => key)
  await together(
    keys.map(() => `same ${number}`),
    sequence,
  )
  // In a cluster these are in different slots, mostly.
  if (new Set(keys).size === keys.length) {
    await together(
      keys.map((_, index) => `other ${number} ${index}`),
      sequence,
    )
  }
}
console.log(checked)
