/** Small things that people try first. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { bucket, LimitError, Limiter, LimitInfo, limitFrom, tokenBucket } from 'tidegate'
import { RedisServer } from './server.mjs'

const server = await RedisServer.start()
let names = 0
/** One limiter in memory and one over a store, with entries of their own. */
const both = () => [
  new Limiter(),
  new Limiter(server.url, { timeoutMs: 5000, onError: 'raise', namespace: `surface${names++}` }),
]
const refused = (kind, field) => (error) =>
  error instanceof LimitError && error instanceof kind && error.field === field

test('allowed is the opposite of blocked, in every answer and every part of one', async () => {
  const one = bucket({ key: 'one', size: 1 })
  for (const limiter of both()) {
    for (const expected of [true, false]) {
      const info = await limiter.limit([one, { key: 'ten', type: 'bucket', size: 10 }], 'ada')
      assert.deepEqual([info.allowed, info.blocked], [expected, !expected])
      assert.deepEqual(
        info.checks.map((check) => check.allowed === !check.blocked),
        [true, true],
      )
      const { checks, ...merged } = JSON.parse(JSON.stringify(info))
      assert.equal(merged.allowed, expected)
      assert.deepEqual(merged, { ...info, allowed: expected })
      assert.deepEqual(
        checks,
        info.checks.map((check) => ({ ...check, allowed: check.allowed })),
      )
    }
  }
})

