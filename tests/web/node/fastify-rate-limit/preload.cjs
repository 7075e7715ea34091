/**
 * Puts tidegate's store into the tests of @fastify/rate-limit: loaded before one of its files. Where a test registers the
 * plugin without a store of its own, it gets ours, with the clock that the test moves. Tests that are of something else
 * than a store are skipped with their reason.
 */

const Module = require('node:module')
const path = require('node:path')
const { skipped } = require('./skipped.cjs')
const { Limiter } = require('tidegate')
const { Store } = require('tidegate/stores/fastify-rate-limit')

const url = process.env.STORE_URL
/** On a busy machine the server may take its time. */
const PATIENT = { timeoutMs: 10_000, onError: 'raise' }
let stores = 0
const load = Module._load

/** The plugin as it is, but for the store. */
function withStore(plugin) {
  function registered(fastify, options) {
    if (options.store || options.redis) return plugin(fastify, options)
    // Read anew at each call, because tests put another one in its place.
    const clock = { clock: () => Date.now() }
    const limiter = url
      ? new Limiter(url, { ...clock, ...PATIENT, namespace: `${process.pid}-${stores}` })
      : new Limiter(clock)
    stores++
    return plugin(fastify, { ...options, store: Store.with({ limiter }) })
  }
  return Object.defineProperties(registered, Object.getOwnPropertyDescriptors(plugin))
}

/** `node:test`, without the tests that do not apply. */
function withoutSkipped(tests) {
  const file = path.basename(process.argv[1])
  const test = (name, ...given) => {
    const reason = skipped[file]?.[name]
    return reason === undefined ? tests.test(name, ...given) : tests.test(name, { skip: reason })
  }
  return { ...tests, test }
}

let plugin
let tests
Module._load = function (request, parent, isMain) {
  const loaded = load.call(this, request, parent, isMain)
  const from = parent?.filename ?? ''
  if (request === 'node:test' && from.includes('rate-limit')) {
    tests ??= withoutSkipped(loaded)
    return tests
  }
  if (request !== '../index' && request !== '../../index') return loaded
  plugin ??= withStore(loaded)
  return plugin
}

process.on('exit', () => console.log(`# stores ${stores}`))
