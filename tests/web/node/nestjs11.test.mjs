/** The module for NestJS 11: the same tests as over 12. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import './nest11.mjs'

const { apps } = await import('./apps.mjs')
const { playAll } = await import('./playing.mjs')
await import('./nestjs-http.mjs')
await import('./nestjs-graphql.mjs')
await import('./nestjs-websockets.mjs')

playAll({ nestExpress: apps.nestExpress, nestFastify: apps.nestFastify })

test('the version', () => {
  const require = createRequire(import.meta.url)
  assert.match(JSON.parse(readFileSync(require.resolve('@nestjs/core/package.json'), 'utf8')).version, /^11\./)
  const { TidegateModule } = require('tidegate/nestjs')
  assert.equal(require('@nestjs/core').APP_GUARD, TidegateModule.forRoot({ limits: '1/hour' }).providers.at(-1).provide)
})

test('the types', async () => {
  const file = (path) => fileURLToPath(new URL(path, import.meta.url))
  const compiler = file('../../../node_modules/typescript/bin/tsc')
  await promisify(execFile)(process.execPath, [compiler, '-p', file('../nest11')]).catch(({ stdout }) =>
    assert.fail(stdout),
  )
})
