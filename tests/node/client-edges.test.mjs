/* What clients meet that scenarios do not: pools of connections, odd responses, upgrades, tokens, and streams of the web. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import axios from 'axios'
import { concurrency, Limiter, parseLimit, tokenBucket } from 'tidegate'
import * as forAxios from 'tidegate/axios'
import * as forFetch from 'tidegate/fetch'
import * as forUndici from 'tidegate/undici'
import { Agent, Pool, request, Request as UndiciRequest, fetch as undiciFetch, upgrade } from 'undici'
import { eventually } from './server.mjs'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

const parallel = concurrency({ key: 'parallel', max: 1, lease: 60_000 })
const free = (limiter) => limiter.peekSync(parallel, '127.0.0.1').remaining
let origin
let slow

let refusals = 0

const server = createServer(async ({ url }, response) => {
  if (url === '/odd') response.statusCode = 999
  if (url === '/broken') {
    response.writeHead(refusals-- > 0 ? 429 : 200, { 'Retry-After': '0', 'Content-Length': '100' })
    response.flushHeaders()
    await delay(10)
    response.destroy()
    return
  }
  if (url === '/refused') response.writeHead(refusals-- > 0 ? 429 : 200, { 'Retry-After': '3600' })
  if (url === '/endless' && refusals-- > 0) {
    response.writeHead(429, { 'Retry-After': '1' })
    const more = setInterval(() => response.write('h'), 20)
    response.once('close', () => clearInterval(more))
    return
  }
  response.once('close', () => response.writableFinished || server.emit('gone'))
  response.write('h')
  if (url === '/slow') await slow
  response.end('i')
})
server.on('upgrade', (_request, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
  socket.on('data', () => socket.end())
})

before(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${server.address().port}`
})

after(() => {
  server.close()
  server.closeAllConnections()
})

test('undici: a pool does not say its host, so it needs a key, and a path may begin with two slashes', async () => {
  const seen = []
  const key = ({ url }) => {
    seen.push(`${url.hostname}${url.pathname}`)
    return 'api'
  }
  const pool = (options) => new Pool(origin).compose(forUndici.rateLimit({ limits: '9/hour', ...options }))
  await assert.rejects(pool({}).request({ path: '/', method: 'GET' }), { code: 'ERR_LIMIT', field: 'key' })
  assert.equal((await pool({ key }).request({ path: '/x', method: 'GET' })).statusCode, 200)
  const dispatcher = new Agent().compose(forUndici.rateLimit({ limits: '9/hour', key }))
  assert.equal((await request(`${origin}//v1/x`, { dispatcher })).statusCode, 200)
  assert.deepEqual(seen, ['origin.invalid/x', '127.0.0.1//v1/x'])
})

test('undici: an upgrade holds its unit until its socket is closed', async () => {
  const limiter = new Limiter()
  const dispatcher = new Agent().compose(forUndici.rateLimit({ limits: parallel, limiter, maxWaitMs: 0 }))
  const { socket } = await upgrade(origin, { dispatcher, protocol: 'x' })
  socket.resume()
  assert.equal(free(limiter), 0)
  socket.write('bye')
  await eventually(
    () => free(limiter),
    (left) => left === 1,
  )
})

test('fetch: a response that no program could make releases its unit, and another fetch has requests of its own', async () => {
  const limiter = new Limiter()
  const fetch = forFetch.rateLimit({ limits: parallel, limiter, maxWaitMs: 0, fetch: undiciFetch })
  for (let call = 0; call < 2; call++) {
    const response = await fetch(new UndiciRequest(`${origin}/odd`))
    assert.deepEqual([response.status, await response.text()], [999, 'hi'])
  }
  assert.equal(free(limiter), 1)
})

test('a host is one actor, as for the clients of Python', async () => {
  for (const [host, actor] of [
    ['bücher.example', 'xn--bcher-kva.example'],
    ['[::1]', '::1'],
    ['LOCALHOST', 'localhost'],
  ]) {
    const limiter = new Limiter()
    await forFetch.rateLimit({ limits: '9/hour', limiter, fetch: async () => new Response('hi') })(`http://${host}:1/`)
    assert.equal(limiter.peekSync(parseLimit('outgoing', '9/hour'), actor).remaining, 8)
  }
})

test('a limit that is listed twice is charged once', async () => {
  const limiter = new Limiter()
  const rate = parseLimit('rate', '9/hour')
  const said = { 'X-RateLimit-Limit': '4', 'X-RateLimit-Remaining': '3' }
  const fetch = async () => new Response('hi', { headers: said })
  const other = tokenBucket({ key: 'other', count: 4, period: 60_000 })
  await forFetch.rateLimit({ limits: [rate, { ...rate }, other], limiter, fetch })(origin)
  assert.deepEqual(
    [rate, other].map((limit) => limiter.peekSync(limit, '127.0.0.1').remaining),
    [8, 3],
  )
})

test('fetch: a clone of a response that holds a unit has its URL, and the unit is held until both are read', async () => {
  const limiter = new Limiter()
  const response = await forFetch.rateLimit({ limits: parallel, limiter, maxWaitMs: 0 })(origin)
  const clone = response.clone().clone()
  assert.deepEqual([clone.url, clone.redirected, clone.type], [`${origin}/`, false, 'basic'])
  assert.equal(free(limiter), 0)
  assert.deepEqual(await Promise.all([response.text(), clone.text()]), ['hi', 'hi'])
  assert.equal(free(limiter), 1)
})

test('fetch: a body that fails while nobody reads it releases its unit', async () => {
  const limiter = new Limiter()
  const fetch = forFetch.rateLimit({ limits: parallel, limiter, maxWaitMs: 0 })
  slow = new Promise(() => {})
  const controller = new AbortController()
  await fetch(`${origin}/slow`, { signal: controller.signal })
  assert.equal(free(limiter), 0)
  controller.abort()
  await eventually(
    () => free(limiter),
    (left) => left === 1,
  )
})

test('fetch: a response that nobody reads, and that is garbage, releases its unit and its connection', async () => {
  const limiter = new Limiter()
  const fetch = forFetch.rateLimit({ limits: parallel, limiter, maxWaitMs: 0 })
  slow = new Promise(() => {})
  await (async () => void (await fetch(`${origin}/slow`)))()
  assert.equal(free(limiter), 0)
  const collected = () => {
    gc()
    return free(limiter)
  }
  const gone = once(server, 'gone')
  await eventually(collected, (left) => left === 1)
  await gone
})

test('fetch: a response that cannot be taken over, or that has been read, releases its unit', async () => {
  const limiter = new Limiter()
  const through = (fetch) => forFetch.rateLimit({ limits: parallel, limiter, maxWaitMs: 0, fetch })(origin)
  await assert.rejects(
    through(async () => ({ status: 200, headers: undefined })),
    TypeError,
  )
  assert.equal(free(limiter), 1)
  const read = async (url) => {
    const response = await fetch(url)
    await response.text()
    return response
  }
  assert.equal((await through(read)).bodyUsed, true)
  assert.equal(free(limiter), 1)
})

/** Each client: a function that sends a request, and returns the status. */
const SENDING = {
  fetch(options) {
    const fetch = forFetch.rateLimit(options)
    return async (url) => (await fetch(url)).status
  },
  undici(options) {
    const dispatcher = new Agent().compose(forUndici.rateLimit(options))
    return async (url) => {
      const { statusCode, body } = await request(url, { dispatcher })
      body.on('error', () => {})
      return statusCode
    }
  },
  axios(options) {
    const api = forAxios.rateLimit(axios.create({ responseType: 'stream' }), options)
    return async (url) => (await api.get(url)).status
  },
}

