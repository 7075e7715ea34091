// Run with NODE_OPTIONS=--experimental-vm-modules, which Jest needs for modules.

import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Limiter } from 'tidegate'
import { Clock, rateLimitsOff } from 'tidegate/testing'
import { appWith, statuses } from './app.mjs'

const clock = new Clock()
const limiter = new Limiter({ clock })
const app = appWith(limiter)
let off

beforeEach(() => limiter.clear())
afterEach(() => off?.restore())

test('the third request in a minute is refused', async () => {
  expect(await statuses(app, 3)).toEqual([200, 200, 429])
})

test('a minute later it is not', async () => {
  await statuses(app, 3)
  clock.advance(60_000)
  expect(await statuses(app, 1)).toEqual([200])
})

test('without limits', async () => {
  off = rateLimitsOff()
  expect(await statuses(app, 3)).toEqual([200, 200, 200])
})
