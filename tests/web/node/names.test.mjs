/** Keys of limits as text without a name: the place that they stand at, and nothing that clients choose. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import Router from '@koa/router'
import { Controller, Get, Module, Req } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import express5 from 'express'
import express4 from 'express4'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa3 from 'koa'
import Koa2 from 'koa2'
import { Limiter } from 'tidegate'
import { rateLimit as forExpress } from 'tidegate/express'
import forFastify from 'tidegate/fastify'
import { rateLimit as forHono } from 'tidegate/hono'
import { rateLimit as forKoa } from 'tidegate/koa'
import { RateLimit, TidegateModule } from 'tidegate/nestjs'
import { rateLimit as forWeb } from 'tidegate/web'
import { forgetMistakes } from '../../../node/dist/http/gate.js'
import { get, listening } from './apps.mjs'
import { decorate } from './decorate.mjs'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'MKCOL', 'REPORT', 'LINK', 'PURGE']
const told = []
process.on('warning', ({ code }) => told.push(code))
/** The codes of mistakes that were told since the test began. */
const codes = async () => {
  await setImmediate()
  return told
}
beforeEach(() => {
  told.length = 0
  forgetMistakes()
})

const served = async (app) => listening(app.listen(0, '127.0.0.1'))
/** The bodies of the responses to requests, each a path, or a method and a path. */
async function bodies(url, ...asked) {
  const found = []
  for (const one of asked) {
    const [path, method = 'GET'] = one.split(' ').reverse()
    found.push((await get(url, path, { method })).text)
  }
  return found
}
/** The number of requests that are admitted, one for each method. */
async function admitted(url, path) {
  const statuses = []
  for (const method of METHODS) statuses.push((await get(url, path, { method })).status)
  return statuses.filter((status) => status === 200).length
}

