/** A browser for the tests of the site, which opens pages from the disk. */

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const site = join(root, 'target/site')
const { chromium } = createRequire(join(root, 'tools/site/package.json'))('playwright-core')

let browser
before(async () => {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update']
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args })
})
after(() => browser?.close())

/** A window of its own, without what others have stored. */
export const newContext = (options) => browser.newContext(options)

/** Notes what goes wrong on a page. */
export function watched(page) {
  const faults = []
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('requestfailed', (request) => faults.push(`${request.url()} failed`))
  page.on('request', (request) => {
    if (!/^(file|data|blob):/.test(request.url())) faults.push(`${request.url()} is fetched from elsewhere`)
  })
  return faults
}

/** Opens a page, and gives what went wrong on it. */
export async function open(name, options = {}) {
  const context = await newContext(options)
  const page = await context.newPage()
  const faults = watched(page)
  await page.goto(pathToFileURL(join(site, name)).href)
  return { page, faults, close: () => context.close() }
}
