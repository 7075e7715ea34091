/** The event of denied requests: in every framework, bounded, and for limits in shadow mode. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { Limiter, tokenBucket } from 'tidegate'
import { rateLimit } from 'tidegate/express'
import forFastify from 'tidegate/fastify'
import { TidegateGuard } from 'tidegate/nestjs'
import { rateLimit as forWeb } from 'tidegate/web'
import { eventually, RedisServer } from '../../node/server.mjs'
import { apps, several } from './apps.mjs'

const hourly = (count, key = 'api') => tokenBucket({ key, count, period: 3_600_000 })
const redis = await RedisServer.start()
const kinds = { nestExpress: 'nestjs', nestFastify: 'nestjs', express4: 'express', express5: 'express' }

for (const [framework, make] of Object.entries(apps)) {
  for (const store of ['memory', 'redis']) {
    test(`${framework}, ${store}: who is denied by which limit, in shadow mode too`, async () => {
      const namespace = `denied-${framework}`
      const limiter = store === 'memory' ? new Limiter() : new Limiter(redis.url, { namespace, timeoutMs: 5000 })
      const events = []
      limiter.on('denied', ({ route, ...event }) => {
        assert.ok(route === undefined || typeof route === 'string')
        events.push(event)
      })
      const limits = [hourly(2), { limit: hourly(1, 'strict'), shadow: true, key: () => 'ada' }]
      const { url } = await make({ limiter, limits })
      await several(3, url)
      await eventually(
        () => events.length,
        (count) => count === 3,
      )
      const denied = { name: 'denied', framework: kinds[framework] ?? framework.replace(/\d$/, ''), untold: 0 }
      const shadow = { ...denied, key: 'strict', actor: 'ada', shadow: true }
      const live = { ...denied, key: 'api', actor: 'ip:127.0.0.1', shadow: false }
      assert.deepEqual(
        events.sort((one, other) => Number(other.shadow) - Number(one.shadow)),
        [shadow, shadow, live],
      )
    })
  }
}

test('a flood of denials is counted, and only a few of them are told in a second', async () => {
  const check = forWeb({ limits: hourly(1), key: () => 'ada' })
  const events = []
  check.limiter.on('denied', ({ untold }) => events.push(untold))
  const flood = () => Promise.all(Array.from({ length: 201 }, () => check(new Request('http://localhost/'))))
  await flood()
  await eventually(
    () => events.length,
    (count) => count >= 10,
  )
  assert.ok(events.length <= 20, `${events.length}`)
})

test('the route is in the event, and a listener that throws disturbs no answer', async () => {
  const app = Fastify()
  await app.register(forFastify, { limits: '90/hour' })
  app.get('/users/:id', { onRequest: app.rateLimit({ limits: '1/hour' }) }, () => 'hello')
  const events = []
  app.rateLimit.limiter.on('denied', (event) => events.push(event))
  const statuses = []
  for (const id of [1, 2]) statuses.push((await app.inject(`/users/${id}`)).statusCode)
  assert.deepEqual(statuses, [200, 429])
  await eventually(
    () => events.length,
    (count) => count === 1,
  )
  assert.deepEqual([events[0].route, events[0].key], ['GET /users/{id}', 'GET /users/{id}'])
  assert.ok(rateLimit({ limits: '1/hour' }).limiter instanceof Limiter)
  assert.ok('limiter' in TidegateGuard.prototype)
  assert.throws(() => new Limiter().on('refused', () => {}), /name must be one of .*denied/)
})
