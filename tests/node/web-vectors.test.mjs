/** The rules that all frameworks share, as all languages are tested for them. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { clientOf, LimitError } from 'tidegate'
import { keyOf } from '../../node/dist/http/clients.js'
import { Gate } from '../../node/dist/http/gate.js'
import { native } from '../../node/dist/native/native.js'

const vectors = JSON.parse(readFileSync(new URL('../vectors/web.json', import.meta.url), 'utf8'))

test('actors', () => {
  for (const [address, ipv6Prefix, actor] of vectors.clients) {
    const asked = () => clientOf(address, { ipv6Prefix })
    if (actor === null) assert.throws(asked, LimitError)
    else assert.equal(asked(), actor)
  }
  for (const [key, actor] of vectors.keys) assert.equal(keyOf(key), actor)
  for (const wrong of [undefined, null, 7, {}]) assert.throws(() => clientOf(wrong), { field: 'address' })
  for (const [ipv6Prefix, value] of [
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [-64, '-64'],
    [1e9, '1000000000'],
    ['64', '"64"'],
  ]) {
    assert.throws(() => clientOf('::1', { ipv6Prefix }), { field: 'ipv6Prefix', value })
  }
})

test('names', () => {
  for (const [syntax, path, template] of vectors.templates) assert.equal(native.template(path, syntax), template)
  for (const [methods, template, name] of vectors.names) assert.equal(native.routeName(methods, template), name)
  const names = native.makeNames()
  for (const [name, place, granted] of vectors.claims) assert.equal(names.claim(name, place), granted)
  assert.equal(native.appName(), 'app')
})

test('errors of requests', () => {
  for (const { field, value, name, status } of vectors['request errors']) {
    assert.equal(native.requestError(field, value) ?? null, name, `${field} ${value}`)
    if (name !== null) assert.equal(native.requestErrorParts(name).status, status)
  }
  for (const { name, options, accept, status, headers, body } of vectors.rejections) {
    const refusal = new Gate(options).rejection(name, accept)
    assert.deepEqual([refusal.status, refusal.headers], [status, headers])
    assert.deepEqual(typeof body === 'string' ? refusal.body : JSON.parse(refusal.body), body)
  }
})

test('denials', () => {
  for (const { says, at, told } of vectors.denials) {
    const denials = native.makeDenials()
    for (const [index, [now, count]] of at.entries()) {
      const notes = Array.from({ length: count }, () => denials.note(now)).filter((note) => note !== null)
      assert.deepEqual([notes.length, notes[0] ?? 0], told[index], says)
    }
  }
})

test('warnings about proxies', async () => {
  const codes = []
  const listen = ({ code }) => codes.push(code)
  process.on('warning', listen)
  for (const [index, { says, options, peer, lines, actor, mistake }] of vectors.forwarded.entries()) {
    const gate = new Gate({ ...options, scope: `warnings about proxies ${index}` })
    assert.equal(gate.client(peer, lines), actor, says)
    await new Promise(setImmediate)
    assert.deepEqual(codes.splice(0), mistake === null ? [] : [mistake], says)
  }
  process.off('warning', listen)
})
