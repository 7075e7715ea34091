/** Units that requests hold, apart from what the scenarios of all frameworks say. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { bucket, concurrency, Limiter } from 'tidegate'
import { rateLimit as forWeb } from 'tidegate/web'
import { eventually, RedisServer } from '../../node/server.mjs'
import { apps, get } from './apps.mjs'

const redis = await RedisServer.start()
after(() => redis.stop())

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

let names = 0
/** One at once, whose lease is longer than any test. */
const exportsOf = (lease = 600_000) => concurrency({ key: `exports ${++names}`, max: 1, lease })
const key = () => 'ada'

const PATIENCE_MS = 30_000
const heldBy = async (limiter, limit) => 1 - (await limiter.peek(limit, 'ada')).remaining
const isHeld = (limiter, limit, units) =>
  eventually(
    () => heldBy(limiter, limit),
    (held) => held === units,
    PATIENCE_MS,
  )

for (const framework of ['express5', 'fastify', 'hono', 'web']) {
  test(`${framework}, redis: a stream holds until its client goes away, and is renewed meanwhile`, async () => {
    const limiter = new Limiter(redis.url, { timeoutMs: 10_000 })
    const limits = exportsOf(6000)
    const { url } = await apps[framework]({ limiter, limits, key })
    // Node's fetch cancels a response to which nobody refers any more.
    const response = await fetch(`${url}/open`)
    assert.equal(response.status, 200)
    assert.equal((await get(url)).status, 429)
    let before = Number.POSITIVE_INFINITY
    const isRenewed = ({ fullResetMs }) => {
      const longer = fullResetMs > before
      before = fullResetMs
      return longer
    }
    await eventually(() => limiter.peek(limits, 'ada'), isRenewed, PATIENCE_MS)
    await response.body.cancel()
    await isHeld(limiter, limits, 0)
    await limiter.close()
  })
}

/** Without the server of web handlers, which is the app's. */
const served = Object.entries(apps).filter(([name]) => name !== 'web')
for (const [framework, make] of served) {
  test(`${framework}: responses that wait behind another release when their connection closes`, async () => {
    const [limiter, limits] = [new Limiter(), concurrency({ key: `pipeline ${++names}`, max: 9, lease: 600_000 })]
    const { url } = await make({ limiter, limits, key })
    const socket = connect(new URL(url).port, '127.0.0.1')
    const paths = ['/open', '/', '/open']
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''))
    const used = async () => 9 - (await limiter.peek(limits, 'ada')).remaining
    // Hono reads a short body at once.
    await eventually(used, (units) => units >= 2, PATIENCE_MS)
    socket.destroy()
    await eventually(used, (units) => units === 0, PATIENCE_MS)
  })
}

