/** Requests over HTTP/2: headers, refusals, and what is given back. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import { after, test } from 'node:test'
import Fastify from 'fastify'
import Koa from 'koa'
import { Limiter } from 'tidegate'
import { rateLimit as forExpress } from 'tidegate/express'
import forFastify from 'tidegate/fastify'
import { rateLimit as forKoa } from 'tidegate/koa'
import { Clock } from 'tidegate/testing'

async function listening(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  return server.address().port
}

const apps = {
  async fastify(options) {
    const app = Fastify({ http2: true })
    await app.register(forFastify, options)
    app.get('/', () => 'hello')
    app.get('/missing', (_request, reply) => reply.code(404).send('missing'))
    await app.listen({ port: 0, host: '127.0.0.1' })
    after(() => app.close())
    return app.server.address().port
  },
  koa(options) {
    const app = new Koa()
    app.use(forKoa(options))
    app.use((context) => {
      if (context.path === '/') context.body = 'hello'
    })
    return listening(createServer(app.callback()))
  },
  /** Express itself has no HTTP/2; its middleware has. */
  node(options) {
    const limit = forExpress(options)
    return listening(
      createServer((request, response) =>
        limit(request, response, () => {
          response.writeHead(request.url === '/' ? 200 : 404, { 'x-own': 'kept' })
          response.end('hello')
        }),
      ),
    )
  },
}

for (const [framework, make] of Object.entries(apps)) {
  test(`${framework}: headers, what is given back, and the refusal`, async () => {
    const limiter = new Limiter({ clock: new Clock() })
    const port = await make({ limiter, limits: '2/hour', chargeOn: [200] })
    const session = connect(`http://127.0.0.1:${port}`)
    const get = async (path) => {
      const stream = session.request({ ':path': path })
      const [headers] = await once(stream, 'response')
      stream.resume()
      await once(stream, 'end')
      return [':status', 'x-ratelimit-remaining', 'retry-after'].map((name) => headers[name])
    }
    assert.deepEqual(await get('/'), [200, '1', undefined])
    assert.deepEqual(await get('/missing'), [404, '0', undefined])
    assert.deepEqual(await get('/'), [200, '0', undefined])
    assert.deepEqual(await get('/'), [429, '0', '1800'])
    session.close()
  })
}
