/** Mistakes in the set-up: each is told once, with its code, and can be silenced. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createAdaptorServer } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { Limiter } from 'tidegate'
import { rateLimit as forExpress } from 'tidegate/express'
import forFastify from 'tidegate/fastify'
import { rateLimit as forHono } from 'tidegate/hono'
import { rateLimit as forKoa } from 'tidegate/koa'
import { TidegateGuard } from 'tidegate/nestjs'
import { rateLimit as forWeb } from 'tidegate/web'
import { forgetMistakes } from '../../../node/dist/http/gate.js'
import { eventually } from '../../node/server.mjs'
import { apps, get, listening, several, stop } from './apps.mjs'

const told = []
process.on('warning', (warning) => told.push(warning))
/** The codes told since the test began. */
const codes = async () => {
  await setImmediate()
  return told.map(({ code }) => code)
}
beforeEach(() => {
  told.length = 0
  forgetMistakes()
})

const forwarded = (addresses) => ({ headers: { 'x-forwarded-for': addresses } })
/** The number of these addresses, which a client makes up, that are taken for a client of their own. */
async function admitted(url, count = 3) {
  let admitted = 0
  for (let host = 1; host <= count; host++) {
    if ((await get(url, '/', forwarded(`203.0.113.${host}, 198.51.100.1`))).status === 200) admitted++
  }
  return admitted
}

for (const [number, [framework, make]] of Object.entries(apps).entries()) {
  const proxies = {
    koa2: 'proxy',
    koa3: 'proxy',
    fastify: 'trustProxy',
    nestFastify: 'trustProxy',
    nestExpress: 'trust proxy',
    express4: 'trust proxy',
    express5: 'trust proxy',
  }
  const setting = proxies[framework]

  test(`${framework}: a forwarded header, but no proxy is trusted`, async () => {
    const { url } = await make({ limits: '1/hour' })
    assert.equal(await admitted(url), 1)
    assert.deepEqual(await codes(), ['forwarded-not-trusted'])
    assert.match(told[0].message, /no proxy is trusted/)
    assert.equal(told[0].name, 'TidegateWarning')
  })

  test(`${framework}: proxies that are trusted by number`, async () => {
    const { url } = await make({ limits: '1/hour', trustedProxies: 1 })
    assert.equal(await admitted(url), 1)
    assert.equal((await get(url, '/', forwarded('203.0.113.9'))).status, 200)
    const behindTwo = await make({ limits: '1/hour', trustedProxies: 2 })
    assert.equal(await admitted(behindTwo.url), 3)
    assert.deepEqual(await codes(), [])
  })

  test(`${framework}: a forwarded header of a peer that is no trusted proxy`, async () => {
    const { url } = await make({ limits: '1/hour', trustedProxies: ['10.0.0.0/8'] })
    assert.equal(await admitted(url), 1)
    assert.deepEqual(await codes(), ['peer-not-trusted'])
    forgetMistakes()
    told.length = 0
    const silenced = { limits: '1/hour', trustedProxies: ['10.0.0.0/8'], silence: 'peer-not-trusted' }
    const quiet = await make(silenced)
    await get(quiet.url, '/', forwarded('203.0.113.9'))
    assert.deepEqual(await codes(), [])
    await get(quiet.url, '/', forwarded('203.0.113.9, 127.0.0.1'))
    assert.deepEqual(await codes(), ['forwarded-read-twice'])
  })

  test(`${framework}: everything is trusted: one proxy is, and it is told`, async () => {
    const everything = setting ? [{}, { settings: { [setting]: true } }] : [{ trustedProxies: true }]
    const [options, more] = everything
    const { url } = await make({ limits: '1/hour', ...options }, more)
    assert.equal(await admitted(url), 1)
    assert.equal((await get(url, '/', forwarded('203.0.113.9'))).status, 200)
    assert.deepEqual(await codes(), ['everything-trusted'])
  })

  if (setting && setting !== 'proxy') {
    test(`${framework}: a function or a network that trusts everything is seen to`, async () => {
      for (const trust of [() => true, '0.0.0.0/1, 128.0.0.0/1']) {
        forgetMistakes()
        told.length = 0
        const { url } = await make({ limits: '1/hour' }, { settings: { [setting]: trust } })
        assert.equal(await admitted(url), 1)
        assert.deepEqual(await codes(), ['everything-trusted'])
      }
      forgetMistakes()
      told.length = 0
      const nearest = (address, hop) => hop === 0 && address.endsWith('127.0.0.1')
      const { url } = await make({ limits: '1/hour' }, { settings: { [setting]: nearest } })
      assert.equal(await admitted(url), 1)
      assert.equal((await get(url, '/', forwarded('203.0.113.9'))).status, 200)
      assert.deepEqual(await codes(), [])
    })
  }

  if (setting) {
    test(`${framework}: the framework's own trust in proxies is enough`, async () => {
      // Fastify trusts nobody where it is given a number.
      const trusting = 'trustProxy' === setting ? '127.0.0.1' : 1
      const settings = framework.startsWith('koa') ? { proxy: true, maxIpsCount: 1 } : { [setting]: trusting }
      const { url } = await make({ limits: '1/hour' }, { settings })
      assert.equal(await admitted(url), 1)
      assert.equal((await get(url, '/', forwarded('203.0.113.9'))).status, 200)
      // Without an address there, they are the proxy's.
      const unknown = ['unknown', '203.0.113.9, garbage'].map((given) => get(url, '/', forwarded(given)))
      assert.deepEqual((await Promise.all(unknown)).map(({ status }) => status).sort(), [200, 429])
      assert.deepEqual(await codes(), [])
    })
  }

  test(`${framework}: a store that cannot be reached at start`, async () => {
    const { url } = await make({ limits: '2/hour', limiter: `redis://127.0.0.1:1/${number}` })
    await eventually(codes, (codes) => codes.includes('store-unreachable'))
    assert.equal((await get(url)).status, 200)
    await make({ limits: '2/hour', limiter: `redis://127.0.0.1:1/${number}` })
    assert.deepEqual((await codes()).filter((code) => code === 'store-unreachable').length, 1)
  })

  test(`${framework}: one key for two definitions`, async () => {
    const limiter = new Limiter()
    const limits = (size) => ({ key: 'api', type: 'bucket', size })
    await make({ limits: limits(5), limiter })
    await make({ limits: limits(5), limiter })
    assert.deepEqual(await codes(), [])
    await make({ limits: limits(6), limiter })
    await make({ limits: limits(7), limiter })
    assert.deepEqual(await codes(), ['same-key-twice'])
    assert.match(told[0].message, /"api"/)
  })

  test(`${framework}: what is silenced is not told`, async () => {
    const { url } = await make({ limits: '5/hour', silence: ['forwarded-not-trusted'] })
    await get(url, '/', forwarded('203.0.113.9'))
    assert.deepEqual(await codes(), [])
  })
}

