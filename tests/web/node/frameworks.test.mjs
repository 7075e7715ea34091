/** The ways of each framework. */

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { getConnInfo } from '@hono/node-server/conninfo'
import express5 from 'express'
import express4 from 'express4'
import { Hono } from 'hono'
import Koa from 'koa'
import { Limiter } from 'tidegate'
import { rateLimit as forExpress, RateLimitError } from 'tidegate/express'
import { rateLimit as forHono } from 'tidegate/hono'
import { rateLimit as forKoa } from 'tidegate/koa'
import { Clock } from 'tidegate/testing'
import { rateLimit as forWeb } from 'tidegate/web'
import { get, listening, several } from './apps.mjs'

const statuses = (responses) => responses.map(({ status, statusCode }) => status ?? statusCode)
const getInfo = () => ({ remote: { address: '127.0.0.1' } })
/** A limiter whose time stands still, so that waits are the same on a busy machine. */
const standing = () => ({ limiter: new Limiter({ clock: new Clock() }) })

for (const [name, express] of Object.entries({ express4, express5 })) {
  const served = async (app) => listening(app.listen(0, '127.0.0.1'))
  const appOf = () => express().set('env', 'test')

  test(`${name}: a refusal is passed to the app's own handler of errors`, async () => {
    const app = appOf().use(forExpress({ ...standing(), limits: '1/minute', onBlocked: 'error' }))
    app.get('/', (_request, response) => response.send('hello'))
    app.use((error, _request, response, _next) => {
      assert.ok(error instanceof RateLimitError)
      response.status(error.status).json({ wait: error.info.resetSec, key: error.info.key })
    })
    const [, refused] = await several(2, await served(app))
    assert.equal(refused.status, 429)
    assert.deepEqual(JSON.parse(refused.text), { wait: 60, key: 'app' })
    assert.deepEqual([refused.headers.get('retry-after'), refused.headers.get('cache-control')], ['60', 'no-store'])
  })

  test(`${name}: without a handler of errors the status is right, and the headers are there`, async () => {
    const app = appOf().use(forExpress({ ...standing(), limits: '1/minute', onBlocked: 'error' }))
    const [, refused] = await several(2, await served(app))
    assert.equal(refused.status, 429)
    assert.equal(refused.headers.get('retry-after'), '60')
    assert.match(refused.text, /Too many requests, retry in 60 seconds/)
  })

  test(`${name}: a response of the app's own, and what it throws`, async () => {
    const app = appOf()
    const onBlocked = (info, _request, response) => response.type('text').send(`in ${info.resetSec} s`)
    app.get('/own', forExpress({ ...standing(), limits: '1/minute', status: 503, onBlocked }), (_request, response) =>
      response.send('ok'),
    )
    const failing = async () => {
      throw Object.assign(new Error('teapot'), { status: 418 })
    }
    app.get('/fails', forExpress({ limits: '1/minute', onBlocked: failing }), (_request, response) =>
      response.send('ok'),
    )
    const url = await served(app)
    const [, own] = await several(2, url, '/own')
    assert.deepEqual([own.status, own.text, own.headers.get('retry-after')], [503, 'in 60 s', '60'])
    assert.deepEqual(statuses(await several(2, url, '/fails')), [200, 418])

    // A builder of queries, which is a promise only as far as it has `then`.
    const lazy = (_info, _request, response) => {
      response.status(503).send('lazy')
      // biome-ignore lint/suspicious/noThenProperty: it is meant to be one.
      return { then: (done) => Promise.resolve().then(done) }
    }
    const errors = []
    const other = appOf().use(forExpress({ limits: '1/minute', onBlocked: lazy }))
    other.get('/', (_request, response) => response.send('ok'))
    other.use((error, _request, _response, _next) => errors.push(error))
    assert.deepEqual(statuses(await several(2, await served(other))), [200, 503])
    assert.deepEqual(errors, [])
  })

  test(`${name}: limits that are added to added ones are charged once, wherever each is asked`, async () => {
    const app = appOf()
    const all = forExpress({ limits: '9/minute', name: 'all' })
    const some = all.and({ limits: '8/minute', name: 'some' })
    const few = some.and({ limits: '7/minute', name: 'few' })
    const other = all.and({ limits: '6/minute', name: 'other' })
    const left = (request, response) =>
      response.json(request.rateLimit.checks.map(({ key, remaining }) => `${key} ${remaining}`))
    app.get('/before', all, few, left)
    app.get('/between', all, some, few, left)
    app.get('/after', few, some, all, left)
    app.get('/beside', some, other, left)
    const url = await served(app)
    const checks = async (path) => JSON.parse((await get(url, path)).text).join()
    assert.equal(await checks('/before'), 'some 7,few 6')
    assert.equal(await checks('/between'), 'few 5')
    assert.equal(await checks('/after'), 'all 6,some 5,few 4')
    assert.equal(await checks('/beside'), 'other 5')
    assert.equal(await checks('/after'), 'all 4,some 3,few 3')
  })

  test(`${name}: a refusal has the headers that the app sets for it, and of its limits all others`, async () => {
    const app = appOf()
    const onBlocked = (_info, _request, response) =>
      response.status(429).set({ 'Retry-After': '99', 'Cache-Control': 'private' }).send('own')
    const all = forExpress({ ...standing(), limits: '9/minute', name: 'all', headers: 'ietf' })
    app.get(
      '/',
      all,
      all.and({ limits: '1/minute', name: 'one', headers: 'common', onBlocked }),
      (_request, response) => response.send('ok'),
    )
    const [, refused] = await several(2, await served(app))
    const [retryAfter, cacheControl, limit, ietf] = [
      'Retry-After',
      'Cache-Control',
      'X-RateLimit-Limit',
      'RateLimit',
    ].map((header) => refused.headers.get(header))
    assert.deepEqual([retryAfter, cacheControl, limit, ietf], ['99', 'private', '1', null])
  })

  test(`${name}: text limits of two routes are never shared; the template is their key`, async () => {
    const limiter = new Limiter()
    const app = appOf()
    const answer = (request, response) => response.send(request.rateLimit.key)
    app.get('/users/:id', forExpress({ limiter, limits: '5/minute' }), answer)
    const two = [express.Router(), express.Router()]
    for (const router of two) router.get('/', forExpress({ limiter, limits: '5/minute' }), answer)
    app.use('/a', two[0]).use('/b', two[1])
    app.all('/any', forExpress({ limiter, limits: '5/minute' }), answer)
    const url = await served(app)
    const keys = []
    for (const path of ['/users/1', '/users/2', '/a', '/b', '/a', '/any']) keys.push((await get(url, path)).text)
    assert.deepEqual(keys, ['GET /users/{id}', 'GET /users/{id}', 'GET /a', 'GET /b', 'GET /a', '/any'])
    assert.equal((await get(url, '/users/1', { method: 'HEAD' })).headers.get('x-ratelimit-remaining'), '2')
    const any = await get(url, '/any', { method: 'PUT' })
    assert.equal(any.headers.get('x-ratelimit-remaining'), '3')
  })
}

