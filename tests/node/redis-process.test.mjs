/** Effects of a limiter over a shared store on the process and the threads it lives in. */

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { bucket, Limiter } from 'tidegate'
import { eventually, RedisServer } from './server.mjs'

const server = await RedisServer.start()
const root = fileURLToPath(new URL('../..', import.meta.url))
/** The begin of most scripts. */
const head = `
  import { bucket, Limiter } from 'tidegate'
  const limiter = new Limiter('${server.url}', { timeoutMs: 5000 })
  const limit = bucket({ key: 'k', size: 1000, dripRate: 60000 })
`

/** Runs a script; fails when it does not end by itself within ten seconds, or says anything on the wrong channel. */
async function run(script, ...flags) {
  const args = [...flags, '--input-type=module', '--eval', script]
  const start = performance.now()
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: 10_000 })
  assert.equal(stderr, '')
  return { stdout, took: performance.now() - start }
}

test('a process ends by itself, whatever the limiter did before', async () => {
  for (const script of [
    '',
    `await limiter.limit(limit, 'ada'); process.stdout.write('done')`,
    `limiter.on('breaker-open', () => {}); await limiter.limit(limit, 'ada'); process.stdout.write('done')`,
    `await limiter.limit(limit, 'ada'); await limiter.close(); process.stdout.write('done')`,
  ]) {
    const { stdout, took } = await run(head + script)
    assert.equal(stdout, script && 'done')
    assert.ok(took < 5000, `${took} ms`)
  }
})

test('a process is over within a moment of its last answer, without a close', async () => {
  const late = []
  // The best of a few: a busy machine makes any process wait.
  for (let round = 0; round < 5; round++) {
    const { stdout } = await run(`${head}
      await Promise.all(Array.from({ length: 50 }, (_, call) => limiter.limit(limit, 'actor' + call)))
      process.stdout.write(String(process.hrtime.bigint()))
    `)
    late.push(Number(process.hrtime.bigint() - BigInt(stdout)) / 1e6)
  }
  assert.ok(Math.min(...late) <= 200, `${late} ms`)
})

test('a call under way keeps the process until it is answered', async () => {
  for (const script of [
    `limiter.limit(limit, 'ada').then((info) => process.stdout.write(String(info.blocked)))`,
    `limiter.limit(limit, 'ada').then(() => limiter.peek(limit, 'ada')).then((info) => process.stdout.write(String(info.blocked)))`,
    `limiter.explain(limit, 'ada').then(({ info }) => process.stdout.write(String(info.blocked)))`,
    `limiter.reset(limit, 'eve').then(() => process.stdout.write('false'))`,
    `const paced = bucket({ key: 'p', size: 1, dripRate: 50 })
     limiter.limit(paced, 'ada').then(() => limiter.acquire(paced, 'ada')).then((info) => process.stdout.write(String(info.blocked)))`,
  ]) {
    assert.equal((await run(head + script)).stdout, 'false')
  }
})

test('a call that was given up keeps nothing', async () => {
  const { took } = await run(`${head}
    const slow = bucket({ key: 'slow', size: 1, dripRate: 60000 })
    await limiter.charge(slow, 'ada', { cost: 5 })
    const controller = new AbortController()
    limiter.acquire(slow, 'ada', { signal: controller.signal }).catch(() => {})
    setTimeout(() => controller.abort(), 50)
  `)
  assert.ok(took < 5000, `${took} ms`)
})

test('process.exit with 200 calls in flight is clean', async () => {
  for (let round = 0; round < 20; round++) {
    const { stdout } = await run(`${head}
      if (${round % 2}) await limiter.limit(limit, 'ada')
      for (let call = 0; call < 200; call++) limiter.limit(limit, 'actor' + call)
      for (let call = 0; call < 20; call++) limiter.acquire(bucket({ key: 'p', size: 1, dripRate: 60000 }), 'ada')
      process.stdout.write('leaving', () => ${round % 3 ? 'process.exit(0)' : 'setImmediate(() => process.exit(0))'})
    `)
    assert.equal(stdout, 'leaving')
  }
})

test('limiters that nobody holds are given up, with their connections', async () => {
  const before = await server.clients()
  const { stdout } = await run(
    `${head}
    const make = async () => {
      for (let count = 0; count < 20; count++) await new Limiter('${server.url}').limit(limit, 'ada')
    }
    await make()
    for (let turn = 0; turn < 10; turn++) {
      gc()
      await new Promise((done) => setTimeout(done, 20))
    }
    const other = new Limiter('${server.url}')
    await other.limit(limit, 'ada')
    process.stdout.write('kept')
    await new Promise((done) => setTimeout(done, 300))
    `,
    '--expose-gc',
  )
  assert.equal(stdout, 'kept')
  await eventually(
    () => server.clients(),
    (clients) => clients <= before,
  )
})

test('a listener that throws breaks nothing but what is thrown', async () => {
  const { stdout } = await run(`
    import { bucket, Limiter } from 'tidegate'
    // Listening keeps no process alive, and the breaker may open before the first call.
    const thrown = new Promise((resolve) => process.once('uncaughtException', resolve))
    const alive = setInterval(() => {}, 1000)
    const limiter = new Limiter('redis://127.0.0.1:1').once('breaker-open', () => {
      throw new Error('mine')
    })
    limiter.on('degraded', () => {})
    const limit = bucket({ key: 'k', size: 5 })
    const infos = await Promise.all(Array.from({ length: 10 }, (_, call) => limiter.limit(limit, 'actor' + call)))
    const { message } = await thrown
    clearInterval(alive)
    process.stdout.write(message + ' ' + infos.filter((info) => info.degraded).length)
  `)
  assert.equal(stdout, 'mine 10')
})

