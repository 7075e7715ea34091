/**
 * The tests that @fastify/rate-limit's package ships, with tidegate's store in the place of the plugin's own: in memory,
 * and over Redis. `fastify-rate-limit/skipped.cjs` lists those that do not apply.
 */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { RedisServer } from '../../node/server.mjs'

const require = createRequire(import.meta.url)
const { files: left, skipped } = require('./fastify-rate-limit/skipped.cjs')
const preload = fileURLToPath(new URL('fastify-rate-limit/preload.cjs', import.meta.url))
const folder = join(dirname(require.resolve('@fastify/rate-limit')), 'test')
const redis = await RedisServer.start()
const all = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.test.js'))
const files = all.filter((name) => !(basename(name) in left))

/** Runs a file, and returns what it reported. */
function run(file, url) {
  const command = ['--require', preload, join(folder, file)]
  // Without the mark of this run's own tests, which would make the file report to it.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const child = spawn(process.execPath, command, { env: { ...environment, STORE_URL: url }, timeout: 60_000 })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ code, output }))
  })
}

test('each test that is left out is still there', () => {
  assert.deepEqual(
    Object.keys(left).filter((file) => !all.some((name) => basename(name) === file)),
    [],
  )
  for (const [file, names] of Object.entries(skipped)) {
    const text = readFileSync(join(folder, file), 'utf8')
    for (const name of Object.keys(names)) assert.ok(text.includes(name), `${file}: ${name}`)
  }
})

for (const [store, url] of Object.entries({ memory: '', redis: redis.url })) {
  test(`${store}: the plugin's own tests`, { concurrency: 2 }, async (context) => {
    const tests = files.map((file) => {
      return context.test(file, async () => {
        const { code, output } = await run(file, url)
        assert.equal(code, 0, output)
        const count = (name) => Number(new RegExp(`^# ${name} (\\d+)`, 'm').exec(output)?.[1])
        assert.ok(count('pass') > 0 && count('stores') > 0, output)
        assert.ok(count('skipped') >= Object.keys(skipped[basename(file)] ?? {}).length, output)
      })
    })
    await Promise.all(tests)
  })
}
