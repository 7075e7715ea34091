/** Objects that JavaScript holds numbers of: the number of one that was given up never stands for a later one. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bucket, LimitError, Limiter, StoreError } from 'tidegate'
import { RedisServer } from './server.mjs'

const server = await RedisServer.start()
const root = fileURLToPath(new URL('../..', import.meta.url))
const require = createRequire(import.meta.url)
const { native } = require('../../node/dist/native/native.js')
const { replyQueue } = require('../../node/dist/limiter/queue.js')
/** The number of a limiter of the engine's, with nothing around it. */
const made = () => native.makeLimiter(replyQueue(), 0, 'memory://', [], [])

/** Runs a script that ends by itself; its output. */
async function run(script) {
  const args = ['--expose-gc', '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: 60_000 })
  return stdout
}

test('a limiter that is closed and then collected leaves the one alone that was made next', async () => {
  for (const where of ['', `'${server.url}'`]) {
    const out = await run(`
      import { bucket, Limiter } from 'tidegate'
      const limit = bucket({ key: 'k', size: 100, dripRate: 60000 })
      const settle = async () => {
        for (let turn = 0; turn < 5; turn++) {
          gc()
          await new Promise((done) => setTimeout(done, 10))
        }
      }
      let first = new Limiter(${where})
      await first.close()
      const second = new Limiter(${where})
      first = undefined
      await settle()
      const third = new Limiter('memory://', { namespace: 'third' })
      await third.charge(limit, 'ada', { cost: 100 })
      const { blocked } = await second.limit(limit, 'only-' + Math.random())
      process.stdout.write(String(blocked))
    `)
    assert.equal(out, 'false')
  }
})

test('10,000 limiters are closed and collected while others are at work', async () => {
  const out = await run(`
    import { bucket, Limiter } from 'tidegate'
    const limit = bucket({ key: 'k', size: 8e5, dripRate: 3_600_000 })
    const url = '${server.url}'
    const shared = { timeoutMs: 60_000, onError: 'raise' }
    // Each counts in a store of its own, so an answer from another one is seen.
    const workers = [
      ...Array.from({ length: 4 }, () => new Limiter()),
      ...Array.from({ length: 4 }, (_, n) => new Limiter(url, { ...shared, namespace: 'worker' + process.pid + n })),
    ]
    const wrong = []
    let calls = 0
    let over = false
    const work = async (limiter, n) => {
      for (let count = 1; !over; count++) {
        const info = await limiter.limit(limit, 'actor')
        calls++
        if (info.blocked || info.degraded || info.remaining !== 8e5 - count) wrong.push([n, count, info.remaining])
        await new Promise((next) => setImmediate(next))
      }
    }
    const working = workers.map((limiter, n) => work(limiter, n).catch((error) => wrong.push([n, error.message])))
    let collected = 0
    const registry = new FinalizationRegistry(() => collected++)
    const churn = () => {
      for (let count = 0; count < 100; count++) {
        const limiter = count === 0 ? new Limiter(url, shared) : new Limiter()
        registry.register(limiter)
        if (count > 0) limiter.limitSync(limit, 'actor')
        // Most are closed and then collected, some are collected alone.
        if (count % 8) limiter.close()
      }
    }
    for (let round = 0; round < 100; round++) {
      churn()
      if (round % 5 === 0) gc()
      await new Promise((next) => setImmediate(next))
    }
    // On a busy machine, until they have worked.
    for (let turn = 0; turn < 5 || calls <= 1000; turn++) {
      gc()
      await new Promise((done) => setTimeout(done, 10))
    }
    over = true
    await Promise.all(working)
    process.stdout.write(JSON.stringify({ wrong: wrong.slice(0, 3), collected, worked: calls > 1000 }))
  `)
  const { wrong, collected, worked } = JSON.parse(out)
  assert.deepEqual(wrong, [])
  assert.ok(collected > 9000, `${collected} collected`)
  assert.ok(worked)
})

test('a number that was given up stands for nothing, however often its place is used again', () => {
  const old = made()
  assert.equal(typeof old, 'number')
  native.freeLimiter(old)
  for (let round = 0; round < 1000; round++) {
    const next = made()
    assert.notEqual(next, old)
    assert.equal(native.entries(old).kind, 'closed')
    native.freeLimiter(old)
    assert.equal(native.entries(next), 0)
    native.freeLimiter(next)
  }
  for (const nothing of [0, -1, 1, Number.NaN, Infinity, 2 ** 53]) {
    native.freeLimiter(nothing)
    assert.equal(native.entries(nothing).kind, 'closed')
  }
})

test('so with the numbers of limits, of those who wait and of their turns', () => {
  const define = (size) => native.makeLimit(['key', 'type', 'size'], ['k', 'bucket', size])
  const old = define(1)
  native.freeLimit(old)
  const next = define(2)
  native.freeLimit(old)
  assert.notEqual(next, old)
  assert.equal(native.explainLimit(old, 1).kind, 'internal')
  assert.equal(JSON.parse(native.explainLimit(next, 1).json).allowances[0].burst, 2)

  const limiter = made()
  const buffer = new Float64Array(64)
  buffer.set([limiter, 5], 0)
  buffer.set([next, 1, 1], 12)
  const before = native.startSteps(buffer, ['ada'])
  native.freeSteps(before)
  buffer.set([limiter, 5], 0)
  buffer.set([next, 1, 1], 12)
  const after = native.startSteps(buffer, ['ada'])
  assert.notEqual(after, before)
  native.freeSteps(before)
  assert.equal(native.nextStep(before, buffer).kind, 'internal')
  assert.equal(native.nextStep(after, buffer), -1)
  assert.equal(native.nextStep(after, buffer).kind, 'internal')
  native.freeAcquire(before)
  assert.equal(native.cancelAcquire(1, before), false)
  native.freeLimit(next)
  native.freeLimiter(limiter)
})

test('what one limiter answered is no receipt of another, however often its number comes again', async () => {
  const limit = bucket({ key: 'k', size: 10 })
  for (const open of [() => new Limiter(), () => new Limiter(server.url, { namespace: 'receipts' })]) {
    const first = open()
    const info = await first.limit(limit, 'ada', { cost: 4 })
    await first.close()
    await first.close()
    const second = open()
    await assert.rejects(second.refund(info), (error) => error instanceof LimitError && error.field === 'info')
    await assert.rejects(first.refund(info), (error) => error instanceof StoreError && error.failure === 'closed')
    await second.close()
  }
})

test('V8 knows what a limiter weighs, and collects those that nobody holds', async () => {
  const out = await run(`
    import { bucket, Limiter } from 'tidegate'
    const limit = bucket({ key: 'k', size: 10, dripRate: 3_600_000 })
    const names = Array.from({ length: 4000 }, (_, actor) => 'actor' + actor)
    let most = 0
    for (let count = 0; count < 2000; count++) {
      const limiter = new Limiter()
      for (const name of names) limiter.limitSync(limit, name)
      await new Promise((next) => setImmediate(next))
      most = Math.max(most, process.memoryUsage.rss())
    }
    process.stdout.write(String(most / 2 ** 20))
  `)
  // Kept, they would be 2000 x 4000 entries of 40 bytes and more, and the tables that they are in.
  assert.ok(Number(out) < 300, `${out} MiB`)
})
