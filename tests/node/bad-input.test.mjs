/** Wrong arguments of every kind: the answer is an error that names what is wrong, and nothing is stored. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bucket,
  calendarWindow,
  decay,
  fixedWindow,
  LimitError,
  Limiter,
  legacy,
  StoreError,
  slidingCounter,
  slidingLog,
  slidingWindow,
  smooth,
  tokenBucket,
} from 'tidegate'

const thrown = () => {
  throw new Error('from a getter')
}

/** No number: wrong wherever one is asked for; `null` is as if nothing were given. */
const NOT_NUMBERS = {
  string: '1',
  'empty string': '',
  boolean: true,
  array: [1],
  object: { valueOf: () => 1 },
  function: () => 1,
  symbol: Symbol('1'),
  bigint: 1n,
}
/** Numbers that are out of bounds wherever a positive one is asked for. */
const BAD_NUMBERS = {
  NaN: Number.NaN,
  Infinity: Infinity,
  '-Infinity': -Infinity,
  negative: -1,
  'far negative': -(2 ** 60),
}
/** Arguments that JSON has no word for; the rest is in `refusals.test.mjs`, for all languages. */
const JAVASCRIPTS_OWN = {
  function: () => 1,
  symbol: Symbol('1'),
  bigint: 1n,
  object: { valueOf: () => 1 },
  NaN: Number.NaN,
}

const DEFINITIONS = {
  bucket: [bucket, { key: 'k', type: 'bucket', size: 10, dripRate: 1000, dripSize: 1 }],
  'token-bucket': [tokenBucket, { key: 'k', type: 'token-bucket', count: 10, period: 1000, burst: 5 }],
  'fixed-window': [fixedWindow, { key: 'k', type: 'fixed-window', max: 10, period: 1000 }],
  'sliding-window': [slidingWindow, { key: 'k', type: 'sliding-window', max: 10, period: 1000, resolution: 100 }],
  'sliding-counter': [slidingCounter, { key: 'k', type: 'sliding-counter', max: 10, period: 1000 }],
  'sliding-log': [slidingLog, { key: 'k', type: 'sliding-log', max: 10, period: 1000 }],
  decay: [decay, { key: 'k', type: 'decay', max: 10, decayFactor: 2, resolution: 1000 }],
  smooth: [smooth, { key: 'k', type: 'smooth', rate: 5 }],
  'calendar-window': [
    calendarWindow,
    { key: 'k', type: 'calendar-window', max: 10, unit: 'month', timeZone: 'Europe/Berlin' },
  ],
  legacy: [legacy, { key: 'k', max: 10, duration: 1000, minInterval: 10 }],
}
const NAMES = { bucket: 'factorScales', 'token-bucket': undefined, 'fixed-window': 'anchor', legacy: 'translation' }

const CALLS = ['limit', 'peek', 'charge', 'refund', 'acquire']

/** The error of a call that must fail, both at once and as a promise. */
async function errorOf(limiter, call, ...args) {
  let error
  assert.throws(
    () => limiter[`${call}Sync`](...args),
    (e) => {
      error = e
      return true
    },
  )
  await assert.rejects(limiter[call](...args), (e) => e.message === error.message)
  return error
}

function assertLimitError(error, { key, field, type }, about) {
  assert.ok(error instanceof LimitError, `${about}: ${error.stack}`)
  assert.ok(error instanceof (type ? TypeError : RangeError), `${about}: ${error}`)
  assert.equal(error.name, 'LimitError')
  assert.equal(error.code, 'ERR_LIMIT')
  assert.equal(error.key, key, about)
  assert.equal(error.field, field, about)
  assert.ok(error.message.startsWith(key ? `limit "${key}": ${field} ` : `${field} `), error.message)
  assert.equal(typeof error.value, 'string')
}