test('express: an app inside another, whose error the outer one answers, and a writeHead of somebody else', async () => {
  const inner = express5()
  inner.use(forExpress({ limits: '5/minute' }))
  inner.get('/', (request, response) => response.json(request.rateLimit.remaining))
  inner.get('/error', (_request, _response, next) => next(new Error('on purpose')))
  const outer = express5().use((_request, response, next) => {
    const { writeHead } = response
    response.writeHead = function (...given) {
      this.setHeader('x-other', 'here')
      return writeHead.apply(this, given)
    }
    next()
  })
  outer.use('/inner', inner)
  outer.use((_error, _request, response, _next) => response.sendStatus(500))
  const url = await listening(outer.listen(0, '127.0.0.1'))
  const left = async (path) => {
    const { status, headers } = await get(url, path)
    return [status, headers.get('x-ratelimit-remaining'), headers.get('x-other')]
  }
  assert.deepEqual(await left('/inner'), [200, '4', 'here'])
  assert.deepEqual(await left('/inner/error'), [500, '3', 'here'])
  assert.deepEqual(await left('/inner/nowhere'), [404, '2', 'here'])
})

for (const [name, express] of Object.entries({ express4, express5 })) {
  test(`${name}: an app inside two others, and one that had requests before it was put inside`, async () => {
    const inner = express()
    inner.use(forExpress({ limits: '50/hour', name: 'inner' }))
    inner.get('/', (request, response) => response.json(request.rateLimit.remaining))
    const alone = await listening(inner.listen(0, '127.0.0.1'))
    assert.equal((await get(alone)).headers.get('x-ratelimit-remaining'), '49')
    let left = 48
    const outer = [express(), express()]
    for (const app of outer) {
      app.use('/inner', inner)
      app.use((request, response) => response.status(404).json(request.rateLimit.remaining))
    }
    for (const app of outer) {
      const url = await listening(app.listen(0, '127.0.0.1'))
      for (const path of ['/inner', '/inner/nowhere']) {
        const { headers, text } = await get(url, path)
        assert.deepEqual([headers.get('x-ratelimit-remaining'), text], [`${left}`, `${left}`], path)
        left--
      }
    }
  })
}

