// Checks the layout of a page: telephone and desktop width, light and dark mode.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { requireAccessible } from './browser.ts'

/** With a folder in PENSTOCK_TEST_PICTURES, screenshots are stored there. */
const folder = process.env.PENSTOCK_TEST_PICTURES

/** Checks the page without reloading it, at both widths, in light and dark mode. */
export async function requireFitAndAccessible(page: Page, where: string): Promise<void> {
  const before = page.viewportSize()!
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 })
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      await endColourChanges(page)
      if (folder) await keepPicture(page, folder, `${where} ${width} ${colorScheme}`)
      const onlyColours = colorScheme === 'dark'
      await requireAccessible(page, `${where}, ${width} pixels wide, ${colorScheme}`, { onlyColours })
      const tooWide = (await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')) as number
      assert.ok(tooWide <= 0, `${where} is ${tooWide} pixels wider than a screen of ${width}`)
    }
  }
  await page.setViewportSize(before)
}

/** During a colour transition a control has intermediate colours. Transitions start with the next frame. */
async function endColourChanges(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
    for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish()
  })()`)
}

async function keepPicture(page: Page, target: string, name: string): Promise<void> {
  mkdirSync(target, { recursive: true })
  await page.waitForTimeout(300)
  await page.screenshot({ path: join(target, `${name.replaceAll(' ', '-')}.png`), fullPage: true })
}
