import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { Limiter } from 'tidegate'
import { Clock, rateLimitsOff } from 'tidegate/testing'
import { appWith, statuses } from './app.mjs'

const clock = new Clock()
const limiter = new Limiter({ clock })
const app = appWith(limiter)

beforeEach(() => limiter.clear())

test('the third request in a minute is refused', async () => {
  assert.deepEqual(await statuses(app, 3), [200, 200, 429])
})

test('a minute later it is not', async () => {
  await statuses(app, 3)
  clock.advance(60_000)
  assert.deepEqual(await statuses(app, 1), [200])
})

test('without limits', async (context) => {
  const off = rateLimitsOff()
  context.after(() => off.restore())
  assert.deepEqual(await statuses(app, 3), [200, 200, 200])
})