test('express: headers that the app writes by itself are kept, and so is the object that they are in', async () => {
  const fields = Object.freeze({ 'Content-Type': 'text/plain', 'X-RateLimit-Remaining': 'mine' })
  const app = express5().use(forExpress({ limits: '5/minute' }))
  app.get('/object', (_request, response) => response.writeHead(200, fields).end('ok'))
  app.get('/list', (_request, response) => response.writeHead(200, 'Fine', ['Content-Type', 'text/plain']).end('ok'))
  const url = await listening(app.listen(0, '127.0.0.1'))
  const object = await get(url, '/object')
  assert.deepEqual(
    ['content-type', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) => object.headers.get(name)),
    ['text/plain', 'mine', '12'],
  )
  const list = await get(url, '/list')
  assert.deepEqual([list.headers.get('content-type'), list.headers.get('x-ratelimit-remaining')], ['text/plain', '3'])
})

test('koa: a refusal that the app handles, and the answer in the state', async () => {
  const app = new Koa()
  app.use(async (context, next) => {
    try {
      await next()
    } catch (error) {
      context.status = error.status
      context.body = { wait: error.info.resetSec }
    }
  })
  app.use(forKoa({ ...standing(), limits: '1/minute', onBlocked: 'error' }))
  app.use((context) => {
    context.body = context.state.rateLimit
  })
  const [first, refused] = await several(2, await listening(app.listen(0, '127.0.0.1')))
  assert.equal(JSON.parse(first.text).remaining, 0)
  assert.deepEqual([refused.status, JSON.parse(refused.text)], [429, { wait: 60 }])
  assert.equal(refused.headers.get('retry-after'), '60')
})

test('hono: the answer in c.var, the key from the path, and responses that cannot be changed', async () => {
  const app = new Hono()
  app.use('/api/*', forHono({ limits: '5/minute', getConnInfo: getInfo }))
  app.get('/api/key', (context) => context.text(context.var.rateLimit.key))
  const immutable = new Response('ok', { headers: { 'x-from': 'afar' } })
  Object.defineProperty(immutable.headers, 'set', {
    value: () => {
      throw new TypeError('immutable')
    },
  })
  app.get('/api/immutable', () => immutable)
  const response = await app.request('/api/key')
  assert.equal(await response.text(), '/api')
  assert.equal(response.headers.get('x-ratelimit-remaining'), '4')
  const other = await app.request('/api/immutable')
  assert.deepEqual([other.headers.get('x-ratelimit-remaining'), other.headers.get('x-from')], ['3', 'afar'])
})

test('hono: a refusal that onError sees, or answers with by itself', async () => {
  for (const handled of [true, false]) {
    const app = new Hono()
    app.use(forHono({ ...standing(), limits: '1/minute', getConnInfo: getInfo, onBlocked: 'error' }))
    app.get('/', (context) => context.text('hello'))
    if (handled)
      app.onError((error, context) => context.json({ wait: error.info.resetSec }, error.status, error.headers))
    await app.request('/')
    const refused = await app.request('/')
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '60'])
    if (handled) assert.deepEqual(await refused.json(), { wait: 60 })
    else assert.equal(refused.headers.get('content-type'), 'application/problem+json')
  }
})

test('hono: a response that onBlocked makes by itself has the headers, unless it has them or redirects', async () => {
  const responses = [
    () => new Response('own', { status: 429 }),
    () => new Response('own', { status: 503, headers: { 'Retry-After': '9' } }),
    async () => fetch('data:text/plain,own'),
    () => Response.redirect('http://localhost/slow'),
  ]
  const seen = []
  for (const onBlocked of responses) {
    const app = new Hono()
    app.use(forHono({ ...standing(), limits: '1/minute', getConnInfo: getInfo, onBlocked }))
    app.get('/', (context) => context.text('hello'))
    await app.request('/')
    const { status, headers } = await app.request('/')
    seen.push([status, headers.get('retry-after'), headers.get('x-ratelimit-remaining')])
  }
  assert.deepEqual(seen, [
    [429, '60', '0'],
    [503, '9', '0'],
    [200, '60', '0'],
    [302, null, null],
  ])
})

test('hono: a refusal by an app that is mounted keeps its headers', async () => {
  const inner = new Hono().use(forHono({ ...standing(), limits: '1/hour', getConnInfo: getInfo }))
  inner.get('/', (context) => context.text('inner'))
  const app = new Hono().use(forHono({ ...standing(), limits: '9/hour', getConnInfo: getInfo }))
  app.mount('/m', inner.fetch)
  const limits = []
  for (let call = 0; call < 2; call++) {
    const { status, headers } = await app.request('/m/')
    limits.push([status, headers.get('x-ratelimit-limit')])
  }
  assert.deepEqual(limits, [
    [200, '9'],
    [429, '1'],
  ])
})

