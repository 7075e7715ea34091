/** Waiting for a turn, and giving it up. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucket, fixedWindow, Limiter, slidingLog } from 'tidegate'

const timed = async (work) => {
  const start = performance.now()
  const answer = await work()
  return [answer, performance.now() - start]
}

test('waits in the order of the calls', async () => {
  const limiter = new Limiter()
  const paced = bucket({ key: 'paced', size: 1, dripRate: 250 })
  const order = []
  const [infos, took] = await timed(() =>
    Promise.all(
      [0, 1, 2].map(async (call) => {
        const info = await limiter.acquire(paced, 'ada')
        order.push(call)
        return info
      }),
    ),
  )
  assert.deepEqual(order, [0, 1, 2])
  assert.ok(infos.every((info) => !info.blocked))
  assert.equal(infos[0].waitMs, 0)
  assert.ok(infos[2].waitMs > 250 && infos[2].waitMs <= 500, `${infos[2].waitMs}`)
  assert.ok(took >= 495 && took < 10_000, `${took} ms`)
})

test('a wait that is too long is refused at once and charges nothing', async () => {
  const limiter = new Limiter()
  const slow = bucket({ key: 'slow', size: 1, dripRate: 60_000 })
  await limiter.acquire(slow, 'ada')
  const [info, took] = await timed(() => limiter.acquire(slow, 'ada', { maxWaitMs: 10_000 }))
  assert.ok(info.blocked && info.waitMs === 0 && info.resetMs > 50_000)
  assert.ok(took < 9000, `${took} ms`)
  assert.ok(limiter.peekSync(slow, 'ada').fullResetMs <= 60_000)
})

test('with a time of the caller, nothing sleeps', async () => {
  const limiter = new Limiter()
  const slow = fixedWindow({ key: 'slow', max: 1, period: 60_000 })
  await limiter.acquire(slow, 'ada', { now: 0 })
  const [info, took] = await timed(() => limiter.acquire(slow, 'ada', { now: 1000, maxWaitMs: 60_000 }))
  assert.deepEqual([info.blocked, info.waitMs], [false, 59_000])
  assert.equal(limiter.acquireSync(slow, 'ada', { now: 1000, maxWaitMs: 120_000 }).waitMs, 119_000)
  assert.ok(took < 9000, `${took} ms`)
})

test('an aborted wait is refunded once and rejects with the reason', async () => {
  const limiter = new Limiter()
  const slow = bucket({ key: 'slow', size: 2, dripRate: 60_000 })
  limiter.limitSync(slow, 'ada', { cost: 2 })
  const reason = new Error('gone')
  const controller = new AbortController()
  const waiting = limiter.acquire([slow, { key: 'other', type: 'bucket', size: 5 }], 'ada', {
    signal: controller.signal,
  })
  await new Promise((done) => setTimeout(done, 20))
  const charged = limiter.peekSync(slow, 'ada').fullResetMs
  assert.ok(charged > 170_000, `${charged}`)
  controller.abort(reason)
  await assert.rejects(waiting, (error) => error === reason)
  controller.abort(reason)
  const refunded = limiter.peekSync(slow, 'ada').fullResetMs
  assert.ok(refunded <= charged - 59_000 && refunded > 110_000, `${refunded}`)
  assert.equal(limiter.peekSync({ key: 'other', type: 'bucket', size: 5 }, 'ada').remaining, 5)
})

test('a signal that was aborted before charges nothing, one that is aborted after changes nothing', async () => {
  const limiter = new Limiter()
  const quick = bucket({ key: 'quick', size: 1, dripRate: 500 })
  await assert.rejects(
    limiter.acquire(quick, 'ada', { signal: AbortSignal.abort('early') }),
    (error) => error === 'early',
  )
  assert.equal(limiter.entries, 0)
  const controller = new AbortController()
  await limiter.acquire(quick, 'ada', { signal: controller.signal })
  await limiter.acquire(quick, 'ada', { signal: controller.signal })
  const before = limiter.peekSync(quick, 'ada').remaining
  controller.abort()
  assert.equal(limiter.peekSync(quick, 'ada').remaining, before)
})

test('closing while a call waits leaves the abort to reject as it would', async () => {
  const limiter = new Limiter()
  const slow = bucket({ key: 'slow', size: 1, dripRate: 60_000 })
  limiter.limitSync(slow, 'ada')
  const controller = new AbortController()
  const waiting = limiter.acquire(slow, 'ada', { signal: controller.signal })
  await limiter.close()
  controller.abort('closed')
  await assert.rejects(waiting, (error) => error === 'closed')
})

test('a log keeps its line too: in order of arrival, and nobody is let in beside it', async () => {
  const limiter = new Limiter()
  const log = slidingLog({ key: 'log', max: 2, period: 500 })
  const order = []
  const [infos] = await timed(() =>
    Promise.all(
      [1, 2, 1, 1].map(async (cost, call) => {
        const info = await limiter.acquire(log, 'ada', { cost })
        order.push(call)
        return info
      }),
    ),
  )
  assert.deepEqual(order.slice(0, 2), [0, 1])
  // There is room for the last two together, so neither waits for the timer of the other.
  assert.deepEqual(order.slice(2).sort(), [2, 3])
  assert.ok(infos.every((info) => !info.blocked))
  // Less than the period by the time that passed between the first call and the second.
  assert.ok(infos[1].waitMs > 0 && infos[3].waitMs >= infos[1].waitMs, `${infos.map((info) => info.waitMs)}`)
})

test('leaving the line lets the next one go ahead, and was never charged', async () => {
  const limiter = new Limiter()
  const log = slidingLog({ key: 'log', max: 2, period: 500 })
  limiter.limitSync(log, 'ada')
  const controller = new AbortController()
  const large = limiter.acquire(log, 'ada', { cost: 2, signal: controller.signal })
  const small = limiter.acquire(log, 'ada', { maxWaitMs: 2000 })
  controller.abort('gone')
  await assert.rejects(large, (error) => error === 'gone')
  assert.equal((await small).blocked, false)
})

test('a signal that is aborted gives back at once, not only when the promise is looked at', async () => {
  const limiter = new Limiter()
  const slow = bucket({ key: 'slow', size: 1, dripRate: 60_000 })
  limiter.limitSync(slow, 'ada')
  const controller = new AbortController()
  const waiting = limiter.acquire(slow, 'ada', { signal: controller.signal })
  assert.ok(limiter.peekSync(slow, 'ada').fullResetMs > 100_000)
  controller.abort('gone')
  assert.ok(limiter.peekSync(slow, 'ada').fullResetMs <= 60_000)
  await assert.rejects(waiting, (error) => error === 'gone')
})

test('a log whose wait is too long is refused at once', async () => {
  const limiter = new Limiter()
  const log = slidingLog({ key: 'log', max: 1, period: 60_000, countBlocked: true })
  await limiter.acquire(log, 'ada')
  const [info, took] = await timed(() => limiter.acquire(log, 'ada', { maxWaitMs: 10_000 }))
  assert.ok(info.blocked && info.resetMs > 50_000)
  assert.ok(took < 9000, `${took} ms`)
})

for (const limit of [
  bucket({ key: 'slow', size: 1, dripRate: 3_600_000 }),
  slidingLog({ key: 'log', max: 1, period: 3_600_000 }),
]) {
  test(`only so many calls wait: ${limit.type}`, async () => {
    const limiter = new Limiter({ maxWaiters: 2 })
    await limiter.limit(limit, 'ada')
    const controller = new AbortController()
    const { signal } = controller
    const waiting = [0, 1].map(() => limiter.acquire(limit, 'ada', { signal }).catch(() => 'aborted'))
    assert.ok((await limiter.acquire(limit, 'ada')).blocked)
    assert.ok((await limiter.acquire(limit, 'eve')).allowed)
    controller.abort()
    assert.deepEqual(await Promise.all(waiting), ['aborted', 'aborted'])
    const again = limiter.acquire(limit, 'ada', { signal: AbortSignal.timeout(1) })
    await assert.rejects(again, { name: 'TimeoutError' })
  })
}
