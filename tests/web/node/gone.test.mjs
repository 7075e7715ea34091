/** Clients that leave early, and requests that something else has answered in the meantime. */

import 'reflect-metadata'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { BadRequestException, Catch, Controller, Get, HttpCode, Module, Req } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import express5 from 'express'
import express4 from 'express4'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { Limiter, tokenBucket } from 'tidegate'
import { rateLimit as forExpress } from 'tidegate/express'
import forFastify from 'tidegate/fastify'
import { rateLimit as forHono } from 'tidegate/hono'
import { rateLimit as forKoa } from 'tidegate/koa'
import { TidegateModule } from 'tidegate/nestjs'
import { get, listening, several } from './apps.mjs'
import { decorate } from './decorate.mjs'

/** Apps with something asynchronous before the limit, the limit, and a handler; both get the socket. */
const apps = {
  ...Object.fromEntries(
    Object.entries({ express4, express5 }).map(([name, express]) => [
      name,
      async ({ before, options, handler, failed }) => {
        const app = express().set('env', 'test')
        app.use(({ socket }, _response, next) => before(socket).then(() => next(), next))
        app.use(forExpress(options))
        app.use(({ socket }, response) => handler(socket).then(() => response.status(201).send('hello')))
        app.use((error, _request, response, _next) => failed(error) ?? response.status(500).end())
        return listening(app.listen(0, '127.0.0.1'))
      },
    ]),
  ),
  async fastify({ before, options, handler, failed }) {
    const app = Fastify({ forceCloseConnections: true })
    app.addHook('onRequest', async ({ raw }) => before(raw.socket))
    app.setErrorHandler((error, _request, reply) => failed(error) ?? reply.code(500).send(''))
    await app.register(forFastify, options)
    app.get('/', async ({ raw }, reply) => {
      await handler(raw.socket)
      reply.code(201)
      return 'hello'
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    after(() => app.close())
    return `http://127.0.0.1:${app.server.address().port}`
  },
  async koa({ before, options, handler, failed }) {
    const app = new Koa()
    app.on('error', failed)
    app.use(async ({ req }, next) => {
      await before(req.socket)
      await next()
    })
    app.use(forKoa(options))
    app.use(async (context) => {
      await handler(context.req.socket)
      context.status = 201
    })
    return listening(app.listen(0, '127.0.0.1'))
  },
  async hono({ before, options, handler, failed }) {
    const app = new Hono()
    app.use(async ({ env }, next) => {
      await before(env.incoming.socket)
      await next()
    })
    app.use(forHono({ getConnInfo, ...options, chargeOn: undefined }))
    app.get('/', async (context) => {
      await handler(context.env.incoming.socket)
      return context.text('hello', 201)
    })
    app.onError((error) => failed(error) ?? new Response('', { status: 500 }))
    return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }))
  },
}

for (const [name, adapterOf] of Object.entries({
  Express: () => new ExpressAdapter(),
  Fastify: () => new FastifyAdapter(),
})) {
  apps[`nest${name}`] = async ({ before, options, handler, failed }) => {
    class Hello {
      async get(request) {
        await handler(request.socket)
        return 'hello'
      }
    }
    Req()(Hello.prototype, 'get', 0)
    decorate(Hello, 'get', Get(), HttpCode(201))
    Controller()(Hello)
    class Failed {
      catch(error, host) {
        // Nest logs all exceptions but its own.
        failed(error instanceof BadRequestException ? error.cause : new Error(`no exception of Nest: ${error}`))
        host.switchToHttp().getResponse().status(500).send('')
      }
    }
    Catch()(Failed)
    class App {}
    Module({ imports: [TidegateModule.forRoot(options)], controllers: [Hello] })(App)
    const adapter = adapterOf()
    const app = await NestFactory.create(App, adapter, { logger: false, forceCloseConnections: true })
    if (name === 'Fastify') adapter.getInstance().addHook('onRequest', async ({ raw }) => before(raw.socket))
    else app.use(({ socket }, _response, next) => before(socket).then(() => next(), next))
    app.useGlobalFilters(new Failed())
    await app.listen(0, '127.0.0.1')
    after(() => app.close())
    return app.getUrl()
  }
}

const IS_LINUX = process.platform === 'linux'

