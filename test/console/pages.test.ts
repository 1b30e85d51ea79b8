// Every page after loading: layout at both widths, light and dark mode, accessibility, and download size.
import assert from 'node:assert/strict'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { openBrowser, openPerson, type Person, type RunningPenstock, signInByLink, startPenstock } from './browser.ts'
import { requireFitAndAccessible } from './looks.ts'
import { everyPage } from './pages.ts'

const mostCompressedBytes = 300 * 1024
const builtFolder = join(import.meta.dirname, '../../dist/console')

describe('the pages of the console', () => {
  let penstock: RunningPenstock
  let browser: Browser
  let person: Person
  before(async () => {
    penstock = await startPenstock()
    browser = await openBrowser()
    person = await openPerson(browser)
    await signInByLink(person.page, penstock)
  })
  after(async () => {
    await browser?.close()
    await penstock?.stop()
  })

  it('are accessible and fit the screen, at both widths, in light and dark', {
    timeout: 900_000,
  }, async () => {
    const { page } = person
    person.complaints()
    for (const path of await everyPage(penstock)) {
      await page.goto(`${penstock.url}/console${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('networkidle')
      await requireFitAndAccessible(page, path)
    }
    assert.deepEqual(person.complaints(), [])
  })

  it('need less than 300 KB of compressed JavaScript for the first page', async () => {
    const { page, context } = await openPerson(browser)
    const loaded: string[] = []
    page.on('request', (request) => {
      if (request.resourceType() === 'script') loaded.push(new URL(request.url()).pathname)
    })
    await page.goto(`${penstock.url}/console/sign-in`, { waitUntil: 'networkidle' })
    await context.close()
    const sizes = loaded.map((path) => statSync(join(builtFolder, `${path.replace('/console/', '')}.gz`)).size)
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    console.log(`first load: ${loaded.length} scripts, ${Math.round(bytes / 1024)} KB compressed`)
    assert.ok(loaded.length > 0 && bytes < mostCompressedBytes, `${bytes} bytes`)
    // All pages together.
    const all = globSync('**/*.js', { cwd: builtFolder }).map(
      (file) => readFileSync(join(builtFolder, `${file}.gz`)).length,
    )
    console.log(`all pages: ${Math.round(all.reduce((sum, size) => sum + size, 0) / 1024)} KB compressed`)
  })
})
