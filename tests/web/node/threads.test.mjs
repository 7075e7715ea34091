/** Worker threads that limit requests: each has a memory of its own, which is reported. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { RedisServer } from '../../node/server.mjs'

const redis = await RedisServer.start()
const script = fileURLToPath(new URL('threads.mjs', import.meta.url))

async function lines(threads, { store, env } = {}) {
  const given = [script, `${threads}`, ...(store ? [store] : [])]
  const { stdout } = await promisify(execFile)(process.execPath, given, {
    env: { ...process.env, NODE_ENV: '', ...env },
  })
  return stdout.trim().split('\n')
}

test('two threads with a memory each admit the limit twice, and the second one warns once', async () => {
  assert.deepEqual(await lines(2), ['memory-many-workers', 'over'])
})

test('one thread after another is no mistake, nor are threads of tests', async () => {
  assert.deepEqual(await lines(1), ['over'])
  assert.deepEqual(await lines(3, { env: { NODE_ENV: 'test' } }), ['over'])
})

test('threads over Redis count together', async () => {
  assert.deepEqual(await lines(1, { store: redis.url }), [...Array(5).fill('blocked'), 'over'])
})
