/** Runs every example in the documentation comments of the library. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const library = new URL('../../node/lib/', import.meta.url)

function* examples(file) {
  const text = readFileSync(new URL(file, library), 'utf8')
  for (const { 1: block, index } of text.matchAll(/^ *\* ```js\n(.*?)^ *\* ```$/gms)) {
    const line = text.slice(0, index).split('\n').length + 1
    yield { line, code: block.replaceAll(/^ *\* ?/gm, '') }
  }
}

let count = 0
for (const file of readdirSync(library, { recursive: true }).filter((name) => /\.m?ts$/.test(name))) {
  for (const { line, code } of examples(file)) {
    count++
    test(`${file}:${line}`, async () => {
      const script = `import assert from 'node:assert/strict'\n${code}`
      await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
        cwd: root,
        timeout: 10_000,
      })
    })
  }
}

test('there are examples', () => assert.ok(count >= 10, `${count}`))