test('every bad value in every field of every type, in constructors and in every call', async () => {
  const limiter = new Limiter()
  for (const [type, [define, good]] of Object.entries(DEFINITIONS)) {
    limiter.peekSync(good, 'actor')
    for (const field of Object.keys(good).filter((name) => typeof good[name] === 'number')) {
      for (const [what, value] of Object.entries(JAVASCRIPTS_OWN)) {
        const definition = { ...good, [field]: value }
        const about = `${type}.${field} = ${what}`
        const expected = { key: 'k', field, type: what !== 'NaN' }
        const { type: _, ...fields } = definition
        assert.throws(
          () => define(fields),
          (error) => assertLimitError(error, expected, about) ?? true,
        )
        for (const call of CALLS) {
          assertLimitError(await errorOf(limiter, call, definition, 'actor', { now: 0 }), expected, `${call}, ${about}`)
        }
      }
    }
  }
  assert.equal(limiter.entries, 0)
})

test('what an upstream server cannot have said, and what it cannot raise', () => {
  const limiter = new Limiter()
  const [, good] = DEFINITIONS.bucket
  for (const [said, field] of [
    [{}, 'remaining'],
    [{ remaining: -1 }, 'remaining'],
    [{ remaining: 1.5 }, 'remaining'],
    [{ remaining: Number.NaN }, 'remaining'],
    [{ retryAfterMs: -1 }, 'retryAfterMs'],
    [{ retryAfterMs: '1' }, 'retryAfterMs'],
  ]) {
    const wrong = (error) => error instanceof LimitError && error.key === 'k' && error.field === field
    assert.throws(() => limiter.observeSync(good, 'ada', said), wrong, JSON.stringify(said))
  }
  for (const type of ['sliding-window', 'sliding-counter', 'sliding-log', 'decay', 'calendar-window']) {
    const [, definition] = DEFINITIONS[type]
    assert.throws(() => limiter.observeSync(definition, 'ada', { remaining: 1 }), { field: 'type', key: 'k' })
  }
  assert.equal(limiter.entries, 0)
})

test('a time that no block and no wait for a place can have', async () => {
  const limiter = new Limiter()
  const [, bucket] = DEFINITIONS.bucket
  const closing = { ...bucket, blockFor: 1000 }
  const exports = { key: 'k', type: 'concurrency', max: 1, lease: 1000 }
  for (const time of [-1, Number.NaN, Number.POSITIVE_INFINITY, 4e12, '1']) {
    assert.throws(() => limiter.blockSync(closing, 'ada', { forMs: time }), { key: 'k', field: 'forMs' }, String(time))
  }
  for (const wait of [-1, Number.NaN, Number.POSITIVE_INFINITY, '1']) {
    await assert.rejects(
      limiter.hold(exports, 'ada', { maxWaitMs: wait }),
      { key: 'k', field: 'maxWaitMs' },
      String(wait),
    )
  }
  assert.equal(limiter.entries, 0)
})

test('names, types and unknown fields', async () => {
  const limiter = new Limiter()
  for (const [type, [, good]] of Object.entries(DEFINITIONS)) {
    const cases = [
      [
        { ...good, [Symbol.iterator.description]: 1 },
        { key: 'k', field: 'Symbol.iterator', type: true },
      ],
      [
        { ...good, type: '\ud800' },
        { key: 'k', field: 'type', type: false },
      ],
      [
        { ...good, key: undefined },
        { key: '', field: 'key', type: true },
      ],
      [
        JSON.parse(`{ "__proto__": { "size": 1 }, ${JSON.stringify(good).slice(1)}`),
        { key: 'k', field: '__proto__', type: true },
      ],
    ]
    for (const key of ['k'.repeat(65_537), 'é'.repeat(32_769)]) {
      cases.push([
        { ...good, key },
        { field: 'key', type: false },
      ])
    }
    const name = NAMES[type]
    if (name) {
      cases.push([
        { ...good, [name]: '\udfff' },
        { key: 'k', field: name, type: false },
      ])
    }
    for (const [definition, expected] of cases) {
      for (const call of CALLS) {
        const error = await errorOf(limiter, call, definition, 'actor', { now: 0 })
        assertLimitError(error, { key: error.key, ...expected }, `${type} ${JSON.stringify(definition)}`)
      }
    }
  }
  assert.equal(limiter.entries, 0)
})

