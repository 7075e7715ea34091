/* The scenarios of HTTP clients, played by each client against a server on loopback, with a clock that is advanced. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import axios from 'axios'
import { concurrency, Limiter, parseLimit, tokenBucket } from 'tidegate'
import * as forAxios from 'tidegate/axios'
import * as forFetch from 'tidegate/fetch'
import { Clock } from 'tidegate/testing'
import * as forUndici from 'tidegate/undici'
import { Agent, request } from 'undici'

const vectors = JSON.parse(readFileSync(new URL('../vectors/client.json', import.meta.url), 'utf8'))
const { native } = createRequire(import.meta.url)('../../node/dist/native/native.js')

let url
/** The URL of a closed port. */
let nowhere
let replies = []
/** Without this, no body. */
let slow
let got = []

const server = createServer(async (incoming, outgoing) => {
  let body = ''
  for await (const part of incoming) body += part
  got.push(body)
  const { status, headers } = replies.shift() ?? { status: 200, headers: {} }
  outgoing.sendDate = false
  outgoing.writeHead(status, headers)
  outgoing.flushHeaders()
  await slow?.promise
  outgoing.end('hi')
})

function deferred() {
  let resolve
  const promise = new Promise((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

before(async () => {
  const closed = createServer().listen(0, '127.0.0.1')
  await new Promise((ready) => closed.once('listening', ready))
  nowhere = `http://127.0.0.1:${closed.address().port}/`
  await new Promise((ready) => closed.close(ready))
  server.listen(0, '127.0.0.1')
  await new Promise((ready) => server.once('listening', ready))
  url = `http://127.0.0.1:${server.address().port}/`
})

after(() => {
  server.close()
  server.closeAllConnections()
})

const parts = () => Readable.from([Buffer.from('part')])

/** Each client: a function that sends a request, and returns the status. */
const CLIENTS = {
  fetch(options) {
    const fetch = forFetch.rateLimit(options)
    return async (method, url, body) => {
      const stream = body === 'stream' ? { body: Readable.toWeb(parts()), duplex: 'half' } : { body }
      const response = await fetch(url, { method, ...stream })
      await response.text()
      return response.status
    }
  },
  undici(options) {
    const dispatcher = new Agent().compose(forUndici.rateLimit(options))
    return async (method, url, body) => {
      const response = await request(url, { method, body: body === 'stream' ? parts() : body, dispatcher })
      await response.body.dump()
      return response.statusCode
    }
  },
  axios(options) {
    const api = forAxios.rateLimit(axios.create({ validateStatus: (status) => status < 400 }), options)
    return async (method, url, body) => {
      try {
        return (await api.request({ method, url, data: body === 'stream' ? parts() : body, maxRedirects: 0 })).status
      } catch (error) {
        if (error.response === undefined) throw error
        return error.response.status
      }
    }
  },
}

async function outcome(send, { method = 'GET', body, want }) {
  try {
    return await send(method, want === 'unreachable' ? nowhere : url, body)
  } catch (error) {
    if (error.code === 'ERR_BLOCKED') {
      assert.equal(error.retryAfterMs, error.info.resetMs)
      return 'blocked'
    }
    const codes = [error.code, error.cause?.code]
    if (codes.includes('ECONNREFUSED')) return 'unreachable'
    throw error
  }
}

for (const [name, client] of Object.entries(CLIENTS)) {
  describe(`the scenarios with ${name}`, () => {
    for (const { says, limits, options, requests, left = [] } of vectors.scenarios) {
      test(says, async (context) => {
        context.mock.method(Math, 'random', () => 0)
        const clock = new Clock(vectors.now)
        const limiter = new Limiter({ clock })
        const send = client({ limits, limiter, ...options })
        for (const asked of requests) {
          clock.advance(asked.advance ?? 0)
          replies = [...(asked.replies ?? [])]
          got = []
          const began = clock.now()
          const what = JSON.stringify(asked)
          assert.equal(await outcome(send, asked), asked.want, what)
          assert.deepEqual([got.length, clock.now() - began], [asked.sent, asked.waited], what)
          const body = asked.body === 'stream' ? 'part' : (asked.body ?? '')
          assert.ok(got.every((got) => got === body))
        }
        for (const [at, want] of left.entries()) {
          const { remaining, resetMs } = await limiter.peek(limits[at], '127.0.0.1')
          assert.deepEqual({ remaining, resetMs }, want)
        }
      })
    }
  })
}

test('a response is judged', () => {
  assert.ok(vectors.judged.length > 0)
  for (const { says, limits, options, reply, want } of vectors.judged) {
    const handles = limits.map((limit) => native.makeLimit(Object.keys(limit), Object.values(limit)))
    const outgoing = native.makeOutgoing(handles, Object.keys(options), Object.values(options))
    const { status, headers, method = 'GET', attempt = 0, replayable = true, left = [], random = 0 } = reply
    const [names, values] = [Object.keys(headers), Object.values(headers)]
    const next = outgoing.judge(status, names, values, method, attempt, replayable, left, random, vectors.now)
    assert.deepEqual(next.remaining, want.remaining.flat(), says)
    assert.deepEqual([next.stopMs, next.retryInMs], [want.stopMs, want.retryInMs], says)
    for (const handle of handles) native.freeLimit(handle)
  }
})

test('the options are those of the engine', () => {
  // Times have their unit in the name.
  const names = native.outgoingOptions().map((name) => (name.startsWith('retr') ? name : `${name}Ms`))
  assert.deepEqual(names.sort(), ['backoffMs', 'maxBackoffMs', 'maxWaitMs', 'retries', 'retryMethods'])
  const given = { retries: 1, retryMethods: ['GET'], backoffMs: 1, maxBackoffMs: 1, maxWaitMs: 1 }
  for (const name of names) forFetch.rateLimit({ limits: '1/second', [name]: given[name] })
})

test('options that are refused', () => {
  for (const [options, problem] of [
    [{ retries: -1 }, 'retries must be a whole number from 0 to 100, got -1'],
    [{ retries: '2' }, 'retries must be a number, got "2"'],
    [{ retryMethods: [] }, 'retryMethods must hold at least one method, got an array'],
    [{ retryMethods: [''] }, 'retryMethods must hold methods, got ""'],
    [{ backoffMs: NaN }, 'backoffMs must be at least 0 milliseconds, and at most 100 years, got NaN'],
    [{ maxWaitMs: Infinity }, 'maxWaitMs must be at least 0 milliseconds, and at most 100 years, got Infinity'],
    [{ maxWaitMs: 'soon' }, 'maxWaitMs must be a number, got "soon"'],
    [{ key: 'host' }, 'key must be a function of a request, got "host"'],
    [{ retrys: 2 }, 'retrys is not an option of a rate limit (did you mean retries?)'],
    [{ limits: [] }, 'limits must hold at least one limit'],
    [{ limits: undefined }, 'limits must be a limit, a text'],
    [{ limits: [rate, { ...rate, count: 20 }] }, 'limit "rate": limits must not define one key in two ways, got token'],
  ]) {
    for (const make of [
      forFetch.rateLimit,
      forUndici.rateLimit,
      (given) => forAxios.rateLimit(axios.create(), given),
    ]) {
      assert.throws(
        () => make({ limits: '5/second', ...options }),
        (error) => error.code === 'ERR_LIMIT' && error.message.includes(problem),
        problem,
      )
    }
  }
  assert.throws(() => forAxios.rateLimit(undefined, { limits: '5/second' }), { code: 'ERR_LIMIT' })
  assert.throws(() => forFetch.rateLimit({ limits: '5/second', fetch: 1 }), { code: 'ERR_LIMIT' })
})

test('a key of the request', async () => {
  const limiter = new Limiter({ clock: new Clock() })
  const key = ({ url, method }) => `${method} ${url.pathname}`
  const fetch = forFetch.rateLimit({ limits: '2/minute', limiter, key, name: 'api', maxWaitMs: 0 })
  for (const path of ['a', 'b', 'a', 'b']) assert.equal((await fetch(new URL(path, url))).status, 200)
  await assert.rejects(fetch(new URL('a', url)), { code: 'ERR_BLOCKED' })
  assert.equal((await limiter.peek(parseLimit('api', '2/minute'), 'GET /b')).remaining, 0)
})

const parallel = concurrency({ key: 'parallel', max: 1, lease: 60_000 })
const rate = tokenBucket({ key: 'rate', count: 10, period: 3_600_000 })

/** Each client: a function that opens a response, and how to read its body and to give it up. */
const OPENING = {
  fetch(options) {
    const fetch = forFetch.rateLimit(options)
    return async (url) => {
      const response = await fetch(url)
      assert.equal(response.url, url)
      return { read: () => response.text(), giveUp: () => response.body.cancel() }
    }
  },
  undici(options) {
    const dispatcher = new Agent().compose(forUndici.rateLimit(options))
    return async (url) => {
      const { body } = await request(url, { dispatcher })
      // Giving it up is an event of the stream.
      body.on('error', () => {})
      const closed = new Promise((resolve) => body.once('close', resolve))
      return { read: () => body.text(), giveUp: () => Promise.all([body.destroy(), closed]) }
    }
  },
  axios(options) {
    const api = forAxios.rateLimit(axios.create({ responseType: 'stream' }), options)
    return async (url) => {
      const { data } = await api.get(url)
      const closed = new Promise((resolve) => data.once('close', resolve))
      const read = async () => {
        let text = ''
        for await (const part of data) text += part
        await closed
        return text
      }
      return { read, giveUp: () => Promise.all([data.destroy(), closed]) }
    }
  },
}

for (const [name, opening] of Object.entries(OPENING)) {
  test(`units are held until the body is read: ${name}`, async () => {
    const limiter = new Limiter()
    const open = opening({ limits: [parallel, rate], limiter, maxWaitMs: 0 })
    const left = () => [parallel, rate].map((limit) => limiter.peekSync(limit, '127.0.0.1').remaining)
    slow = deferred()
    let response = await open(url)
    assert.deepEqual(left(), [0, 9])
    await assert.rejects(open(url), { code: 'ERR_BLOCKED' })
    slow.resolve()
    assert.equal(await response.read(), 'hi')
    assert.deepEqual(left(), [1, 9])
    slow = deferred()
    response = await open(url)
    assert.deepEqual(left(), [0, 8])
    await response.giveUp()
    await new Promise((later) => setImmediate(later))
    assert.deepEqual(left(), [1, 8])
    slow.resolve()
    slow = undefined
    await assert.rejects(open(nowhere))
    assert.deepEqual(left(), [1, 8])
  })
}

for (const [name, send] of Object.entries({
  fetch: (options, signal) => forFetch.rateLimit(options)(url, { signal }),
  undici: (options, signal) => request(url, { signal, dispatcher: new Agent().compose(forUndici.rateLimit(options)) }),
  axios: (options, signal) => forAxios.rateLimit(axios.create(), options).get(url, { signal }),
})) {
  test(`a wait that is aborted gives its charge back: ${name}`, async () => {
    const limiter = new Limiter()
    const limit = parseLimit('outgoing', '2/hour')
    await limiter.charge(limit, '127.0.0.1', { cost: 2 })
    got = []
    const controller = new AbortController()
    const waiting = send({ limits: limit, limiter }, controller.signal)
    await new Promise((later) => setTimeout(later, 50))
    controller.abort(new Error('given up'))
    await assert.rejects(waiting)
    assert.equal(got.length, 0)
    // A third charge would take twice as long.
    const { resetSec } = await limiter.peek(limit, '127.0.0.1')
    assert.ok(resetSec > 1790 && resetSec <= 1800, String(resetSec))
  })
}
