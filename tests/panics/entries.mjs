// Every entry of the Node binding meets every panic: an error at the most, and the next call is fine.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const { bucket, explain, limitFrom, Limiter, slidingLog, StoreError } = createRequire(import.meta.url)(
  join(process.argv[2], 'index.js'),
)

const POINTS = ['limit', 'locked', 'begin', 'encode', 'decode', 'headers', 'explain', 'open', 'upkeep']
POINTS.push('acquire', 'step', 'queue', 'stats')
const LONGEST_MS = 5000
const BUCKET = bucket({ key: 'bucket', size: 1_000_000 })
const LOG = slidingLog({ key: 'log', max: 1000, period: 60_000 })
const OPTIONS = { timeoutMs: 1000, onError: 'raise', denyCacheMs: 0 }

async function server() {
  const listener = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => listener.once('listening', resolve))
  const { port } = listener.address()
  await new Promise((resolve) => listener.close(resolve))
  const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--logfile', '/dev/null']
  const child = spawn('redis-server', options, { stdio: 'ignore' })
  for (let up = false; !up; ) {
    await sleep(20)
    up = await new Promise((resolve) => {
      const line = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      line.on('connect', () => line.destroy())
    })
  }
  return { url: `redis://127.0.0.1:${port}`, end: () => child.kill('SIGKILL') }
}

const both = [
  { limit: BUCKET, actor: 'ada' },
  { limit: LOG, actor: 'ada' },
]

const definitions = {
  bucket: () => bucket({ key: 'made', size: 1 }).key,
  limitFrom: () => limitFrom({ key: 'made', type: 'bucket', size: 1 }),
  Limiter: () => new Limiter().close(),
  explain: () => explain(BUCKET),
}

const syncOf = (limiter) => ({
  limitSync: () => limiter.limitSync(BUCKET, 'ada'),
  'limitSync of another type': () => limiter.limitSync(LOG, 'ada'),
  'limitSync with a cost': () => limiter.limitSync(BUCKET, 'ada', { cost: 3 }),
  limitAllSync: () => limiter.limitAllSync(both),
  peekSync: () => limiter.peekSync(BUCKET, 'ada'),
  chargeSync: () => limiter.chargeSync(BUCKET, 'ada'),
  refundSync: () => limiter.refundSync(BUCKET, 'ada'),
  'refundSync of an answer': () => limiter.refundSync(limiter.limitSync(BUCKET, 'ada')),
  settleSync: () => limiter.settleSync(limiter.limitSync(BUCKET, 'ada', { cost: 2 }), 1),
  resetSync: () => limiter.resetSync(BUCKET, 'ada'),
  entries: () => [limiter.entries, limiter.evictions, limiter.overflowed],
  headers: () => limiter.limitSync(BUCKET, 'ada').headers(),
  'IETF headers': () => limiter.limitSync(BUCKET, 'ada').headers('ietf'),
})

const asyncOf = (limiter) => ({
  limit: () => limiter.limit(BUCKET, 'ada'),
  'limit of another type': () => limiter.limit(LOG, 'ada'),
  limitAll: () => limiter.limitAll(both),
  peek: () => limiter.peek(BUCKET, 'ada'),
  charge: () => limiter.charge(BUCKET, 'ada'),
  refund: () => limiter.refund(BUCKET, 'ada'),
  settle: async () => limiter.settle(await limiter.limit(BUCKET, 'ada', { cost: 2 }), 1),
  reset: () => limiter.reset(BUCKET, 'ada'),
  acquire: () => limiter.acquire(BUCKET, 'ada', { maxWaitMs: 1000 }),
  'acquire in line': () => limiter.acquire(LOG, 'ada', { maxWaitMs: 1000 }),
  explain: () => limiter.explain(BUCKET, 'ada'),
  ping: () => limiter.ping(),
  clear: () => limiter.clear(),
  stats: () => limiter.stats(),
})

async function meet(name, entry, point) {
  process.env.TIDEGATE_PANIC = point
  const began = performance.now()
  let met = false
  try {
    const late = sleep(LONGEST_MS, 'late', { ref: false })
    assert.notEqual(await Promise.race([entry(), late]), 'late', `${name} at ${point}: never answered`)
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    assert(error instanceof Error, `${name} at ${point}: ${error}`)
    met = true
  } finally {
    delete process.env.TIDEGATE_PANIC
  }
  assert(performance.now() - began < LONGEST_MS, `${name} at ${point} took ${performance.now() - began} ms`)
  for (const until = performance.now() + 10_000; ; await sleep(20)) {
    try {
      await entry()
      return met
    } catch (error) {
      // A store whose connection is made anew.
      assert(error instanceof StoreError, `${name} after ${point}: ${error.stack}`)
      assert(performance.now() < until, `${name} does not go on after ${point}: ${error}`)
    }
  }
}

process.on('unhandledRejection', (error) => {
  console.log('an unhandled rejection', error)
  process.exit(1)
})
const redis = await server()
const shared = new Limiter(redis.url, OPTIONS)
const groups = [
  ['', definitions],
  ['memory: ', { ...syncOf(new Limiter()), ...asyncOf(new Limiter()) }],
  ['redis: ', asyncOf(shared)],
]
const met = new Map(POINTS.map((point) => [point, new Set()]))
const tried = new Set()
try {
  for (const [store, entries] of groups) {
    for (const [name, entry] of Object.entries(entries)) {
      tried.add(store + name)
      for (const point of POINTS) if (await meet(store + name, entry, point)) met.get(point).add(store + name)
    }
  }
} finally {
  redis.end()
}
const all = [...met.values()].flatMap((entries) => [...entries])
const spared = [...tried].filter((name) => !all.includes(name))
console.log(`Node: ${tried.size} entries, ${POINTS.length} points, ${all.length} panics met; never met: [${spared}]`)
const unmet = POINTS.filter((point) => met.get(point).size === 0)
assert.deepEqual(unmet, [], 'points that no entry goes through')
// Numbers that are only read, and what has nothing to do in memory.
for (const name of spared) assert.match(name, /entries|^memory: (stats|ping|clear)$/)