for (const [name, express] of Object.entries({ express4, express5 })) {
  const key = (request, response) => response.send(request.rateLimit.key)
  const limitOf = (limiter, options) => forExpress({ limiter, limits: '2/hour', ...options })

  test(`${name}: a route for all methods has one limit`, async () => {
    const app = express()
    const router = express.Router()
    const limit = () => limitOf(new Limiter())
    app.all('/app', limit(), key)
    app.route('/route').all(limit()).all(key)
    router.all('/login', limit(), key)
    router.route('/route').all(limit(), key)
    app.use('/inside', router)
    const url = await served(app)
    for (const path of ['/app', '/route', '/inside/login', '/inside/route']) {
      assert.equal(await admitted(url, path), 2, path)
    }
  })

  test(`${name}: the key is the method and the whole template`, async () => {
    const limiter = new Limiter()
    const limit = () => limitOf(limiter, { limits: '900/hour' })
    const app = express()
    const [users, inner, loose] = [express.Router(), express.Router({ mergeParams: true }), express.Router()]
    app.get('/users/:id', limit(), key)
    app.route('/both').get(limit(), key)
    app.get('/list', limit(), key)
    app.post('/list', limit(), key)
    users.get('/', limit(), key)
    users.get('/:id', limit(), key)
    users.all('/all/:id', limit(), key)
    inner.get('/items/:item', limit(), key)
    users.use('/:id/inner', inner)
    loose.use(limit())
    loose.get('/any', key)
    app.use('/API/users', users)
    app.use('/mount', limit(), key)
    app.use('/loose', loose)
    app.use(limit(), key)
    const url = await served(app)
    const paths = {
      '/users/7': 'GET /users/{id}',
      '/both': 'GET /both',
      '/list': 'GET /list',
      'POST /list': 'POST /list',
      '/API/users': 'GET /API/users',
      '/api/Users/': 'GET /API/users',
      '/api/users/7': 'GET /API/users/{id}',
      'PUT /api/users/all/7': '/API/users/all/{id}',
      '/api/users/7/inner/items/8': 'GET /API/users/{id}/inner/items/{item}',
      '/mount/anything': '/mount',
      '/MOUNT': '/mount',
      '/loose/any': '/loose',
      '/nowhere': 'app',
    }
    // The order of the first requests does not matter.
    const order = Object.keys(paths).reverse()
    assert.deepEqual(
      await bodies(url, ...order),
      order.map((path) => paths[path]),
    )
    assert.deepEqual(await codes(), [])
    const before = limiter.entries
    for (let id = 0; id < 50; id++) {
      await bodies(url, `/api/users/${id}/inner/items/${id}`, `/mount/${id}`, `/Users/${id}`, `/n${id}`)
    }
    assert.equal(limiter.entries, before)
  })

  test(`${name}: an app inside another has the path that it is mounted at`, async () => {
    const [outer, inner, inmost] = [express(), express(), express()]
    const limiter = new Limiter()
    const router = express.Router()
    router.get('/end', limitOf(limiter), key)
    inmost.use('/router', router)
    inmost.get('/page/:id', limitOf(limiter), key)
    inner.use('/:tenant', inmost)
    inner.use(limitOf(limiter), key)
    outer.use('/inner', inner)
    const url = await served(outer)
    assert.deepEqual(await bodies(url, '/inner/acme/router/end', '/inner/acme/page/7', '/inner', '/INNER/b/c'), [
      'GET /inner/{tenant}/router/end',
      'GET /inner/{tenant}/page/{id}',
      '/inner',
      '/inner',
    ])
    assert.deepEqual(await codes(), [])
  })

  test(`${name}: where several mounts take a path, the one that serves the route is in its key`, async () => {
    const app = express()
    const limiter = new Limiter()
    const [admin, inner, section] = [express.Router(), express.Router(), express.Router()]
    admin.use((_request, _response, next) => next())
    inner.get('/users', limitOf(limiter, { limits: '9/hour' }), key)
    admin.use(inner)
    section.post('/login', limitOf(limiter, { limits: '9/hour' }), key)
    app.use('/admin', (_request, _response, next) => next())
    app.use('/admin', admin)
    app.use('/:section', section)
    const url = await served(app)
    const asked = ['POST /acme/login', '/admin/users', 'POST /admin/login', 'POST /ADMIN/login', '/admin/users']
    const [login, users] = ['POST /{section}/login', 'GET /admin/users']
    assert.deepEqual(await bodies(url, ...asked), [login, users, login, login, users])
    assert.deepEqual(await codes(), [])
  })

  test(`${name}: a mount that is not known is told, and no key for each client`, async () => {
    const app = express()
    const router = express.Router()
    router.get('/', limitOf(new Limiter()), key)
    app.use(/^\/any\w+/, router)
    app.use(/^\/some\w+/, limitOf(new Limiter(), { name: 'some' }), key)
    const url = await served(app)
    assert.deepEqual(await bodies(url, '/some1', '/some2'), ['some', 'some'])
    assert.deepEqual(await codes(), [])
    assert.deepEqual(await bodies(url, '/any1', '/any2'), ['GET /', 'GET /'])
    assert.equal((await get(url, '/any3')).status, 429)
    assert.deepEqual(await codes(), ['name-missing'])
  })

  test(`${name}: two places of one key are told`, async () => {
    const limiter = new Limiter()
    const app = express()
    app.get('/a', limitOf(limiter), key)
    app.get('/b', limitOf(limiter), limitOf(new Limiter()), key)
    app.get('/twice', limitOf(limiter), limitOf(limiter, { name: 'other' }), key)
    const url = await served(app)
    await bodies(url, '/a', '/b', '/twice', '/a')
    assert.deepEqual(await codes(), [])
    const again = express()
    again.get('/a', limitOf(limiter), key)
    await bodies(await served(again), '/a')
    assert.deepEqual(await codes(), ['same-name-twice'])
  })

  test(`${name}: limits that are added have another key than those that they are added to`, async () => {
    const limit = forExpress({ limits: '9/hour' })
    const app = express().set('env', 'test')
    app.get('/route', limit.and('5/hour'), (request, response) =>
      response.json(request.rateLimit.checks.map(({ key }) => key)),
    )
    app.use('/mount', limit.and('5/hour'), key)
    app.use(limit.and('5/hour'), key)
    app.use((error, _request, response, _next) => response.status(500).send(error.message))
    const url = await served(app)
    assert.equal((await get(url, '/route')).text, '["app","GET /route"]')
    const refused = await get(url, '/nowhere')
    assert.match(refused.text, /name must be given: the limits that these are added to have the same key, got "app"/)
  })
}

