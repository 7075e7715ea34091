/** A document that changes while requests run, in every framework. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { LimitError, Limits, LimitsError } from 'tidegate'
import { rateLimit } from 'tidegate/express'
import { apps, get, several } from './apps.mjs'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-watched-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const DOCUMENT = `
api = { type = "bucket", size = 3, dripRate = 3600000 }

[[overrides]]
actor = "acme"
limit = "api"
definition = { type = "sliding-log", max = 5, period = 3600000 }

[[overrides]]
pattern = "team-*"
factor = 0.5

[[overrides]]
actor = "monitor"
unlimited = true
`

let files = 0
/** A file, and its limits, which are looked at only when the test says so. */
async function watched(text = DOCUMENT) {
  const path = join(folder, `${++files}.toml`)
  writeFileSync(path, text)
  const limits = await Limits.watch(path, { every: 3_600_000 })
  after(() => limits.close())
  return { path, limits }
}

const key = (given) => {
  const headers = given.headers ?? given.req.raw?.headers
  return headers.get?.('x-api-key') ?? headers['x-api-key']
}
const of = (url, actor, count) => several(count, url, '/', { headers: { 'x-api-key': actor } })
const admitted = async (url, actor, count = 12) =>
  (await of(url, actor, count)).filter(({ status }) => status === 200).length

for (const [name, appOf] of Object.entries(apps)) {
  test(`${name}: overrides hold for the actor of a request`, async () => {
    const { limits } = await watched()
    for (const given of [limits, limits.select('api')]) {
      const { url } = await appOf({ limits: given, key })
      const found = {}
      for (const actor of ['ada', 'acme', 'team-7', 'monitor']) found[actor] = await admitted(url, actor)
      assert.deepEqual(found, { ada: 3, acme: 5, 'team-7': 6, monitor: 12 })
    }
  })

  test(`${name}: a change counts from the next request on, and a mistake never`, async () => {
    const { path, limits } = await watched()
    const { url } = await appOf({ limits, key })
    assert.equal(await admitted(url, 'ada'), 3)
    writeFileSync(path, "api = { type = 'bucket', size = 0 }")
    await assert.rejects(limits.reload(), LimitsError)
    assert.equal(await admitted(url, 'ada', 1), 0)
    writeFileSync(path, "api = { type = 'bucket', size = 5, dripRate = 3600000 }\nday = '100/day'")
    assert.equal(await limits.reload(), true)
    // What was used stays used.
    assert.equal(await admitted(url, 'ada'), 2)
    const [first] = await of(url, 'bob', 1)
    assert.match(first.headers.get('ratelimit-policy') ?? first.headers.get('x-ratelimit-limit'), /"day"|5/)
    writeFileSync(path, '')
    assert.equal(await limits.reload(), true)
    assert.equal(await admitted(url, 'ada'), 12)
  })
}

for (const name of ['express5', 'fastify', 'hono']) {
  test(`${name}: a document changes while requests run`, async () => {
    const { path, limits } = await watched()
    const { url } = await apps[name]({ limits, key })
    let ended = 0
    const asked = Array.from({ length: 160 }, async () => {
      const response = await get(url, '/', { headers: { 'x-api-key': 'monitor' } })
      ended++
      return response.status
    })
    let changes = 0
    while (ended < asked.length) {
      changes++
      writeFileSync(path, changes % 3 ? `api = { type = 'bucket', size = ${1000 + changes} }` : 'api = [')
      try {
        await limits.reload()
      } catch (error) {
        assert.ok(error instanceof LimitsError && changes % 3 === 0)
      }
      await new Promise(setImmediate)
    }
    assert.ok(changes > 3)
    assert.deepEqual(new Set(await Promise.all(asked)), new Set([200]))
  })
}

test('a function of the factor is scaled by the override, and units that are held are released', async () => {
  const { limits } = await watched()
  const { url } = await apps.express5({ limits, key, factor: () => 0.5 })
  assert.deepEqual([await admitted(url, 'ada'), await admitted(url, 'team-7', 20)], [6, 12])
  const jobs = await watched("jobs = { type = 'concurrency', max = 1, lease = 60000 }")
  const held = await apps.express5({ limits: jobs.limits, key })
  assert.equal(await admitted(held.url, 'ada', 5), 5)
})

test('a candidate of a document of one limit is counted, and stays beside it where others are added', async () => {
  const { path, limits } = await watched()
  const { url, trials } = await apps.koa3({ limits, key, candidate: '1/hour' })
  assert.equal(await admitted(url, 'ada', 3), 3)
  const counts = { bothAdmitted: 1, bothDenied: 0, onlyLiveDenied: 0, onlyCandidateDenied: 2 }
  assert.deepEqual(trials().candidates, { api: counts })
  writeFileSync(path, `more = "9/hour"\n${DOCUMENT}`)
  await limits.reload()
  assert.equal(await admitted(url, 'bob', 4), 3)
  const more = { bothAdmitted: 2, bothDenied: 1, onlyLiveDenied: 0, onlyCandidateDenied: 4 }
  assert.deepEqual(trials().candidates, { api: more })
})

test('numbers are checked when a place is made', async () => {
  const { limits } = await watched()
  assert.throws(() => rateLimit({ limits, cost: 4 }), LimitError)
  const { limits: none } = await watched('')
  assert.throws(() => rateLimit({ limits: none }), /at least one limit/)
})
