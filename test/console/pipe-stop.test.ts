// The question before a running postgres pipe is stopped, and copying where the browser offers no clipboard, as on plain http.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { Pipe, PipeMetrics } from '../../src/client/shapes.ts'
import {
  closeBrowser,
  openBrowser,
  openPerson,
  type Person,
  type RunningPenstock,
  signInByLink,
  startPenstock,
} from './browser.ts'
import { requireFitAndAccessible } from './looks.ts'

describe('stopping a postgres pipe in the console', () => {
  let penstock: RunningPenstock
  let browser: Browser
  let person: Person
  let page: Page
  let replicationMode = 'cdc_only'
  const pipePath = () => {
    const { ORGANIZATION_ID, SERVICE_ID, POSTGRES_PIPE_ID } = penstock.sample
    return `o/${ORGANIZATION_ID}/services/${SERVICE_ID}/pipes/${POSTGRES_PIPE_ID}`
  }
  /** Reads and replaces what was copied, in a page that has the clipboard. */
  const takeCopied = async (): Promise<string> => {
    const other = await person.context.newPage()
    await other.goto(`${penstock.url}/console`)
    const text = await other.evaluate<string>('navigator.clipboard.readText()')
    await other.evaluate(`navigator.clipboard.writeText('nothing')`)
    await other.close()
    await page.bringToFront()
    return text
  }
  const openQuestion = async () => {
    await page.goto(`${penstock.url}/console/${pipePath()}`)
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: /^Stop .+\?$/ })
    await dialog.getByText('The tables keep their rows.').waitFor()
    return dialog
  }
  const warning = 'PostgreSQL keeps its WAL while the pipe is stopped'

  before(async () => {
    penstock = await startPenstock()
    browser = await openBrowser()
    person = await openPerson(browser)
    page = person.page
    await signInByLink(page, penstock)
    // The sample has no PostgreSQL, so its pipe does not run.
    const path = `/v1/.*/pipes/${penstock.sample.POSTGRES_PIPE_ID}`
    await page.route(new RegExp(`${path}(?:/metrics)?$`), async (route) => {
      const response = await route.fetch()
      const answer = (await response.json()) as { result: Pipe | PipeMetrics }
      const result = { ...answer.result, state: 'Running' }
      if ('source' in result) Object.assign(result.source.postgres!.settings, { replicationMode })
      await route.fulfill({ response, json: { ...answer, result } })
    })
  })
  after(async () => {
    await closeBrowser(browser)
    await penstock?.stop()
  })

  it('warns that the source keeps its WAL, and how to bound it', async () => {
    const dialog = await openQuestion()
    const alert = dialog.getByRole('alert').filter({ hasText: warning })
    await alert
      .getByText(/The replication slot stays.*max_slot_wal_keep_size.*drop the slot penstock_shop yourself\.$/)
      .waitFor()
    await requireFitAndAccessible(page, 'the question before a postgres pipe is stopped')
  })

  it('does not warn for a pipe that only loads, which has no replication slot', async () => {
    replicationMode = 'snapshot'
    const dialog = await openQuestion()
    assert.equal(await dialog.getByText(warning).count(), 0)
    replicationMode = 'cdc_only'
  })

  it('copies as curl without a clipboard, in a dialog and in the page', async () => {
    await takeCopied()
    await page.addInitScript('delete Navigator.prototype.clipboard')
    const dialog = await openQuestion()
    assert.equal(await page.evaluate('navigator.clipboard'), undefined)
    await dialog.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByRole('status').getByText('Copied: the same with an API key.').waitFor()
    assert.equal(await page.locator('textarea.visually-hidden').count(), 0)
    const shown = await page.locator('pre').filter({ hasText: 'curl' }).textContent()
    const copied = await takeCopied()
    assert.equal(copied, shown)
    assert.match(copied, new RegExp(`^curl .*/${pipePath().replace('o/', 'organizations/')}/state`))
    // Closes the command, then the dialog, which has kept the focus.
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Copy the pipe id' }).click()
    assert.equal(await takeCopied(), penstock.sample.POSTGRES_PIPE_ID)
    assert.deepEqual(person.complaints(), [])
  })
})