for (const [name, Koa] of Object.entries({ koa2: Koa2, koa3: Koa3 })) {
  test(`${name}: the key is the route of @koa/router, or the prefix of the router`, async () => {
    const limiter = new Limiter()
    const limit = () => forKoa({ limiter, limits: '90/hour' })
    const key = (context) => {
      context.body = context.state.rateLimit.key
    }
    const app = new Koa()
    const [router, nested, whole] = [new Router(), new Router({ prefix: '/nested/:tenant' }), new Router()]
    router.get('/users/:id', limit(), key).post('/users/:id', limit(), key)
    router.all('/login', forKoa({ limits: '2/hour' }), key)
    nested.use(limit())
    nested.get('/one', key).get('/two', key)
    whole.get('/other', key)
    app.use(router.routes()).use(nested.routes()).use(limit()).use(whole.routes())
    const url = await served(app)
    const asked = ['/users/7', 'POST /users/8', '/nested/a/one', '/nested/b/two', '/other']
    assert.deepEqual(await bodies(url, ...asked), [
      'GET /users/{id}',
      'POST /users/{id}',
      '/nested/{tenant}',
      '/nested/{tenant}',
      'app',
    ])
    assert.equal(await admitted(url, '/login'), 2)
    assert.deepEqual(await codes(), [])
  })
}

test('hono: the key is the method and the path of the route, or the path of the middleware', async () => {
  const getConnInfo = () => ({ remote: { address: '127.0.0.1' } })
  const limiter = new Limiter()
  const limit = (options) => forHono({ limiter, limits: '90/hour', getConnInfo, ...options })
  const key = (context) => context.text(context.var.rateLimit.key)
  const [app, inside] = [new Hono(), new Hono()]
  inside.use(limit())
  inside.get('/users/:id{[0-9]+}', key)
  app.get('/users/:id', limit(), key).post('/users/:id', limit(), key)
  app.all('/login', forHono({ limits: '2/hour', getConnInfo }), key)
  app.use('/mount/*', limit())
  app.get('/mount/any', key)
  app.route('/inside', inside)
  app.use(limit())
  app.get('/other', key)
  const text = async (path, method = 'GET') => (await app.request(path, { method })).text()
  assert.equal(await text('/users/7'), 'GET /users/{id}')
  assert.equal(await text('/users/7', 'POST'), 'POST /users/{id}')
  assert.equal(await text('/mount/any'), '/mount')
  assert.equal(await text('/inside/users/7'), '/inside')
  assert.equal(await text('/other'), 'app')
  const statuses = []
  for (const method of METHODS) statuses.push((await app.request('/login', { method })).status)
  assert.equal(statuses.filter((status) => status === 200).length, 2)
  assert.deepEqual(await codes(), [])
})

test('fastify: the key is the methods and the whole template, or the prefix of the instance', async () => {
  const limits = { limits: '90/hour' }
  const own = { config: { rateLimit: limits } }
  const key = (request) => request.rateLimit.checks.map(({ key }) => key).join()
  const app = Fastify()
  await app.register(forFastify, limits)
  app.get('/', key)
  app.get('/users/:id(^\\d+$)', own, key)
  app.all('/login', { config: { rateLimit: { limits: '2/hour' } } }, key)
  app.all('/all', own, key)
  app.get('/hook/:id', { onRequest: app.rateLimit(limits), config: { rateLimit: false } }, key)
  await app.register(
    async (inside) => {
      await inside.register(forFastify, limits)
      inside.get('/', key)
    },
    { prefix: '/inside/:tenant' },
  )
  app.setNotFoundHandler({ preHandler: app.rateLimit(limits) }, (request, reply) => reply.code(404).send(key(request)))
  const text = async (url, method = 'GET') => (await app.inject({ url, method })).body
  assert.equal(await text('/'), 'app')
  assert.equal(await text('/users/7'), 'GET /users/{id}')
  assert.equal(await text('/all'), '/all')
  assert.equal(await text('/hook/7'), 'GET /hook/{id}')
  assert.equal(await text('/inside/a'), 'app,/inside/{tenant}')
  assert.equal(await text('/nowhere'), '/*')
  const statuses = []
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']) {
    statuses.push((await app.inject({ url: '/login', method })).statusCode)
  }
  assert.deepEqual(statuses, [200, 200, 429, 429, 429, 429, 429])
  assert.deepEqual(await codes(), [])
})

