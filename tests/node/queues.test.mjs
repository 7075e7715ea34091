/** The delay of a job that a limit denied; the jobs of BullMQ are an example of docs/job-queues.md. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LimitError, Limiter, tokenBucket } from 'tidegate'
import { deferBy } from 'tidegate/queues'

const limiter = new Limiter()
const sms = tokenBucket({ key: 'sms', count: 1, period: 60_000 })
limiter.limitSync(sms, 'ada', { now: 0 })

test('a delay is until the job fits, and at least a millisecond', () => {
  assert.equal(deferBy(limiter.limitSync(sms, 'ada', { now: 15_000 })), 45_000)
  const almost = limiter.limitSync(sms, 'ada', { now: 59_999.5 })
  assert.equal(almost.blocked, true)
  assert.equal(deferBy(almost), 1)
  assert.equal(deferBy(limiter.peekSync(sms, 'eve')), 1)
})

test('a spread delay is whole and within its bounds', () => {
  const info = limiter.limitSync(sms, 'ada', { now: 30_000 })
  const delays = Array.from({ length: 200 }, () => deferBy(info, { spreadMs: 10_000 }))
  assert.ok(delays.every((delay) => Number.isInteger(delay) && delay >= 30_000 && delay <= 40_000))
  assert.ok(new Set(delays).size > 1)
})

test('bad arguments name themselves', () => {
  const info = limiter.peekSync(sms, 'ada')
  for (const spreadMs of [-1, NaN, Infinity, '1', true, null]) {
    assert.throws(() => deferBy(info, { spreadMs }), { name: 'LimitError', field: 'spreadMs' })
  }
  const message = 'spreadMs must be at least 0 milliseconds and at most 100 years, got inf'
  assert.throws(() => deferBy(info, { spreadMs: Infinity }), { message })
  const unknown = 'spread is not an option of a delay (did you mean spreadMs?), got 5'
  assert.throws(() => deferBy(info, { spread: 5 }), { name: 'LimitError', message: unknown })
  assert.throws(() => deferBy(info, null), { name: 'LimitError', field: 'options' })
  for (const given of [undefined, null, {}, 5]) {
    assert.throws(
      () => deferBy(given),
      (error) => error instanceof LimitError && error.field === 'info',
    )
  }
})