test('hono, web: a response that is no answer passes as it is', async () => {
  const app = new Hono()
  app.use(forHono({ limits: '5/minute', getConnInfo: getInfo }))
  const error = Response.error()
  app.get('/', () => error)
  assert.equal(await app.request('/'), error)
  const limited = await forWeb({ limits: '5/minute', key: () => 'ada' })(new Request('http://localhost/'))
  assert.equal(limited.apply(error), error)
})

test('hono: a getConnInfo of another runtime is the mistake, with its page and its cause', async () => {
  const cause = new Error('no connection')
  const getConnInfo = () => {
    throw cause
  }
  const app = new Hono().use(forHono({ limits: '1/minute', getConnInfo }))
  let seen
  app.onError((error, context) => {
    seen = error
    return context.text('error', 500)
  })
  assert.equal((await app.request('/')).status, 500)
  const page = 'https://github.com/tidegate/tidegate/blob/main/docs/errors/no-client-address.md'
  assert.deepEqual(
    [seen.code, seen.mistake, seen.page, seen.cause],
    ['ERR_CONFIGURATION', 'no-client-address', page, cause],
  )
  assert.ok(seen.message.endsWith(`; see ${page}`))
})

test('hono: without a key there has to be a getConnInfo', () => {
  assert.throws(() => forHono({ limits: '1/minute' }), /getConnInfo must be given/)
  assert.throws(() => forHono({ limits: '1/minute', getConnInfo: 'node' }), /getConnInfo must be a function/)
  forHono({ limits: '1/minute', key: () => 'all' })
})

test('hono: a request without a connection, as app.request() makes it, is an error that says so', async () => {
  const app = new Hono()
  app.use(forHono({ limits: '1/minute', getConnInfo }))
  app.onError((error, context) => context.json([error.code, error.mistake, error.message, error.cause.name], 500))
  const [code, mistake, message, cause] = await (await app.request('/')).json()
  assert.deepEqual([code, mistake, cause], ['ERR_CONFIGURATION', 'no-client-address', 'TypeError'])
  assert.match(message, /app\.request\(\)/)
})

test('hono: limits that are added to added ones are charged once, wherever each is asked', async () => {
  const all = forHono({ limits: '9/minute', name: 'all', getConnInfo: getInfo })
  const some = all.and({ limits: '8/minute', name: 'some' })
  const few = some.and({ limits: '7/minute', name: 'few' })
  const left = (context) =>
    context.json(context.var.rateLimit.checks.map(({ key, remaining }) => `${key} ${remaining}`))
  const app = new Hono()
  app.get('/before', all, few, left)
  app.get('/between', all, some, few, left)
  app.get('/after', few, some, all, left)
  const checks = async (path) => (await (await app.request(path)).json()).join()
  assert.equal(await checks('/before'), 'some 7,few 6')
  assert.equal(await checks('/between'), 'few 5')
  assert.equal(await checks('/after'), 'all 6,some 5,few 4')
})

test('koa: limits that are added to added ones are charged once, wherever each is asked', async () => {
  const all = forKoa({ limits: '9/minute', name: 'all' })
  const some = all.and({ limits: '8/minute', name: 'some' })
  const few = some.and({ limits: '7/minute', name: 'few' })
  const orders = { '/before': [all, few], '/between': [all, some, few], '/after': [few, some, all] }
  const app = new Koa()
  app.use((context, next) => orders[context.path].reduceRight((inner, one) => () => one(context, inner), next)())
  app.use((context) => {
    context.body = context.state.rateLimit.checks.map(({ key, remaining }) => `${key} ${remaining}`).join()
  })
  const url = await listening(app.listen(0, '127.0.0.1'))
  assert.equal((await get(url, '/before')).text, 'some 7,few 6')
  assert.equal((await get(url, '/between')).text, 'few 5')
  assert.equal((await get(url, '/after')).text, 'all 6,some 5,few 4')
})

const { exports: paths } = createRequire(import.meta.url)('../../../package.json')
for (const path of Object.keys(paths).filter((path) => path !== './package.json')) {
  const name = path.replace('.', 'tidegate')
  test(`${name}: import and require give the same objects`, async () => {
    const required = createRequire(import.meta.url)(name)
    const { default: whole, ...imported } = await import(name)
    const names = Object.keys(imported).filter((name) => name !== 'module.exports')
    assert.ok(names.length > 0)
    for (const each of names) assert.equal(imported[each], required[each], each)
    if (name === 'tidegate/fastify') assert.equal(whole, required)
  })
}
