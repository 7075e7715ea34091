/** Fake timers of test frameworks, and clocks that a test owns. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mock, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import FakeTimers from '@sinonjs/fake-timers'
import { bucket, LimitError, Limiter, tokenBucket } from 'tidegate'
import { Clock } from 'tidegate/testing'
import { answersAll, hears } from './fakes.mjs'
import { RedisServer } from './server.mjs'

const server = await RedisServer.start()
const root = fileURLToPath(new URL('../..', import.meta.url))
const shared = { timeoutMs: 5000, onError: 'raise' }
let names = 0
/** A limiter whose entries are nobody else's. */
const over = (options) => new Limiter(server.url, { ...shared, namespace: `timers${names++}`, ...options })

test('calls are answered, and events heard, under the fake timers of node:test', async () => {
  const limiters = [new Limiter(), over()]
  // To listen keeps no process alive.
  const alive = setInterval(() => {}, 1000)
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'], now: Date.UTC(2030, 0, 1) })
  try {
    await answersAll(limiters)
    await hears(new Limiter('redis://127.0.0.1:1'))
  } finally {
    mock.timers.reset()
    clearInterval(alive)
  }
  const limit = bucket({ key: 'afterwards', size: 10 })
  for (const limiter of limiters) assert.equal((await limiter.limit(limit, 'ada')).remaining, 9)
})

test('so they are under those of Jest and Vitest', async () => {
  // In a process of its own: all that these can replace is more than a test runner can do without.
  const script = `
    import { writeSync } from 'node:fs'
    import FakeTimers from '@sinonjs/fake-timers'
    import { bucket, Limiter } from 'tidegate'
    import { answersAll, hears } from './tests/node/fakes.mjs'
    const alive = setInterval(() => {}, 1000)
    const shared = new Limiter('${server.url}', { timeoutMs: 5000, onError: 'raise', namespace: 'sinon' })
    const clock = FakeTimers.install({ now: Date.UTC(2030, 0, 1) })
    await answersAll([new Limiter(), shared])
    await hears(new Limiter('redis://127.0.0.1:1'))
    clock.uninstall()
    clearInterval(alive)
    const { remaining } = await shared.limit(bucket({ key: 'afterwards', size: 10 }), 'ada')
    writeSync(1, 'and afterwards ' + remaining)
  `
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: 20_000 })
  assert.equal(stdout, 'and afterwards 9')
})

for (const [name, install] of Object.entries({
  'node:test': `
    import { mock } from 'node:test'
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'] })`,
  Sinon: `
    import FakeTimers from '@sinonjs/fake-timers'
    FakeTimers.install()`,
})) {
  test(`timers that ${name} faked before the package was loaded do not stop it`, async () => {
    const script = `
      ${install}
      const { Limiter } = await import('tidegate')
      const [memory, shared] = [new Limiter(), new Limiter('${server.url}', { timeoutMs: 5000, onError: 'raise' })]
      const many = { key: 'faked', type: 'bucket', size: 10_000, dripRate: 60_000 }
      for (let call = 0; call < 5000; call++) await memory.limit(many, 'ada')
      for (let turn = 0; turn < 3; turn++) await Promise.all(Array.from({ length: 9 }, () => shared.limit(many, '${name}')))
      const paced = { key: 'paced', type: 'bucket', size: 1, dripRate: 20 }
      for (let call = 0; call < 3; call++) await memory.acquire(paced, 'ada')
      const given = new AbortController()
      const acquired = memory.acquire({ ...paced, dripRate: 600_000 }, 'bob')
      const waits = memory.acquire({ ...paced, dripRate: 600_000 }, 'bob', { signal: given.signal })
      await acquired
      given.abort(new Error('given up'))
      const { message } = await waits.catch((error) => error)
      console.log((await shared.peek(many, '${name}')).remaining, message)
    `
    const args = ['--no-warnings', '--input-type=module', '--eval', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: 20_000 })
    assert.equal(stdout, '9973 given up\n')
  })
}

test('a clock that was faked before the package was loaded does not stop a wait', async () => {
  const script = `
    import FakeTimers from '@sinonjs/fake-timers'
    FakeTimers.install({ toFake: ['performance', 'hrtime', 'Date'] })
    const { Limiter } = await import('tidegate')
    const limiter = new Limiter()
    const paced = { key: 'paced', type: 'bucket', size: 1, dripRate: 20 }
    limiter.chargeSync(paced, 'ada')
    console.log((await limiter.acquire(paced, 'ada')).allowed)
  `
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: 20_000 })
  assert.equal(stdout, 'true\n')
})

const minute = tokenBucket({ key: 'minute', count: 1, period: 60_000 })