test('what is no definition at all', async () => {
  const limiter = new Limiter()
  for (const nothing of [undefined, null, 5, 'login', true, Symbol('s'), 1n, () => 1]) {
    for (const call of CALLS) {
      const error = await errorOf(limiter, call, nothing, 'actor', { now: 0 })
      assertLimitError(error, { key: '', field: 'definition', type: true }, String(nothing))
    }
    assert.throws(() => bucket(nothing), LimitError)
    assert.throws(() => limiter.resetSync(nothing, 'actor'), LimitError)
  }
  assert.throws(() => limiter.limitSync('5/minute', 'actor'), /must be an object; parseLimits\(key, text\) reads text/)
  // Inherited fields are not the object's own, so a polluted prototype changes nothing.
  assert.throws(
    () => limiter.limitSync(Object.create({ key: 'k', type: 'bucket', size: 1 }), 'actor'),
    /key must be given/,
  )
  assert.throws(() => bucket({ key: 'k', size: 1, type: 'fixed-window' }), /type must be "bucket"/)
  assert.throws(() => legacy({ key: 'k', type: 'bucket' }), /type must not be given/)
  assert.equal(limiter.entries, 0)
})

test('getters and proxies that throw', async () => {
  const limiter = new Limiter()
  const good = { key: 'k', type: 'bucket', size: 10 }
  const definition = {
    ...good,
    get size() {
      return thrown()
    },
  }
  const noKey = {
    type: 'bucket',
    size: 10,
    get key() {
      return thrown()
    },
  }
  const proxy = new Proxy({}, { ownKeys: thrown })
  for (const call of CALLS) {
    const error = await errorOf(limiter, call, definition, 'actor', { now: 0 })
    assertLimitError(error, { key: 'k', field: 'size', type: true }, call)
    assert.equal(error.cause.message, 'from a getter')
    assertLimitError(
      await errorOf(limiter, call, noKey, 'actor', { now: 0 }),
      { key: '', field: 'key', type: true },
      call,
    )
    assertLimitError(
      await errorOf(limiter, call, proxy, 'actor', { now: 0 }),
      { key: '', field: 'definition', type: true },
      call,
    )
    for (const option of ['cost', 'factor', 'now']) {
      const options = {
        now: 0,
        get [option]() {
          return thrown()
        },
      }
      assertLimitError(
        await errorOf(limiter, call, good, 'actor', options),
        { key: 'k', field: option, type: true },
        call,
      )
    }
    const error2 = await errorOf(limiter, call, good, 'actor', new Proxy({}, { ownKeys: thrown }))
    assertLimitError(error2, { key: 'k', field: 'options', type: true }, call)
  }
  for (const field of ['limit', 'actor', 'cost']) {
    const check = {
      limit: good,
      actor: 'actor',
      get [field]() {
        return thrown()
      },
    }
    assert.throws(
      () => limiter.limitAllSync([check]),
      (error) => error instanceof LimitError && error.field === field,
    )
  }
  assert.equal(limiter.entries, 0)
})

