/** The ways of Fastify. */

import assert from 'node:assert/strict'
import { createServer, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import fastifyRateLimit from '@fastify/rate-limit'
import Fastify from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { Limiter } from 'tidegate'
import tidegate from 'tidegate/fastify'
import { Clock } from 'tidegate/testing'
import { RedisServer } from '../../node/server.mjs'

const statuses = (responses) => responses.map((response) => response.statusCode)
const server = await RedisServer.start()
/** A limiter whose time stands still, so that waits are the same on a busy machine. */
const standing = () => ({ limiter: new Limiter({ clock: new Clock() }) })

test('fastify: a refusal is an error that setErrorHandler sees', async () => {
  const app = Fastify()
  app.setErrorHandler((error, _request, reply) => {
    assert.ok(error instanceof tidegate.RateLimitError)
    return reply.code(error.statusCode).send({ wait: error.info.resetSec })
  })
  await app.register(tidegate, { ...standing(), limits: '1/minute' })
  app.get('/', () => 'hello')
  const [, refused] = [await app.inject('/'), await app.inject('/')]
  assert.deepEqual([refused.statusCode, refused.json()], [429, { wait: 60 }])
  assert.deepEqual([refused.headers['retry-after'], refused.headers['cache-control']], ['60', 'no-store'])
})

test('fastify: routes say otherwise, and HEAD is the route for GET', async () => {
  const app = Fastify()
  await app.register(tidegate, { limits: '9/minute' })
  const route = (rateLimit) => ({ config: { rateLimit } })
  const key = (request) => request.rateLimit?.checks.map(({ key }) => key) ?? 'none'
  app.get('/', key)
  app.get('/none', route(false), key)
  app.get('/own', route({ limits: '5/minute' }), key)
  app.get('/adds', route({ limits: '5/minute', adds: true }), key)
  app.get('/costs', route({ cost: 3 }), key)
  app.post('/own', route({ limits: '5/minute' }), key)
  app.route({ method: ['POST', 'GET'], url: '/both', ...route({ limits: '5/minute' }), handler: key })
  const answer = async (url, method = 'GET') => {
    const { headers, body } = await app.inject({ url, method })
    return [headers['x-ratelimit-remaining'], body]
  }
  assert.deepEqual(await answer('/'), ['8', '["app"]'])
  assert.deepEqual(await answer('/none'), [undefined, 'none'])
  assert.deepEqual(await answer('/own'), ['4', '["GET /own"]'])
  assert.deepEqual(await answer('/own', 'POST'), ['4', '["POST /own"]'])
  assert.deepEqual(await answer('/own', 'HEAD'), ['3', ''])
  assert.deepEqual(await answer('/both'), ['4', '["GET,POST /both"]'])
  assert.deepEqual(await answer('/both', 'HEAD'), ['3', ''])
  assert.deepEqual(await answer('/both', 'POST'), ['2', '["GET,POST /both"]'])
  assert.deepEqual(await answer('/adds'), ['4', '["app","GET /adds"]'])
  assert.deepEqual(await answer('/costs'), ['6', '["GET /costs"]'])
  assert.deepEqual(await answer('/', 'HEAD'), ['6', ''])
})

test('fastify: an instance inside adds to the limits outside, and does not change them', async () => {
  const app = Fastify()
  await app.register(tidegate, { limits: '9/minute' })
  const keys = (request) => request.rateLimit?.checks.map(({ key }) => key) ?? []
  await app.register(
    async (inside) => {
      await inside.register(tidegate, { limits: '2/minute' })
      inside.get('/', keys)
      inside.get('/none', { config: { rateLimit: false } }, keys)
    },
    { prefix: '/inside' },
  )
  app.get('/', keys)
  assert.deepEqual((await app.inject('/inside')).json(), ['app', '/inside'])
  assert.deepEqual((await app.inject('/inside/none')).json(), [])
  assert.deepEqual((await app.inject('/')).json(), ['app'])
  assert.deepEqual(statuses([await app.inject('/inside'), await app.inject('/inside')]), [200, 429])
  // The refused request is charged nowhere.
  assert.equal((await app.inject('/')).headers['x-ratelimit-remaining'], '5')
})

test('fastify: each limit is charged once where an instance two levels inside has a limiter of its own', async () => {
  const app = Fastify()
  await app.register(tidegate, { limits: '9/minute' })
  await app.register(
    async (child) => {
      await child.register(tidegate, { limits: '8/minute' })
      await child.register(async (grandchild) => {
        await grandchild.register(tidegate, { limits: '7/minute', name: 'inmost', limiter: new Limiter() })
        grandchild.get('/inmost', (request) => request.rateLimit.checks.map(({ key, remaining }) => [key, remaining]))
      })
    },
    { prefix: '/child' },
  )
  const { headers, body } = await app.inject('/child/inmost')
  assert.deepEqual(JSON.parse(body), [
    ['app', 8],
    ['/child', 7],
  ])
  assert.equal(headers['x-ratelimit-remaining'], '6')
})

test('fastify: only routes of the instance are limited, and only those that say so where it is not global', async () => {
  const app = Fastify()
  await app.register(async (inside) => {
    await inside.register(tidegate, { limits: '1/minute', global: false })
    inside.get('/free', () => 'free')
    inside.get('/limited', { config: { rateLimit: {} } }, () => 'limited')
  })
  app.get('/outside', { config: { rateLimit: { limits: '1/minute' } } }, () => 'outside')
  const twice = async (url) => statuses([await app.inject(url), await app.inject(url)])
  assert.deepEqual(await twice('/free'), [200, 200])
  assert.deepEqual(await twice('/limited'), [200, 429])
  assert.deepEqual(await twice('/outside'), [200, 200])
})

test('fastify: a plugin without limits, for routes that have their own', async () => {
  const app = Fastify()
  await app.register(tidegate, { global: false })
  app.get('/free', (request) => `${request.rateLimit}`)
  app.get('/limited', { config: { rateLimit: { limits: '1/minute' } } }, () => 'limited')
  app.get('/hook', { onRequest: app.rateLimit({ limits: '1/minute' }) }, () => 'hook')
  for (const config of [{}, { cost: 2 }]) {
    assert.throws(() => app.get('/none', { config: { rateLimit: config } }, () => ''), /limits must be given/)
  }
  assert.throws(() => app.rateLimit(), /limits must be given, as the plugin has none/)
  await app.register(async (inside) => {
    await inside.register(tidegate, { limits: '1/minute' })
    inside.get('/inside', () => 'inside')
  })
  const twice = async (url) => statuses([await app.inject(url), await app.inject(url)])
  assert.deepEqual(await twice('/free'), [200, 200])
  for (const path of ['/limited', '/hook', '/inside']) assert.deepEqual(await twice(path), [200, 429], path)
  assert.equal((await app.inject('/free')).body, 'null')
  await assert.rejects(async () => Fastify().register(tidegate, { global: true }), /limits must be given/)
})

test('fastify: two plugins that read the limits of a route are refused, in any order', async () => {
  const own = { limits: '1/minute' }
  const other = { max: 5 }
  const taken = { code: 'FST_ERR_DEC_ALREADY_PRESENT' }
  const first = Fastify()
  await first.register(fastifyRateLimit, other)
  await assert.rejects(async () => first.register(tidegate, own), taken)
  const second = Fastify()
  await second.register(tidegate, own)
  await second.register(fastifyRateLimit, other)
  assert.throws(() => second.get('/', () => 'hello'), taken)
  const third = Fastify()
  third.get('/', () => 'hello')
  await third.register(tidegate, own)
  await third.register(fastifyRateLimit, { ...other, global: false })
  await assert.rejects(async () => third.ready(), taken)
  const inside = Fastify()
  await inside.register(tidegate, own)
  await assert.rejects(
    async () =>
      inside.register(async (child) => {
        await child.register(fastifyRateLimit, other)
        child.get('/', () => 'hello')
      }),
    taken,
  )
})

test('fastify: without await, the routes of the instance are limited like any others', async () => {
  const app = Fastify()
  app.get('/earlier', () => 'earlier')
  app.register(tidegate, { ...standing(), limits: '2/minute' })
  const key = (request) => request.rateLimit?.key ?? 'none'
  app.get('/', key)
  app.get('/free', { config: { rateLimit: false } }, key)
  app.get('/own', { config: { rateLimit: { limits: '1/minute' } } }, key)
  app.post(
    '/body',
    { config: { rateLimit: { limits: '1/minute', hook: 'preHandler', key: ({ body }) => body.user } } },
    key,
  )
  app.get('/wrong', { config: { rateLimit: { limts: '1/minute' } } }, key)
  app.register(async (inside) => {
    inside.get('/inside', key)
    inside.get('/inside/free', { config: { rateLimit: false } }, key)
  })
  await app.ready()
  const thrice = async (...asked) => [
    await app.inject(...asked),
    await app.inject(...asked),
    await app.inject(...asked),
  ]
  assert.deepEqual(statuses(await thrice('/')), [200, 200, 429])
  assert.deepEqual(statuses(await thrice('/free')), [200, 200, 200])
  const own = await thrice('/own')
  assert.deepEqual([statuses(own), own[0].body], [[200, 429, 429], 'GET /own'])
  assert.equal((await app.inject({ method: 'HEAD', url: '/own' })).statusCode, 429)
  const body = (user) => app.inject({ method: 'POST', url: '/body', payload: { user } })
  assert.deepEqual(statuses([await body('ada'), await body('bob'), await body('ada')]), [200, 200, 429])
  assert.equal((await app.inject('/wrong')).statusCode, 500)
  // All of these count on one limit, which is full.
  assert.deepEqual(statuses(await thrice('/inside')), [429, 429, 429])
  assert.deepEqual(statuses(await thrice('/inside/free')), [200, 200, 200])
  assert.deepEqual(statuses(await thrice('/nowhere')), [404, 404, 404])
  assert.equal((await app.inject('/earlier')).statusCode, 429)
})

test('fastify: without await, an instance inside adds to the limits outside', async () => {
  const app = Fastify()
  app.register(tidegate, { ...standing(), limits: { key: 'outer', type: 'bucket', size: 3 } })
  app.register(async (inside) => {
    inside.register(tidegate, { limits: { key: 'inner', type: 'bucket', size: 2 } })
    inside.get('/inside', (request) => request.rateLimit.checks.map(({ key, remaining }) => `${key} ${remaining}`))
  })
  app.get('/', (request) => request.rateLimit.checks.map(({ key, remaining }) => `${key} ${remaining}`))
  assert.deepEqual((await app.inject('/inside')).json(), ['outer 2', 'inner 1'])
  assert.deepEqual((await app.inject('/')).json(), ['outer 1'])
})

test('fastify: what is not found, a hook that has the body, and a body for the refusal', async () => {
  const app = Fastify()
  await app.register(tidegate, { limits: '9/minute', hook: 'preHandler', body: 'problem' })
  app.setNotFoundHandler({ preHandler: app.rateLimit({ limits: '1/minute' }) }, (_request, reply) =>
    reply.code(404).send(),
  )
  const limited = { config: { rateLimit: { limits: '1/minute', key: (request) => request.body.user } } }
  app.post('/login', limited, (request) => request.rateLimit.remaining)
  const login = (user) => app.inject({ method: 'POST', url: '/login', payload: { user } })
  assert.deepEqual(statuses([await login('ada'), await login('bob'), await login('ada')]), [200, 200, 429])
  assert.equal((await login('ada')).headers['content-type'], 'application/problem+json')
  assert.deepEqual(statuses([await app.inject('/nowhere'), await app.inject('/nowhere')]), [404, 429])
})

test('fastify: a hook that handlers and other hooks wait for', async () => {
  const clock = new Clock()
  const redis = new Limiter(server.url, { timeoutMs: 5000, onError: 'raise', namespace: 'hooks', clock })
  for (const limiter of [new Limiter({ clock }), redis]) {
    const app = Fastify()
    await app.register(tidegate, { limits: '90/minute', limiter })
    const login = app.rateLimit({ limits: '1/minute' })
    const sends = app.rateLimit({ limits: '1/minute', body: 'text' })
    app.get('/handler', async (request, reply) => {
      await login(request, reply)
      return request.rateLimit.key
    })
    app.get(
      '/hook',
      { preHandler: async (request, reply) => sends(request, reply) },
      (request) => request.rateLimit.key,
    )
    app.get('/callback', { preHandler: app.rateLimit({ limits: '1/minute' }) }, (request) => request.rateLimit.key)
    for (const [path, key] of [
      ['/handler', 'GET /handler'],
      ['/hook', 'GET /hook'],
      ['/callback', 'GET /callback'],
    ]) {
      const [first, refused] = [await app.inject(path), await app.inject(path)]
      assert.deepEqual([first.statusCode, first.body, first.headers['x-ratelimit-remaining']], [200, key, '0'])
      assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60'], path)
      const sent = path === '/hook' ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8'
      assert.equal(refused.headers['content-type'], sent)
    }
  }
})

test('fastify: a response of the app itself, returned, sent, or thrown', async () => {
  const onBlocked = {
    returned: (info) => ({ wait: info.resetSec }),
    later: async (info) => ({ wait: info.resetSec }),
    sent: (info, _request, reply) => reply.send({ wait: info.resetSec }),
  }
  for (const [way, call] of Object.entries(onBlocked)) {
    const app = Fastify()
    await app.register(tidegate, { ...standing(), limits: '1/minute', onBlocked: call })
    app.get('/', () => 'hello')
    await app.inject('/')
    const refused = await app.inject('/')
    assert.deepEqual([refused.statusCode, refused.json()], [429, { wait: 60 }], way)
  }
  const app = Fastify()
  const thrown = Object.assign(new Error('teapot'), { statusCode: 418 })
  await app.register(tidegate, { limits: '1/minute', onBlocked: () => Promise.reject(thrown) })
  app.get('/', () => 'hello')
  assert.deepEqual(statuses([await app.inject('/'), await app.inject('/')]), [200, 418])
})

test('fastify: headers on a response that is written by hand', async () => {
  const app = Fastify({ forceCloseConnections: true })
  await app.register(tidegate, { limits: '5/minute' })
  app.get('/', (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'Content-Type': 'text/event-stream' })
    reply.raw.end('data: one\n\n')
  })
  const { headers } = await app.inject('/')
  assert.deepEqual([headers['x-ratelimit-remaining'], headers['content-type']], ['4', 'text/event-stream'])
})

