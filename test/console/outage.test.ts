// An outage of Penstock during the use of the console: one notice on every page, and recovery when it is back.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import {
  closeBrowser,
  openBrowser,
  openPerson,
  type Person,
  type RunningPenstock,
  signInByLink,
  startPenstock,
} from './browser.ts'

describe('the console while Penstock is unreachable', () => {
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
    await closeBrowser(browser)
    await penstock?.stop()
  })

  /** Blocks code and API. */
  const goAway = () => page.route('**/*', (route) => route.abort('connectionrefused'))
  const comeBack = () => page.unrouteAll({ behavior: 'ignoreErrors' })
  const notices = () => page.getByText(/Can't reach Penstock/)
  const openPage = (name: string) =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click()
  const title = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
  /** Also after failed retries. */
  async function hasOneNotice(where: string): Promise<void> {
    await notices().first().waitFor()
    await page.waitForTimeout(1_500)
    assert.equal(await notices().count(), 1, `${where}: ${await page.locator('body').innerText()}`)
    const alerts = await page.getByRole('alert').allInnerTexts()
    assert.equal(alerts.length, 1, `${where}: ${alerts.join(' | ')}`)
  }

  it('reports an engine that is down at once, without asking again and again', async () => {
    const { ORGANIZATION_ID, SERVICE_ID, KAFKA_PIPE_ID } = penstock.sample
    let count = 0
    await page.route(/\/(?:tables|rows\?.*)$/, async (route) => {
      count++
      const json = { code: 'engine_unavailable', status: 503, detail: 'nothing accepts connections at engine.example' }
      await route.fulfill({ status: 503, headers: { 'retry-after': '5' }, json })
    })
    const service = `${penstock.url}/console/o/${ORGANIZATION_ID}/services/${SERVICE_ID}`
    for (const address of [`${service}?tab=tables`, `${service}/pipes/${KAFKA_PIPE_ID}?tab=data`]) {
      count = 0
      await page.goto(address)
      await page.getByRole('alert').getByText('nothing accepts connections at engine.example').waitFor()
      assert.equal(count, 1, address)
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  it('shows a notice instead of a page whose code is not loaded, and the page after the recovery', async () => {
    for (const name of ['Members', 'API keys', 'Activity']) {
      await openPage('Overview')
      await title('Overview')
      await page.waitForLoadState('networkidle')
      await goAway()
      await openPage(name)
      await title("Can't reach Penstock")
      await hasOneNotice(name)
      const retry = page.getByRole('button', { name: 'Try again' })
      await retry.click()
      await hasOneNotice(`${name}, tried again`)
      await comeBack()
      await retry.click()
      await title(name)
    }
  })

  it('shows one notice on open pages, on every tab', async () => {
    const { ORGANIZATION_ID, SERVICE_ID, KAFKA_PIPE_ID } = penstock.sample
    const service = `/console/o/${ORGANIZATION_ID}/services/${SERVICE_ID}`
    for (const path of [`${service}/pipes/${KAFKA_PIPE_ID}`, service]) {
      await page.goto(penstock.url + path)
      const tabs = page.getByRole('tab')
      await tabs.first().waitFor()
      await page.waitForLoadState('networkidle')
      await goAway()
      const count = await tabs.count()
      for (let at = 1; at < count; at++) {
        await tabs.nth(at).click()
        await hasOneNotice(`${path}, ${await tabs.nth(at).innerText()}`)
      }
      await comeBack()
      await notices().waitFor({ state: 'detached' })
    }
  })

  it('shows one notice when the page is loaded, but not its first lists', async () => {
    await page.route('**/v1/**', (route) => route.abort('connectionrefused'))
    const home = `${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}`
    await page.goto(`${home}/pipes/new`)
    await hasOneNotice('a new pipe')
    await page.goto(`${home}/members`)
    await hasOneNotice('the members')
    await comeBack()
    await page.getByRole('button', { name: 'Try again' }).click()
    await title('Members')
  })

  it('no page caused browser errors', () => {
    assert.deepEqual(person.complaints(), [])
  })
})