test('costs, factors, times and other options', async () => {
  const limiter = new Limiter()
  const good = bucket({ key: 'k', size: 10 })
  for (const call of CALLS) {
    const fields = call === 'acquire' ? ['cost', 'factor', 'now', 'maxWaitMs'] : ['cost', 'factor', 'now']
    for (const option of fields) {
      for (const [what, value] of Object.entries(NOT_NUMBERS)) {
        const error = await errorOf(limiter, call, good, 'actor', { now: 0, [option]: value })
        assertLimitError(error, { key: 'k', field: option, type: true }, `${call} ${option} = ${what}`)
      }
      const bad = {
        ...BAD_NUMBERS,
        ...(option === 'cost' ? { fraction: 0.5 } : {}),
        ...(option === 'factor' ? {} : { '1e300': 1e300 }),
      }
      for (const [what, value] of Object.entries(bad)) {
        const error = await errorOf(limiter, call, good, 'actor', { now: 0, [option]: value })
        assertLimitError(error, { key: 'k', field: option, type: false }, `${call} ${option} = ${what}`)
      }
    }
    for (const options of [null, 5, 'x', true, [], new Date(0), new Map()]) {
      const error = await errorOf(limiter, call, good, 'actor', options)
      assertLimitError(error, { key: 'k', field: 'options', type: true }, `${call} ${options}`)
    }
    assertLimitError(await errorOf(limiter, call, good, 'actor', { now: 0, costs: 5 }), {
      key: 'k',
      field: 'costs',
      type: true,
    })
    assertLimitError(await errorOf(limiter, call, good, 'actor', JSON.parse('{ "now": 0, "__proto__": 1 }')), {
      key: 'k',
      field: '__proto__',
      type: true,
    })
  }
  for (const cost of [11, 2 ** 53, 2 ** 53 + 2]) {
    for (const call of ['limit', 'peek', 'acquire']) {
      assertLimitError(await errorOf(limiter, call, good, 'actor', { cost, now: 0 }), {
        key: 'k',
        field: 'cost',
        type: false,
      })
    }
  }
  assertLimitError(await errorOf(limiter, 'charge', good, 'actor', { cost: 2 ** 53 }), {
    key: 'k',
    field: 'cost',
    type: false,
  })
  assert.throws(() => limiter.acquireSync(good, 'actor', {}), /now must be given/)
  assert.throws(() => limiter.acquireSync(good, 'actor'), /now must be given/)
  assert.throws(() => limiter.limitSync(good, 'actor', { signal: AbortSignal.abort() }), /signal is not an option/)
  await assert.rejects(limiter.acquire(good, 'actor', { signal: {} }), /signal must be an AbortSignal/)
  assert.equal(limiter.entries, 0)
})

test('actors that are no text', async () => {
  const limiter = new Limiter()
  const good = bucket({ key: 'k', size: 10 })
  const literal = { key: 'k', type: 'bucket', size: 10 }
  for (const limit of [good, literal, [good, literal]]) {
    for (const actor of [undefined, null, 5, true, {}, [], Symbol('a'), 1n, () => 1, { toString: () => 'a' }]) {
      for (const call of CALLS) {
        const error = await errorOf(limiter, call, limit, actor, { now: 0 })
        assertLimitError(error, { key: 'k', field: 'actor', type: true }, String(actor))
      }
      assert.throws(() => limiter.resetSync(limit, actor), /actor must be a string/)
    }
    for (const actor of ['a'.repeat(65_537), 'é'.repeat(32_769)]) {
      for (const call of CALLS) {
        const error = await errorOf(limiter, call, limit, actor, { now: 0 })
        assertLimitError(error, { key: 'k', field: 'actor', type: false }, call)
        assert.match(error.message, /actor must be at most 65536 bytes long, got \d+ bytes$/)
      }
      assert.throws(() => limiter.resetSync(limit, actor), /actor must be at most/)
    }
  }
  assert.equal(limiter.entries, 0)
})

