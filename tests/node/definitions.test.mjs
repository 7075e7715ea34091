/** Definitions that are not objects: text, documents, functions; and what definitions say of themselves. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import {
  bucket,
  explain,
  LimitError,
  Limiter,
  Limits,
  LimitsError,
  legacy,
  limitFrom,
  limitJsonSchema,
  parseLimit,
  parseLimits,
} from 'tidegate'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-limits-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('limits as text', () => {
  assert.equal(new Limiter().limitSync(parseLimit('api', '100/minute burst 20'), 'ada').quota, 20)
  for (const [key, text] of [
    ['api', '10/fortnight'],
    ['', '10/s'],
    ['api', undefined],
    [5, '10/s'],
    ['api', '\ud800/s'],
    ['api', '1/s'.padEnd(1000)],
  ]) {
    assert.throws(() => parseLimit(key, text), LimitError, `${String(key)} ${text}`)
  }
})

test('a type may follow', () => {
  const day = 86_400_000
  assert.deepEqual(
    { ...parseLimit('k', '5/month sliding-window') },
    { key: 'k', type: 'sliding-window', max: 5, period: 30 * day, resolution: 3 * day, countBlocked: false },
  )
  assert.deepEqual(
    { ...parseLimit('k', '5/year fixed-window') },
    { key: 'k', type: 'fixed-window', max: 5, period: 365 * day, anchor: 'epoch' },
  )
})

test('a list of limits as text', () => {
  const limits = parseLimits('api', '100/minute; 10/second')
  assert.deepEqual(limits, [parseLimit('api@1m', '100/minute'), parseLimit('api@1s', '10/second')])
  const limiter = new Limiter()
  const info = limiter.limitSync(limits, 'ada', { cost: 10, now: 0 })
  assert.deepEqual([info.remaining, info.key, info.checks[0].remaining], [0, 'api@1s', 90])
  assert.deepEqual(parseLimits('api', '100/minute'), [parseLimit('api', '100/minute')])
  for (const [key, text] of [
    ['api', '1/m; 2/60s'],
    ['api', '1/m;'],
    ['', '1/m; 1/s'],
    ['api', undefined],
  ]) {
    assert.throws(() => parseLimits(key, text), LimitError, text)
  }
  assert.throws(
    () => parseLimit('api', '100/m; 10/s'),
    /one limit alone, with nothing more, at character 6, got "; 10\/s"/,
  )
})

test('no limits are not unlimited', async () => {
  const limiter = new Limiter()
  const refused = { name: 'LimitError', field: 'limits', message: 'limits must not be empty, got none' }
  for (const call of [
    () => limiter.limitSync([], 'ada'),
    () => limiter.peekSync([], 'ada'),
    () => limiter.limitSync(() => [], 'ada'),
    () => limiter.acquireSync([], 'ada', { now: 0 }),
  ]) {
    assert.throws(call, refused)
  }
  await assert.rejects(async () => limiter.limitAll([]), refused)
})

test('a number is read to its last digit', () => {
  const literal = { key: 'score', type: 'decay', max: 5, decayFactor: 1.1040895136738123, resolution: 1000 }
  const written = Limits.fromText(JSON.stringify({ score: literal }), 'json').get('score')
  assert.equal(written.decayFactor, literal.decayFactor)
  const limiter = new Limiter()
  limiter.chargeSync(literal, 'ada', { cost: 9, now: 0 })
  const resets = [literal, written].map((limit) => limiter.limitSync(limit, 'ada', { now: 0 }).resetMs)
  assert.equal(resets[0], resets[1])
})

test('limits from an object', () => {
  const login = bucket({ key: 'auth', size: 10 })
  const named = { api: '100/minute', login, door: { type: 'bucket', size: 5, dripRate: undefined } }
  for (const limits of [Limits.fromObject(named), Limits.fromObject({ $schema: 'limits.json', limits: named })]) {
    assert.deepEqual([...limits.keys()], ['api', 'login', 'door'])
    assert.equal(limits.get('login').key, 'auth')
    const limiter = new Limiter()
    for (const [name, remaining] of [
      ['api', 99],
      ['login', 9],
      ['door', 4],
    ]) {
      assert.equal(limiter.limitSync(limits.get(name), 'ada').remaining, remaining)
    }
  }
  assert.equal(Limits.fromObject({}).size, Limits.fromText('', 'yaml').size)
  assert.equal(Limits.fromObject({ open: legacy({ key: 'open' }) }).size, 1, 'in code it is said on purpose')
  const endless = {}
  endless.a = endless
  const faults = {
    login: {},
    a: endless,
    b: '10/fortnight',
    c: [],
    d: null,
    e: { type: 'bucket', size: Number.NaN },
    f: { key: 'api', type: 'bucket', size: 1 },
    api: '1/s',
  }
  assert.throws(
    () => Limits.fromObject(faults),
    (error) => {
      assert.deepEqual(
        error.errors.map((fault) => fault.path),
        ['login', 'a.a', 'b', 'c', 'd', 'e.size', 'api'],
      )
      assert.equal(error.errors.at(-1).message, 'has the same key as f, "api"')
      return error instanceof LimitsError
    },
  )
  // A parser of YAML may give a Map: its limits are no names of an object.
  const map = new Map([['api', '1/s']])
  for (const document of [undefined, null, 5, [], () => {}, map, Limits.fromObject({ api: '1/s' })]) {
    assert.throws(() => Limits.fromObject(document), /must be a table of named limits/)
  }
  for (const document of [{ limits: map }, { limits: { api: map } }, { api: '1/s', overrides: map }]) {
    assert.throws(() => Limits.fromObject(document), /must be text or a table, got an object/)
  }
  assert.equal(Limits.fromObject(Object.assign(Object.create(null), { api: '1/s' })).size, 1)
  // A variable that is not set is no decision to limit nothing.
  const unset = { api: '1/s', login: undefined }
  for (const [document, path] of [
    [unset, 'login'],
    [{ limits: unset }, 'limits.login'],
    [{ limits: { overrides: undefined } }, 'limits.overrides'],
    [{ limits: undefined }, 'limits'],
  ]) {
    assert.throws(
      () => Limits.fromObject(document),
      (error) => {
        return (
          error instanceof LimitsError && error.message === `limits: ${path}: must be text or a table, got undefined`
        )
      },
    )
  }
  assert.equal(Limits.fromObject({ limits: { api: '1/s' }, overrides: undefined }).size, 1)
  const trap = {
    get login() {
      throw new Error('no')
    },
  }
  assert.throws(() => Limits.fromObject(trap), LimitError)
})

test('any text is a key', () => {
  const limiter = new Limiter()
  for (const key of ['/files/naïve plan.txt', 'a\r\nSet-Cookie: b', '🔑', '%', 'k'.repeat(65_536)]) {
    const info = limiter.limitSync(bucket({ key, size: 2 }), 'ada', { now: 0 })
    assert.deepEqual([info.remaining, info.key], [1, key])
    for (const value of Object.values(info.headers('both'))) assert.match(value, /^[ -~]{1,200}$/)
  }
  assert.equal(parseLimit('/files/\ufffd', '1/s').key, '/files/\ufffd')
  const malformed = /^key must be well-formed, without lone surrogates, got a string with a lone surrogate$/
  for (const key of ['/files/\ud800', '\udc00!']) {
    const refuse = [
      () => parseLimit(key, '1/s'),
      () => parseLimits(key, '1/s; 2/m'),
      () => bucket({ key, size: 1 }),
      () => limitFrom({ key, type: 'bucket', size: 1 }),
      () => limiter.limitSync({ key, type: 'bucket', size: 1 }, 'ada'),
      () => limiter.peekSync([bucket({ key: 'k', size: 1 }), { key, type: 'bucket', size: 1 }], 'ada'),
    ]
    for (const call of refuse) {
      assert.throws(call, (error) => {
        assert.deepEqual([error.code, error.field, error.key], ['ERR_LIMIT', 'key', ''], error.message)
        assert.match(error.message, malformed)
        return error instanceof RangeError
      })
    }
    assert.throws(() => Limits.fromObject({ [key]: '1/s' }), /limits must have well-formed names/)
    assert.throws(
      () => Limits.fromObject({ limits: { a: { type: 'bucket', size: 1, key } } }),
      /key must be well-formed/,
    )
    assert.throws(() => Limits.fromObject({ login: key }), /must be well-formed, without lone surrogates/)
    assert.throws(() => new Limiter({ namespace: key }), /namespace must be well-formed/)
    assert.throws(() => new Limiter(`redis://127.0.0.1:1/${key}`), /url must be well-formed/)
  }
  assert.equal(limiter.entries, 5)
  const odd = limiter.limitSync({ key: 'ï\n', type: 'bucket', size: 1 }, 'ada', { now: 0 })
  assert.equal(odd.headers('ietf').RateLimit, '"%C3%AF%0A";r=0;t=1')
  for (const key of ['', 'k'.repeat(65_537)]) {
    assert.throws(
      () => bucket({ key, size: 1 }),
      (error) => error.field === 'key' && error.message.length < 300,
    )
  }
})

test('limits from files of every format, by path and by URL', () => {
  const documents = {
    json: '{ "limits": { "api": "100/minute", "login": { "type": "bucket", "size": 10 } } }',
    toml: 'api = "100/minute"\nlogin = { type = "bucket", size = 10 }',
    yaml: 'api: 100/minute\nlogin: { type: bucket, size: 10 }',
  }
  for (const [format, text] of Object.entries(documents)) {
    const path = join(folder, `limits.${format}`)
    writeFileSync(path, text)
    for (const limits of [Limits.load(path), Limits.load(pathToFileURL(path)), Limits.fromText(text, format)]) {
      assert.equal(limits.size, 2)
      assert.deepEqual([...limits.keys()], ['api', 'login'])
      assert.deepEqual(
        [...limits.values()].map((limit) => limit.key),
        ['api', 'login'],
      )
      assert.deepEqual([...limits], [...limits.entries()])
      assert.ok(limits.has('login') && !limits.has('toString'))
      assert.equal(limits.get('logout'), undefined)
      assert.equal(new Limiter().limitSync(limits.get('login'), 'ada').remaining, 9)
    }
  }
})

test('everything that is wrong with a document, at once', () => {
  const faults = (read) => {
    let caught
    assert.throws(read, (error) => {
      caught = error
      return error instanceof LimitsError && error.name === 'LimitsError' && error.code === 'ERR_LIMITS'
    })
    for (const { message } of caught.errors) assert.ok(caught.message.includes(message), caught.message)
    return caught.errors
  }
  const two = faults(() =>
    Limits.fromText('{ "login": { "type": "bucket", "size": 0, "color": 1 }, "api": 5 }', 'json'),
  )
  assert.deepEqual(
    two.map((fault) => fault.path),
    ['login.color', 'login.size', 'api'],
  )
  const [{ line, column }] = faults(() => Limits.fromText('{\n  "a": }', 'json'))
  assert.deepEqual([line, column], [2, 8])
  assert.equal(faults(() => Limits.load(join(folder, 'none.json'))).length, 1)
  assert.equal(faults(() => Limits.load(join(folder, 'limits.ini'))).length, 1)
  assert.equal(faults(() => Limits.load('a\0b.json')).length, 1)
  for (const read of [() => Limits.load(5), () => Limits.fromText('a', 'ini'), () => Limits.fromText(null, 'json')]) {
    assert.throws(read, LimitError)
  }
})

test('what a definition allows, in numbers and in words', () => {
  const explanation = explain({ key: 'notes', max: 700, duration: 1000 })
  assert.equal(explanation.type, 'legacy')
  assert.ok(explanation.translated.deviation > 0.4)
  assert.match(`${explanation}`, /700 per second were asked for/)
  assert.deepEqual(Object.keys(explanation), ['key', 'type', 'factor', 'allowances', 'translated'])
  assert.deepEqual(explain({ key: 'k', type: 'bucket', size: 1 }, { factor: 0 }).allowances, [])
  assert.throws(() => explain({ key: 'k', type: 'bucket', size: 1 }, { factor: -1 }), LimitError)
  assert.throws(() => explain({ key: 'k', type: 'bucket', size: 1 }, { cost: 1 }), LimitError)
})

test('why a call is answered as it is', async () => {
  const limiter = new Limiter()
  const door = bucket({ key: 'door', size: 1 })
  limiter.limitSync(door, 'ada', { now: 0 })
  const explanation = await limiter.explain([door, { key: 'other', type: 'bucket', size: 5 }], 'ada', { now: 0 })
  assert.ok(explanation.info.blocked && explanation.info.key === 'door')
  assert.match(`${explanation}`, /"door" would refuse this call/)
  assert.match(`${explanation}`, /"other" would admit this call/)
  assert.equal(limiter.entries, 1)
})

test('the schema has every type', () => {
  const { $defs } = limitJsonSchema()
  assert.ok($defs.bucket && $defs.smooth && $defs.limits)
})

const plans = {
  free: bucket({ key: 'free', size: 2 }),
  paid: [
    { key: 'paid', type: 'bucket', size: 100 },
    { key: 'day', type: 'fixed-window', max: 1000, period: 86_400_000 },
  ],
}
const byPlan = (context) => plans[context.plan]

test('every verb takes a function of the context', async () => {
  const limiter = new Limiter()
  const free = { context: { plan: 'free' }, now: 0 }
  const paid = { context: { plan: 'paid' }, now: 0 }
  assert.equal(limiter.limitSync(byPlan, 'ada', free).remaining, 1)
  assert.equal((await limiter.limit(byPlan, 'ada', paid)).checks.length, 2)
  assert.equal(limiter.peekSync([byPlan, plans.free], 'ada', paid).checks.length, 3)
  assert.equal(limiter.chargeSync(byPlan, 'ada', { ...free, cost: 1 }).remaining, 0)
  assert.equal(limiter.refundSync(byPlan, 'ada', { ...free, cost: 1 }).remaining, 1)
  assert.equal(limiter.acquireSync(byPlan, 'ada', free).remaining, 0)
  assert.equal((await limiter.acquire(byPlan, 'eve', { context: { plan: 'free' } })).remaining, 1)
  assert.equal(limiter.explainSync(byPlan, 'ada', free).info.remaining, 0)
  assert.equal(explain(byPlan, { context: { plan: 'free' } }).key, 'free')
  const all = limiter.limitAllSync(
    [
      { limit: byPlan, actor: 'ada' },
      { limit: plans.free, actor: 'bob' },
    ],
    paid,
  )
  assert.deepEqual(
    all.checks.map((check) => check.key),
    ['paid', 'day', 'free'],
  )
  limiter.resetSync(byPlan, 'ada', { context: { plan: 'free' } })
  const info = limiter.limitSync(byPlan, 'ada', free)
  assert.equal(info.remaining, 1)
  assert.equal(limiter.refundSync(info, { now: 0 }).remaining, 2)
})

test('a promise of a limit that rejects after the next function has thrown is left alone', async () => {
  const unhandled = []
  const note = (reason) => unhandled.push(reason)
  process.on('unhandledRejection', note)
  const limiter = new Limiter()
  const own = new Error('no plan')
  const rejecting = async () => {
    throw new Error('nobody waits for this')
  }
  const throwing = () => {
    throw own
  }
  const isOwn = (error) => error === own
  await assert.rejects(limiter.limit([rejecting, throwing], 'ada'), isOwn)
  const checks = [rejecting, throwing].map((limit) => ({ limit, actor: 'ada' }))
  await assert.rejects(limiter.limitAll(checks), isOwn)
  await assert.rejects(limiter.limitAll([checks[0], 'no check']), LimitError)
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  assert.deepEqual(unhandled, [])
})

test('a function that throws, or says nothing that is a limit', () => {
  const limiter = new Limiter()
  const own = new Error('no plan')
  const throwing = () => {
    throw own
  }
  assert.throws(
    () => limiter.limitSync(throwing, 'ada'),
    (error) => error === own,
  )
  for (const choice of [() => undefined, () => byPlan, () => ({ key: 'k', type: 'buckets' }), async () => plans.free]) {
    assert.throws(() => limiter.limitSync(choice, 'ada'), LimitError)
  }
  assert.throws(() => explain(byPlan, { context: { plan: 'paid' } }), LimitError)
  assert.equal(limiter.entries, 0)
})