test('fastify: a stream has the headers, unless it is sent with a redirection', async () => {
  const app = Fastify()
  await app.register(tidegate, { limits: '9/minute' })
  const body = { stream: () => Readable.from(['text']), web: () => new Blob(['text']).stream() }
  for (const [name, make] of Object.entries(body)) {
    for (const status of [200, 302, 304]) {
      app.get(`/${name}/${status}`, (_request, reply) => reply.code(status).header('x-own', 'own').send(make()))
    }
  }
  for (const name of Object.keys(body)) {
    const limit = []
    for (const status of [200, 302, 304]) {
      const { statusCode, headers } = await app.inject(`/${name}/${status}`)
      assert.deepEqual([statusCode, headers['x-own']], [status, 'own'])
      limit.push(Object.keys(headers).filter((header) => header.startsWith('x-ratelimit')).length)
    }
    assert.deepEqual(limit, [3, 0, 0], name)
  }
})

test('fastify: headers over HTTP, whatever class of responses the server makes', async () => {
  class Own extends ServerResponse {}
  for (const [options, made] of [
    [{}, ServerResponse],
    [{ http: { ServerResponse: Own } }, Own],
    [{ serverFactory: (handler) => createServer({ ServerResponse: Own }, handler) }, Own],
  ]) {
    const app = Fastify({ forceCloseConnections: true, ...options })
    await app.register(tidegate, { limits: '9/minute' })
    const seen = []
    app.addHook('onSend', async (_request, reply) => {
      seen.push(reply.getHeader('X-RateLimit-Remaining'))
    })
    app.get('/', (_request, reply) => {
      assert.ok(reply.raw instanceof made)
      assert.equal(reply.raw.constructor.name, made.name)
      return reply.getHeader('x-ratelimit-remaining')
    })
    app.get('/moved', (_request, reply) => reply.redirect('/'))
    app.get('/own', (_request, reply) => reply.header('X-RateLimit-Remaining', 'own').send('own'))
    app.get('/hand', (_request, reply) => {
      reply.raw.writeHead(200, { 'Content-Type': 'text/event-stream' })
      reply.raw.end('data: one\n\n')
    })
    app.get('/stream', () => Readable.from(['a', 'b']))
    app.get('/error', () => Promise.reject(new Error('wrong')))
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const remaining = async (path) => {
      const response = await fetch(url + path, { redirect: 'manual' })
      await response.text()
      return response.headers.get('X-RateLimit-Remaining')
    }
    const paths = ['/', '/moved', '/own', '/hand', '/stream', '/error']
    const found = []
    for (const path of paths) found.push(await remaining(path))
    assert.deepEqual(found, ['8', null, 'own', '5', '4', '3'])
    assert.equal(seen[0], '8')
    await app.close()
  }
})

test('fastify: the plugin has the marks that fastify-plugin makes', async () => {
  const made = fastifyPlugin(() => {}, { fastify: '>=5', name: 'tidegate' })
  for (const symbol of Object.getOwnPropertySymbols(made)) assert.deepEqual(tidegate[symbol], made[symbol])
  assert.equal(createRequire(import.meta.url)('tidegate/fastify'), tidegate)
  await assert.rejects(async () => Fastify().register(tidegate, { limits: '5/minute', hook: 'onSend' }), /hook/)
  const app = Fastify()
  await app.register(tidegate, { limits: '5/minute' })
  assert.ok(app.hasPlugin('tidegate'))
  assert.throws(
    () => app.get('/', { config: { rateLimit: { limit: '5/minute' } } }, () => ''),
    /limit is not an option/,
  )
  for (const rateLimit of ['5/minute', ['5/minute'], []]) {
    assert.throws(() => app.get('/', { config: { rateLimit } }, () => ''), /rateLimit must be/)
  }
})