/** An address that has no client behind it. */
const socketPath = (name) => join(tmpdir(), `tidegate-${process.pid}-${name}.sock`)

/**
 * Servers with these limits, one after another, by framework: `listen` is a port or a path. The codes of errors that the
 * framework sees go into `failures`. Each limit is what the framework's module makes of options.
 */
const servers = {
  express: (limits, failures) => {
    const app = express().set('env', 'test')
    for (const limit of limits) app.use(limit)
    app.get('/', (_request, response) => response.send('hello'))
    app.use((error, _request, response, _next) => {
      failures.push(error.code)
      response.sendStatus(500)
    })
    return createServer(app)
  },
  koa: (limits, failures) => {
    const app = new Koa()
    app.on('error', (error) => failures.push(error.code))
    for (const limit of limits) app.use(limit)
    app.use((context) => {
      context.body = 'hello'
    })
    return createServer(app.callback())
  },
  hono: (limits, failures) => {
    const app = new Hono()
    for (const limit of limits) app.use(limit)
    app.get('/', (context) => context.text('hello'))
    app.onError((error, context) => {
      failures.push(error.code)
      return context.text('error', 500)
    })
    return createAdaptorServer({ fetch: app.fetch })
  },
}
const modules = {
  express: forExpress,
  koa: forKoa,
  hono: (options) => forHono({ getConnInfo, ...options }),
}

async function serving(framework, ...limits) {
  const server = servers[framework](limits, [])
  return listening(server.listen(0, '127.0.0.1'))
}

/** The status of a request over a socket of Unix. */
const overSocket = (path) =>
  new Promise((resolve, reject) => {
    const asked = request({ socketPath: path }, (response) => resolve(response.resume().statusCode))
    asked.once('error', reject).end()
  })

for (const [framework, rateLimit] of Object.entries(modules)) {
  test(`${framework}: one request that two instances count for one limit`, async () => {
    const limiter = new Limiter()
    const options = { limiter, limits: { key: 'api', type: 'bucket', size: 10, dripRate: 60_000 } }
    const url = await serving(framework, rateLimit(options), rateLimit(options))
    const [, second] = await several(2, url)
    assert.equal(second.headers.get('x-ratelimit-remaining'), '6')
    assert.deepEqual(await codes(), ['counted-twice'])
  })

  test(`${framework}: what an instance does not charge is not counted twice`, async () => {
    const limiter = new Limiter()
    const [limits, full] = ['api', 'full'].map((key) => ({ key, type: 'bucket', size: 10, dripRate: 60_000 }))
    limiter.limitSync(full, 'ip:127.0.0.1', { cost: 10 })
    for (const other of [
      { key: () => 'ada' },
      { cost: () => 0 },
      { factor: () => 0 },
      { shadow: true },
      { limits: [limits, full] },
    ]) {
      const url = await serving(framework, rateLimit({ limiter, limits }), rateLimit({ limiter, limits, ...other }))
      await get(url)
      assert.deepEqual(await codes(), [], Object.keys(other).join())
    }
  })

  test(`${framework}: one middleware that is asked twice decides once`, async () => {
    const limit = rateLimit({ limits: '10/hour' })
    const url = await serving(framework, limit, limit)
    const [, second] = await several(2, url)
    assert.equal(second.headers.get('x-ratelimit-remaining'), '8')
    assert.deepEqual(await codes(), [])
  })

  test(`${framework}: a middleware that is made when it is first needed is no mistake`, async () => {
    let limit
    const url = await serving(framework, (...given) => {
      limit ??= rateLimit({ limits: '3/hour' })
      return limit(...given)
    })
    assert.deepEqual(
      (await several(4, url)).map(({ status }) => status),
      [200, 200, 200, 429],
    )
    assert.deepEqual(await codes(), [])
  })

  test(`${framework}: a limiter that is made again for each request`, async () => {
    const url = await serving(framework, (...given) => rateLimit({ limits: '1/hour' })(...given))
    for (const { status } of await several(5, url)) assert.equal(status, 200)
    assert.deepEqual(await codes(), ['limiter-per-request'])
  })

  test(`${framework}: a client without an address is an error, never a bucket for all of them`, async () => {
    const [path, failures] = [socketPath(framework), []]
    const server = servers[framework]([rateLimit({ limits: '5/hour' })], failures).listen(path)
    await once(server, 'listening')
    after(() => stop(server))
    assert.deepEqual([await overSocket(path), failures], [500, ['ERR_CONFIGURATION']])
  })
}

