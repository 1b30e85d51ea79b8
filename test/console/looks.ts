// States of a page that no address leads to, looked at as every page is.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { requireAccessible } from './browser.ts'

/** With a folder in PENSTOCK_TEST_PICTURES, pictures of it are kept there, for people to look at. */
const folder = process.env.PENSTOCK_TEST_PICTURES

/** The page as it is now, without loading it anew: at both widths, in light and dark. */
export async function requireFitAndAccessible(page: Page, where: string): Promise<void> {
  const before = page.viewportSize()!
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 })
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      if (folder) await keepPicture(page, folder, `${where} ${width} ${colorScheme}`)
      await requireAccessible(page, `${where}, ${width} pixels wide, ${colorScheme}`)
      const tooWide = (await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')) as number
      assert.ok(tooWide <= 0, `${where} is ${tooWide} pixels wider than a screen of ${width}`)
    }
  }
  await page.setViewportSize(before)
}

async function keepPicture(page: Page, target: string, name: string): Promise<void> {
  mkdirSync(target, { recursive: true })
  await page.waitForTimeout(300)
  await page.screenshot({ path: join(target, `${name.replaceAll(' ', '-')}.png`), fullPage: true })
}
