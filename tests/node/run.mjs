/** Runs those of the test files that look at a clock, one by one, or the others: three at a time, because many wait. */

import { basename } from 'node:path'
import { finished } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

/** Files whose tests have bounds in time, so that nothing else may keep the machine busy. */
const TIMED = new Set(['load', 'outage', 'process', 'redis', 'redis-process'])

const [which, ...named] = process.argv.slice(2)
const isTimed = which === 'timed'
const files = named.filter((file) => TIMED.has(basename(file, '.test.mjs')) === isTimed)
const results = run({ files, concurrency: isTimed ? 1 : 3 })
results.on('test:fail', () => {
  process.exitCode = 1
})
const shown = results.compose(new spec())
shown.pipe(process.stdout)
await finished(shown)
