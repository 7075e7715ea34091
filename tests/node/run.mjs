/**
 * Runs the test files that are named: three at a time, because many wait, and those that look at a clock after them, one by
 * one. `--untimed` and `--timed` choose one of the two.
 */

import { basename } from 'node:path'
import { finished } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'

/** Files whose tests have bounds in time, so that no others of these may run beside them. */
const TIMED = new Set(['load', 'outage', 'process', 'redis', 'redis-process'])

const options = { timed: { type: 'boolean' }, untimed: { type: 'boolean' } }
const { values, positionals: named } = parseArgs({ options, allowPositionals: true })
const isTimed = (file) => TIMED.has(basename(file, '.test.mjs'))
for (const [files, concurrency] of [
  [values.timed ? [] : named.filter((file) => !isTimed(file)), 3],
  [values.untimed ? [] : named.filter(isTimed), 1],
]) {
  if (files.length === 0) continue
  const results = run({ files, concurrency })
  results.on('test:fail', () => {
    process.exitCode = 1
  })
  const shown = results.compose(new spec())
  shown.pipe(process.stdout, { end: false })
  await finished(shown)
}