test('fastify: HEAD counts as GET, whichever comes first', async () => {
  const limits = { limits: '1/hour' }
  const places = {
    hook: async (app) => {
      await app.register(forFastify, { global: false })
      app.get('/', { onRequest: app.rateLimit(limits) }, () => 'hello')
    },
    // Without `await` the plugin is loaded later than the route.
    earlier: async (app) => {
      app.register(forFastify, { global: false })
      app.get('/', { config: { rateLimit: limits } }, () => 'hello')
    },
  }
  for (const [place, limit] of Object.entries(places)) {
    const app = Fastify()
    await limit(app)
    const statuses = []
    for (const method of ['HEAD', 'GET', 'HEAD']) statuses.push((await app.inject({ url: '/', method })).statusCode)
    assert.deepEqual(statuses, [200, 429, 429], place)
  }
  assert.deepEqual(await codes(), [])
})

test('fastify: an instance inside without a prefix has to name what it adds', async () => {
  const app = Fastify()
  await app.register(forFastify, { limits: '9/hour' })
  await assert.rejects(
    async () => app.register(async (inside) => inside.register(forFastify, { limits: '5/hour' })),
    /name must be given: the limits that these are added to have the same key, got "app"/,
  )
})

test('fastify: routes of one path are told, whatever tells them apart', async () => {
  const app = Fastify()
  await app.register(forFastify, { limits: '90/hour' })
  const own = () => ({ config: { rateLimit: { limits: '9/hour' } } })
  app.get('/', { ...own(), constraints: { version: '1.0.0' } }, () => 'one')
  assert.deepEqual(await codes(), [])
  app.get('/', { ...own(), constraints: { version: '2.0.0' } }, () => 'two')
  assert.deepEqual(await codes(), ['same-name-twice'])
})

test('nestjs: the key is the route, and that of a controller its class, of which two of one name are told', async () => {
  const made = (...onMethod) => {
    class Notes {
      list(request) {
        return request.rateLimit.key
      }
    }
    Req()(Notes.prototype, 'list', 0)
    decorate(Notes, 'list', Get(), ...onMethod)
    return Notes
  }
  const [one, two] = [made(RateLimit('9/hour')), made()]
  const three = made()
  RateLimit('9/hour')(two)
  RateLimit('9/hour')(three)
  Controller('one')(one)
  Controller('two')(two)
  Controller('three')(three)
  class App {}
  Module({ imports: [TidegateModule.forRoot({ limits: '9/hour' })], controllers: [one, two, three] })(App)
  const app = await NestFactory.create(App, { logger: false })
  await app.listen(0, '127.0.0.1')
  const url = `http://127.0.0.1:${app.getHttpServer().address().port}`
  assert.deepEqual(await bodies(url, '/one'), ['GET /one'])
  assert.deepEqual(await bodies(url, '/two'), ['Notes'])
  assert.deepEqual(await codes(), [])
  assert.deepEqual(await bodies(url, '/three'), ['Notes'])
  assert.deepEqual(await codes(), ['same-name-twice'])
  await app.close()
})

test('web: a check has no place, so one that adds limits has to name them', async () => {
  const limiter = new Limiter()
  const checkOf = (options) => forWeb({ limiter, key: () => 'ada', ...options })
  const keys = async (check) => (await check(new Request('http://localhost/'))).info.checks.map(({ key }) => key)
  const check = checkOf({ limits: '9/hour' })
  assert.deepEqual(await keys(check), ['app'])
  assert.throws(() => check.and('5/hour'), /name must be given/)
  assert.deepEqual(await keys(check.and({ limits: '5/hour', name: 'login' })), ['app', 'login'])
  assert.deepEqual(await codes(), [])
  checkOf({ limits: '8/hour' })
  assert.deepEqual((await codes()).sort(), ['same-key-twice', 'same-name-twice'])
})
