// The running pipe of the try-it mode in the console, from its first row to a rejected row.
import assert from 'node:assert/strict'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { PipeMetrics } from '../../src/client/shapes.ts'
import type { TestEngine } from '../fakes/engine-front.ts'
import { openEmbeddedEngine } from '../harness/embedded-engine.ts'
import {
  callApi,
  makeFolder,
  openBrowser,
  openPerson,
  type Person,
  type RunningPenstock,
  signInByLink,
  startPenstock,
} from './browser.ts'
import { requireFitAndAccessible } from './looks.ts'

describe('the running sample pipe', () => {
  const folder = makeFolder()
  let engine: TestEngine
  let penstock: RunningPenstock
  let browser: Browser
  let person: Person
  let page: Page
  const address = (tab = '') => {
    const { ORGANIZATION_ID, SERVICE_ID, RUNNING_PIPE_ID } = penstock.sample
    return `${penstock.url}/console/o/${ORGANIZATION_ID}/services/${SERVICE_ID}/pipes/${RUNNING_PIPE_ID}${tab}`
  }
  const figure = async (label: string): Promise<number> => {
    const text = await page.locator('.figure', { hasText: label }).innerText()
    return Number(text.split('\n')[0]!.replaceAll(',', ''))
  }
  before(async () => {
    engine = await openEmbeddedEngine()
    await engine.stop()
    const { host, port, username, password } = engine
    penstock = await startPenstock({ PENSTOCK_TRY_ENGINE: `http://${username}:${password}@${host}:${port}` }, folder)
    browser = await openBrowser()
    person = await openPerson(browser)
    page = person.page
    await signInByLink(page, penstock)
  })
  after(async () => {
    await browser?.close()
    await penstock?.stop()
    await engine?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('shows the reason while its engine is unreachable', async () => {
    await page.goto(address())
    const now = page.getByRole('region', { name: 'Now', exact: true })
    await now.getByText('Degraded').waitFor({ timeout: 60_000 })
    await now.getByText(`Nothing accepts connections at 127.0.0.1:${engine.port}.`).first().waitFor()
  })

  it('runs as soon as the engine answers, and shows moved rows', { timeout: 240_000 }, async () => {
    await engine.start()
    await page.getByRole('heading', { level: 1 }).getByText('Running').waitFor({ timeout: 80_000 })
    await page.getByText('Exactly once: no row is lost or duplicated, also after a failure.').waitFor()
    const deadline = Date.now() + 60_000
    const first = await figure('rows written')
    // Both values come from one answer, but a row may be written at the end of a minute and the rate read in the next.
    while ((await figure('rows written')) <= first || (await figure('rows/s')) <= 0) {
      assert.ok(Date.now() < deadline, 'the numbers do not grow')
      await page.waitForTimeout(500)
    }
    await requireFitAndAccessible(page, 'the sample pipe that runs')
  })

  it('shows a rejected row, and retries it', { timeout: 240_000 }, async () => {
    const name = `${new Date().toISOString().replaceAll(/[:.]/g, '-')}.json`
    const order = { order_id: 1, ordered_at: '2026-11-14 09:00:00', product: 'kettle', country: 'NO', amount: 'twelve' }
    const files = join(folder, 'data/sample-files')
    writeFileSync(join(files, `.${name}`), `${JSON.stringify(order)}\n`)
    renameSync(join(files, `.${name}`), join(files, name))
    await page.getByRole('link', { name: 'Show rejected rows' }).click({ timeout: 80_000 })
    const rows = page.getByRole('region', { name: 'Rejected rows', exact: true })
    await rows.getByText('"amount":"twelve"').waitFor()
    await requireFitAndAccessible(page, 'a row that was refused')
    await rows.getByRole('button', { name: 'Retry rows' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry rows' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    const { SERVICE_ID, RUNNING_PIPE_ID } = penstock.sample
    const deadline = Date.now() + 60_000
    for (;;) {
      const { result } = await callApi(penstock, 'GET', `/services/${SERVICE_ID}/pipes/${RUNNING_PIPE_ID}/metrics`)
      if ((result as PipeMetrics).replayRequestedAt === null) break
      assert.ok(Date.now() < deadline, 'the rows are not tried again')
      await page.waitForTimeout(300)
    }
    // It is rejected again, and stays.
    await rows.locator('button:not([aria-disabled])', { hasText: 'Retry rows' }).waitFor()
    await rows.getByText('"amount":"twelve"').waitFor()
    assert.deepEqual(person.complaints(), [])
  })
})