test('decisions of several', async () => {
  const limiter = new Limiter()
  const good = { key: 'k', type: 'bucket', size: 10 }
  const charged = { limit: good, actor: 'charged' }
  for (const checks of [undefined, null, 5, 'x', {}, charged]) {
    assertLimitError(
      await errorOf(limiter, 'limitAll', checks),
      { key: '', field: 'checks', type: true },
      String(checks),
    )
  }
  const bad = [
    [null, 'check'],
    [5, 'check'],
    [{ actor: 'a' }, 'definition'],
    [{ limit: { ...good, size: 0 }, actor: 'a' }, 'size'],
    [{ limit: good }, 'actor'],
    [{ limit: good, actor: 'a'.repeat(65_537) }, 'actor'],
    [{ limit: good, actor: 'a', cost: -1 }, 'cost'],
    [{ limit: good, actor: 'a', cost: 11 }, 'cost'],
    [{ limit: good, actor: 'a', factor: Number.NaN }, 'factor'],
    [{ limit: good, actor: 'a', costs: 1 }, 'costs'],
  ]
  for (const [check, field] of bad) {
    for (const call of ['limitAll', 'peekAll']) {
      const error = await errorOf(limiter, call, [charged, check])
      assert.equal(error.field, field, String(error))
      assert.ok(error instanceof LimitError)
    }
  }
  assertLimitError(await errorOf(limiter, 'limitAll', [charged], { cost: 1 }), { key: 'k', field: 'cost', type: true })
  assertLimitError(await errorOf(limiter, 'limitAll', [charged], { now: -1 }), { key: 'k', field: 'now', type: false })
  assert.equal(limiter.entries, 0)
})

test('limiters', async () => {
  const cases = [
    ...['', 'redis', 'http://localhost', 'redis://', 'redis://a,b', 'redis+cluster://a/1', 'redis+sentinel://a'].map(
      (url) => [[url], 'url', RangeError],
    ),
    [['\ud800'], 'url', RangeError],
    [[5, {}], 'url', TypeError],
    [['redis://localhost', 5], 'options', TypeError],
    [['redis://localhost', { timeout: 1 }], 'timeout', TypeError],
    [['memory://', { timeoutMs: 0.5 }], 'timeoutMs', RangeError],
    [['memory://', { tls: { key: 'x' } }], 'tls.key', RangeError],
    ...[0, -1, 0.5, Number.NaN, Infinity, 3_600_001].map((timeoutMs) => [
      ['redis://localhost', { timeoutMs }],
      'timeoutMs',
      RangeError,
    ]),
    ...[-1, Number.NaN, Infinity, 3_600_001].map((denyCacheMs) => [
      ['redis://localhost', { denyCacheMs }],
      'denyCacheMs',
      RangeError,
    ]),
    ...[-1, 0.5, Number.NaN, Infinity, 2 ** 32].map((waitReplicas) => [
      ['redis://localhost', { waitReplicas }],
      'waitReplicas',
      RangeError,
    ]),
    ...['100', true, {}, 5n].flatMap((bad) =>
      ['timeoutMs', 'denyCacheMs', 'waitReplicas', 'maxEntries'].map((name) => [
        ['redis://localhost', { [name]: bad }],
        name,
        TypeError,
      ]),
    ),
    [['redis://localhost', { maxEntries: 0 }], 'maxEntries', RangeError],
    [['redis://localhost', { onError: 'open' }], 'onError', RangeError],
    [['redis://localhost', { onError: 5 }], 'onError', TypeError],
    [['redis://localhost', { strategy: 'locks' }], 'strategy', RangeError],
    [['redis://localhost', { strategy: 5 }], 'strategy', TypeError],
    [['redis://localhost', { layout: 'theirs' }], 'layout', RangeError],
    [['redis+cluster://localhost', { layout: 'sharkey' }], 'layout', RangeError],
    [['redis+cluster://localhost', { strategy: 'transactions' }], 'strategy', RangeError],
    [['redis://localhost', { namespace: 5 }], 'namespace', TypeError],
    [['rediss://localhost', { tls: 'ca' }], 'tls', TypeError],
    [['rediss://localhost', { tls: { pem: 'x' } }], 'tls.pem', TypeError],
    [['rediss://localhost', { tls: { ca: 5 } }], 'tls.ca', TypeError],
    [['rediss://localhost', { tls: { cert: 'x' } }], 'tls.cert', RangeError],
    [['rediss://localhost', { tls: { key: 'x' } }], 'tls.key', RangeError],
    [['rediss://localhost', { tls: { cert: 'not', key: 'PEM' } }], 'url', RangeError],
    [['redis://localhost', { tls: { ca: Buffer.from('no TLS') } }], 'url', RangeError],
    [['rediss://localhost', { tls: { rejectUnauthorized: 'no' } }], 'tls.rejectUnauthorized', TypeError],
    [['redis://localhost', { tls: { rejectUnauthorized: false } }], 'url', RangeError],
    [['redis://localhost', { password: 5 }], 'password', TypeError],
    [['redis://localhost', { url: 'redis://localhost' }], 'url', TypeError],
    ...[5, null, undefined].flatMap((url) => [
      [[url], 'url', TypeError],
      [[url, {}], 'url', TypeError],
      [[{ url }], 'url', TypeError],
    ]),
    [[{ timeoutMs: 0.5 }], 'timeoutMs', RangeError],
    [[{ onError: 'open' }], 'onError', RangeError],
    [[{ namespace: 5 }], 'namespace', TypeError],
    [[{ namespace: '\ud800' }], 'namespace', RangeError],
    [
      [
        {
          get namespace() {
            return thrown()
          },
        },
      ],
      'namespace',
      TypeError,
    ],
    ...[0, -1, 0.5, Number.NaN, Infinity, 2 ** 53].map((maxEntries) => [[{ maxEntries }], 'maxEntries', RangeError]),
    ...['5', true, {}, 5n].map((maxEntries) => [[{ maxEntries }], 'maxEntries', TypeError]),
  ]
  for (const [args, field, kind] of cases) {
    assert.throws(
      () => new Limiter(...args),
      (error) => error instanceof LimitError && error instanceof kind && error.field === field,
      field,
    )
  }
  assert.throws(() => Limiter(), TypeError)
  assert.throws(
    () => new Limiter('http://ada:secret@localhost'),
    (error) => error instanceof LimitError && !error.message.includes('secret') && !error.value.includes('secret'),
  )
})

