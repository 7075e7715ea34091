/** The package when it is loaded, and when somebody bundles it. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'tidegate-bundle-'))
after(() => rmSync(folder, { recursive: true, force: true }))
mkdirSync(join(folder, 'node_modules'))
symlinkSync(root, join(folder, 'node_modules/tidegate'))

const run = async (...args) =>
  (await promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 20_000 })).stdout

test('loading asks for no report, which would resolve the name of every peer', async () => {
  const script = `
    let asked = 0
    const { getReport } = process.report
    process.report.getReport = (...given) => (asked++, getReport.apply(process.report, given))
    const { Limiter } = require('tidegate')
    process.stdout.write(asked + ' ' + new Limiter().entries)
  `
  assert.equal(await run('--eval', script), '0 0')
})

test('where the executable cannot be read, the report leaves the network out', async () => {
  const script = `
    const networks = []
    const { getReport } = process.report
    process.report.getReport = (...given) => {
      networks.push(process.report.excludeNetwork)
      return getReport.apply(process.report, given)
    }
    Object.defineProperty(process, 'execPath', { value: '/nowhere' })
    const { Limiter } = require('tidegate')
    process.stdout.write(JSON.stringify([networks, new Limiter().entries]))
  `
  assert.deepEqual(JSON.parse(await run('--eval', script)), [[true], 0])
})

test('loaded twice, as by a test runner, both copies answer, one switch is for both, and a limiter is for its own', async () => {
  const script = `
    const load = () => {
      for (const file of Object.keys(require.cache)) delete require.cache[file]
      return ['tidegate', 'tidegate/testing', 'tidegate/web', 'tidegate/sharkey'].map((name) => require(name))
    }
    const request = new Request('http://localhost')
    const [[one, { rateLimitsOff }], [two, , { rateLimit }, { RateLimiterService }]] = [load(), load()]
    const limiters = [one, two].map(({ Limiter }) => new Limiter())
    const limits = [one, two].map(({ bucket }, index) => bucket({ key: 'k', size: 5 + index }))
    const left = []
    for (let call = 0; call < 4; call++) left.push(limiters[call % 2].limitSync(limits[call % 2], 'ada').remaining)
    const check = rateLimit({ limits: '1/minute', key: () => 'ada' })
    ;(async () => {
      const off = rateLimitsOff()
      const { info } = await check(request)
      off.restore()
      const errors = []
      for (const make of [() => rateLimit({ limits: '1/minute', limiter: limiters[0] }), () => new RateLimiterService({ limiter: limiters[0] })]) {
        try { make() } catch ({ message }) { errors.push(message) }
      }
      process.stdout.write(JSON.stringify([left, info === undefined, (await check(request)).info.remaining, errors]))
    })()
  `
  const error =
    'limiter must be a Limiter or the URL of a store, of this copy of tidegate, which was loaded twice, got an object'
  assert.deepEqual(JSON.parse(await run('--eval', script)), [[4, 5, 3, 4], true, 0, [error, error]])
})

test('an addon that is there, but may not be loaded, is not reported as missing', async () => {
  const error = await run('--no-addons', '--eval', "require('tidegate')").catch(({ stderr }) => stderr)
  assert.match(error, /Error: tidegate's addon for [\w-]+ cannot be loaded: .*addons is disabled: .*--allow-addons/)
  assert.match(error, /ERR_DLOPEN_DISABLED/)
})

writeFileSync(
  join(folder, 'app.mjs'),
  `import { bucket, Limiter } from 'tidegate'
   import { Clock } from 'tidegate/testing'
   const limiter = new Limiter({ clock: new Clock() })
   console.log((await limiter.limit(bucket({ key: 'k', size: 2 }), 'ada')).remaining)`,
)
writeFileSync(
  join(folder, 'app.cjs'),
  `const { bucket, Limiter } = require('tidegate')
   console.log(new Limiter().limitSync(bucket({ key: 'k', size: 2 }), 'ada').remaining)`,
)

const bundle = (format, options) =>
  build({
    absWorkingDir: folder,
    entryPoints: [format === 'esm' ? 'app.mjs' : 'app.cjs'],
    outfile: join(folder, `out-${format}.${format === 'esm' ? 'mjs' : 'cjs'}`),
    bundle: true,
    platform: 'node',
    format,
    logLevel: 'silent',
    preserveSymlinks: true,
    ...options,
  })

for (const format of ['esm', 'cjs']) {
  test(`a bundle (${format}) fails when it is built, and the error says what to do`, async () => {
    await assert.rejects(bundle(format), /mark-tidegate-as-external/)
    // So it does for those who have a way to bundle addons.
    await assert.rejects(bundle(format, { loader: { '.node': 'copy' } }), /mark-tidegate-as-external/)
  })

  test(`a bundle (${format}) that leaves the package outside runs`, async () => {
    await bundle(format, { external: ['tidegate', 'tidegate/*'] })
    assert.equal(await run(`out-${format}.${format === 'esm' ? 'mjs' : 'cjs'}`), '1\n')
  })

  test(`a bundle (${format}) that was built all the same says what to do when it runs`, async () => {
    await bundle(format, { external: ['./mark-tidegate-as-external.node'] })
    const file = `out-${format}.${format === 'esm' ? 'mjs' : 'cjs'}`
    await assert.rejects(run(file), format === 'esm' ? /Dynamic require|tidegate/ : /mark "tidegate" as external/)
  })
}
