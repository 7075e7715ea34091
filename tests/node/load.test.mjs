/** Many calls at once, over a store that is well and one that is not: the event loop goes on, and little is said. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bucket, Limiter } from 'tidegate'
import { RedisServer } from './server.mjs'

const server = await RedisServer.start()
const root = fileURLToPath(new URL('../..', import.meta.url))
const limit = bucket({ key: 'login', size: 5, dripRate: 60_000 })
let actors = 0
const somebody = () => `actor${++actors}`

/**
 * The delay of the event loop's timers, but for the latest tenth, while so many call for so long; each has so much
 * to do with every answer, and then a pause.
 */
async function lag(limiter, { callers, ms, workMs = 0, pauseMs = 0 }) {
  const end = performance.now() + ms
  const late = []
  const beat = async () => {
    for (let began = performance.now(); began < end; began = performance.now()) {
      await sleep(2)
      late.push(performance.now() - began - 2)
    }
  }
  const caller = async () => {
    while (performance.now() < end) {
      await limiter.limit(limit, somebody())
      const busy = performance.now() + workMs
      while (performance.now() < busy);
      if (pauseMs) await sleep(pauseMs)
    }
  }
  await Promise.all([beat(), ...Array.from({ length: callers }, caller)])
  late.sort((a, b) => a - b)
  return late[Math.floor(late.length * 0.9)]
}

test('the event loop goes on while a server hangs', async () => {
  const limiter = new Limiter(server.url)
  await limiter.peek(limit, 'warm')
  server.pause()
  try {
    const late = await lag(limiter, { callers: 100, ms: 1500, pauseMs: 1 })
    assert.ok(late < 20, `${late} ms`)
  } finally {
    server.resume()
  }
})

// As long as it takes to go on with all of them, several times over where the machine has much else to do.
for (const [workMs, most] of [
  [0, 50],
  [0.02, 250],
]) {
  test(`the event loop goes on with 512 calls in flight, and ${workMs} ms to do with each`, async (t) => {
    const limiter = new Limiter(server.url, { timeoutMs: 5000, onError: 'raise' })
    await limiter.peek(limit, 'warm')
    const late = await lag(limiter, { callers: 512, ms: 2000, workMs })
    t.diagnostic(`${limiter.stats().decisions} decisions, the loop late by ${late} ms`)
    assert.equal(limiter.stats().degraded, 0)
    assert.ok(late < most, `${late} ms`)
  })
}

test('an outage of three seconds says little, and is a warning where nobody listens', async () => {
  const script = `
    import { bucket, Limiter } from 'tidegate'
    const deaf = new Limiter('${server.url}')
    const heard = new Limiter('${server.url}')
    let events = 0
    for (const name of ['breaker-open', 'breaker-close', 'failure', 'degraded', 'recovered'])
      heard.on(name, () => events++)
    const limit = bucket({ key: 'k', size: 5 })
    const end = performance.now() + 4500
    const ask = async (limiter, call) => {
      let degraded = 0
      while (performance.now() < end) {
        degraded += (await limiter.limit(limit, 'actor' + call)).degraded ? 1 : 0
        await new Promise((done) => setTimeout(done, 5))
      }
      return degraded
    }
    const counts = await Promise.all(Array.from({ length: 8 }, (_, call) => ask(call % 2 ? deaf : heard, call)))
    process.stdout.write(JSON.stringify({ events, counts }))
  `
  const args = ['--unhandled-rejections=strict', '--input-type=module', '--eval', script]
  const ended = promisify(execFile)(process.execPath, args, { cwd: root, timeout: 20_000 })
  await sleep(1000)
  await server.kill()
  await sleep(3000)
  await server.run()
  const { stdout, stderr } = await ended
  // Each of the two limiters says it once, to whom it may concern.
  const warnings = stderr.split('\n').filter((line) => line.includes('TidegateWarning'))
  assert.ok(warnings.length >= 1 && warnings.length <= 2, stderr)
  assert.match(warnings[0], /TIDEGATE_DEGRADED.*the policy is local/)
  const { events, counts } = JSON.parse(stdout)
  assert.ok(
    counts.every((count) => count > 10),
    stdout,
  )
  assert.ok(events >= 3 && events <= 6, `${events} events`)
})
