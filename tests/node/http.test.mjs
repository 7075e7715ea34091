/** The common part of the modules for web frameworks: the golden answers, and what is JavaScript's own. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { bucket, LimitError, Limiter, LimitInfo, parseHeaders } from 'tidegate'
import { ConfigurationError, combine, forgetMistakes, Gate, MISTAKES } from '../../node/dist/http/gate.js'
import { native } from '../../node/dist/native/native.js'

const vectors = JSON.parse(readFileSync(new URL('../vectors/http.json', import.meta.url), 'utf8'))

function answer({ limits, steps }) {
  const limiter = new Limiter()
  const infos = steps.map(({ now, costs }) =>
    limiter.limitAllSync(
      limits.map((limit, index) => ({ limit, actor: 'a', cost: costs[index] })),
      { now },
    ),
  )
  return infos.at(-1)
}

for (const { says, options, peer, lines, actor, mistake } of vectors.clients) {
  test(`client: ${says}`, () => {
    const gate = new Gate(options)
    const asked = () => gate.client(peer, lines)
    if (mistake === undefined) assert.equal(asked(), actor)
    else assert.throws(asked, (error) => error instanceof ConfigurationError && error.mistake === mistake)
    if (lines.length === 1 && mistake === undefined) assert.equal(gate.client(peer, lines[0]), actor)
  })
}

for (const { says, options, answers, status, headers } of vectors.headers) {
  test(`headers: ${says}`, () => {
    const gate = new Gate(options)
    const infos = answers.map(answer)
    assert.deepEqual(gate.headers(infos, status), headers)
    if (infos.length === 1) assert.deepEqual(gate.headers(infos[0], status), headers)
  })
}

for (const { says, options, answers, accept, detail, ...want } of vectors.refusals) {
  test(`refusal: ${says}`, () => {
    const refusal = new Gate(options).refusal(answers.map(answer), accept, detail)
    const body = typeof want.body === 'string' ? refusal.body : JSON.parse(refusal.body)
    assert.deepEqual({ ...refusal, body }, want)
  })
}

for (const { says, headers, now, limits } of vectors.parsed) {
  test(`read back: ${says}`, () => {
    const plain = (value) => JSON.parse(JSON.stringify(value, (_, inner) => inner ?? null))
    assert.deepEqual(plain(parseHeaders(headers, { now })), limits)
    const names = new Set(headers.map(([name]) => name))
    if (names.size === headers.length) {
      assert.deepEqual(plain(parseHeaders(Object.fromEntries(headers), { now })), limits)
    }
  })
}

for (const { says, checks, kept } of vectors.combined) {
  test(`combined: ${says}`, () => {
    const given = checks.map(([limit, actor, cost, factor]) => ({ limit, actor, cost, factor }))
    assert.deepEqual(
      combine(given),
      kept.map(([index, cost]) => ({ ...given[index], cost })),
    )
  })
}

test('combined: what is no number and no text is an error that names its limit', () => {
  const limit = { key: 'login', type: 'bucket', size: 5 }
  for (const [check, message] of [
    [{ actor: 'ada', cost: '2' }, 'limit "login": cost must be a number, got "2"'],
    [{ actor: 'ada', factor: 2n }, 'limit "login": factor must be a number, got a bigint'],
    [{ actor: 5 }, 'limit "login": actor must be a string, got 5'],
  ]) {
    assert.throws(
      () =>
        combine([
          { limit, actor: 'bob' },
          { limit, ...check },
        ]),
      { code: 'ERR_LIMIT', message },
    )
  }
})

for (const { options, kind, field } of vectors['refused options']) {
  test(`refused: ${JSON.stringify(options)}`, () => {
    assert.throws(
      () => new Gate(options),
      (error) =>
        error instanceof LimitError &&
        error.field === field &&
        error instanceof (kind === 'type' ? TypeError : RangeError),
    )
  })
}

test('every option is known, and none but these', () => {
  const names = native.gateOptions()
  assert.equal(names.length, 10)
  assert.equal(new Gate(Object.fromEntries(names.map((name) => [name, null]))).forwardedHeader, 'x-forwarded-for')
  assert.ok(new Gate().trustsNobody && new Gate({ trustedProxies: [] }).trustsNobody)
  assert.throws(() => new Gate({ trusted: 1 }), { field: 'trusted' })
  assert.throws(() => new Gate(1), { field: 'options' })
})

test('a mistake is warned of once for each limiter, unless it is silenced', async () => {
  // Those of the tests before are yet to come.
  await new Promise((resolve) => setImmediate(resolve))
  forgetMistakes()
  const warnings = []
  const listen = (warning) => warnings.push([warning.name, warning.code, warning.message.split(':')[0]])
  process.on('warning', listen)
  for (let again = 0; again < 3; again++) {
    assert.equal(new Gate({ scope: 'shop' }).client('10.0.0.1', ['203.0.113.9']), 'ip:10.0.0.1')
  }
  const gate = new Gate({ scope: 'shop', silence: ['same-key-twice'] })
  assert.deepEqual([gate.report('counted-twice', 'login'), gate.report('counted-twice', 'api')], [true, false])
  assert.equal(gate.report('same-key-twice'), false)
  assert.equal(new Gate({ scope: 'shop' }).report('counted-twice'), false)
  assert.equal(new Gate({ scope: 'blog' }).report('counted-twice'), true)
  assert.throws(() => gate.report('oops'), { field: 'code' })
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', listen)
  assert.deepEqual(
    warnings,
    ['forwarded-not-trusted', 'counted-twice', 'counted-twice'].map((code) => ['TidegateWarning', code, code]),
  )
})

test('every mistake has a page', () => {
  const pages = readdirSync(new URL('../../docs/errors', import.meta.url)).map((name) => name.replace(/\.md$/, ''))
  // The other pages are those of error codes and of Django's checks.
  const ofMistakes = pages.filter((name) => !name.startsWith('err-') && name !== 'django-checks')
  assert.deepEqual(ofMistakes.sort(), [...MISTAKES.keys()].sort())
})

test('errors and warnings point to pages that everybody can open', () => {
  const { homepage } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url)))
  const pageIn = (url) => {
    assert.ok(url.startsWith(`${homepage}/blob/main/docs/`), url)
    return readFileSync(new URL(`../../${url.slice(`${homepage}/blob/main/`.length)}`, import.meta.url), 'utf8')
  }
  for (const mistake of MISTAKES.keys()) {
    const { page } = new ConfigurationError('made up', mistake)
    assert.ok(pageIn(page).startsWith(`# ${mistake}\n`))
  }
  assert.throws(
    () => new Gate().client(undefined),
    ({ mistake, page, message }) => {
      assert.equal(page, new ConfigurationError('made up', mistake).page)
      return message.endsWith(`; see ${page}`)
    },
  )
  // Where the addon is missing, nothing but the text itself can say it.
  const loader = readFileSync(createRequire(import.meta.url).resolve('../../node/dist/native/native.js'), 'utf8')
  const urls = loader.match(/https:[^) ']+/g)
  assert.deepEqual(urls.length, 1)
  assert.match(pageIn(urls[0]), /external/)
})

test('headers are read from what has them', async () => {
  const info = new Limiter().limitSync(bucket({ key: 'login', size: 10 }), 'ada')
  const headers = info.headers('both')
  const want = parseHeaders(headers)
  for (const none of [[1], ['RateLimit'], Buffer.from('a'), new Set(['a']), null, 5]) {
    assert.throws(() => parseHeaders(none), { code: 'ERR_LIMIT', field: 'headers' })
  }
  for (const now of [true, '5', new Date(), 5n]) {
    assert.throws(() => parseHeaders({}, { now }), { code: 'ERR_LIMIT', field: 'now' })
  }
  const odd = { 'Retry-After': '5', RateLimit: Object.create(null), a: [{}, undefined] }
  assert.equal(parseHeaders(odd).retryAfterMs, 5000)
  assert.deepEqual([want.remaining, want.policies[0].name], [9, 'login'])
  assert.deepEqual(parseHeaders(new Headers(headers)), want)
  assert.deepEqual(parseHeaders(Object.entries(headers)), want)
  const server = createServer((_, response) => response.writeHead(200, headers).end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const response = await fetch(`http://127.0.0.1:${server.address().port}`)
  await response.text()
  assert.deepEqual(parseHeaders(response.headers), want)
  server.close()
  server.closeAllConnections()
  assert.deepEqual(parseHeaders({ 'x-ratelimit-remaining': ['7', '8'], other: undefined }).remaining, 7)
  assert.throws(() => parseHeaders(null), { field: 'headers' })
})

test('what is no answer, no address and no header is refused', () => {
  for (const wrong of [[null], ['x'], [{}]]) assert.throws(() => new Gate().headers(wrong), { field: 'infos' })
  assert.throws(() => new Gate().client(1), { field: 'peer' })
  const made = new LimitInfo({ blocked: true, resetMs: 1500, key: 'login' })
  assert.equal(new Gate().refusal(made).headers['Retry-After'], '2')
  assert.equal(new Gate().headers(made)['Retry-After'], '2')
})
