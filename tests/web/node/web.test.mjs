/** Handlers of the web's own requests and responses. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { Hono } from 'hono'
import { Limiter } from 'tidegate'
import { rateLimit as forHono } from 'tidegate/hono'
import { Clock } from 'tidegate/testing'
import { rateLimit } from 'tidegate/web'
import { apps, get, listening } from './apps.mjs'

test("what is not limited is nobody else's answer, and a refusal without a body has no type", async () => {
  const options = { limiter: new Limiter({ clock: new Clock() }), key: () => 'ada', limits: '1/hour', body: 'none' }
  const free = rateLimit({ ...options, limits: () => [], candidate: '1/hour' })
  const [one, other] = [await free(new Request('http://localhost/')), await free(new Request('http://localhost/'))]
  one.headers['x-own'] = '1'
  assert.deepEqual([one.info, other.headers], [undefined, {}])
  const check = rateLimit(options)
  await check(new Request('http://localhost/'))
  const { response } = await check(new Request('http://localhost/'))
  assert.deepEqual([response.status, response.headers.get('content-type'), await response.text()], [429, null, ''])
})

test('a store that was opened by its URL is shared until somebody closes it', async () => {
  const check = () => rateLimit({ limits: '1/hour', limiter: 'redis://127.0.0.1:1/5', key: () => 'ada' })
  const first = check()
  assert.equal(check().limiter, first.limiter)
  await first.limiter.close()
  const { info } = await check()(new Request('http://localhost/'))
  assert.deepEqual([info.blocked, info.degraded], [false, true])
})

test('a number that is none is no actor, or all of them would be one', async () => {
  for (const actor of [Number.NaN, Infinity, {}, false]) {
    const { info, response } = await rateLimit({ limits: '5/hour', key: () => actor })(new Request('http://localhost/'))
    assert.deepEqual([info, response.status], [undefined, 400])
  }
})

test('what is no request is named', async () => {
  const check = rateLimit({ limits: '5/hour', key: () => 'ada' })
  for (const request of [undefined, 'GET /', {}]) {
    await assert.rejects(check(request), { code: 'ERR_LIMIT', message: /^request must be a Request, got / })
  }
  assert.equal((await check(new Request('http://localhost/'), null)).info.remaining, 4)
})

test('the answer, its headers, and a response of fetch', async () => {
  const { url } = await apps.express5({ limits: '9/minute' })
  const check = rateLimit({ limits: '1/minute' })
  const request = new Request('http://localhost/')
  await assert.rejects(check(request), { code: 'ERR_CONFIGURATION' })
  const peer = { address: '203.0.113.9' }
  const first = await check(request, peer)
  assert.deepEqual(first.headers, {
    'X-RateLimit-Limit': '1',
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': '60',
  })
  assert.equal(first.response, undefined)
  // A response of `fetch` is immutable.
  assert.equal(first.apply(await fetch(url)).headers.get('x-ratelimit-remaining'), '0')
  const second = await check(request, peer)
  assert.equal(second.info.blocked, true)
  assert.equal(second.response.status, 429)
  const free = await rateLimit({ limits: () => undefined })(request)
  assert.deepEqual([free.info, free.headers, free.response], [undefined, {}, undefined])
})

test("hono: a handler's own answer that it is busy has the headers, and a refusal below is told by its mark", async () => {
  const limit = (limits, options) => forHono({ limiter: new Limiter(), limits, getConnInfo, ...options })
  const app = new Hono().use(limit('9/hour')).use('/copied/*', async (context, next) => {
    await next()
    context.header('X-Own', 'mine')
  })
  const inner = (options) => new Hono().use(limit('1/hour', options)).get('/', (context) => context.text('inner')).fetch
  app.get('/busy', (context) => context.text('busy', 429, { 'Retry-After': '5' }))
  app.mount('/copied', inner()).mount('/none', inner({ headers: 'none', status: 503 }))
  const url = await listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }))
  const seen = []
  for (const path of ['/busy', '/copied/', '/copied/', '/none/', '/none/']) {
    const { status, headers } = await get(url, path)
    seen.push([status, headers.get('retry-after') !== null, headers.get('x-ratelimit-limit')])
  }
  assert.deepEqual(seen, [
    [429, true, '9'],
    [200, false, '9'],
    [429, true, '1'],
    [200, false, '9'],
    [503, true, null],
  ])
})