for (const framework of ['nestExpress', 'nestFastify']) {
  test(`${framework}: one guard that is asked twice decides once`, async () => {
    const { url } = await apps[framework]({ limits: '10/hour' }, { settings: { guard: TidegateGuard } })
    const [, second] = await several(2, url)
    assert.equal(second.headers.get('x-ratelimit-remaining'), '8')
    assert.deepEqual(await codes(), [])
  })

  test(`${framework}: a client without an address is an error, never a bucket for all of them`, async () => {
    const path = socketPath(framework)
    await apps[framework]({ limits: '5/hour' }, { settings: { path } })
    assert.equal(await overSocket(path), 500)
  })
}

test('web: a limiter that is made again for each request', async () => {
  const server = createServer(async ({ socket }, outgoing) => {
    const check = forWeb({ limits: '1/hour' })
    const { info } = await check(new Request('http://localhost'), { address: socket.remoteAddress })
    outgoing.end(`${info.remaining}`)
  })
  const url = await listening(server.listen(0, '127.0.0.1'))
  for (const { text } of await several(5, url)) assert.equal(text, '0')
  assert.deepEqual(await codes(), ['limiter-per-request'])
})

/** A Fastify app with these plugins, in their order. */
async function fastifyWith(...each) {
  const app = Fastify({ forceCloseConnections: true })
  for (const options of each) await app.register(forFastify, options)
  after(() => app.close())
  return app
}

test('fastify: one request that two instances count for one limit', async () => {
  const limiter = new Limiter()
  const options = { limiter, limits: { key: 'api', type: 'bucket', size: 10, dripRate: 60_000 } }
  const app = await fastifyWith(options, options)
  app.get('/', () => 'hello')
  const [, second] = await several(2, await app.listen({ port: 0, host: '127.0.0.1' }))
  assert.equal(second.headers.get('x-ratelimit-remaining'), '6')
  assert.deepEqual(await codes(), ['counted-twice'])
})

test('fastify: hooks that are made again for each request count together, and it is told', async () => {
  const app = await fastifyWith({ limits: '100/hour' })
  app.get('/', async (request, reply) => {
    await app.rateLimit({ limits: '2/hour' })(request, reply)
    return 'hello'
  })
  // A hook that is made and never called limits nothing.
  app.get('/never', () => {
    app.rateLimit({ limits: '1/hour', name: 'never' })
    return 'hello'
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  assert.deepEqual(
    (await several(2, url, '/never')).map(({ status }) => status),
    [200, 200],
  )
  assert.deepEqual(await codes(), [])
  assert.equal((await get(url, '/never')).status, 200)
  assert.deepEqual(await codes(), ['limiter-per-request'])
  assert.match(told[0].message, /app\.rateLimit\(\): make the hook before the app is ready/)
  assert.deepEqual(
    (await several(4, url)).map(({ status }) => status),
    [200, 200, 429, 429],
  )
  assert.deepEqual(await codes(), ['limiter-per-request'])
})

test('fastify: one limit that is asked twice decides once', async () => {
  const app = await fastifyWith({ limits: '10/hour' })
  app.get('/', { preHandler: app.rateLimit() }, () => 'hello')
  const [, second] = await several(2, await app.listen({ port: 0, host: '127.0.0.1' }))
  assert.equal(second.headers.get('x-ratelimit-remaining'), '8')
  assert.deepEqual(await codes(), [])
})

test('fastify: a client without an address is an error, never a bucket for all of them', async () => {
  const app = await fastifyWith({ limits: '5/hour' })
  let code
  app.setErrorHandler((error, _request, reply) => {
    code = error.code
    reply.code(500).send()
  })
  app.get('/', () => 'hello')
  const path = socketPath('fastify')
  await app.listen({ path })
  assert.deepEqual([await overSocket(path), code], [500, 'ERR_CONFIGURATION'])
})