test('a field is named as JavaScript spells it, and a key is left as it is', () => {
  const limit = bucket({ key: 'maxWait of inf', size: 1 })
  for (const [maxWaitMs, problem] of [
    [-1, 'must be at least 0, got -1'],
    [Infinity, 'must be at most 9007199254740, got Infinity'],
    ['1', 'must be a number, got "1"'],
    [true, 'must be a number, got true'],
  ]) {
    assert.throws(() => new Limiter().acquireSync(limit, 'ada', { now: 0, maxWaitMs }), {
      message: `limit "maxWait of inf": maxWaitMs ${problem}`,
      field: 'maxWaitMs',
    })
  }
})

test('listeners', () => {
  for (const limiter of [new Limiter(), new Limiter('redis://localhost')]) {
    for (const method of ['on', 'once', 'off']) {
      const refused = (kind, field) => (error) =>
        error instanceof LimitError && error instanceof kind && error.field === field
      assert.throws(() => limiter[method]('breakeropen', () => {}), refused(RangeError, 'name'))
      assert.throws(() => limiter[method](5, () => {}), refused(TypeError, 'name'))
      assert.throws(() => limiter[method]('failure', 'log'), refused(TypeError, 'listener'))
      assert.equal(
        limiter[method]('failure', () => {}),
        limiter,
      )
    }
  }
})

test('a closed limiter', async () => {
  const limiter = new Limiter()
  const good = { key: 'k', type: 'bucket', size: 10 }
  await limiter.close()
  await limiter.close()
  for (const call of CALLS) {
    const error = await errorOf(limiter, call, good, 'actor', { now: 0 })
    assert.ok(error instanceof StoreError && error.code === 'ERR_STORE', String(error))
    assert.match(error.message, /closed/)
  }
  assert.throws(() => limiter.limitAllSync([{ limit: good, actor: 'a' }]), StoreError)
  assert.throws(() => limiter.resetSync(good, 'actor'), StoreError)
  assert.throws(() => limiter.entries, StoreError)
  assert.throws(() => limiter.evictions, StoreError)
  assert.throws(() => limiter.overflowed, StoreError)
})
