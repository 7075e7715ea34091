/** Calls to a shared store that are made in one iteration of the event loop. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { bucket, Limiter } from 'tidegate'
import { RedisServer } from './server.mjs'

const server = await RedisServer.start()
const limit = bucket({ key: 'batched', size: 1000, dripRate: 60_000 })
const AT_A_TIME = 12

/** A limiter that is connected. */
async function connected(options) {
  const limiter = new Limiter(server.url, { timeoutMs: 10_000, ...options })
  await limiter.ping()
  return limiter
}

const several = (limiter, actor) => Array.from({ length: AT_A_TIME }, () => limiter.limit(limit, actor))
const batchesOf = async (limiter, work) => {
  const before = limiter.stats().batches
  await work()
  return limiter.stats().batches - before
}

/** Makes several calls in one iteration, so that those of the next one wait for each other. */
async function busy(limiter) {
  await Promise.all(several(limiter, 'busy'))
}

/** Keeps the event loop from everything else for this long. */
function block(milliseconds) {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

test('share a round trip, in their order, iteration after iteration', async () => {
  const limiter = await connected()
  await busy(limiter)
  let actor = 0
  const batches = await batchesOf(limiter, async () => {
    for (let iteration = 0; iteration < 20; iteration++) {
      actor++
      const infos = await Promise.all(several(limiter, `shared${actor}`))
      const left = infos.map(({ remaining }) => remaining)
      assert.deepEqual(
        left,
        Array.from({ length: AT_A_TIME }, (_, call) => 999 - call),
      )
    }
  })
  // An iteration that finds its replies before it ends sends one more batch.
  assert.ok(batches <= 25, `${batches} batches in 20 iterations`)
})

test('one that is alone does not wait for the end of its iteration', async () => {
  const limiter = await connected()
  const alone = limiter.limit(limit, 'alone')
  await nextIteration()
  await alone
  const early = limiter.limit(limit, 'alone')
  block(50)
  const other = await connected()
  assert.equal((await other.peek(limit, 'alone')).remaining, 998, 'it was charged while this thread had no time')
  assert.equal((await early).degraded, false)
})

test('their deadlines count from when they are sent', async () => {
  const limiter = await connected({ timeoutMs: 600, onError: 'raise' })
  await busy(limiter)
  const calls = several(limiter, 'late')
  block(800)
  await Promise.all(calls)
})

test('more than a few are sent before their iteration ends', async () => {
  const limiter = await connected()
  await busy(limiter)
  const calls = Array.from({ length: 100 }, () => limiter.limit(limit, 'many'))
  block(50)
  const other = await connected()
  const left = (await other.peek(limit, 'many')).remaining
  assert.ok(left < 950, `${1000 - left} of 100 were charged while this thread had no time`)
  await Promise.all(calls)
  assert.equal((await other.peek(limit, 'many')).remaining, 900)
})

test('limiters, verbs and limits in one iteration each get their own answers', async () => {
  const [one, other] = [await connected(), await connected({ namespace: 'other' })]
  await Promise.all([busy(one), busy(other)])
  const small = bucket({ key: 'small', size: 1, dripRate: 60_000 })
  const answers = await Promise.all([
    one.limit(limit, 'mixed'),
    other.limit(small, 'mixed'),
    one.charge(limit, 'mixed', { cost: 5 }),
    other.limit(small, 'mixed'),
    one.limit([limit, small], 'mixed'),
    one.refund(limit, 'mixed', { cost: 2 }),
    other.peek(small, 'mixed'),
  ])
  assert.deepEqual(
    answers.map(({ blocked, remaining }) => [blocked, remaining]),
    [
      [false, 999],
      [false, 0],
      [false, 994],
      [true, 0],
      [false, 0],
      [false, 995],
      [true, 0],
    ],
  )
})

test('every verb comes in its order', async () => {
  const limiter = await connected()
  const pair = bucket({ key: 'pair', size: 2, dripRate: 60_000 })
  const verbs = {
    peek: (actor) => limiter.peek(pair, actor),
    explain: (actor) => limiter.explain(pair, actor),
    acquire: (actor) => limiter.acquire(pair, actor, { maxWaitMs: 0 }),
    reset: (actor) => limiter.reset(pair, actor),
  }
  for (const [name, verb] of Object.entries(verbs)) {
    await busy(limiter)
    const answers = await Promise.all([
      limiter.limit(pair, name),
      limiter.limit(pair, name),
      verb(name),
      limiter.limit(pair, name),
    ])
    const [first, second, answer, last] = answers.map((answer) => (answer?.info ?? answer)?.blocked)
    const reset = name === 'reset'
    assert.deepEqual([first, second, answer, last], [false, false, reset ? undefined : true, !reset], name)
  }
})

test('a limiter that is closed in the same iteration still answers', async () => {
  const limiter = await connected()
  await busy(limiter)
  const calls = several(limiter, 'closed')
  limiter.close()
  assert.equal((await Promise.all(calls)).filter(({ blocked }) => blocked).length, 0)
})

test('calls of a server that is gone are answered as the policy says', async () => {
  for (const onError of ['deny', 'allow', 'local']) {
    const limiter = new Limiter('redis://127.0.0.1:1', { timeoutMs: 100, onError })
    for (let iteration = 0; iteration < 5; iteration++) {
      const infos = await Promise.all(several(limiter, 'gone'))
      assert.ok(infos.every(({ degraded, blocked }) => degraded && blocked === (onError === 'deny')))
    }
  }
})

test('a worker that ends with calls that are not sent ends all the same', async () => {
  const code = `
    const { parentPort, workerData } = require('node:worker_threads')
    const { bucket, Limiter } = require('tidegate')
    const limit = bucket({ key: 'worker', size: 1000 })
    const limiter = new Limiter(workerData, { timeoutMs: 10000 })
    const several = () => Array.from({ length: 12 }, () => limiter.limit(limit, 'ada'))
    Promise.all(several()).then(() => {
      several()
      parentPort.postMessage('asked')
      process.exit()
    })
  `
  for (let run = 0; run < 5; run++) {
    const worker = new Worker(code, { eval: true, workerData: server.url })
    const [[message], [exit]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')])
    assert.deepEqual([message, exit], ['asked', 0])
  }
})

test('no process waits for the end of an iteration that is over', async () => {
  const limiter = await connected()
  await busy(limiter)
  await sleep(20)
  // Neither an immediate nor a handle is left.
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((name) => name === 'Immediate'),
    [],
  )
})
