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
const IN_FLIGHT = 512
let actors = 0
const somebody = () => `actor${++actors}`

/** So many call until this instant, each with something to do after every answer. */
const flood = (limiter, callers, end, afterwards) =>
  Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < end) {
        await limiter.limit(limit, somebody())
        await afterwards()
      }
    }),
  )

test('the event loop goes on while a server hangs', async () => {
  const limiter = new Limiter(server.url)
  await limiter.peek(limit, 'warm')
  server.pause()
  const end = performance.now() + 1500
  const late = []
  try {
    const callers = flood(limiter, 100, end, () => sleep(1))
    for (let began = performance.now(); began < end; began = performance.now()) {
      await sleep(2)
      late.push(performance.now() - began - 2)
    }
    await callers
  } finally {
    server.resume()
  }
  late.sort((a, b) => a - b)
  const most = late[Math.floor(late.length * 0.9)]
  assert.ok(most < 20, `${most} ms`)
})

for (const workMs of [0, 0.02]) {
  test(`the event loop goes on with 512 calls in flight, and ${workMs} ms to do with each`, async (t) => {
    const limiter = new Limiter(server.url, { timeoutMs: 5000, onError: 'raise' })
    await limiter.peek(limit, 'warm')
    const end = performance.now() + 2000
    let done = 0
    const callers = flood(limiter, IN_FLIGHT, end, () => {
      done++
      const busy = performance.now() + workMs
      while (performance.now() < busy);
    })
    const between = []
    while (performance.now() < end) {
      const before = done
      await sleep(2)
      between.push(done - before)
    }
    await callers
    const most = Math.max(...between)
    t.diagnostic(`${done} calls, ${between.length} beats, ${most} calls between two of them at most`)
    assert.equal(limiter.stats().degraded, 0)
    assert.ok(between.length > 3, `${between.length} beats`)
    // As many as are in flight go on together, while the loop wakes up for the beat, and while that waits for its turn.
    assert.ok(most <= 4 * IN_FLIGHT, `${most} calls`)
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
