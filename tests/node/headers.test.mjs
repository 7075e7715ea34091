/** Headers on real servers, over HTTP. */

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import express from 'express'
import fastify from 'fastify'
import { bucket, LimitError, Limiter, rateLimitHeaders, sendRateLimitHeaders } from 'tidegate'

const door = bucket({ key: 'door', size: 2, dripRate: 60_000 })

/** Servers that limit every request by the same few lines; each answers with its address and how to stop it. */
const servers = {
  http: async (limiter, kind) => {
    const server = createServer((_, response) => {
      const info = limiter.limitSync(door, 'client')
      sendRateLimitHeaders(response, info, kind)
      response.statusCode = info.blocked ? 429 : 200
      response.end()
    })
    return listening(server)
  },
  express: async (limiter, kind) => {
    const app = express()
    app.use(async (_, response, next) => {
      const info = await limiter.limit(door, 'client')
      sendRateLimitHeaders(response, info, kind)
      if (!info.blocked) return next()
      response.sendStatus(429)
    })
    app.get('/', (_, response) => {
      response.send('hello')
    })
    return listening(createServer(app))
  },
  fastify: async (limiter, kind) => {
    const app = fastify()
    app.addHook('onRequest', async (_, reply) => {
      const info = await limiter.limit(door, 'client')
      sendRateLimitHeaders(reply, info, kind)
      if (info.blocked) return reply.code(429).send()
    })
    app.get('/', async () => 'hello')
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    return { address, stop: () => app.close() }
  },
}

function listening(server) {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve({
        address: `http://127.0.0.1:${server.address().port}`,
        stop: () => {
          server.close()
          server.closeAllConnections()
        },
      })
    })
  })
}

for (const [name, start] of Object.entries(servers)) {
  test(`${name}: two pass, the third is told when to come back`, async () => {
    const { address, stop } = await start(new Limiter(), 'both')
    try {
      const get = async () => {
        const { status, headers } = await fetch(address)
        return [status, headers]
      }
      const [first, headers] = await get()
      assert.equal(first, 200)
      assert.equal(headers.get('X-RateLimit-Remaining'), '1')
      assert.equal(headers.get('X-RateLimit-Clear'), '60')
      assert.equal(headers.get('RateLimit-Policy'), '"door";q=2;w=120')
      assert.equal(headers.get('RateLimit'), '"door";r=1;t=60')
      assert.equal(headers.get('Retry-After'), null)
      assert.equal((await get())[0], 200)
      const [third, denied] = await get()
      assert.equal(third, 429)
      assert.equal(denied.get('X-RateLimit-Remaining'), '0')
      assert.match(denied.get('X-RateLimit-Reset'), /^59\.\d{1,3}$/)
      assert.equal(denied.get('Retry-After'), '60')
      assert.equal(denied.get('RateLimit'), '"door";r=0;t=60')
    } finally {
      await stop()
    }
  })
}

test('every kind and draft', () => {
  const limiter = new Limiter()
  const other = bucket({ key: 'other "one"', size: 5 })
  const info = limiter.limitSync([door, other], 'ada', { now: 0 })
  assert.deepEqual(info.headers(), { 'X-RateLimit-Remaining': '1', 'X-RateLimit-Clear': '60' })
  assert.deepEqual(info.headers('x'), rateLimitHeaders(info))
  const ietf = {
    'RateLimit-Policy': '"door";q=2;w=120, "other \\"one\\"";q=5;w=5',
    RateLimit: '"door";r=1;t=60, "other \\"one\\"";r=4;t=1',
  }
  assert.deepEqual(info.headers('ietf'), ietf)
  assert.deepEqual(info.headers('ietf', { draft: 11 }), ietf)
  assert.deepEqual(info.headers('ietf', { draft: undefined }), ietf)
  assert.deepEqual(info.headers('both'), { ...info.headers('x'), ...ietf })
  assert.deepEqual(info.headers('ietf', { draft: 7 }), {
    'RateLimit-Policy': '2;w=120, 5;w=5',
    RateLimit: 'limit=2, remaining=1, reset=60',
  })
  assert.deepEqual(info.headers('ietf', { draft: 6 }), {
    'RateLimit-Policy': '2;w=120, 5;w=5',
    'RateLimit-Limit': '2',
    'RateLimit-Remaining': '1',
    'RateLimit-Reset': '60',
  })
  const unlimited = limiter.limitSync(door, 'ada', { factor: 0 })
  assert.deepEqual(unlimited.headers('ietf'), {})
  assert.deepEqual(unlimited.headers('x'), { 'X-RateLimit-Remaining': '9007199254740991', 'X-RateLimit-Clear': '0' })
})

test('kinds, drafts and replies that do not exist', () => {
  const info = new Limiter().limitSync(door, 'ada')
  const refused = (field, kind) => (error) =>
    error instanceof LimitError && error instanceof kind && error.field === field
  for (const kind of ['X', '', '__proto__', 'toString'])
    assert.throws(() => info.headers(kind), refused('headers', RangeError))
  for (const kind of [null, 5, {}, ['x']]) assert.throws(() => info.headers(kind), refused('headers', TypeError))
  for (const draft of [12, -1, 0, 5, 8, 7.5, Number.NaN, Infinity])
    assert.throws(() => info.headers('ietf', { draft }), refused('draft', RangeError))
  for (const draft of ['7', {}, true]) assert.throws(() => info.headers('ietf', { draft }), refused('draft', TypeError))
  for (const options of [null, 5]) assert.throws(() => info.headers('ietf', options), refused('options', TypeError))
  for (const reply of [undefined, null, 5, 'x', {}, { setHeader: 1 }])
    assert.throws(() => sendRateLimitHeaders(reply, info), refused('reply', TypeError))
  for (const nothing of [undefined, null, 5, {}, []])
    assert.throws(() => rateLimitHeaders(nothing), refused('info', TypeError))
  const sent = { setHeader: () => assert.fail('a header of nothing') }
  const forgotten = new Limiter().limit(door, 'ada')
  for (const send of [() => sendRateLimitHeaders(sent, forgotten), () => rateLimitHeaders(forgotten)])
    assert.throws(send, (error) => refused('info', TypeError)(error) && /await the call/.test(error.message))
  for (const misspelt of [{ drafts: 7 }, { Reset: 'epoch' }])
    assert.throws(() => info.headers('ietf', misspelt), refused(Object.keys(misspelt)[0], TypeError))
})