for (const [name, sending] of Object.entries(SENDING)) {
  test(`bodies that break while a store notes their response keep no unit, and no request from its repetition: ${name}`, async () => {
    const limiter = new Limiter()
    const observe = limiter.observe.bind(limiter)
    limiter.observe = async (...given) => {
      await delay(40)
      return await observe(...given)
    }
    const send = sending({ limits: [parallel, parseLimit('rate', '1000/second')], limiter, retries: 1 })
    refusals = 1
    assert.equal(await send(`${origin}/broken`), 200)
    refusals = 2
    await send(`${origin}/broken`).catch(({ response }) => assert.equal(response.status, 429))
    await eventually(
      () => free(limiter),
      (left) => left === 1,
    )
  })
}

test('undici: a refusal whose body never ends stops all callers, and is repeated', async () => {
  const limiter = new Limiter()
  const limit = parseLimit('outgoing', '1000/second')
  const dispatcher = new Agent().compose(forUndici.rateLimit({ limits: limit, limiter, retries: 1, maxWaitMs: 3000 }))
  refusals = 1
  const began = performance.now()
  const refused = request(`${origin}/endless`, { dispatcher })
  await eventually(
    () => limiter.peekSync(limit, '127.0.0.1').blocked,
    (blocked) => blocked,
  )
  assert.equal(await (await request(origin, { dispatcher })).body.text(), 'hi')
  assert.ok(performance.now() - began > 990)
  assert.equal(await (await refused).body.text(), 'hi')
})

