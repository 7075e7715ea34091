/** Documents that change while the program runs, and overrides in documents. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { bucket, LimitError, Limiter, Limits, LimitsError, SelectedLimits, WatchedLimits } from 'tidegate'
import { RedisServer } from './server.mjs'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-watch-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const DOCUMENT = `
api = "100/minute"
login = { type = "bucket", size = 10 }

[[overrides]]
actor = "acme"
limit = "api"
definition = "5000/minute"

[[overrides]]
pattern = "team-*"
factor = 0.5

[[overrides]]
actor = "monitor"
unlimited = true
`

let files = 0
function written(text = DOCUMENT) {
  const path = join(folder, `${++files}.toml`)
  writeFileSync(path, text)
  return path
}

/** Another text, all at once: nobody who looks meanwhile finds the file empty. */
function rewrite(path, text) {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

/** Limits that are looked at only when the test says so. */
async function watched(path, options = {}) {
  const limits = await Limits.watch(path, { every: 3_600_000, ...options })
  after(() => limits.close())
  return limits
}

test('a check has the first override of its actor', () => {
  const limits = Limits.fromText(DOCUMENT, 'toml')
  const [api, login] = limits.values()
  assert.deepEqual(limits.check('api', 'ada'), { limit: api, factor: 1, actor: 'ada' })
  assert.equal(limits.check('api', 'ada').limit, api)
  assert.equal(limits.check('api', 'acme').limit.count, 5000)
  assert.equal(limits.check('api', 'acme').limit, limits.check('api', 'acme').limit)
  assert.deepEqual(limits.check('login', 'acme'), { limit: login, factor: 1, actor: 'acme' })
  assert.deepEqual(limits.check('login', 'team-7'), { limit: login, factor: 0.5, actor: 'team-7' })
  assert.equal(limits.check('api', 'monitor').factor, 0)
  assert.equal(limits.check('api', '\ud800').factor, 1)
  assert.throws(() => limits.check('nobody', 'ada'), RangeError)

  const limiter = new Limiter()
  assert.equal(limiter.limitAllSync([limits.check('api', 'acme'), limits.check('login', 'acme')]).remaining, 9)
  assert.throws(() => limiter.limitAllSync([limits.check('api', 5)]), LimitError)
})

test('overrides of an object', () => {
  const overrides = [
    { actor: 'ada', limit: 'login', definition: bucket({ key: 'login', size: 99 }) },
    { actor: 'bob', limit: 'login', definition: { type: 'bucket', size: 5 } },
    { pattern: '*-bot', factor: 2, limit: undefined },
  ]
  const limits = Limits.fromObject({ login: { type: 'bucket', size: 10 }, overrides })
  assert.equal(limits.check('login', 'ada').limit.size, 99)
  assert.equal(limits.check('login', 'bob').limit.size, 5)
  assert.deepEqual(limits.overrides[2], { pattern: '*-bot', factor: 2 })
  assert.deepEqual(Limits.fromObject({ limits: { login: '1/s' } }).overrides, [])
  const cyclic = []
  cyclic.push(cyclic)
  assert.throws(
    () => Limits.fromObject({ limits: { login: '9/s' }, overrides: [{ actor: 'ada', factor: -1 }, cyclic, 5] }),
    (error) => {
      const paths = error.errors.map(({ path }) => path)
      assert.deepEqual(paths, ['overrides[0].factor', 'overrides[1]', 'overrides[2]'])
      return error instanceof LimitsError
    },
  )
})

test('the limits are always those that hold now', async () => {
  const path = written()
  const limits = await watched(path)
  assert.ok(limits instanceof Limits && limits instanceof WatchedLimits)
  assert.deepEqual([...limits.keys()], ['api', 'login'])
  assert.equal(await limits.reload(), false)
  const limiter = new Limiter()
  assert.equal(limiter.limitSync(limits.get('login'), 'ada', { cost: 4 }).remaining, 6)
  writeFileSync(path, "login = { type = 'bucket', size = 20 }")
  assert.equal(await limits.reload(), true)
  assert.deepEqual([...limits].length, 1)
  // What was used stays used.
  assert.equal(limiter.limitSync(limits.get('login'), 'ada').remaining, 15)
})

test('a wrong document changes nothing', async () => {
  const path = written()
  const limits = await watched(pathToFileURL(path))
  for (const text of ["api = '10/fortnight'", 'api = [']) {
    writeFileSync(path, text)
    await assert.rejects(limits.reload(), LimitsError)
    await assert.rejects(limits.reload(), LimitsError)
  }
  rmSync(path)
  await assert.rejects(limits.reload(), /cannot be read/)
  assert.equal(limits.check('api', 'acme').limit.count, 5000)
})

test('limits that were selected have to stay', async () => {
  const path = written()
  const limits = await watched(path)
  const selected = limits.select('login')
  assert.ok(selected instanceof SelectedLimits)
  assert.deepEqual(selected.names, ['login'])
  assert.throws(() => limits.select('login', 'nobody'), RangeError)
  writeFileSync(path, "api = '10/s'")
  await assert.rejects(limits.reload(), /login: must be given/)
  writeFileSync(path, "login = '10/s'")
  assert.equal(await limits.reload(), true)
})

test('changes and mistakes are told once', async () => {
  const path = written()
  let tell
  const next = () =>
    new Promise((resolve) => {
      tell = resolve
    })
  let told = next()
  const limits = await watched(path, { every: 10, onChange: (what) => tell(what), onError: (what) => tell(what) })
  const keep = setInterval(() => {}, 1000)
  rewrite(path, "api = '5/s'")
  assert.equal(await told, limits)
  told = next()
  rewrite(path, "api = '5/fortnight'")
  const error = await told
  assert.ok(error instanceof LimitsError)
  assert.equal(error.errors[0].path, 'api')
  told = next()
  rewrite(path, "api = '7/s'")
  assert.equal(await told, limits, 'and not of the mistake again')
  assert.equal(limits.get('api').count, 7)
  limits.close()
  clearInterval(keep)
})

test('a mistake that nobody listens to is a warning', async () => {
  const path = written()
  const limits = await watched(path, { every: 10 })
  const keep = setInterval(() => {}, 1000)
  rewrite(path, "api = '5/fortnight'")
  const [warning] = await once(process, 'warning')
  assert.deepEqual([warning.name, warning.code], ['TidegateWarning', 'TIDEGATE_LIMITS_WRONG'])
  limits.close()
  clearInterval(keep)
})

test('a text under a key of a server is watched', async () => {
  const server = await RedisServer.start()
  await server.command('SET', 'limits.toml', "api = '100/minute'")
  const source = `${server.url}/limits.toml`
  let tell
  const next = () =>
    new Promise((resolve) => {
      tell = resolve
    })
  let told = next()
  const limits = await watched(source, { every: 20, onChange: (what) => tell(what), onError: (what) => tell(what) })
  assert.equal(limits.get('api').count, 100)
  const keep = setInterval(() => {}, 1000)
  await server.command('SET', 'limits.toml', "api = '5/s'")
  assert.equal(await told, limits)
  assert.equal(limits.get('api').count, 5)
  told = next()
  await server.command('DEL', 'limits.toml')
  assert.match((await told).message, /there is no such key/)
  limits.close()
  clearInterval(keep)
  await assert.rejects(Limits.watch(new URL(server.url)), LimitError)
})

test('options are checked, and so is the first document', async () => {
  const path = written()
  for (const options of [
    { every: 0 },
    { every: '5' },
    { every: Number.NaN },
    { onChange: 5 },
    { onError: {} },
    { evry: 5 },
    5,
  ]) {
    await assert.rejects(Limits.watch(path, options), LimitError, JSON.stringify(options))
  }
  await assert.rejects(Limits.watch(path, null), { message: 'options must be an object with options, got null' })
  await assert.rejects(Limits.watch(join(folder, 'nowhere.toml')), LimitsError)
  await assert.rejects(Limits.watch(5), LimitError)
  await assert.rejects(Limits.watch(written('api = 5')), LimitsError)
})

test('a program ends while it watches, and limits that nobody has are collected', async () => {
  const program = `
    import { Limits } from 'tidegate'
    let limits = await Limits.watch(${JSON.stringify(written())}, { every: 1 })
    const known = new WeakRef(limits)
    limits = undefined
    const until = Date.now() + 60_000
    while (known.deref() !== undefined && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      gc()
    }
    console.log(known.deref() === undefined)
    globalThis.limits = await Limits.watch(${JSON.stringify(written())}, { every: 1 })
  `
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    '--input-type=module',
    '--eval',
    program,
  ])
  assert.equal(stdout, 'true\n')
})
