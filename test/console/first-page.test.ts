// First page of a new user after `npm start` with the embedded engine: running pipes, their rows, and no errors.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import type { Pipe, PipeRows } from '../../src/client/shapes.ts'
import {
  callApi,
  closeBrowser,
  embeddedEngine,
  openBrowser,
  openPerson,
  type Person,
  type RunningPenstock,
  signInByLink,
  startPenstock,
} from './browser.ts'
import { requireFitAndAccessible } from './looks.ts'

/** Two cores need five seconds; the rest is for other load. */
const rowsWithinMs = 90_000

describe('the first page', () => {
  let penstock: RunningPenstock
  let browser: Browser
  let person: Person
  before(async () => {
    penstock = await startPenstock(embeddedEngine)
    browser = await openBrowser()
    person = await openPerson(browser)
  })
  after(async () => {
    await closeBrowser(browser)
    await penstock?.stop()
  })

  const pipeOf = (name: 'RUNNING_PIPE_ID' | 'SHOP_PIPE_ID') =>
    `/services/${penstock.sample.SERVICE_ID}/pipes/${penstock.sample[name]}`

  it('shows running pipes, and no errors or warnings', async () => {
    const startedMs = performance.now()
    for (const pipe of ['RUNNING_PIPE_ID', 'SHOP_PIPE_ID'] as const) {
      const isRunning = async (): Promise<boolean> => {
        const { state } = (await callApi(penstock, 'GET', pipeOf(pipe))).result as { state: string }
        const rows = (await callApi(penstock, 'GET', `${pipeOf(pipe)}/rows`)).result as PipeRows | undefined
        return state === 'Running' && (rows?.rows.length ?? 0) > 0
      }
      while (!(await isRunning())) {
        assert.ok(performance.now() - startedMs < rowsWithinMs, `${pipe} does not run`)
        await sleep(200)
      }
    }
    console.log(`both sample pipes run after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`)
    const { page } = person
    await signInByLink(page, penstock)
    await page.getByRole('region', { name: 'What needs attention' }).waitFor()
    await page.waitForLoadState('networkidle')
    const wrong = page.locator('.state-red, .state-orange')
    assert.deepEqual(await wrong.allInnerTexts(), [])
    assert.ok((await page.locator('.state-green').count()) >= 2, 'the service and the pipes are seen to run')
    await requireFitAndAccessible(page, 'the first page with running pipes')
  })

  for (const pipe of ['RUNNING_PIPE_ID', 'SHOP_PIPE_ID'] as const) {
    it(`leads to the rows of ${pipe === 'SHOP_PIPE_ID' ? 'the shop' : 'the files'}`, async () => {
      const { page } = person
      const { ORGANIZATION_ID } = penstock.sample
      await page.goto(`${penstock.url}/console/o/${ORGANIZATION_ID}${pipeOf(pipe)}`)
      await page.getByRole('tab', { name: 'Data' }).click()
      const rows = page.getByRole('table', { name: /^Newest rows of / }).getByRole('row')
      // Besides the header.
      await rows.nth(1).waitFor()
      assert.deepEqual(await page.locator('.state-red, .state-orange').allInnerTexts(), [])
      await requireFitAndAccessible(page, `the rows of ${pipe}`)
      assert.deepEqual(person.complaints(), [])
    })
  }

  it('guides through the first steps to rows in a pipe of the user, then hides them', async () => {
    const { page } = person
    const { ORGANIZATION_ID, SERVICE_ID } = penstock.sample
    const overview = `${penstock.url}/console/o/${ORGANIZATION_ID}`
    const steps = page.getByRole('region', { name: 'First steps' })
    const step = (title: string) => steps.getByRole('listitem').filter({ hasText: title })
    await page.goto(overview)
    // The sample has an engine, keys and a second member; its pipes are not pipes of the user.
    await steps.getByText('3 of 5 steps done').waitFor()
    for (const title of ['Connect an engine', 'Create an API key', 'Invite someone']) {
      await step(title).getByText('(done)').waitFor()
    }
    assert.equal(await step('Create a pipe of your own').getByText('(done)').count(), 0)
    await requireFitAndAccessible(page, 'the first steps')
    await step('Create a pipe of your own').getByRole('link', { name: 'Create a pipe' }).click()
    await page.waitForURL(`${overview}/pipes/new?service=${SERVICE_ID}`)

    const { source, destination } = (await callApi(penstock, 'GET', pipeOf('RUNNING_PIPE_ID'))).result as Pipe
    const body = { name: 'own orders', source, destination: { ...destination, table: 'own_orders' } }
    const { id } = (await callApi(penstock, 'POST', `/services/${SERVICE_ID}/pipes`, body)).result as Pipe
    await page.goto(overview)
    await steps.getByText('5 of 5 steps done').waitFor({ timeout: rowsWithinMs })
    await step('See your rows').getByRole('link', { name: 'Open the Data tab' }).click()
    await page.waitForURL(`${overview}/services/${SERVICE_ID}/pipes/${id}?tab=data`)
    await page.getByRole('table', { name: 'Newest rows of own_orders' }).getByRole('row').nth(1).waitFor()

    // A pipe that is deleted before the steps are done counts no more.
    const forget = () => page.evaluate(() => localStorage.clear())
    const extra = { ...body, name: 'deleted orders', destination: { ...destination, table: 'deleted_orders' } }
    const { id: deleted } = (await callApi(penstock, 'POST', `/services/${SERVICE_ID}/pipes`, extra)).result as Pipe
    await callApi(penstock, 'DELETE', `/services/${SERVICE_ID}/pipes/${deleted}`)
    await forget()
    await page.goto(overview)
    await steps.getByText('5 of 5 steps done').waitFor()

    await page.goto(overview)
    await page.getByRole('region', { name: 'What needs attention' }).waitFor()
    await page.waitForLoadState('networkidle')
    assert.equal(await steps.count(), 0)
    assert.deepEqual(person.complaints(), [])
  })
})
