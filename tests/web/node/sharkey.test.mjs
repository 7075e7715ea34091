/** The look-alike of Sharkey's service, over real HTTP, in memory and on the keys of Sharkey's nodes. */

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, test } from 'node:test'
import { Limiter } from 'tidegate'
import { RateLimiterService, sendRateLimitHeaders } from 'tidegate/sharkey'
import { rateLimitsOff } from 'tidegate/testing'
import { endpoints, sharkeyApp } from '../../../examples/web/sharkey.mjs'
import { RedisServer } from '../../node/server.mjs'

const redis = await RedisServer.start()
let names = 0
const stores = {
  memory: () => ({}),
  redis: () => ({ limiter: redis.url, namespace: `own${names++}` }),
  sharkey: () => ({ limiter: redis.url, layout: 'sharkey', namespace: `host${names++}.example` }),
}
const post = async (url, endpoint, i) => {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}/api/${endpoint}`, { method: 'POST', headers, body: JSON.stringify({ i }) })
  return { status: response.status, headers: response.headers, body: await response.json() }
}
/** The calls that a limit admits at once, as Sharkey reads it. */
const atOnce = ({ size, max }) => size ?? max ?? 1

for (const [store, optionsOf] of Object.entries(stores)) {
  test(`${store}: every endpoint's limit, with the same four headers`, async () => {
    const app = sharkeyApp(optionsOf())
    after(() => app.close())
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const limited = Object.entries(endpoints).filter(([, limit]) => limit !== undefined)
    assert.ok(limited.length >= 30)
    for (const [name, limit] of limited) {
      const most = atOnce(limit)
      const first = await post(url, name, 'token1')
      assert.equal(first.status, 200, name)
      assert.equal(first.headers.get('x-ratelimit-remaining'), `${most - 1}`, name)
      assert.match(first.headers.get('x-ratelimit-clear'), /^\d+(\.\d{1,3})?$/)
      assert.deepEqual([first.headers.get('retry-after'), first.headers.get('x-ratelimit-reset')], [null, null])
      assert.equal((await post(url, name, 'token2')).headers.get('x-ratelimit-remaining'), `${most * 2 - 1}`, name)
      assert.equal((await post(url, name, 'token3')).headers.get('retry-after'), null)
    }
    // Those of hours and days do not drip while they are filled.
    for (const name of ['i/update-email', 'i/export-notes', 'i/change-password']) {
      const most = atOnce(endpoints[name])
      for (let call = 1; call < most; call++) assert.equal((await post(url, name, 'token1')).status, 200)
      const { status, headers, body } = await post(url, name, 'token1')
      assert.equal(status, 429)
      const { info } = body.error
      assert.deepEqual([info.blocked, info.remaining], [true, 0])
      assert.equal(headers.get('x-ratelimit-remaining'), '0')
      assert.equal(headers.get('retry-after'), `${Math.ceil(info.resetMs / 1000)}`)
      assert.equal(headers.get('x-ratelimit-reset'), `${info.resetMs / 1000}`)
      assert.equal(headers.get('x-ratelimit-clear'), `${info.fullResetMs / 1000}`)
      assert.deepEqual([info.resetSec, info.fullResetSec].map(Number.isInteger), [true, true])
      assert.equal((await post(url, name, 'token3')).status, 200)
      // An address has entries of its own.
      assert.equal((await post(url, name)).status, 200)
    }
    assert.equal((await post(url, 'ping', 'token1')).headers.get('x-ratelimit-remaining'), null)
  })
}

test('on the keys of live nodes', async () => {
  const service = new RateLimiterService({ limiter: redis.url, layout: 'sharkey', namespace: 'example.com' })
  const limit = { key: 'notes/create', duration: 3_600_000, max: 300 }
  await service.limit(limit, { id: '9abc' })
  assert.equal(await redis.command('GET', 'example.com:rl_9abc_notes/create_c'), '$1\r\n1\r\n')
  assert.match(await redis.command('GET', 'example.com:rl_9abc_notes/create_t'), /^\$13\r\n\d{13}\r\n$/)
  await redis.command('SET', 'example.com:rl_9abc_notes/create_c', '100')
  assert.equal((await service.limit(limit, { id: '9abc' })).remaining, 199)
  await service.close()
  await assert.rejects(service.limit(limit, '9abc'), { code: 'ERR_STORE' })
})

test('a factor is looked up once for calls at the same time, and again when it is forgotten or failed', async () => {
  let asked = 0
  let answer = async () => 0.5
  const factor = () => {
    asked++
    return answer()
  }
  const limit = { key: 'k', size: 10 }
  const service = new RateLimiterService({ factor })
  const infos = await Promise.all([1, 2, 3].map(() => service.limit(limit, { id: 'ada' })))
  assert.deepEqual([asked, infos.map(({ remaining }) => remaining)], [1, [19, 18, 17]])
  answer = () => 1
  assert.equal((await service.limit(limit, { id: 'ada' })).remaining, 16)
  service.forgetFactors({ id: 'ada' })
  assert.equal((await service.limit(limit, { id: 'ada' })).quota, 10)
  answer = async () => {
    throw new Error('roles')
  }
  await assert.rejects(service.limit(limit, { id: 'bob' }), /roles/)
  answer = () => 1
  assert.equal((await service.limit(limit, { id: 'bob' })).remaining, 9)
  const always = new RateLimiterService({ factor, factorCacheMs: 0 })
  asked = 0
  for (let call = 0; call < 3; call++) await always.limit(limit, { id: 'ada' })
  assert.equal(asked, 3)
})

