/** The tarball beside older versions of what it has modules for, and under an older TypeScript. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const subpaths = Object.keys(exports).filter((name) => name !== './package.json')
const folder = mkdtempSync(join(tmpdir(), 'tidegate-beside-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const npm = process.env.npm_execpath ?? realpathSync(join(dirname(process.execPath), 'npm'))

/** Each is older than what the module for it is written for, or the oldest that it works with. */
const OLD = {
  '@fastify/rate-limit': '10.3.0',
  '@nestjs/common': '10.4.22',
  '@nestjs/core': '10.4.22',
  '@nestjs/throttler': '5.2.0',
  '@types/express': '4.17.25',
  '@types/koa': '2.15.2',
  '@types/node': '20.19.43',
  express: '4.22.3',
  'express-rate-limit': '7.5.1',
  fastify: '4.29.1',
  hono: '4.1.1',
  'hono-rate-limiter': '0.4.2',
  koa: '2.16.4',
  'rate-limiter-flexible': '7.4.0',
  'reflect-metadata': '0.2.2',
  rxjs: '7.8.2',
  // The oldest that docs/node-web.md promises.
  typescript: '5.4.5',
}

async function run(args, cwd = folder) {
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, timeout: 240_000 })
  return stdout
}

/** The output of a script, run in the folder. */
const printed = (script) => run(['--input-type=module', '--eval', script])

before(async () => {
  const [packed] = JSON.parse(await run([npm, 'pack', '--json', '--pack-destination', folder], root))
  const dependencies = { ...OLD, tidegate: `file:${packed.filename}` }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'beside', private: true, dependencies }))
  // Without `--force` and `--legacy-peer-deps`, so that npm refuses what it would refuse.
  await run([npm, 'install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
})

test('npm installs it beside every one of them', async () => {
  for (const [name, version] of Object.entries(OLD)) {
    const installed = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
    assert.equal(installed.version, version, name)
  }
})

test('a library that is too old for its module is named, with the version that was found', async () => {
  await assert.rejects(
    printed(`import 'tidegate/stores/rate-limiter-flexible'`),
    /tidegate\/stores\/rate-limiter-flexible needs rate-limiter-flexible 11 or later, and found 7\.4\.0\n/,
  )
  const storage = `
    import { Store } from 'tidegate/stores/nestjs-throttler'
    await new Store().increment('ada', 60_000).catch((error) => console.log(error.message))
  `
  assert.equal(
    await printed(storage),
    'tidegate/stores/nestjs-throttler needs @nestjs/throttler 6 or later, and found 5.2.0\n',
  )
  const plugin = `
    import Fastify from 'fastify'
    import tidegate from 'tidegate/fastify'
    await Fastify().register(tidegate, { limits: '1/minute' }).then(undefined, (error) => console.log(error.message))
  `
  assert.match(await printed(plugin), /tidegate - expected '>=5' fastify version, '4\.29\.1' is installed/)
})

test('stores count for the oldest versions that they are for', async () => {
  const express = `
    import express from 'express'
    import { rateLimit } from 'express-rate-limit'
    import { Store } from 'tidegate/stores/express-rate-limit'
    const app = express()
    app.use(rateLimit({ windowMs: 60_000, limit: 2, store: new Store() }))
    app.get('/', (_request, response) => response.end())
    const server = app.listen(0, '127.0.0.1', async () => {
      for (let call = 0; call < 3; call++) {
        console.log((await fetch('http://127.0.0.1:' + server.address().port)).status)
      }
      server.close()
      server.closeAllConnections()
    })
  `
  assert.equal(await printed(express), '200\n200\n429\n')
  const hono = `
    import { Hono } from 'hono'
    import { rateLimiter } from 'hono-rate-limiter'
    import { Store } from 'tidegate/stores/hono-rate-limiter'
    const app = new Hono()
    app.use('*', rateLimiter({ windowMs: 60_000, limit: 2, keyGenerator: () => 'ada', store: new Store() }))
    app.get('/', (context) => context.text('hello'))
    for (let call = 0; call < 3; call++) console.log((await app.request('/')).status)
  `
  assert.equal(await printed(hono), '200\n200\n429\n')
})

for (const [resolution, options] of Object.entries({
  node10: '--module commonjs --moduleResolution node10',
  node16: '--module node16 --moduleResolution node16',
  bundler: '--module esnext --moduleResolution bundler',
})) {
  test(`TypeScript 5.4 finds the types of every subpath by ${resolution}`, async () => {
    // A module without types would be an error here, and `any` where it is used.
    const lines = subpaths.map((subpath, index) => {
      const name = subpath.replace('.', 'tidegate')
      return `import * as m${index} from '${name}'\nexport const not${index}: 0 extends 1 & typeof m${index} ? never : true = true`
    })
    writeFileSync(join(folder, 'use.ts'), lines.join('\n'))
    const strict = '--noEmit --strict --skipLibCheck --target es2022 --types node'
    const tsc = ['node_modules/typescript/bin/tsc', ...strict.split(' '), ...options.split(' '), 'use.ts']
    const ended = await run(tsc).catch((error) => error.stdout)
    assert.equal(ended, '')
  })
}
