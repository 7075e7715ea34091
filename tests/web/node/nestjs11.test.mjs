/** The module for NestJS 11: the same tests as over 12. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import './nest11.mjs'

await import('./nestjs-http.mjs')
await import('./nestjs-graphql.mjs')
await import('./nestjs-websockets.mjs')

test('the version', () => {
  const require = createRequire(import.meta.url)
  assert.match(JSON.parse(readFileSync(require.resolve('@nestjs/core/package.json'), 'utf8')).version, /^11\./)
  const { TidegateModule } = require('tidegate/nestjs')
  assert.equal(require('@nestjs/core').APP_GUARD, TidegateModule.forRoot({ limits: '1/hour' }).providers.at(-1).provide)
})
