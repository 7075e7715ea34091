/** Functions of an app that a limit calls: what they throw, and what they answer with. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import express5 from 'express'
import express4 from 'express4'
import Fastify from 'fastify'
import { Limiter, tokenBucket } from 'tidegate'
import { rateLimit as forExpress } from 'tidegate/express'
import forFastify from 'tidegate/fastify'
import { Clock } from 'tidegate/testing'
import { apps, get, listening, several } from './apps.mjs'

const limits = () => tokenBucket({ key: 'api', count: 1, period: 3_600_000 })
const statuses = (responses) => responses.map(({ status }) => status)

/** Values that are thrown in place of an error: nothing, and two words that are orders to Express. */
const NO_ERRORS = [undefined, null, false, '', 0, 'route', 'router']
const throwing = (reason) => () => {
  throw reason
}
/** A promise that is none of the language's own: its `then` returns nothing. */
// biome-ignore lint/suspicious/noThenProperty: it is what is tested.
const thenable = (value) => ({ then: (resolve) => void setImmediate(resolve, value) })

for (const [framework, make] of Object.entries(apps)) {
  test(`${framework}: a function that throws what is no error lets no request pass`, async () => {
    for (const option of ['key', 'skip', 'limits', 'cost', 'factor']) {
      let failing
      const app = await make({ limits: limits(), [option]: () => failing() })
      for (const reason of NO_ERRORS) {
        for (failing of [throwing(reason), () => Promise.reject(reason)]) {
          assert.equal((await get(app.url)).status, 500, `${option}: ${failing}, ${JSON.stringify(reason)}`)
        }
      }
    }
  })

  test(`${framework}: functions may answer with promises of any library`, async () => {
    const { url } = await make({
      limits: () => thenable(limits()),
      skip: () => thenable(false),
      key: () => thenable('ada'),
      cost: () => thenable(1),
      factor: () => thenable(1),
      chargeOn: () => thenable(true),
    })
    assert.deepEqual(statuses(await several(2, url)), [200, 429])
  })
}

for (const [name, express] of Object.entries({ express4, express5 })) {
  test(`${name}: a refused request does not pass where onBlocked throws what is no error`, async () => {
    for (const reason of NO_ERRORS) {
      for (const onBlocked of [throwing(reason), () => Promise.reject(reason)]) {
        const app = express().set('env', 'test')
        app.use(forExpress({ limiter: new Limiter({ clock: new Clock() }), limits: limits(), onBlocked }))
        app.get('/', (_request, response) => response.send('hello'))
        const [, refused] = await several(2, await listening(app.listen(0, '127.0.0.1')))
        assert.deepEqual([refused.status, refused.text.includes('hello')], [429, false])
        assert.equal(refused.headers.get('retry-after'), '3600')
      }
    }
  })
}

test('fastify: a refused request does not pass where onBlocked throws what is no error', async () => {
  for (const reason of NO_ERRORS) {
    for (const onBlocked of [throwing(reason), () => Promise.reject(reason)]) {
      const app = Fastify()
      await app.register(forFastify, { limiter: new Limiter({ clock: new Clock() }), limits: limits(), onBlocked })
      const hook = app.rateLimit({ limits: tokenBucket({ key: 'hook', count: 1, period: 3_600_000 }) })
      app.get('/', () => 'hello')
      app.get('/hook', { config: { rateLimit: false } }, async (request, reply) => {
        await hook(request, reply)
        return 'hello'
      })
      for (const url of ['/', '/hook']) {
        await app.inject(url)
        const refused = await app.inject(url)
        assert.deepEqual([refused.statusCode, refused.body.includes('hello')], [429, false], `${url} ${reason}`)
        assert.equal(refused.headers['retry-after'], '3600')
      }
    }
  }
})