test('a clock that a test owns is the time of every call', async () => {
  for (const open of [(clock) => new Limiter({ clock }), (clock) => over({ clock })]) {
    const clock = new Clock()
    const limiter = open(clock)
    assert.equal((await limiter.limit(minute, 'ada')).blocked, false)
    const denied = await limiter.limit(minute, 'ada')
    assert.deepEqual([denied.blocked, denied.resetMs], [true, 60_000])
    clock.advance(59_999)
    assert.equal((await limiter.peek(minute, 'ada')).resetMs, 1)
    clock.advance(1)
    const info = await limiter.limit([minute, { ...minute, key: 'other' }], 'ada')
    assert.equal(info.blocked, false)
    clock.advance(30_000)
    assert.equal((await limiter.refund(info)).blocked, false)
    assert.match(String(await limiter.explain(minute, 'ada')), /would admit/)
    // A call that would wait for its turn returns the time to wait, as if `now` were given.
    await limiter.charge(minute, 'ada')
    const turn = await limiter.acquire(minute, 'ada')
    assert.deepEqual([turn.blocked, turn.waitMs], [false, 60_000])
    assert.equal((await limiter.acquire(minute, 'ada', { maxWaitMs: 1000 })).blocked, true)
    // An instant that is given wins.
    assert.equal((await limiter.limit(minute, 'eve', { now: clock.now() + 1000 })).blocked, false)
    assert.equal((await limiter.peek(minute, 'eve')).resetMs, 61_000)
    assert.equal((await limiter.limitAll([{ limit: minute, actor: 'cy' }])).blocked, false)
    assert.equal((await limiter.peekAll([{ limit: minute, actor: 'cy' }])).resetMs, 60_000)
    await limiter.reset(minute, 'cy')
    assert.equal((await limiter.peek(minute, 'cy')).blocked, false)
  }
})

test('a clock is a function, or an object with now()', async () => {
  const memory = new Limiter('memory://', { clock: () => 1_000_000 })
  assert.equal(memory.limitSync(minute, 'ada').blocked, false)
  assert.equal(memory.limitSync(minute, 'ada').resetMs, 60_000)
  assert.equal(memory.acquireSync(minute, 'ada').waitMs, 60_000)

  const fake = FakeTimers.createClock(Date.UTC(2030, 0, 1))
  for (const clock of [fake.Date.now, { now: () => fake.Date.now() }]) {
    const limiter = new Limiter({ clock, maxEntries: 10 })
    limiter.limitSync(minute, 'ada')
    assert.equal(limiter.limitSync(minute, 'ada').blocked, true)
    fake.tick(60_000)
    assert.equal(limiter.limitSync(minute, 'ada').blocked, false)
  }

  mock.timers.enable({ apis: ['Date'], now: 0 })
  try {
    const limiter = new Limiter({ clock: () => Date.now() })
    limiter.limitSync(minute, 'ada')
    mock.timers.tick(59_999)
    assert.equal(limiter.limitSync(minute, 'ada').resetMs, 1)
  } finally {
    mock.timers.reset()
  }
})

test('a clock that is none', async () => {
  const refused = (kind, field) => (error) =>
    error instanceof LimitError && error instanceof kind && error.field === field
  for (const clock of [5, 'now', {}, { now: 5 }, true]) {
    assert.throws(() => new Limiter({ clock }), refused(TypeError, 'clock'))
    assert.throws(() => new Limiter(server.url, { clock }), refused(TypeError, 'clock'))
  }
  for (const clock of [null, undefined]) assert.equal(new Limiter({ clock }).limitSync(minute, 'ada').blocked, false)
  for (const told of [undefined, '5', new Date(), 5n]) {
    const limiter = new Limiter({ clock: () => told })
    assert.throws(() => limiter.limitSync(minute, 'ada'), refused(TypeError, 'clock'))
    await assert.rejects(limiter.limit(minute, 'ada'), refused(TypeError, 'clock'))
    await assert.rejects(over({ clock: () => told }).limit(minute, 'ada'), refused(TypeError, 'clock'))
    assert.equal(limiter.entries, 0)
  }
  for (const told of [-1, Number.NaN, Infinity]) {
    assert.throws(() => new Limiter({ clock: () => told }).limitSync(minute, 'ada'), refused(RangeError, 'clock'))
  }
})

test('the clock for tests', () => {
  assert.equal(new Clock().now(), Date.UTC(2024, 0, 1))
  assert.equal(new Clock(5).advance(2.5).now(), 7.5)
  assert.equal(new Clock(new Date(7)).set(3).now(), 3)
  for (const bad of ['5', null, {}, 5n]) {
    assert.throws(() => new Clock(bad), TypeError)
    assert.throws(() => new Clock().advance(bad), TypeError)
  }
  for (const bad of [-1, Number.NaN, Infinity]) {
    assert.throws(() => new Clock(bad), RangeError)
    assert.throws(() => new Clock().advance(bad), RangeError)
    assert.throws(() => new Clock().set(bad), RangeError)
  }
})