test('an address has the factor of no user, which is kept and forgotten like others', async () => {
  const asked = []
  let answer = 0.5
  const factor = (user) => {
    asked.push(user)
    return user === null ? answer : 1
  }
  const service = new RateLimiterService({ factor })
  const limit = { key: 'k', size: 10 }
  assert.equal((await service.limit(limit, '203.0.113.9')).remaining, 19)
  assert.equal((await service.limit(limit, '203.0.113.10')).remaining, 19)
  const user = { id: 'ada' }
  assert.equal((await service.limit(limit, user)).remaining, 9)
  assert.deepEqual(asked, [null, user])
  answer = 0
  service.forgetFactors(null)
  assert.equal((await service.limit(limit, '203.0.113.9')).remaining, Number.MAX_SAFE_INTEGER)
  assert.equal((await service.limit(limit, user)).remaining, 8)
  assert.deepEqual(asked, [null, user, null])
})

test('a factor that is none is asked for again, and addresses share theirs with no user', async () => {
  let answer = Number.NaN
  let asked = 0
  const limit = { key: 'k', size: 10 }
  for (const later of [false, true]) {
    const service = new RateLimiterService({
      factor: (user) => {
        asked++
        return later ? Promise.resolve(user && answer) : user && answer
      },
    })
    asked = 0
    for (answer of [Number.NaN, -1, Infinity, '2', 0.5, 2]) {
      const info = await service.limit(limit, { id: 'ada' }).catch(({ message }) => message)
      if (typeof answer === 'string' || !(answer > 0 && answer < 3)) assert.match(info, /^limit "k": factor must be/)
      else assert.equal(info.quota, 20)
    }
    assert.equal(asked, 5)
    answer = 0
    const unnamed = await service.limit(limit, { id: '' })
    const address = await service.limit(limit, '203.0.113.9')
    assert.deepEqual([unnamed.remaining, address.remaining], [Number.MAX_SAFE_INTEGER, 9])
  }
})

test('a factor that is given takes the place of the one that is looked up', async () => {
  let asked = 0
  const service = new RateLimiterService({ factor: () => ++asked })
  const limit = { key: 'k', size: 10 }
  assert.equal((await service.limit(limit, '203.0.113.9', 0.5)).quota, 20)
  assert.equal((await service.limit(limit, { id: 'ada' }, 0)).remaining, Number.MAX_SAFE_INTEGER)
  assert.equal(asked, 0)
  assert.equal((await service.limit(limit, { id: 'ada' }, undefined)).quota, 10)
  assert.equal(asked, 1)
  for (const factor of [-1, Number.NaN, '2', null, {}]) {
    await assert.rejects(service.limit(limit, 'ada', factor), { name: 'LimitError', field: 'factor' })
  }
})

test('disabled, or switched off for tests', async () => {
  const limit = { key: 'k', size: 1 }
  const service = new RateLimiterService({ disabled: true })
  for (let call = 0; call < 3; call++) {
    const info = await service.limit(limit, 'ada')
    assert.deepEqual([info.blocked, info.remaining, info.fullResetMs], [false, Number.MAX_SAFE_INTEGER, 0])
  }
  const enabled = new RateLimiterService()
  const switched = rateLimitsOff()
  try {
    for (let call = 0; call < 3; call++) assert.equal((await enabled.limit(limit, 'ada')).blocked, false)
  } finally {
    switched.restore()
  }
  await enabled.limit(limit, 'ada')
  assert.equal((await enabled.limit(limit, 'ada')).blocked, true)
})

test('two tests at the same time may switch the limits off', async () => {
  const service = new RateLimiterService()
  const isLimited = async () => (await service.limit({ key: 'k', size: 1 }, 'ada')).quota === 1
  const [one, other] = [rateLimitsOff(), rateLimitsOff()]
  one.restore()
  one.restore()
  assert.equal(await isLimited(), false)
  other.restore()
  assert.equal(await isLimited(), true)
})

test('mistakes are named', async () => {
  assert.throws(() => new RateLimiterService({ factors: 1 }), /factors is not an option of the service/)
  assert.throws(() => new RateLimiterService({ factor: 1 }), /factor must be a function of the user/)
  assert.throws(() => new RateLimiterService({ factorCacheMs: -1 }), /factorCacheMs must be at least 0/)
  assert.throws(() => new RateLimiterService({ limiter: 1 }), /limiter must be a Limiter or the URL of a store/)
  assert.throws(() => new RateLimiterService({ limiter: undefined }), /limiter must be a Limiter.*got undefined/)
  assert.throws(() => new RateLimiterService({ limiter: new Limiter(), layout: 'sharkey' }), /layout must be an option/)
  const service = new RateLimiterService()
  await assert.rejects(service.limit({ key: 'k', size: 1 }, {}), /actorOrUser must be a text or a user with an id/)
  await assert.rejects(service.limit({ key: 'k', size: 1 }, null), /actorOrUser must be a text or a user with an id/)
  await assert.rejects(service.limit({ key: 'k', max: 1 }, 'ada'), /limit "k": duration/)
  for (const options of [{}, { disabled: true }]) {
    await assert.rejects(
      new RateLimiterService(options).limit(null, 'ada'),
      /limit must be a limit with a key, got null/,
    )
  }
})

test('the same classes through require', () => {
  const required = createRequire(import.meta.url)('tidegate/sharkey')
  assert.equal(required.RateLimiterService, RateLimiterService)
  assert.equal(required.sendRateLimitHeaders, sendRateLimitHeaders)
})