test('undici: its fetch gives its place back when it is aborted while it waits, for its turn or to be repeated', async () => {
  const limiter = new Limiter()
  const limit = parseLimit('outgoing', '1/hour')
  const dispatcher = new Agent().compose(forUndici.rateLimit({ limits: limit, limiter, retries: 1 }))
  const aborted = async (path) => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 100)
    await assert.rejects(undiciFetch(origin + path, { dispatcher, signal: controller.signal }), { name: 'AbortError' })
    await delay(20)
  }
  refusals = 1
  await aborted('/refused')
  const { resetMs } = await limiter.peek(limit, '127.0.0.1')
  await aborted('/')
  assert.ok((await limiter.peek(limit, '127.0.0.1')).resetMs <= resetMs)
})

test('axios: a stream of the web holds its unit, and a token ends a wait', async () => {
  const limiter = new Limiter()
  const api = forAxios.rateLimit(axios.create({ adapter: 'fetch', baseURL: origin, responseType: 'stream' }), {
    limits: parallel,
    limiter,
  })
  let finish
  slow = new Promise((resolve) => {
    finish = resolve
  })
  const { data } = await api.get('/slow')
  assert.equal(free(limiter), 0)
  const { token, cancel } = axios.CancelToken.source()
  const waiting = api.get('/', { cancelToken: token })
  setTimeout(cancel, 20, 'given up')
  await assert.rejects(waiting)
  assert.equal(free(limiter), 0)
  finish()
  assert.equal(await new Response(data).text(), 'hi')
  assert.equal(free(limiter), 1)
})

test('axios: a token that lives on keeps nothing of requests that have ended', async () => {
  const api = forAxios.rateLimit(axios.create({ baseURL: origin }), { limits: '1000/second' })
  const { token } = axios.CancelToken.source()
  for (let call = 0; call < 3; call++) assert.equal((await api.get('/', { cancelToken: token })).data, 'hi')
  // Of axios itself there is nothing either.
  assert.equal(token._listeners?.length ?? 0, 0)
})

test('a connection that timed out was never sent', async () => {
  const limiter = new Limiter()
  const timedOut = Object.assign(new Error('connect'), { code: 'ETIMEDOUT', syscall: 'connect' })
  const unread = Object.assign(new Error('read'), { code: 'ETIMEDOUT', syscall: 'read' })
  const left = async (error) => {
    const fetch = async () => {
      throw new TypeError('fetch failed', { cause: new AggregateError([error]) })
    }
    await assert.rejects(forFetch.rateLimit({ limits: '9/hour', limiter, fetch })(origin))
    return limiter.peekSync(parseLimit('outgoing', '9/hour'), '127.0.0.1').remaining
  }
  assert.deepEqual([await left(timedOut), await left(unread)], [9, 8])
})