/** Sends a request, and leaves once the app has it. */
async function leave(url, arrived) {
  const socket = connect(new URL(url).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await arrived
  socket.destroy()
  await once(socket, 'close')
}

/** Waits until the server knows that the client has left. */
const closed = async (socket) => {
  if (!socket.closed) await once(socket, 'close')
}

/** A promise with its own resolve. */
function deferred() {
  let resolve
  const promise = new Promise((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

for (const [framework, make] of Object.entries(apps)) {
  test(`${framework}: a client that leaves before its address is read is no mistake, and reaches no handler`, async () => {
    const [arrived, error] = [deferred(), deferred()]
    const url = await make({
      before: (socket) => {
        arrived.resolve()
        return closed(socket)
      },
      options: { limits: '5/hour' },
      handler: async () => error.resolve('the handler ran'),
      failed: error.resolve,
    })
    await leave(url, arrived.promise)
    const { code, status, statusCode, message, cause } = await error.promise
    assert.deepEqual([code, status, statusCode, message], ['ECONNABORTED', 400, 400, 'request aborted'])
    assert.equal(cause.mistake, 'no-client-address')
  })

  // The system has the request and the reset at the same time, and Node reads the request first.
  for (const trustedProxies of [undefined, 'unix']) {
    const name = `${framework}: nor is one that resets the connection behind its request, proxies: ${trustedProxies}`
    test(name, { skip: !IS_LINUX }, async () => {
      const error = deferred()
      const url = await make({
        before: async () => {},
        options: { limits: '5/hour', trustedProxies },
        handler: async () => error.resolve('the handler ran'),
        failed: error.resolve,
      })
      const socket = connect(new URL(url).port, '127.0.0.1')
      await once(socket, 'connect')
      // It is no proxy over a Unix socket, although it has no address either.
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n')
      socket.resetAndDestroy()
      const { code, status } = await error.promise
      assert.deepEqual([code, status], ['ECONNABORTED', 400])
    })
  }

  if (framework !== 'hono') {
    test(`${framework}: a client that leaves before the response stays charged, whatever chargeOn says`, async () => {
      const limiter = new Limiter()
      const limits = tokenBucket({ key: 'api', count: 5, period: 3_600_000 })
      for (const chargeOn of [[401], () => false]) {
        const [arrived, answered] = [deferred(), deferred()]
        let leaves = true
        const url = await make({
          before: async () => {},
          options: { limiter, limits, key: () => 'ada', chargeOn },
          handler: async (socket) => {
            arrived.resolve()
            if (leaves) await closed(socket)
            answered.resolve()
          },
          failed: () => undefined,
        })
        await leave(url, arrived.promise)
        await answered.promise
        leaves = false
        assert.equal((await get(url)).status, 201)
      }
      assert.equal(limiter.peekSync(limits, 'ada').remaining, 3)
    })
  }
}

test('a proxy over a Unix socket is believed after it has closed the connection', { skip: !IS_LINUX }, async () => {
  // As of a client of socket.io, whose messages are known by the request that began with polling.
  const [arrived, actor] = [deferred(), deferred()]
  const app = express5()
  app.use(({ socket }, _response, next) => {
    closed(socket).then(() => next(), next)
    arrived.resolve()
  })
  app.use(forExpress({ limits: '5/hour', trustedProxies: 'unix' }))
  app.use(({ rateLimit }) => actor.resolve(rateLimit.actor))
  app.use((error, _request, _response, _next) => actor.resolve(error))
  const folder = await mkdtemp(join(tmpdir(), 'tidegate-'))
  const path = join(folder, 'app.sock')
  const server = app.listen(path)
  after(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })
  await once(server, 'listening')
  const socket = connect(path)
  socket.end('GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n')
  await arrived.promise
  socket.destroy()
  assert.equal(await actor.promise, 'ip:203.0.113.9')
})

for (const [name, express] of Object.entries({ express4, express5 })) {
  test(`${name}: a refusal of a request that is answered already is not written, and is no error`, async () => {
    const key = async () => {
      await sleep(40)
      return 'ada'
    }
    const app = express().set('env', 'test')
    app.use((_request, response, next) => {
      setTimeout(() => response.status(503).send('timeout'), 10)
      next()
    })
    app.use(forExpress({ limits: '1/hour', key }))
    app.use((_request, response) => response.headersSent || response.send('hello'))
    const rejections = []
    const rejected = (error) => rejections.push(error)
    process.on('unhandledRejection', rejected)
    after(() => process.off('unhandledRejection', rejected))
    const answers = await several(3, await listening(app.listen(0, '127.0.0.1')))
    await sleep(60)
    assert.deepEqual(
      answers.map(({ status, text }) => `${status} ${text}`),
      Array(3).fill('503 timeout'),
    )
    assert.deepEqual(rejections, [])
  })

  test(`${name}: a charge that a closed limiter cannot take back does not change the refusal`, async () => {
    const app = express().set('env', 'test')
    const limits = tokenBucket({ key: 'api', count: 1, period: 3_600_000 })
    const [closing, spent] = [new Limiter(), new Limiter()]
    spent.limitSync(limits, 'ada')
    app.use(forExpress({ limiter: closing, limits }))
    app.use((_request, _response, next) => closing.close().then(() => next(), next))
    app.use(forExpress({ limiter: spent, limits, key: async () => 'ada' }))
    app.use((_request, response) => response.send('hello'))
    assert.equal((await get(await listening(app.listen(0, '127.0.0.1')))).status, 429)
  })
}
