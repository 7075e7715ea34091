/** Where definitions come from beside objects: text, documents, functions; and what they say of themselves. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { bucket, explain, LimitError, Limiter, Limits, LimitsError, limitJsonSchema, parseLimit } from 'tidegate'

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
    ['\ud800', '1/s'],
    ['api', '1/s'.padEnd(1000)],
  ]) {
    assert.throws(() => parseLimit(key, text), LimitError, `${String(key)} ${text}`)
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
  const standing = await limiter.explain([door, { key: 'other', type: 'bucket', size: 5 }], 'ada', { now: 0 })
  assert.ok(standing.info.blocked && standing.info.key === 'door')
  assert.match(`${standing}`, /"door" would refuse this call/)
  assert.match(`${standing}`, /"other" would admit this call/)
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
