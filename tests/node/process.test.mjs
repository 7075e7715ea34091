/** Effects of a limiter on the process it lives in: none. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a script; fails when it does not end by itself within ten seconds. */
function run(script, ...flags) {
  const args = [...flags, '--input-type=module', '--eval', script]
  return promisify(execFile)(process.execPath, args, { cwd: root, timeout: 10_000 })
}

test('a process that made a limiter exits by itself', async () => {
  const { stdout } = await run(`
    import { Limiter } from 'tidegate'
    const limiter = new Limiter()
    console.log((await limiter.limit({ key: 'k', type: 'bucket', size: 1 }, 'ada')).blocked)
  `)
  assert.equal(stdout, 'false\n')
})

test('a call that waits keeps the process until it is answered', async () => {
  const { stdout } = await run(`
    import { Limiter } from 'tidegate'
    const limiter = new Limiter()
    const paced = { key: 'k', type: 'bucket', size: 1, dripRate: 50 }
    limiter.limitSync(paced, 'ada')
    limiter.acquire(paced, 'ada').then((info) => console.log(info.blocked))
  `)
  assert.equal(stdout, 'false\n')
})

test('limiters and limits that nobody holds are given up', async () => {
  const { stdout } = await run(
    `
    import { bucket, Limiter } from 'tidegate'
    const settle = async () => {
      for (let turn = 0; turn < 5; turn++) {
        gc()
        await new Promise((done) => setTimeout(done, 20))
      }
    }
    const resident = async () => (await settle(), process.memoryUsage.rss())
    const kept = new Limiter()
    const make = () => {
      for (let count = 0; count < 20; count++) {
        const limiter = new Limiter()
        const limit = bucket({ key: 'k' + count, size: 2 })
        for (let actor = 0; actor < 20_000; actor++) limiter.limitSync(limit, 'actor' + actor)
      }
      for (let count = 0; count < 20_000; count++) bucket({ key: 'limit' + count, size: 2 })
    }
    make()
    const before = await resident()
    for (let round = 0; round < 5; round++) {
      make()
      await settle()
    }
    console.log(((await resident()) - before) / 2 ** 20, kept.entries)
  `,
    '--expose-gc',
  )
  const [grown, entries] = stdout.trim().split(' ').map(Number)
  // Kept, the limiters alone would be 5 x 20 x 20,000 entries of 40 bytes and more.
  assert.ok(grown < 40, `${grown} MiB more`)
  assert.equal(entries, 0)
})

const script = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { Limiter } = require('tidegate')
  const limiter = new Limiter()
  const limit = { key: 'k', type: 'bucket', size: 3 }
  let admitted = 0
  for (let call = 0; call < 10; call++) admitted += limiter.limitSync(limit, 'ada', { now: 0 }).blocked ? 0 : 1
  parentPort.postMessage(admitted)
  while (workerData.forever) limiter.limitSync(limit, 'ada')
`
const started = (forever) => {
  const worker = new Worker(script, { eval: true, workerData: { forever } })
  const first = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  const exit = new Promise((resolve) => worker.once('exit', resolve))
  return { worker, first, exit }
}

test('workers have limiters of their own, also when the main thread has none', async () => {
  const workers = Array.from({ length: 4 }, () => started(false))
  assert.deepEqual(await Promise.all(workers.map(({ first }) => first)), [3, 3, 3, 3])
  assert.deepEqual(await Promise.all(workers.map(({ exit }) => exit)), [0, 0, 0, 0])
  const { Limiter } = await import('tidegate')
  const limiter = new Limiter()
  assert.equal(limiter.limitSync({ key: 'k', type: 'bucket', size: 3 }, 'ada', { now: 0 }).remaining, 2)
  const again = started(false)
  assert.deepEqual([await again.first, await again.exit], [3, 0])
  assert.equal(limiter.entries, 1)
})

test('a worker can be terminated in the middle of a call', async () => {
  for (let round = 0; round < 3; round++) {
    const { worker, first } = started(true)
    assert.equal(await first, 3)
    assert.equal(await worker.terminate(), 1)
  }
})
