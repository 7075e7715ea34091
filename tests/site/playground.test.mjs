/** The playground: the engine in a page, its inputs, its link. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { open, root, site } from './browser.mjs'

const READY = '.playground[data-ready]'

/** The playground with the state of this link. */
async function played(link = '', options = {}) {
  const opened = await open('playground.html', options)
  if (link) {
    await opened.page.goto(`${opened.page.url()}${link}`)
    await opened.page.reload()
  }
  await opened.page.waitForSelector(READY)
  return opened
}

/** The charts as they are drawn, and the words of each card. */
const shown = (page) =>
  page.evaluate(() => ({
    charts: [...document.querySelectorAll('.pg-chart')].map((chart) => chart.outerHTML),
    texts: [...document.querySelectorAll('.pg-text')].map((input) => input.value),
    counts: [...document.querySelectorAll('.pg-count')].map((text) => text.textContent),
    results: [...document.querySelectorAll('.pg-result')].map((result) => result.textContent),
  }))

/** The state in the link, once it is that of the page. */
async function linked(page) {
  await page.waitForFunction(() => location.hash.slice(1) === playground.written(playground.page.state))
  return new URLSearchParams(new URL(page.url()).hash.slice(1))
}

test('decides in the page as everywhere: golden vectors of every type', async () => {
  const { page, faults, close } = await played()
  const types = new Set()
  let [compared, changes] = [0, 0]
  for (const file of ['decisions', 'beyond', 'legacy']) {
    const { one, changing = [] } = JSON.parse(readFileSync(join(root, `tests/vectors/${file}.json`), 'utf8'))
    const sequences = [...one.map(({ limit, ...rest }) => ({ limits: [limit], ...rest })), ...changing]
    changes += changing.length
    const requests = sequences.map(({ limits, factor, steps }) => ({
      key: '',
      limits: limits.map((limit) => JSON.stringify(limit)),
      factor,
      steps: steps.map(({ want, ...step }) => ({ actor: 'ada', ...step })),
    }))
    const replies = await page.evaluate((requests) => requests.map(playground.engine), requests)
    for (const [index, { limits, steps }] of sequences.entries()) {
      assert.equal(replies[index].error, undefined)
      for (const { type } of limits) types.add(type)
      for (const [at, { want }] of steps.entries()) {
        if (!want) continue
        const result = replies[index].results[at]
        const said = Object.fromEntries(Object.keys(want).map((name) => [name, result[name]]))
        assert.deepEqual(said, want, `${file}: step ${at} of ${JSON.stringify(limits)}`)
        compared += Object.keys(want).length
      }
    }
  }
  const offered = await page.evaluate(() => Object.keys(playground.TYPES))
  assert.deepEqual(
    offered.filter((type) => !types.has(type)),
    [],
  )
  assert.ok(types.has(undefined), 'and legacy limits')
  assert.ok(compared > 28_000, `${compared} numbers`)
  assert.ok(changes >= 40, `${changes} definitions that change`)
  assert.deepEqual(faults, [])
  await close()
})

test('keeps its state in the link, also over a reload', async () => {
  const { page, faults, close } = await played()
  const lane = page.locator('.pg-lane').first()
  const { width, height } = await lane.boundingBox()
  await lane.click({ position: { x: width * 0.75, y: height * 0.3 } })
  await page.click('text=+ client')
  await page.click('.pg-group >> text=Bursts')
  await page.locator('.pg-card select[aria-label="Type"]').nth(1).selectOption('decay')
  await page.locator('.pg-card').first().locator('label:has-text("Burst") input').fill('6')
  await page.selectOption('.pg-span select', { label: '1 min' })
  const before = await shown(page)
  const words = await linked(page)
  assert.deepEqual(words.getAll('limit'), before.texts)
  assert.equal(words.get('ada')[45], '6')
  assert.equal(words.get('bob').length, 49)
  assert.equal(words.get('span'), '60')
  assert.match(before.texts[0], /^10\/10s burst 7$/)
  assert.match(before.texts[1], /"decay"/)
  await page.reload()
  await page.waitForSelector(READY)
  assert.deepEqual(await shown(page), before)
  assert.equal(String(await linked(page)), String(words))
  assert.deepEqual(faults, [])
  await close()
})

test('shows the result and the headers of a request under the pointer and by keys, in both limits', async () => {
  const { page, close } = await played('#span=10&limit=2/5s+sliding-log&limit=3/5s+fixed-window&ada=4')
  const [log, window] = [page.locator('.pg-card').nth(0), page.locator('.pg-card').nth(1)]
  assert.deepEqual((await shown(page)).counts, ['2 of 4 admitted', '3 of 4 admitted'])
  await log.locator('.pg-picture').focus()
  await page.keyboard.press('Home')
  assert.match(await log.locator('.pg-headers').textContent(), /^HTTP\/1\.1 200 OK\nX-RateLimit-Remaining: 1\n/)
  for (const _ of [1, 2]) await page.keyboard.press('ArrowRight')
  assert.match(await log.locator('.pg-headers').textContent(), /^HTTP\/1\.1 429 .*\nX-RateLimit-Remaining: 0\n/)
  assert.match(await log.locator('.pg-headers').textContent(), /\nRetry-After: 5\n/)
  assert.match(await window.locator('.pg-headers').textContent(), /^HTTP\/1\.1 200 OK\n/)
  const dots = await window.locator('.pg-denied').boundingBox()
  await page.mouse.move(dots.x + dots.width / 2, dots.y + dots.height / 2)
  assert.match(await window.locator('.pg-headers').textContent(), /^HTTP\/1\.1 429 /)
  assert.match(await window.locator('.pg-picture').getAttribute('aria-valuetext'), /^ada at .*: denied; retry in /)
  await close()
})

