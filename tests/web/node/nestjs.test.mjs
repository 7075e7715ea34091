/** The module for NestJS 12. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import './nestjs-http.mjs'
import './nestjs-graphql.mjs'
import './nestjs-websockets.mjs'

test('the version', () => {
  const core = createRequire(import.meta.url).resolve('@nestjs/core/package.json')
  assert.match(JSON.parse(readFileSync(core, 'utf8')).version, /^12\./)
})
