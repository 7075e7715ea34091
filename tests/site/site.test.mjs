/** The documentation site, opened from the disk by a browser: every page, its links, its search, on a phone and in the dark. */

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { newContext, open, root, site, watched } from './browser.mjs'

const files = readdirSync(site, { recursive: true }).filter((name) => name.endsWith('.html') && name !== '404.html')
/** The pages of the references of Node and Rust, which tools write. Rust's has those of other crates beside ours. */
const references = files.filter((name) => /^reference\/(node|rust\/tidegate)\//.test(name))
/** The pages that are written here, and one of each of those. */
const ours = files.filter((name) => !/^reference\/(node|rust)\//.test(name))
const pages = [...ours, 'reference/node/index.html', 'reference/rust/tidegate/index.html']

/** The three parts of the colour behind a page's text. */
async function background(page) {
  const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  return colour.match(/\d+/g).slice(0, 3).map(Number)
}

/** Visits pages in a few tabs side by side: to open a tab takes longer than to open a page. Gives what went wrong. */
async function visit(names, options = {}, look = () => {}) {
  const [left, wrong] = [[...names], []]
  const visitor = async () => {
    const context = await newContext(options)
    const page = await context.newPage()
    const faults = watched(page)
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      await page.goto(pathToFileURL(join(site, name)).href)
      await look(name, page)
      wrong.push(...faults.splice(0).map((fault) => `${name}: ${fault}`))
    }
    await context.close()
  }
  await Promise.all([visitor(), visitor(), visitor()])
  return wrong
}

test('has all its parts', () => {
  assert.ok(pages.length > 25, `${pages.length} pages`)
  for (const name of ['index', 'tutorial', 'redis', 'reference/python']) assert.ok(pages.includes(`${name}.html`), name)
})

test('shows the applications of the first page at its own beginning, one tab each', async () => {
  const { page, faults, close } = await open('index.html')
  const tabs = await page.locator('.tabbed-labels').first().locator('label').allInnerTexts()
  assert.deepEqual(tabs, ['FastAPI', 'Django', 'Express', 'Fastify'])
  assert.match(await page.locator('main').textContent(), /HTTP\/1\.1 429 Too Many Requests/)
  assert.deepEqual(faults, [])
  await close()
})

test('opens every page without an error, also where it is light, and every link leads somewhere', async () => {
  const anchors = new Map()
  const wanted = []
  const wrong = await visit(pages, { colorScheme: 'light' }, async (name, page) => {
    anchors.set(join(site, name), new Set(await page.$$eval('[id]', (all) => all.map((each) => each.id))))
    for (const href of await page.$$eval('a[href]', (all) => all.map((each) => each.href))) {
      if (href.startsWith('file:')) wanted.push([name, new URL(href)])
    }
    assert.ok(Math.min(...(await background(page))) > 200, `${name} is light`)
  })
  for (const [name, url] of wanted) {
    const path = fileURLToPath(new URL(url.pathname, 'file://'))
    const there = anchors.get(path)
    if (!existsSync(path)) wrong.push(`${name}: ${relative(dirname(join(site, name)), path)} is not there`)
    else if (
      there &&
      url.hash.length > 1 &&
      !url.hash.startsWith('#__') &&
      !(path.endsWith('/playground.html') && url.hash.includes('=')) &&
      !there.has(decodeURIComponent(url.hash.slice(1)))
    ) {
      wrong.push(`${name}: ${relative(site, path)} has no ${url.hash}`)
    }
  }
  assert.deepEqual([...new Set(wrong)], [])
})

test('has no dead link in the references of Node and Rust', () => {
  const dead = new Set()
  for (const name of references) {
    // Not in scripts, which put names together.
    const text = readFileSync(join(site, name), 'utf8').replace(/<script\b[\s\S]*?<\/script>/g, '')
    for (const [, href] of text.matchAll(/ href="([^"#?]+)/g)) {
      if (/^[a-z]+:/.test(href)) continue
      const path = join(site, dirname(name), decodeURIComponent(href))
      if (!existsSync(path)) dead.add(`${name}: ${href}`)
    }
  }
  assert.ok(references.length > 200, `${references.length} pages`)
  assert.deepEqual([...dead], [])
})

test('opens every page of the references of Node and Rust without an error', async () => {
  assert.deepEqual(await visit(references), [])
})

test('finds a page by a word, without a server', async () => {
  const { page, close } = await open('index.html')
  await page.click('.md-search__input')
  await page.keyboard.type('replicas')
  await page.waitForSelector('.md-search-result__link')
  const found = await page.$$eval('.md-search-result__link', (all) => all.map((each) => each.getAttribute('href')))
  assert.ok(
    found.some((href) => href.includes('redis.html')),
    found.join(),
  )
  await close()
})

for (const [language, code] of [
  ['Node', "from 'tidegate'"],
  ['Rust', 'use tidegate::'],
]) {
  test(`remembers that ${language} was chosen`, async () => {
    const { page, close } = await open('tutorial.html')
    const shown = () =>
      page.$$eval('.tabbed-block', (all) => all.filter((each) => each.offsetParent).map((each) => each.textContent))
    assert.ok((await shown()).some((text) => text.includes('from tidegate import')))
    await page.click(`.tabbed-labels label:has-text("${language}")`)
    const chosen = await shown()
    assert.ok(
      chosen.length > 3 && chosen.every((text) => !text.includes('from tidegate import')),
      'every example follows',
    )
    await page.reload()
    await page.waitForFunction(
      (text) =>
        [...document.querySelectorAll('.tabbed-block')].some(
          (each) => each.offsetParent && each.textContent.includes(text),
        ),
      code,
    )
    await close()
  })
}

test('can be read on a phone, and where it is dark', async () => {
  const phone = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }
  const wrong = await visit(ours, phone, async (name, page) => {
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(width <= 390, `${name} is ${width} pixels wide`)
    assert.ok(Math.max(...(await background(page))) < 80, `${name} is dark`)
  })
  assert.deepEqual(wrong, [])
})

test('turns dark by a click, and stays so', async () => {
  const { page, close } = await open('index.html', { viewport: { width: 1280, height: 800 }, colorScheme: 'light' })
  await page.click('label[title="Dark"]')
  assert.ok(Math.max(...(await background(page))) < 80)
  await page.goto(pathToFileURL(join(site, 'redis.html')).href)
  assert.ok(Math.max(...(await background(page))) < 80)
  await close()
})

test('shows what it looks like', { skip: !process.env.SCREENSHOTS }, async () => {
  const views = [
    ['site-light.png', 'index.html', { viewport: { width: 1280, height: 800 } }],
    ['site-dark-phone.png', 'tutorial.html', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
  ]
  for (const [file, name, options] of views) {
    const { page, close } = await open(name, options)
    await page.screenshot({ path: join(root, 'docs/pictures', file) })
    await close()
  }
})