test('is painted by keys, and by a finger on a phone', async () => {
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, colorScheme: 'dark' }
  const { page, close } = await played('#limit=5/10s+sliding-log&ada=', phone)
  const ada = async () => (await linked(page)).get('ada')
  await page.locator('.pg-lane').focus()
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowUp', 'ArrowUp', 'ArrowRight', '5', 'ArrowDown']) {
    await page.keyboard.press(key)
  }
  assert.equal(await ada(), '0024')
  const { x, y, width, height } = await page.locator('.pg-lane').boundingBox()
  await page.touchscreen.tap(x + (width * 10.5) / 60, y + height - 2)
  assert.equal(await ada(), '00240000001')
  assert.deepEqual((await shown(page)).counts, ['5 of 7 admitted'])
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390)
  await close()
})

test('writes a limit as text that means the same', async () => {
  const { page, close } = await played()
  const pairs = await page.evaluate(() => {
    const { TYPES, lean, textOf, definition, engine } = playground
    const asked = (text) => engine({ key: 'api', limits: [definition(text)], steps: [] })
    return Object.entries(TYPES).flatMap(([type, { first, fields }]) => {
      const others = fields.flatMap(({ name, steps, choices, flag }) =>
        (steps ?? (flag ? [true] : Object.keys(choices))).map((value) => ({ ...first, [name]: value })),
      )
      return [first, ...others].map((limit) => {
        const wire = asked(JSON.stringify({ type, ...limit }))
        if (wire.error) return ['', wire.error]
        return [lean(wire.limits[0]), lean(asked(textOf(wire.limits[0])).limits[0])]
      })
    })
  })
  const sound = pairs.filter(([limit]) => limit !== '')
  for (const [limit, again] of sound) assert.deepEqual(again, limit)
  assert.ok(sound.length > 300, `${sound.length} limits`)
  await close()
})

test('says what is wrong with a limit, and keeps the picture', async () => {
  const { page, faults, close } = await played()
  const card = page.locator('.pg-card').first()
  await card.locator('.pg-text').fill('10/fortnight')
  assert.match(await card.locator('.pg-problem').textContent(), /unit of time .* got "fortnight"/)
  await card.locator('.pg-text').fill('{"type":"bucket","size":0}')
  assert.match(await card.locator('.pg-problem').textContent(), /size must be at least 1, got 0/)
  assert.equal(await card.locator('.pg-chart').count(), 1)
  await card.locator('.pg-text').fill('{"type":"bucket","size":2}')
  assert.equal(await card.locator('.pg-problem').isVisible(), false)
  assert.equal(await card.locator('select').inputValue(), 'bucket')
  assert.deepEqual(faults, [])
  await close()
})

test('opens from the tutorial with the limit of the tutorial, and gives its code', async () => {
  const { page, close } = await open('tutorial.html')
  await page.click('a[href^="playground.html#"]')
  await page.waitForSelector(READY)
  // Three at once; then one each second, so not those at 0.83 s, at 1.5 s, and the fourth at once.
  const { texts, counts } = await shown(page)
  assert.deepEqual(texts, ['{"type":"bucket","size":3}'])
  assert.deepEqual(counts, ['10 of 13 admitted'])
  await page.click('.pg-code summary')
  for (const [language, code] of [
    ['Python', 'Limit.from_dict({"key": "api", "type": "bucket", "size": 3})'],
    ['Node', "limitFrom({ key: 'api', type: 'bucket', size: 3 })"],
    ['Rust', 'Limit::from_json(r#"{"key":"api","type":"bucket","size":3}"#)?'],
  ]) {
    await page.click(`.pg-tabs >> text=${language}`)
    assert.ok((await page.locator('.pg-code pre').textContent()).includes(code), language)
  }
  await close()
})

test('is a small download, and the engine that was built', () => {
  const built = readFileSync(join(root, 'target/wasm32-unknown-unknown/page/tidegate_playground.wasm'))
  const script = readFileSync(join(site, 'javascripts/playground/engine.wasm.js'), 'utf8')
  assert.deepEqual(gunzipSync(Buffer.from(script.match(/"([^"]+)"/)[1], 'base64')), built)
  const size = gzipSync(built, { level: 9 }).length
  assert.ok(size <= 250_000, `${size} bytes`)
})
