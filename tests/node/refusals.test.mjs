/** The definitions that every language refuses, and as what. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { bucket, LimitError, Limiter } from 'tidegate'

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8'))
const vectors = read('bad_input')
const options = read('options')

/** A list, or the name of one that several have in common. */
const listed = (given) =>
  (typeof given === 'string' ? vectors.lists[given] : given).map((value) => {
    if (value === null || typeof value !== 'object') return value
    if ('utf16' in value) return String.fromCharCode(...value.utf16)
    return 'number' in value ? Number(value.number) : value
  })

/** Every definition of a group with what is done to it. */
function* each(group) {
  for (const cases of vectors[group]) {
    for (const kind of listed(cases.of)) {
      const definition = vectors.definitions[kind]
      for (const field of listed(cases.fields)) {
        if (!Object.hasOwn(definition, field) && !cases.added) continue
        const { [field]: _, ...rest } = definition
        if (cases.values === undefined) yield [cases, field, rest]
        for (const value of listed(cases.values ?? [])) yield [cases, field, { ...rest, [field]: value }]
      }
    }
  }
}

test('what cannot be is refused by name', () => {
  const limiter = new Limiter()
  for (const group of ['refused', 'left out']) {
    for (const [{ kind, key = 'k' }, field, wire] of each(group)) {
      const refused = (error) => {
        assert.ok(error instanceof LimitError, error.stack)
        assert.ok(error instanceof (kind === 'type' ? TypeError : RangeError), error.stack)
        assert.deepEqual([error.key, error.field], [key, field], `${JSON.stringify(wire)}: ${error.message}`)
        assert.ok(error.message.endsWith(`got ${error.value}`) && error.message.length < 400)
        return true
      }
      assert.throws(() => limiter.limitSync(wire, 'ada'), refused, JSON.stringify(wire))
      if (wire.type === 'bucket') assert.throws(() => bucket(wire), refused)
    }
  }
  assert.equal(limiter.entries, 0)
})

test('what is at a bound is taken', () => {
  const limiter = new Limiter()
  for (const [, field, wire] of each('taken')) {
    assert.doesNotThrow(() => limiter.peekSync(wire, 'ada', { now: 0 }), `${field} of ${JSON.stringify(wire)}`)
  }
})

/** Every option of a group with each of its values, as JavaScript spells them. */
function* optionsOf(group) {
  for (const { options: names, values, kind } of options[group]) {
    for (const option of names.filter((name) => !name.startsWith('ssl'))) {
      const [outer, inner] = option.split('.')
      const name = options.times.includes(option) ? `${option}Ms` : option
      for (const value of listed(values))
        yield [name, kind, inner ? { [outer]: { [inner]: value } } : { [name]: value }]
    }
  }
}

test('options are refused by name, and taken at their bounds, whatever the store', () => {
  for (const url of ['memory://', 'redis://127.0.0.1:1']) {
    for (const [name, kind, given] of optionsOf('refused')) {
      const refused = (error) => {
        assert.ok(error instanceof (kind === 'type' ? TypeError : RangeError), error.stack)
        assert.deepEqual([error.code, error.field], ['ERR_LIMIT', name], `${JSON.stringify(given)}: ${error.message}`)
        return true
      }
      assert.throws(() => new Limiter(url, given), refused, JSON.stringify(given))
    }
    for (const [, , given] of optionsOf('taken')) new Limiter(url, given).close()
  }
})