test('a client that leaves before there is a response releases', async () => {
  for (const framework of ['express5', 'fastify', 'koa3', 'hono']) {
    const [limiter, limits] = [new Limiter(), exportsOf()]
    const { url } = await apps[framework]({ limiter, limits, key })
    const socket = connect(new URL(url).port, '127.0.0.1')
    socket.write('GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await isHeld(limiter, limits, 1)
    socket.destroy()
    await once(socket, 'close')
    await isHeld(limiter, limits, 0)
  }
})

/** A check of one at once, and a request. */
function checking(options = {}) {
  const [limiter, limits] = [new Limiter(), exportsOf()]
  const check = forWeb({ limiter, limits, key, ...options })
  const ask = (method = 'GET') => check(new Request('http://localhost/', { method }))
  return { ask, held: () => heldBy(limiter, limits), limiter, limits }
}

test('web: a response holds until its body is read, given up or broken, and one without a body does not', async () => {
  const { ask, held } = checking()
  const bodies = {
    read: (response) => response.text(),
    'given up': (response) => response.body.cancel(),
  }
  for (const [name, end] of Object.entries(bodies)) {
    const limited = await ask()
    const response = limited.apply(new Response('hello', { status: 201, headers: { 'x-own': 'mine' } }))
    assert.deepEqual([response.status, response.headers.get('x-own')], [201, 'mine'])
    assert.equal(response.headers.get('x-ratelimit-remaining'), '0')
    assert.equal((await ask()).response.status, 429)
    await end(response)
    assert.equal(await held(), 0, name)
  }
  const failing = new Readable({ read() {} })
  const broken = (await ask()).apply(new Response(Readable.toWeb(failing)))
  failing.destroy(new Error('on purpose'))
  await assert.rejects(broken.text())
  assert.equal(await held(), 0)
  for (const [method, response] of [
    ['GET', new Response(null, { status: 204 })],
    ['HEAD', new Response('hello')],
    ['GET', Response.error()],
  ]) {
    ;(await ask(method)).apply(response)
    assert.equal(await held(), 0)
  }
})

test('web: a handler that fails releases by itself, and one that is forgotten by its garbage', async () => {
  const { ask, held, limiter, limits } = checking()
  const limited = await ask()
  assert.equal(await held(), 1)
  limited.release()
  limited.release()
  assert.equal(await held(), 0)
  await (async () => void (await ask()))()
  assert.equal(await held(), 1)
  const afterwards = () => {
    gc()
    return heldBy(limiter, limits)
  }
  await eventually(afterwards, (held) => held === 0, PATIENCE_MS)
})

test('web: a body holds while the answer that applied it is garbage, and until it is garbage itself', async () => {
  const { ask, held } = checking()
  let response
  await (async () => {
    response = (await ask()).apply(new Response(Readable.toWeb(new Readable({ read() {} }))))
  })()
  let collected = false
  const registry = new FinalizationRegistry(() => {
    collected = true
  })
  registry.register({}, undefined)
  const afterwards = async () => {
    gc()
    return { collected, held: await held(), status: response?.status }
  }
  await eventually(afterwards, ({ collected }) => collected, PATIENCE_MS)
  for (let round = 0; round < 20; round++) assert.equal((await afterwards()).held, 1)
  response = undefined
  await eventually(afterwards, ({ held }) => held === 0, PATIENCE_MS)
})

test('hono: nothing is kept of a request whose response has ended', async () => {
  let left = 0
  const contexts = new FinalizationRegistry(() => left--)
  const limits = exportsOf()
  const seen = (context) => {
    left++
    contexts.register(context, undefined)
    return 'ada'
  }
  const { url } = await apps.hono({ limiter: new Limiter(), limits, key: seen })
  for (let asked = 0; asked < 20; asked++) assert.equal((await get(url)).status, 200)
  const afterwards = () => {
    gc()
    return left
  }
  // The newest may be on a stack still.
  await eventually(afterwards, (left) => left <= 2, PATIENCE_MS)
})

test('web: limits beside what is held stay charged where another room gives back its own', async () => {
  const [limiter, limits] = [new Limiter(), exportsOf()]
  const [api, login] = ['api', 'login'].map((name) => bucket({ key: name, size: 9 }))
  const check = forWeb({ limiter, limits: [limits, api], key }).and({ limits: login, chargeOn: [401] })
  await (await check(new Request('http://localhost/'))).apply(new Response('hello')).text()
  assert.equal(await heldBy(limiter, limits), 0)
  const left = async (limit) => (await limiter.peek(limit, 'ada')).remaining
  assert.deepEqual([await left(api), await left(login)], [8, 9])
})

test('web: an outcome that is not charged gives back what is spent when the body has ended', async () => {
  const { ask, held } = checking({ chargeOn: [401] })
  const response = (await ask()).apply(new Response('hello'))
  assert.equal(await held(), 1)
  await response.text()
  assert.equal(await held(), 0)
})

for (const [framework, make] of Object.entries(apps)) {
  test(`${framework}: chargeOn is asked once for a response that holds`, async () => {
    const [limiter, limits] = [new Limiter(), exportsOf()]
    let asked = 0
    const chargeOn = () => ++asked > 0
    const { url } = await make({ limiter, limits, key, chargeOn })
    for (let request = 1; request <= 2; request++) {
      assert.equal((await get(url)).status, 200)
      await isHeld(limiter, limits, 0)
      assert.equal(asked, request)
    }
  })
}