test('a limiter has every method of that of Python, and each verb a twin that is answered at once', () => {
  const stub = readFileSync(new URL('../../python/tidegate/_tidegate.pyi', import.meta.url), 'utf8')
  const [, limiter] = stub.match(/^class Limiter:\n(.*?)^class /ms)
  const named = [...limiter.matchAll(/^ {4}def ([a-z]\w*)\(/gm)].map(([, name]) =>
    name.replace(/_./g, ([, l]) => l.toUpperCase()),
  )
  const methods = Reflect.ownKeys(Limiter.prototype)
  for (let of = Object.getPrototypeOf(Limiter); of.prototype; of = Object.getPrototypeOf(of))
    methods.push(...Reflect.ownKeys(of.prototype))
  for (const name of named) assert.ok(methods.includes(name), name)
  const apart = ['hold', 'stats', 'metrics', 'top', 'ping', 'clear', 'entries', 'evictions', 'overflowed', 'close']
  const verbs = new Set(named.filter((name) => !apart.includes(name)))
  const twins = methods.filter((name) => String(name).endsWith('Sync'))
  assert.deepEqual(twins.sort(), [...verbs].map((name) => `${name}Sync`).sort())
})

test('a limiter in memory counts its calls', () => {
  const limiter = new Limiter()
  const login = bucket({ key: 'login', size: 2 })
  for (let call = 0; call < 3; call++) limiter.limitSync(login, 'ada')
  limiter.limitSync([login, bucket({ key: 'api', size: 1 })], 'eve')
  limiter.peekSync(login, 'ada')
  assert.throws(() => limiter.limitSync(login, 'ada', { cost: 3 }), RangeError)
  const { decisions, admitted, blocked, failed, degraded, failures, latency } = limiter.stats()
  assert.deepEqual([decisions, admitted, blocked, failed, degraded], [6, 3, 2, 1, 0])
  assert.deepEqual([failures.timeout, latency.buckets], [0, []])
  assert.equal(new Limiter().stats().decisions, 0)
})

test('an option that does not exist is named as it was written, with the one that it may have meant', async () => {
  const limiter = new Limiter()
  const login = bucket({ key: 'login', size: 2 })
  await assert.rejects(limiter.acquire(login, 'ada', { maxWait: 5 }), {
    name: 'LimitError',
    field: 'maxWait',
    message: 'limit "login": maxWait is not an option of this call (did you mean maxWaitMs?), got 5',
  })
  assert.throws(
    () => new Limiter({ denyCache: 5 }),
    /denyCache is not an option of a limiter \(did you mean denyCacheMs\?\)/,
  )
  assert.throws(() => limiter.limitSync(login, 'ada', { signal: 5 }), /signal is not an option of this call, got 5/)
  await assert.rejects(limiter.acquire(login, 'ada', { maxWaitMs: -1 }), { field: 'maxWaitMs' })
})

test('an answer can be made for a test of what an app does with it', () => {
  const open = new LimitInfo()
  assert.ok(open instanceof LimitInfo && open.allowed && !open.degraded)
  assert.deepEqual([open.remaining, open.quota, open.resetMs, open.key], [2 ** 53 - 1, 2 ** 53 - 1, 0, ''])
  assert.deepEqual(open.checks, [open])

  const denied = new LimitInfo({
    blocked: true,
    resetMs: 1500,
    fullResetMs: 3000,
    key: 'login',
    quota: 5,
    degraded: true,
  })
  assert.deepEqual(
    [denied.allowed, denied.remaining, denied.resetSec, denied.fullResetSec, denied.degraded],
    [false, 0, 2, 3, true],
  )
  assert.deepEqual(denied.headers(), {
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Clear': '3',
    'X-RateLimit-Reset': '1.5',
    'Retry-After': '2',
  })
  assert.match(denied.headers('ietf').RateLimit, /^"login";r=0/)
  const several = new LimitInfo({ blocked: true, binding: 1, key: 'login', checks: [open, denied] })
  assert.equal(several.checks[1], denied)

  for (const [fields, kind, field] of [
    [{ blocks: true }, TypeError, 'blocks'],
    [{ blocked: 'yes' }, TypeError, 'blocked'],
    [{ remaining: '1' }, TypeError, 'remaining'],
    [{ resetMs: -1 }, RangeError, 'resetMs'],
    [{ resetMs: 0.5 }, RangeError, 'resetMs'],
    [5, TypeError, 'fields'],
    [null, TypeError, 'fields'],
  ]) {
    assert.throws(() => new LimitInfo(fields), refused(kind, field))
  }
  assert.throws(() => new Limiter().refundSync(denied), refused(RangeError, 'info'))
})

test('an answer cannot be made of what none has', () => {
  const one = new LimitInfo()
  for (const [fields, field] of [
    [{ remaining: 2 ** 53 + 2 }, 'remaining'],
    [{ resetMs: Infinity }, 'resetMs'],
    [{ quota: -1 }, 'quota'],
    [{ key: 'a\ud800' }, 'key'],
    [{ binding: 1 }, 'binding'],
    [{ binding: 2, checks: [one, one] }, 'binding'],
    [{ checks: [1] }, 'checks'],
    [{ checks: {} }, 'checks'],
    [{ checks: Buffer.from('a') }, 'checks'],
    [{ checks: one }, 'checks'],
  ]) {
    assert.throws(
      () => new LimitInfo(fields),
      (error) => error.code === 'ERR_LIMIT' && error.field === field,
    )
  }
})

test('options that would be lost are refused', () => {
  const { signal } = new AbortController()
  for (const lost of [Promise.resolve({}), new Map([['maxEntries', 5]]), new Limiter(), [], new Date(), signal]) {
    for (const args of [[lost], ['memory://', lost], ['rediss://localhost', { tls: lost }]]) {
      const refused = { name: 'LimitError', message: /^(options|tls) must be an object with options, got an / }
      assert.throws(() => new Limiter(...args), refused)
    }
  }
  class Settings {
    maxEntries = 5
  }
  for (const given of [{}, Object.create(null), new Settings()]) assert.equal(new Limiter(given).entries, 0)
})

test('an option that the class of an object has is refused, because it would be left out', () => {
  const settings = (name, value) => {
    class Settings {
      maxEntries = 5
    }
    Object.defineProperty(Settings.prototype, name, { get: () => value })
    return new Settings()
  }
  for (const [name, value] of [
    ['namespace', 'shop'],
    ['url', 'redis://localhost'],
    ['clock', () => 0],
    ['timeoutMs', 5],
  ]) {
    assert.throws(() => new Limiter(settings(name, value)), {
      name: 'LimitError',
      field: name,
      message: /of the object itself/,
    })
    assert.equal(new Limiter(settings(name, undefined)).entries, 0)
  }
  const limiter = new Limiter()
  const login = bucket({ key: 'login', size: 2 })
  class Options {
    get cost() {
      return 2
    }
  }
  assert.throws(() => limiter.limitSync(login, 'ada', new Options()), { field: 'cost', key: 'login' })
  assert.equal(limiter.peekSync(login, 'ada').remaining, 2)
  for (const missing of [[undefined], [{ url: undefined }], [null], [undefined, {}]]) {
    assert.throws(() => new Limiter(...missing), { field: 'url' })
  }
})

test('a limiter is closed at the end of its block, and more than once', async () => {
  const one = bucket({ key: 'one', size: 1 })
  for (const limiter of both()) {
    await limiter[Symbol.asyncDispose]()
    await limiter.close()
    limiter[Symbol.dispose]()
    await assert.rejects(limiter.limit(one, 'ada'), { code: 'ERR_STORE', failure: 'closed' })
  }
})

test('limits can be chosen later where the answer is a promise', async () => {
  const plans = {
    free: tokenBucket({ key: 'free', count: 1, period: 3_600_000 }),
    paid: tokenBucket({ key: 'paid', count: 100, period: 3_600_000 }),
  }
  const slow = async ({ plan }) => {
    await new Promise((done) => setTimeout(done, 1))
    return [plans[plan], { key: 'all', type: 'bucket', size: 1000 }]
  }
  const context = { plan: 'paid' }
  for (const limiter of both()) {
    assert.equal((await limiter.limit(slow, 'ada', { context })).remaining, 99)
    assert.equal((await limiter.limit([slow, plans.free], 'ada', { context })).remaining, 0)
    assert.equal((await limiter.peek(slow, 'ada', { context })).remaining, 98)
    assert.equal((await limiter.charge(slow, 'ada', { context })).remaining, 97)
    assert.equal((await limiter.refund(slow, 'ada', { context })).remaining, 98)
    assert.equal((await limiter.acquire(slow, 'ada', { context })).remaining, 97)
    assert.equal((await limiter.limitAll([{ limit: slow, actor: 'ada' }], { context })).remaining, 96)
    assert.equal((await limiter.peekAll([{ limit: slow, actor: 'ada' }], { context })).remaining, 96)
    assert.match(String(await limiter.explain(slow, 'ada', { context })), /paid/)
    await limiter.reset(slow, 'ada', { context })
    assert.equal((await limiter.peek(slow, 'ada', { context })).remaining, 100)
    const failing = () => Promise.reject(new Error('no such plan'))
    await assert.rejects(limiter.limit(failing, 'ada'), /no such plan/)
    await assert.rejects(
      limiter.limit(async () => ({ key: 'k', type: 'bucket', size: 0 }), 'ada'),
      LimitError,
    )
  }
  // A call that is answered at once cannot wait for it, and must not charge anything later either.
  const limiter = new Limiter()
  for (const call of ['limitSync', 'peekSync', 'chargeSync', 'refundSync', 'explainSync', 'resetSync']) {
    assert.throws(() => limiter[call](slow, 'ada', { context }), refused(TypeError, 'limit'), call)
    assert.throws(() => limiter[call](() => Promise.reject(new Error('unheard')), 'ada'), refused(TypeError, 'limit'))
  }
  assert.throws(() => limiter.limitAllSync([{ limit: slow, actor: 'ada' }], { context }), refused(TypeError, 'limit'))
  await new Promise((done) => setTimeout(done, 20))
  assert.equal(limiter.entries, 0)
})

test('null in an optional field is as if it were left out', async () => {
  const given = { key: 'k', type: 'bucket', size: 10, dripRate: null, dripSize: null, factorScales: null }
  for (const limit of [given, bucket(given), limitFrom(given)]) {
    for (const limiter of both()) {
      const info = await limiter.limit(limit, 'ada', { cost: null, factor: null, now: null })
      assert.deepEqual([info.remaining, info.nextMs], [9, 1000])
      const all = await limiter.limitAll([{ limit, actor: 'ada', cost: null, factor: null }])
      assert.equal(all.remaining, 8)
      assert.equal((await limiter.acquire(limit, 'ada', { maxWaitMs: null, signal: null })).remaining, 7)
    }
  }
  assert.deepEqual({ ...bucket(given) }, { key: 'k', type: 'bucket', size: 10 })
  assert.throws(() => bucket({ key: 'k', size: null }), refused(TypeError, 'size'))
  assert.equal(new Limiter({ maxEntries: null, namespace: null, clock: null }).entries, 0)
  assert.equal(new LimitInfo({ blocked: null, resetMs: null }).blocked, false)
})

test('an object that was read from somewhere becomes a limit, or says why not', () => {
  const limiter = new Limiter()
  assert.equal(limiter.limitSync(limitFrom({ key: 'k', max: 5, duration: 1000 }), 'ada').remaining, 4)
  const limit = limitFrom(JSON.parse('{ "key": "api", "type": "token-bucket", "count": 10, "period": 1000 }'))
  assert.equal(limitFrom(limit), limit)
  assert.equal(limiter.limitSync(limit, 'ada').remaining, 9)
  for (const [given, field] of [
    [undefined, 'definition'],
    [null, 'definition'],
    ['5/minute', 'definition'],
    [[limit], 'definition'],
    [{ key: 'k', type: 'buckets', size: 5 }, 'type'],
    [{ key: 'k', type: 'bucket', sizes: 5, size: 5 }, 'sizes'],
  ]) {
    assert.throws(
      () => limitFrom(given),
      (error) => error instanceof LimitError && error.field === field,
      String(given),
    )
  }
})

test('a URL that is not set is an error, not a store of its own', () => {
  for (const url of [undefined, null]) {
    assert.throws(() => new Limiter(url), refused(TypeError, 'url'))
    assert.throws(() => new Limiter(url, { namespace: 'shop' }), refused(TypeError, 'url'))
  }
  assert.equal(new Limiter().entries, 0)
})

test('errors speak the words of JavaScript', async () => {
  const limit = bucket({ key: 'k', size: 10 })
  const limiter = new Limiter()
  await assert.rejects(limiter.acquire(limit, 'ada', { maxWaitMs: -1 }), {
    field: 'maxWaitMs',
    message: 'limit "k": maxWaitMs must be at least 0, got -1',
  })
  assert.throws(() => limiter.limitSync(limit, 'ada', { factor: Infinity }), /got Infinity$/)
  assert.throws(() => limiter.limitSync(limit, 'ada', { now: -Infinity }), /got -Infinity$/)
  assert.throws(() => limiter.limitSync(limit, null), /actor must be a string, got null$/)
  assert.throws(() => limiter.limitSync(limit, true), /actor must be a string, got true$/)
  assert.throws(() => limiter.limitSync(limit, undefined), /actor must be a string, got undefined$/)
})

test('any string of up to 64 KiB is an actor', async () => {
  const limit = bucket({ key: 'k', size: 10 })
  const two = [limit, bucket({ key: 'k2', size: 10 })]
  const longest = 'a'.repeat(65_536)
  for (const limiter of both()) {
    for (const actor of ['', '\0', '\r\n', 'a:b{c}%', '😀', longest, 'é'.repeat(32_768), `${longest.slice(3)}\ufffd`]) {
      assert.equal((await limiter.limit(limit, actor)).remaining, 9)
      assert.equal((await limiter.limit(two, actor)).remaining, 8)
      assert.equal((await limiter.limitAll([{ limit, actor }])).remaining, 7)
      await limiter.reset(limit, actor)
    }
    // Different ones would share the entry of the replacement character, which is an actor like any other.
    for (const lone of ['\ud800', 'a\udc00b', `${'x'.repeat(100)}\ud83d`, '\udc00\ud800', 'é\ud83d']) {
      const literal = { key: 'k', type: 'bucket', size: 10 }
      const beside = { limit: two[1], actor: 'b' }
      const calls = [
        (verb, ...given) => limiter[verb](limit, lone, ...given),
        (verb) => limiter[verb](literal, lone),
        (verb) => limiter[verb](two, lone),
        (verb) => limiter[verb]([...two, literal], lone),
      ]
      const verbs = ['limit', 'peek', 'charge', 'refund', 'reset', 'acquire', 'explain']
      const each = verbs.flatMap((verb) => calls.map((call) => call(verb)))
      for (const verb of ['limitAll', 'peekAll', 'explainAll'].filter((verb) => verb in limiter)) {
        each.push(limiter[verb]([{ limit, actor: lone }]), limiter[verb]([beside, { limit, actor: lone }]))
        each.push(limiter[verb]([beside, beside, { limit, actor: lone, cost: 2 }]))
        each.push(limiter[verb](Array.from({ length: 20 }, () => ({ limit, actor: lone }))))
      }
      for (const call of each) {
        await assert.rejects(call, (error) => {
          assert.deepEqual([error.code, error.key, error.field], ['ERR_LIMIT', 'k', 'actor'], error.stack)
          const problem = 'must be well-formed, without lone surrogates, got a string with a lone surrogate'
          assert.equal(error.message, `limit "k": actor ${problem}`)
          return error instanceof RangeError
        })
      }
      assert.equal((await limiter.peek(limit, lone.toWellFormed())).remaining, 10)
    }
    for (const actor of [`${longest}a`, 'é'.repeat(32_769), 'x'.repeat(2 ** 20)]) {
      await assert.rejects(
        limiter.limit(limit, actor),
        /limit "k": actor must be at most 65536 bytes long, got \d+ bytes/,
      )
      await assert.rejects(limiter.limit(two, actor), refused(RangeError, 'actor'))
    }
  }
})
