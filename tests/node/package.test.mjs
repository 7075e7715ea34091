/** The tarball, in a folder that has nothing else and where there is no Rust. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'tidegate-package-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** A search path on which there is Node and nothing else: no Rust, whatever this machine has. */
const path = join(folder, 'bin')
mkdirSync(path)
symlinkSync(process.execPath, join(path, 'node'))
const npm = process.env.npm_execpath ?? realpathSync(join(dirname(process.execPath), 'npm'))

async function run(file, args, cwd = folder) {
  const env = { ...process.env, PATH: path }
  const { stdout } = await promisify(execFile)(file, args, { cwd, env, timeout: 120_000 })
  return stdout
}

let files
before(async () => {
  const [packed] = JSON.parse(await run(process.execPath, [npm, 'pack', '--json', '--pack-destination', folder], root))
  files = packed.files.map((file) => file.path)
  writeFileSync(join(folder, 'package.json'), '{ "name": "empty", "private": true }')
  await run(process.execPath, [npm, 'install', '--offline', '--ignore-scripts', join(folder, packed.filename)])
})

test('there is no Rust in reach', async () => {
  await assert.rejects(run('cargo', ['--version']), (error) => error.code === 'ENOENT')
})

test('holds what is needed and nothing else', () => {
  const unexpected = files.filter(
    (file) =>
      !/^(package\.json|README\.md|LICENSE.*|THIRD-PARTY-NOTICES|node\/sbom\.cdx\.json|node\/dist\/((client|express|fastify|http|limiter|limits|native|nest|results|room|stores|time)\/)?[\w.-]+)$/.test(
        file,
      ),
  )
  assert.deepEqual(unexpected, [])
  for (const file of ['index.js', 'index.mjs', 'index.d.ts', 'index.d.mts'])
    assert.ok(files.includes(`node/dist/${file}`), file)
  assert.equal(files.filter((file) => file.endsWith('.node')).length, 1)
})

test('declares no types that older compilers and libraries lack, for those who check them', () => {
  const declared = files.filter((file) => /\.d\.m?ts$/.test(file))
  assert.ok(declared.length > 50)
  for (const file of declared) {
    const text = readFileSync(join(folder, 'node_modules/tidegate', file), 'utf8')
    // Typed arrays took no argument before TypeScript 5.7, and the options of errors came with ES2022.
    assert.doesNotMatch(text, /(\d|Clamped)Array<|\bErrorOptions\b/, file)
  }
})

test('says what is built into it', () => {
  const installed = join(folder, 'node_modules/tidegate')
  const { bomFormat, components } = JSON.parse(readFileSync(join(installed, 'node/sbom.cdx.json'), 'utf8'))
  assert.equal(bomFormat, 'CycloneDX')
  const names = new Set(components.map((component) => component.name))
  for (const name of ['tidegate', 'napi', 'redis', 'rustls', 'ring']) assert.ok(names.has(name), name)
  assert.ok(!names.has('proptest') && !names.has('pyo3'), 'what only tests or another package use is not in it')
  const notices = readFileSync(join(installed, 'THIRD-PARTY-NOTICES'), 'utf8')
  // The code of this workspace goes under the licences beside the notices.
  for (const { name, version } of components.filter((component) => component.name !== 'tidegate')) {
    assert.ok(notices.replace(/\s+/g, ' ').includes(`${name} ${version} (`), `${name} ${version}`)
  }
})

test('import and require give the same objects', async () => {
  const script = `
    import assert from 'node:assert/strict'
    import { createRequire } from 'node:module'
    import * as imported from 'tidegate'
    const required = createRequire(import.meta.url)('tidegate')
    for (const name of Object.keys(required)) assert.equal(imported[name], required[name], name)
    const info = await new imported.Limiter().limit(required.bucket({ key: 'k', size: 2 }), 'ada')
    assert.equal(info.remaining, 1)
    console.log(Object.keys(required).sort().join())
  `
  writeFileSync(join(folder, 'both.mjs'), script)
  const exported = Object.keys(await import('tidegate'))
    .sort()
    .join()
  assert.match(exported, /LimitError,.*,bucket,/)
  assert.equal(await run(process.execPath, ['both.mjs']), `${exported}\n`)
  const required = "const { Limiter } = require('tidegate'); console.log(new Limiter().entries)"
  assert.equal(await run(process.execPath, ['-e', required]), '0\n')
})

test('its types hold for both module systems', async () => {
  // Node's own types are the user's to install; here they are the ones that are at hand.
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  symlinkSync(join(root, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'))
  cpSync(join(root, 'tests/node/types'), join(folder, 'types'), { recursive: true })
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'types'])
})

test('the declarations of every module hold where a program has its libraries checked', async () => {
  const declared = files.filter((file) => /\.d\.m?ts$/.test(file))
  assert.ok(declared.length > 50, `${declared.length}`)
  const options = '--ignoreConfig --noEmit --strict --exactOptionalPropertyTypes --skipLibCheck false'.split(' ')
  const target = '--module nodenext --target es2023 --lib es2024,esnext.disposable --types node'.split(' ')
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), ...options, ...target]
  // Here, where the frameworks are; what is wrong with their own declarations is not ours.
  const given = { cwd: root, timeout: 300_000, maxBuffer: 1e8 }
  const ended = await promisify(execFile)(process.execPath, [...tsc, ...declared], given).catch((error) => error)
  assert.ok(!ended.killed, ended.message)
  assert.deepEqual(
    ended.stdout.split('\n').filter((line) => line.startsWith('node/dist/')),
    [],
  )
})

test('a package for the platform goes before the addon in the tarball', async () => {
  const name = files.find((file) => file.endsWith('.node')).match(/tidegate\.(.+)\.node$/)[1]
  const platform = join(folder, 'node_modules/@tidegate', name)
  cpSync(join(root, `node/dist/tidegate.${name}.node`), join(platform, 'addon.node'))
  writeFileSync(join(platform, 'package.json'), JSON.stringify({ name: `@tidegate/${name}`, main: 'addon.node' }))
  rmSync(join(folder, `node_modules/tidegate/node/dist/tidegate.${name}.node`))
  const script = "const { Limiter } = require('tidegate'); console.log(new Limiter().entries)"
  assert.equal(await run(process.execPath, ['-e', script]), '0\n')
  rmSync(platform, { recursive: true })
  await assert.rejects(
    run(process.execPath, ['-e', script]),
    new RegExp(`tidegate has no addon for ${name}: install @tidegate/${name}`),
  )
})
