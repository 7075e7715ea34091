// A program that has installed the package: decides in memory and over a server.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { bucket, Limiter } from 'tidegate'

assert.equal(createRequire(import.meta.url)('tidegate').Limiter, Limiter)

const login = bucket({ key: 'login', size: 3, dripRate: 60_000 })
const limiter = new Limiter()
assert.deepEqual(
  [1, 2, 3, 4].map(() => limiter.limitSync(login, 'ada').blocked),
  [false, false, false, true],
)

const shared = new Limiter('redis://127.0.0.1:7000', { onError: 'raise', timeoutMs: 5000 })
assert.equal((await shared.limit(login, 'node')).remaining, 2)
console.log(`Node ${process.version}: decided in memory and over Valkey`)
