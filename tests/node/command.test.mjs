// The command by way of Node.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Limiter } from 'tidegate'
import { RedisServer } from './server.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { bin } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const script = root + bin.tidegate

const run = (...args) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', timeout: 60_000 })

test('the command is the engine’s, with its exit code', () => {
  assert.match(readFileSync(script, 'utf8'), /^#!\/usr\/bin\/env node\n/)
  const check = run('check', '--json', `${root}examples/command/limits.toml`)
  assert.deepEqual([check.status, check.stderr], [0, ''])
  const keys = check.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).key)
  assert.deepEqual(keys, ['api', 'login'])
  const wrong = run('check', 'nowhere.toml')
  assert.deepEqual([wrong.status, wrong.stdout], [1, ''])
  assert.match(wrong.stderr, /^nowhere\.toml: cannot be read/)
  assert.equal(run('fly').status, 2)
})

test('it shows who is close to a limit', async () => {
  const { url } = await RedisServer.start()
  const door = { key: 'door', type: 'bucket', size: 2, dripRate: 3_600_000 }
  const limiter = new Limiter(url, { timeoutMs: 5000, onError: 'raise' })
  for (let call = 0; call < 3; call++) await limiter.limit(door, 'ip:192.0.2.1')
  await limiter.limit(door, 'ip:192.0.2.2')
  limiter.close()
  const { status, stdout, stderr } = run('top', url, '--limits', JSON.stringify(door))
  assert.deepEqual([status, stderr], [0, ''])
  const rows = stdout.split('\n').slice(1, 3)
  assert.match(rows[0], /^ip:192\.0\.2\.1 +door +0 +2 +in /)
  assert.match(rows[1], /^ip:192\.0\.2\.2 +door +1 +2 +at once /)
  assert.match(stdout, /2 actors found, 1 of them denied now\. Looked at 2 of 2 keys\.\n$/)
})

test('an interrupt ends it', { skip: process.platform === 'win32' }, async () => {
  const child = spawn(process.execPath, [script, 'replay', '-', '--limits', '1/second', '--format', 'csv'])
  const exited = once(child, 'exit')
  // More than a pipe holds: once it is written, the engine reads.
  const written = new Promise((resolve) => child.stdin.write(`time,ip\n${'1,192.0.2.1\n'.repeat(100_000)}`, resolve))
  await written
  child.kill('SIGINT')
  assert.deepEqual(await exited, [null, 'SIGINT'])
})
