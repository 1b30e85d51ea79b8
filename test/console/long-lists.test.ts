// Lists with more rows than a screen: the cost of a row, rendering of further pages, and the search.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser, openPerson, type Person, type RunningPenstock, signInByLink, startPenstock } from './browser.ts'
import { requireFitAndAccessible } from './looks.ts'

const pageSize = 100
const memberCount = 1_300
/** Enough for a link, a badge or two buttons; a menu or a tooltip component per row needs several times as many. */
const mostElementsInRow = 16

const idOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`

function memberAt(index: number) {
  return {
    userId: idOf(index),
    name: `Person ${index}`,
    email: `person${index}@northwind.example`,
    role: index === 0 ? 'admin' : 'developer',
    joinedAt: new Date(Date.UTC(2026, 10, 1) - index * 3_600_000).toISOString(),
  }
}

/** Mocks the API with a long list. */
async function serveManyMembers(page: Page): Promise<void> {
  await page.route('**/v1/organizations/*/members*', async (route) => {
    const url = new URL(route.request().url())
    const from = Number(url.searchParams.get('cursor') ?? 0)
    const count = Math.min(pageSize, memberCount - from)
    const next =
      from + pageSize < memberCount ? { link: `<${url.pathname}?cursor=${from + pageSize}>; rel="next"` } : {}
    await route.fulfill({
      headers: { 'content-type': 'application/json', ...next },
      json: { status: 200, requestId: idOf(0), result: Array.from({ length: count }, (_, at) => memberAt(from + at)) },
    })
  })
}

describe('long lists', () => {
  let penstock: RunningPenstock
  let browser: Browser
  let person: Person
  let page: Page
  before(async () => {
    penstock = await startPenstock()
    browser = await openBrowser()
    person = await openPerson(browser)
    page = person.page
    await signInByLink(page, penstock)
  })
  after(async () => {
    await browser?.close()
    await penstock?.stop()
  })

  const open = async (path: string) => {
    await page.goto(`${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
  }
  const rows = () => page.getByRole('region', { name: 'Members', exact: true }).locator('tbody tr')

  it('a row has few elements, and a further page renders only its own rows', async () => {
    // Each row formats one time when it is rendered.
    await page.addInitScript(`(() => {
      window.formatted = 0
      const { get } = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format')
      Object.defineProperty(Intl.DateTimeFormat.prototype, 'format', {
        get() {
          const format = get.call(this)
          return (...values) => { window.formatted++; return format(...values) }
        },
      })
    })()`)
    await serveManyMembers(page)
    await open('/members')
    await rows()
      .nth(pageSize - 1)
      .waitFor()
    const elements = await page.evaluate<number>(
      `Math.max(...[...document.querySelectorAll('.list-table tbody tr')].map((row) => row.querySelectorAll('*').length + 1))`,
    )
    assert.ok(elements <= mostElementsInRow, `${elements} elements in a row`)
    for (let shown = 2 * pageSize; shown <= memberCount; shown += pageSize) {
      await page.evaluate('window.formatted = 0')
      await page.getByRole('button', { name: 'Show more' }).first().click()
      await rows()
        .nth(shown - 1)
        .waitFor()
      assert.equal(await page.evaluate('window.formatted'), pageSize, `rows rendered to show ${shown}`)
    }
    assert.equal(await rows().count(), memberCount)
    await page.unroute('**/v1/organizations/*/members*')
  })

  it('the server searches the members', async () => {
    await open('/members')
    await rows().nth(1).waitFor()
    await page.getByRole('searchbox', { name: 'Search' }).fill('AMARA')
    await rows().nth(1).waitFor({ state: 'detached' })
    await rows().filter({ hasText: 'Amara Okafor' }).waitFor()
    assert.match(page.url(), /search=AMARA/)
    await requireFitAndAccessible(page, 'members that match')
    // The URL contains the search.
    await page.reload()
    await rows().filter({ hasText: 'Amara Okafor' }).waitFor()
    assert.equal(await rows().count(), 1)
    await page.getByRole('searchbox', { name: 'Search' }).fill('nobody at all')
    await page.getByText('No member matches').waitFor()
    await requireFitAndAccessible(page, 'no member matches')
    await page.getByRole('button', { name: 'Show all members' }).click()
    await rows().nth(1).waitFor()
    assert.equal(await page.getByRole('searchbox', { name: 'Search' }).inputValue(), '')
  })

  it('buttons in a row have a description of their purpose, or why they are disabled', async () => {
    await open('/members')
    const remove = page.getByRole('button', { name: /^Remove Ingrid Solheim\. The only admin cannot be removed/ })
    await remove.waitFor()
    assert.equal(await remove.getAttribute('aria-disabled'), 'true')
    await page.getByRole('button', { name: /^Change role of Ingrid Solheim/ }).focus()
    await page.keyboard.press('Tab')
    await page.getByRole('tooltip').getByText('The only admin cannot be removed').waitFor()
    await page.keyboard.press('Enter')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await page.keyboard.press('Escape')
    await page.getByRole('tooltip').waitFor({ state: 'detached' })
  })

  it('the menu of a row opens at its button, and returns the focus', async () => {
    await open('/keys')
    const opener = page.getByRole('button', { name: /^Actions for / }).first()
    await opener.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Rotate the secret' }).waitFor()
    const [at, menu] = [await opener.boundingBox(), await page.getByRole('menu').boundingBox()]
    assert.ok(Math.abs(menu!.y - (at!.y + at!.height)) < 24, 'the menu is not below its button')
    await requireFitAndAccessible(page, 'the menu of a key')
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    assert.ok(await opener.evaluate((element) => element === element.ownerDocument.activeElement))
  })

  it('no page caused browser errors', () => {
    assert.deepEqual(person.complaints(), [])
  })
})
