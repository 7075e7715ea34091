/**
 * Runs the test files that are named: three at a time, because many wait, and those that look at a clock after them, one by
 * one.
 */

import { basename } from 'node:path'
import { finished } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

/** Files whose tests have bounds in time, so that nothing else may keep the machine busy. */
const CLOCK = new Set(['load', 'outage', 'process', 'redis', 'redis-process'])

const named = process.argv.slice(2)
const looksAtClock = (file) => CLOCK.has(basename(file, '.test.mjs'))
for (const [files, concurrency] of [
  [named.filter((file) => !looksAtClock(file)), 3],
  [named.filter(looksAtClock), 1],
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
