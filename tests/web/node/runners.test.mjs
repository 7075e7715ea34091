/** The examples for other test runners than Node's own, which is asked directly. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const runners = 'tests/web/runners/node_modules'

async function run(file, args, options = '') {
  const env = { ...process.env, NODE_OPTIONS: options, NO_COLOR: '1' }
  // A runner that runs inside of another one would think it is a part of it.
  delete env.NODE_TEST_CONTEXT
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [`${runners}/${file}`, ...args], {
    cwd: root,
    env,
    timeout: 120_000,
  })
  return stdout + stderr
}

test('Jest', async () => {
  const example = 'examples/testing/jest.test.mjs'
  const args = ['--rootDir=.', '--runTestsByPath', example, '--testMatch', `**/${example}`, '--transform', '{}']
  // Packages that were built here have the name of the one at the top.
  args.push('--modulePathIgnorePatterns', '<rootDir>/dist/', '<rootDir>/target/')
  assert.match(await run('jest/bin/jest.js', args, '--experimental-vm-modules'), /Tests: +3 passed, 3 total/)
})

test('Vitest', async () => {
  const args = ['run', '--root', '.', 'examples/testing/vitest.test.mjs']
  assert.match(await run('vitest/vitest.mjs', args), /Tests +3 passed \(3\)/)
})
