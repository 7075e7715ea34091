/** Names of stores, ways to reach one, and news of what is wrong with it. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bucket, LimitError, Limiter, StoreError } from 'tidegate'
import { eventually, RedisServer } from './server.mjs'

const server = await RedisServer.start()
const patient = { timeoutMs: 10_000, onError: 'raise' }
const login = bucket({ key: 'login', size: 1, dripRate: 3_600_000 })
const root = fileURLToPath(new URL('../..', import.meta.url))

const secrets = [
  'redis://user:S3cr3t?1@host',
  'redis://user:S3cr3t/1@host',
  'redis://user:S3cr3t#1@host',
  'redis://user:12?S3cr3t@host',
  'redis://user:12/S3cr3t@host',
  'redis://user:S3cr3t',
  'redis://:S3cr3t',
  'redis://user:S3cr3t@',
  'redis://user:S3cr3t@host?S3cr3t=1',
  'redis://user:S3cr3t@host:S3cr3t',
  'redis+sentinel://user:S3cr3t@host',
  'unix://user:S3cr3t',
  'http://user:S3cr3t@host',
  'memory://user:S3cr3t@host',
]

test('no part of a login is in an error', () => {
  for (const url of secrets) {
    for (const given of [[url], [{ url }], [url, {}]]) {
      assert.throws(
        () => new Limiter(...given),
        (error) => {
          const shown = `${error.stack} ${JSON.stringify(error)} ${error.value}`
          return error instanceof LimitError && !shown.includes('S3cr3t') && !shown.includes('user:')
        },
        url,
      )
    }
  }
  assert.throws(
    () => new Limiter('redis://localhost', { password: ['S3cr3t'] }),
    (error) => error.field === 'password' && !error.message.includes('S3cr3t'),
  )
})

test('options may be null, and may hold the URL', async () => {
  const source = readFileSync(new URL('../../node/lib/limiter/store-options.ts', import.meta.url), 'utf8')
  const options = source.slice(
    source.indexOf('export interface LimiterOptions'),
    source.indexOf('interface TlsOptions'),
  )
  const names = [...options.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name)
  assert.ok(names.includes('timeoutMs') && names.includes('sentinelPassword'), String(names))
  const nothing = Object.fromEntries(names.map((name) => [name, null]))
  const tls = { ca: null, cert: null, key: null, rejectUnauthorized: null }
  for (const url of ['memory://', server.url]) {
    new Limiter(url, { ...nothing, tls })
    new Limiter(url, null)
    new Limiter({ url, ...nothing, tls: null })
  }
  const named = new Limiter({ url: new URL(server.url), namespace: 'named', ...patient })
  await named.limit(login, 'ada')
  assert.match(await server.command('EXISTS', 'named:{ada}:login'), /^:1/)
})

test('a namespace that is given is used', async () => {
  await new Limiter(server.url, { ...patient, layout: 'sharkey', namespace: 'tidegate' }).limit(login, 'eve')
  assert.match(await server.command('EXISTS', 'tidegate:rl_eve_login_c'), /^:1/)
})

test('a store that is fit says so', async () => {
  const { servers, roundTripMs, clockAheadMs, memoryPolicy, warnings } = await new Limiter(server.url, patient).ping()
  assert.deepEqual([servers, memoryPolicy, warnings], [[`127.0.0.1:${server.port}`], 'noeviction', []])
  assert.ok(roundTripMs > 0 && Math.abs(clockAheadMs) < 1000)
  const nothing = await new Limiter().ping()
  assert.deepEqual([nothing.servers, nothing.roundTripMs, nothing.warnings], [[], 0, []])
  const closed = new Limiter(server.url)
  await closed.close()
  await assert.rejects(closed.ping(), (error) => error instanceof StoreError && error.failure === 'closed')
})

test('what is wrong is said, and overridden beside the URL', async () => {
  const guarded = await RedisServer.start()
  await guarded.command('CONFIG', 'SET', 'requirepass', 'S3cr3t')
  const limiter = new Limiter(guarded.url, patient)
  for (const call of [() => limiter.ping(), () => limiter.limit(login, 'ada'), () => limiter.clear()]) {
    await assert.rejects(call(), (error) => {
      assert.ok(['denied', 'unavailable'].includes(error.failure), error.failure)
      assert.equal(error.server, `127.0.0.1:${guarded.port}`)
      assert.match(error.cause, /NOAUTH/)
      return error instanceof StoreError && error.message.includes(error.reason)
    })
  }
  const url = `redis://somebody:else@127.0.0.1:${guarded.port}`
  const known = new Limiter(url, { ...patient, username: 'default', password: 'S3cr3t' })
  assert.deepEqual((await known.ping()).warnings, [])
})

test('clearing removes a namespace', async () => {
  const [mine, other] = ['mine', 'other'].map((namespace) => new Limiter(server.url, { ...patient, namespace }))
  for (const actor of ['ada', 'eve']) await mine.limit(login, actor)
  await other.limit(login, 'ada')
  assert.equal((await mine.limit(login, 'ada')).blocked, true)
  assert.equal(await mine.clear(), 2)
  assert.equal((await mine.limit(login, 'ada')).blocked, false)
  assert.equal((await other.limit(login, 'ada')).blocked, true)
  const memory = new Limiter()
  memory.limitSync(login, 'ada')
  assert.deepEqual([await memory.clear(), memory.entries], [1, 0])
})

test('who does not listen is warned', async () => {
  const program = `
    const { bucket, Limiter } = require('tidegate')
    const limiter = new Limiter('redis://us3r:S3cr3t@127.0.0.1:1', { timeoutMs: 1000 })
    process.on('warning', (warning) => console.log(warning.name, warning.code, warning.message))
    if (process.argv[1] === 'listen') limiter.on('degraded', ({ name, failure }) => console.log(name, failure))
    limiter.limit(bucket({ key: 'login', size: 10 }), 'ada').then(() => setTimeout(() => {}, 100))`
  const run = async (...args) => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', program, ...args], { cwd: root })
    assert.ok(!`${stdout}${stderr}`.includes('S3cr3t') && !stdout.includes('us3r'), stdout)
    return stdout.trim().split('\n')
  }
  const [warned, ...more] = await run()
  assert.match(warned, /^TidegateWarning TIDEGATE_DEGRADED redis at 127\.0\.0\.1:1 did not decide: 1 call was answered/)
  assert.match(warned, /the policy is local/)
  assert.deepEqual(more, [])
  // The first connection may have failed before the call.
  assert.match((await run('listen')).join(), /^degraded (unreachable|unavailable)$/)
})

test('a full memory store says so once, and who does not listen is warned', async () => {
  const full = new Limiter({ maxEntries: 10 })
  const events = []
  full.on('overflow', (event) => events.push(event))
  const charge = (limiter) => {
    for (let name = 0; name < 100; name++) limiter.limitSync(login, `newcomer ${name}`)
    return limiter.overflowed
  }
  assert.ok(charge(full) > 50)
  await eventually(
    async () => events,
    () => events.length > 0,
  )
  const [{ name, failure, message }] = events
  assert.deepEqual([name, failure], ['overflow', undefined])
  assert.match(message, /^the memory store is full/)
  assert.equal(charge(full) > 150, true)
  await new Promise((done) => setTimeout(done, 50))
  assert.equal(events.length, 1)

  const program = `
    const { bucket, Limiter } = require('tidegate')
    const limiter = new Limiter({ maxEntries: 10 })
    process.on('warning', (warning) => console.log(warning.name, warning.code, warning.message))
    const login = bucket({ key: 'login', size: 1 })
    for (let name = 0; name < 100; name++) limiter.limitSync(login, 'newcomer ' + name)
    setTimeout(() => {}, 100)`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { cwd: root })
  assert.match(stdout, /^TidegateWarning TIDEGATE_OVERFLOW the memory store is full[^\n]*\n$/)
})

test('an eviction policy that forgets has no failure', async () => {
  const full = await RedisServer.start()
  await full.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random')
  const limiter = new Limiter(full.url, patient)
  const events = []
  limiter.on('eviction', (event) => events.push(event))
  await limiter.limit(login, 'ada')
  const [event] = await eventually(
    async () => events,
    () => events.length > 0,
  )
  assert.deepEqual([event.name, event.failure], ['eviction', undefined])
  assert.match(event.message, /noeviction/)
})
