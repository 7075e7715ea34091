/** Denials that are remembered: they answer as the server would, whatever this process has charged since. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { bucket, Limiter, slidingLog, tokenBucket } from 'tidegate'
import { RedisServer } from './server.mjs'

const HOUR = 3_600_000
const server = await RedisServer.start()
const patient = { timeoutMs: 10_000, onError: 'raise' }
let namespaces = 0
const namespace = () => `denials${++namespaces}`

const limits = [
  bucket({ key: 'slow', size: 3, dripRate: HOUR }),
  slidingLog({ key: 'log', max: 3, period: HOUR }),
  tokenBucket({ key: 'tokens', count: 3, period: HOUR }),
]

const charges = {
  'a smaller call': (limiter, limit) => limiter.limit(limit, 'ada'),
  charge: (limiter, limit) => limiter.charge(limit, 'ada', { cost: 5 }),
  'a smaller factor': (limiter, limit) => limiter.limit(limit, 'ada', { factor: 0.5 }),
  several: (limiter, limit) => limiter.limit([limit, bucket({ key: 'beside', size: 9 })], 'ada'),
  acquire: (limiter, limit) => limiter.acquire(limit, 'ada', { maxWaitMs: 0 }),
}

/** An answer, its times to the minute. */
const words = ({ blocked, remaining, resetMs, fullResetMs }) => [
  blocked,
  remaining,
  Math.round(resetMs / 60_000),
  Math.round(fullResetMs / 60_000),
]

for (const [name, charge] of Object.entries(charges)) {
  for (const limit of limits) {
    test(`${name} of this process shows in the next denial: ${limit.key}`, async () => {
      async function ask(limiter) {
        await limiter.limit(limit, 'ada', { cost: 2 })
        const first = words(await limiter.limit(limit, 'ada', { cost: 3 }))
        await charge(limiter, limit)
        return [first, words(await limiter.limit(limit, 'ada', { cost: 3 }))]
      }

      const [first, second] = await ask(new Limiter())
      assert.deepEqual([first[0], second[0]], [true, true])
      assert.notDeepEqual(first, second)
      for (const denyCacheMs of [0, 60_000]) {
        const shared = new Limiter(server.url, { ...patient, namespace: namespace(), denyCacheMs })
        assert.deepEqual(await ask(shared), [first, second])
      }
    })
  }
}

test('a reset is seen by every limiter of the process, of its other threads too', async () => {
  const limit = bucket({ key: 'reset', size: 1, dripRate: HOUR })
  const options = { ...patient, namespace: namespace() }
  const app = new Limiter(server.url, { ...options, denyCacheMs: 60_000 })
  const thread = `
    const { workerData } = require('node:worker_threads')
    import('tidegate').then(async ({ bucket, Limiter }) => {
      const { url, options, key, actor } = workerData
      await new Limiter(url, options).reset(bucket({ key, size: 1 }), actor)
    })`
  const resets = [
    (actor) => new Limiter(server.url, options).reset(limit, actor),
    async (actor) => {
      const workerData = { url: server.url, options, key: 'reset', actor }
      const [code] = await once(new Worker(thread, { eval: true, workerData }), 'exit')
      assert.equal(code, 0)
    },
  ]
  for (const [number, reset] of resets.entries()) {
    const actor = `actor${number}`
    const before = app.stats().denyCacheHits
    for (const blocked of [false, true, true]) assert.equal((await app.limit(limit, actor)).blocked, blocked)
    assert.equal(app.stats().denyCacheHits, before + 1)
    await reset(actor)
    assert.equal((await app.limit(limit, actor)).blocked, false)
  }
})