const script = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { bucket, Limiter } = require('tidegate')
  const { url, calls, forever } = workerData
  const limiter = new Limiter(url, { timeoutMs: 5000 })
  const limit = bucket({ key: 'k', size: 1000, dripRate: 60000 })
  const slow = bucket({ key: 'turn', size: 1, dripRate: 60000 })
  const one = async (call) => {
    do await limiter.limit(limit, 'worker' + call)
    while (forever)
  }
  const all = Promise.all(Array.from({ length: calls }, (_, call) => one(call)))
  if (forever) for (let turn = 0; turn < 3; turn++) limiter.acquire(slow, 'turn')
  limiter.peek(limit, 'worker').then(() => forever && parentPort.postMessage('started'))
  all.then(() => parentPort.postMessage('done'))
`

function started(workerData) {
  const worker = new Worker(script, { eval: true, workerData: { url: server.url, ...workerData } })
  const first = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  const exit = new Promise((resolve) => worker.once('exit', resolve))
  return { worker, first, exit }
}

test('threads come and go by themselves, each with a limiter of its own', async () => {
  for (let round = 0; round < 5; round++) {
    const workers = Array.from({ length: 4 }, () => started({ calls: 50, forever: false }))
    assert.deepEqual(await Promise.all(workers.map(({ first }) => first)), Array(4).fill('done'))
    assert.deepEqual(await Promise.all(workers.map(({ exit }) => exit)), Array(4).fill(0))
  }
})

/** Threads of each of eight turns: a thousand together where `STRESS` is set, as it is in the workflow. */
const TURNS = process.env.STRESS === undefined ? 25 : 125

test('a thread can be terminated in the middle of its calls, hundreds of times over', async () => {
  const before = await server.clients()
  const { TMPDIR } = process.env
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-threads-'))
  process.env.TMPDIR = folder
  const limiter = new Limiter(server.url, { timeoutMs: 5000 })
  const limit = bucket({ key: 'main', size: 1e9 })
  let running = true
  let answered = 0
  const busy = (async () => {
    for (; running; answered++) {
      await limiter.limit(limit, 'ada')
      await sleep(1)
    }
  })()
  let terminated = 0
  const one = async (number) => {
    for (let round = 0; round < TURNS; round++, terminated++) {
      const { worker, first } = started({ calls: 10, forever: true })
      // Some have hardly begun.
      if (round % 5) await first
      else await sleep((number * TURNS + round) % 100)
      const code = await worker.terminate()
      assert.ok(code === 0 || code === 1, `${code}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, number) => one(number)))
  running = false
  await busy
  if (TMPDIR === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = TMPDIR
  assert.deepEqual([terminated, readdirSync(folder)], [8 * TURNS, []])
  rmdirSync(folder)
  assert.ok(answered > 100, `${answered} answers`)
  // What waited for its turn on a thread that has ended is given back, and its connections are gone.
  const slow = bucket({ key: 'turn', size: 1, dripRate: 60_000 })
  await eventually(
    () => limiter.peek(slow, 'turn'),
    (info) => info.fullResetMs <= 2 * 60_000,
  )
  await limiter.close()
  await eventually(
    () => server.clients(),
    (clients) => clients <= before,
  )
})

test('threads that were the only ones to ask leave a process that ends cleanly', async () => {
  const { stdout } = await run(`
    import { Worker } from 'node:worker_threads'
    const script = ${JSON.stringify(script)}
    const start = () => new Worker(script, { eval: true, execArgv: [], workerData: { url: '${server.url}', calls: 20, forever: true } })
    for (let round = 0; round < 10; round++) {
      const workers = [start(), start()]
      await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))))
      await Promise.all(workers.map((worker) => worker.terminate()))
    }
    process.stdout.write('done')
  `)
  assert.equal(stdout, 'done')
})

test('a watched program starts over when it is changed, and leaves nothing behind', async () => {
  const before = await server.clients()
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-watched-'))
  const file = join(folder, 'program.mjs')
  const program = (turn) => `
    import { bucket, Limiter } from ${JSON.stringify(import.meta.resolve('tidegate'))}
    const limiter = new Limiter('${server.url}', { timeoutMs: 5000 })
    const limit = bucket({ key: 'k', size: 1000, dripRate: 60000 })
    setInterval(() => limiter.limit(limit, 'ada'), 1)
    await limiter.limit(limit, 'ada')
    console.log('turn ${turn}')
  `
  writeFileSync(file, program(1))
  const watcher = spawn(process.execPath, ['--watch', file], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => watcher.once('exit', resolve))
  try {
    let said = ''
    for (const stream of [watcher.stdout, watcher.stderr]) {
      stream.on('data', (data) => {
        said += data
      })
    }
    for (const turn of [1, 2, 3]) {
      if (turn > 1) writeFileSync(file, program(turn))
      await eventually(
        async () => said,
        (text) => text.includes(`turn ${turn}`),
        10_000,
      )
    }
    assert.doesNotMatch(said, /[Ee]rror|fatal|panicked/)
    assert.ok((await server.clients()) > before)
  } finally {
    watcher.kill()
    await ended
    rmSync(folder, { recursive: true })
  }
  await eventually(
    () => server.clients(),
    (clients) => clients <= before,
  )
})
