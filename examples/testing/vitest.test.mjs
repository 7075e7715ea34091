import { Limiter } from 'tidegate'
import { Clock, rateLimitsOff } from 'tidegate/testing'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { appWith, statuses } from './app.mjs'

const clock = new Clock()
const limiter = new Limiter({ clock })
const app = appWith(limiter)

beforeEach(async () => {
  await limiter.clear()
})

test('the third request in a minute is refused', async () => {
  expect(await statuses(app, 3)).toEqual([200, 200, 429])
})

test('a minute later it is not', async () => {
  await statuses(app, 3)
  clock.advance(60_000)
  expect(await statuses(app, 1)).toEqual([200])
})

test('without limits', async () => {
  const off = rateLimitsOff()
  onTestFinished(() => off.restore())
  expect(await statuses(app, 3)).toEqual([200, 200, 200])
})
