/** Calls that have to work while a test framework has taken the process's timers away. */

import assert from 'node:assert/strict'
import { bucket } from 'tidegate'

/** Every kind of call, of a limiter in memory and of one over a store. */
export async function answersAll([memory, shared]) {
  const limit = bucket({ key: 'k', size: 10, dripRate: 60_000 })
  const paced = bucket({ key: 'paced', size: 1, dripRate: 20 })
  for (const limiter of [memory, shared]) {
    assert.equal((await limiter.limit(limit, 'ada')).remaining, 9)
    assert.equal((await limiter.limit([limit, paced], 'ada')).remaining, 0)
    assert.match(String(await limiter.explain(limit, 'ada')), /"k"/)
    await limiter.reset(limit, 'ada')
    // Time goes on for the engine: what waits for its turn gets it.
    await limiter.charge(paced, 'ada')
    assert.equal((await limiter.acquire(paced, 'ada')).blocked, false)
    const aborted = limiter.acquire(limit, 'eve', { cost: 10, signal: AbortSignal.abort(new Error('enough')) })
    await assert.rejects(aborted, /enough/)
  }
  const infos = await Promise.all(Array.from({ length: 3000 }, (_, n) => shared.limit(limit, `actor${n}`)))
  assert.ok(infos.every((info) => info.allowed))
  // More than are answered in one iteration of the event loop.
  for (let call = 0; call < 5000; call++) await memory.limit(limit, 'bob')
}

/** An event of a store that is not there. */
export async function hears(limiter) {
  const failed = new Promise((resolve) => limiter.once('breaker-open', resolve))
  await limiter.limit(bucket({ key: 'k', size: 1 }), 'ada')
  assert.equal((await failed).failure, 'unreachable')
}
