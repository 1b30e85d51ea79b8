// Live status of a pipe in the console. The metrics are mocked: those of a running pipe vary.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { PipeBadRow, PipeMetrics } from '../../src/client/shapes.ts'
import { badRowExample, metricsExample } from '../../src/progress/progress.ts'
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

const minuteMs = 60_000
const minutesAgo = (minutes: number): string =>
  new Date(Math.floor(Date.now() / minuteMs - minutes) * minuteMs).toISOString()

/** An hour of varying rates, with some rejected rows in the middle. */
const anHour = () =>
  Array.from({ length: 50 }, (_, index) => {
    const rowsWritten = Math.round(9000 + 5000 * Math.sin(index / 6) + 700 * Math.cos(index * 2))
    const rowsRefused = index > 20 && index < 25 ? 900 : 0
    const rowsRead = rowsWritten + rowsRefused
    return { minute: minutesAgo(49 - index), rowsRead, bytesRead: rowsRead * 260, rowsWritten, rowsRefused }
  })

const running = (): PipeMetrics => ({
  ...metricsExample,
  rowsWritten: 4_512_345,
  rowsRefused: 3600,
  lag: 1498,
  throughput: anHour(),
})

const envelope = (result: unknown) => ({ requestId: '0b0f2a52-7c0f-4a6e-8f0c-6c2b1f2f9d11', result, status: 200 })

const badRows: PipeBadRow[] = [
  badRowExample,
  {
    ...badRowExample,
    id: 'another',
    position: 'bytes 0 to 120 of orders/2026-11-14.csv',
    raw: `<img src=x onerror=alert(1)>${',"far too long"'.repeat(60)}`,
    isCut: true,
  },
]

describe('a running pipe in the console', () => {
  let penstock: RunningPenstock
  let browser: Browser
  let person: Person
  let page: Page
  let metrics = running()
  let errors: { status: number; body: object } = { status: 200, body: {} }
  const address = (rest = '') => {
    const { ORGANIZATION_ID, SERVICE_ID, KAFKA_PIPE_ID } = penstock.sample
    return `${penstock.url}/console/o/${ORGANIZATION_ID}/services/${SERVICE_ID}/pipes/${KAFKA_PIPE_ID}${rest}`
  }
  const section = (name: string) => page.getByRole('region', { name, exact: true })
  before(async () => {
    penstock = await startPenstock()
    browser = await openBrowser()
    person = await openPerson(browser)
    page = person.page
    await signInByLink(page, penstock)
    const made = `**/pipes/${penstock.sample.KAFKA_PIPE_ID}/metrics`
    // Covers the minutes until now: metrics of the last minute only would be outdated if the test is slow.
    metrics = running()
    await page.route(made, (route) => route.fulfill({ json: envelope(metrics) }))
  })
  after(async () => {
    await closeBrowser(browser)
    await penstock?.stop()
  })

  it('shows its activity, its rates and its delivery guarantee', async () => {
    await page.goto(address())
    const now = section('Now')
    await now.getByText('Reading from 3 partitions of the topic orders.').waitFor()
    await now.getByText('4,512,345', { exact: true }).waitFor()
    await now.getByText('1,498', { exact: true }).waitFor()
    await now.getByText('Exactly once: no row is lost or duplicated, also after a failure.').waitFor()
    await now.getByText('clickhouse.northwind.example:8443 did not answer in time').waitFor()
    const rate = await now.locator('.figure', { hasText: 'rows/s' }).innerText()
    assert.match(rate, /^[1-9]\d{1,2}(?:\.\d+)?\s/)
    await requireFitAndAccessible(page, 'a pipe that runs')
    assert.deepEqual(person.complaints(), [])
  })

  it('shows the last hour as an accessible chart and as a table', async () => {
    const now = section('Now')
    const chart = now.getByRole('img', { name: 'Rows by the minute, the last hour' })
    await chart.waitFor()
    assert.equal(await chart.locator('.minutes-written:not([height="0"])').count(), 50)
    assert.equal(await chart.locator('.minutes-rejected:not([height="0"])').count(), 4)
    await now.getByText(/rows written, peak [\d,]+\/min; 3,600 rejected\.$/).waitFor()
    await now.getByText('Show as a table').click()
    assert.equal(await now.getByRole('table').getByRole('row').count(), 51)
    await requireFitAndAccessible(page, 'the table of a chart')
  })

  it('updates without a reload', async () => {
    const reason = 'clickhouse.northwind.example:8443 did not answer in time'
    metrics = {
      ...running(),
      state: 'Degraded',
      stateReason: reason,
      doing: 'Waiting 8 seconds before the next attempt.',
      delivery: 'at_least_once',
      deliveryReason: 'the table orders keeps no tokens; set non_replicated_deduplication_window',
      workers: [
        { slot: 0, doing: 'Waiting 8 seconds before the next attempt.', lag: 900 },
        { slot: 1, doing: 'Reading.', lag: null },
      ],
    }
    const now = section('Now')
    await now.getByText(`Current error`).waitFor()
    await now.getByText(`${reason}.`, { exact: true }).first().waitFor()
    await now.getByText('At least once: no row is lost; after a failure some may be duplicated.').waitFor()
    await now.getByRole('listitem').filter({ hasText: 'Reading.' }).waitFor()
    await page.getByRole('heading', { level: 1 }).getByText('Degraded').waitFor()
    await requireFitAndAccessible(page, 'a degraded pipe')
  })

  it('shows the reason of a failure, and that a pipe that never ran has no rows', async () => {
    metrics = { ...running(), state: 'Failed', stateReason: 'the topic orders does not exist', workers: [], lag: null }
    await section('Now').getByText('Why it has stopped').waitFor()
    await section('Now').getByText('The topic orders does not exist.').waitFor()
    await requireFitAndAccessible(page, 'a failed pipe')
    const zeros = { rowsRead: 0, rowsWritten: 0, rowsRefused: 0, inserts: 0, retries: 0 }
    metrics = { ...metrics, ...zeros, state: 'Provisioning', stateReason: null, throughput: [], delivery: null }
    await section('Now').getByText('Nothing was moved in the last hour.').waitFor()
    await section('Now').getByText('Known when the pipe has run').waitFor()
    await requireFitAndAccessible(page, 'a pipe that never ran')
    metrics = { ...metrics, state: 'Stopped' }
    await section('Now').getByText('To start it, choose Start. If the address').waitFor()
    await requireFitAndAccessible(page, 'a pipe that waits for its source')
  })

  it('explains the page of rejected rows when it is empty', async () => {
    await page.getByRole('tab', { name: 'Rejected rows' }).click()
    await page.getByRole('heading', { name: 'No rejected rows' }).waitFor()
    await requireFitAndAccessible(page, 'no rejected rows')
  })

  it('reports when the engine cannot list rejected rows', async () => {
    const error = 'ENGINE_UNAVAILABLE: the engine did not answer within 10 s'
    errors = { status: 503, body: { error, status: 503 } }
    await page.route('**/pipes/*/errors?*', (route) => route.fulfill({ status: errors.status, json: errors.body }))
    await page.goto(address('?tab=errors'))
    const alert = page.getByRole('alert').filter({ hasText: 'The rejected rows could not be read' })
    await alert.waitFor({ timeout: 60_000 })
    await alert.getByText('the engine did not answer within 10 s').waitFor()
  })

  it('lists rejected rows unchanged, with the reason', async () => {
    errors = { status: 200, body: envelope(badRows) }
    metrics = running()
    await page.reload()
    const rows = section('Rejected rows')
    await rows.getByText('Cannot parse input').first().waitFor()
    await rows.getByText('{"id": 40213, "amount": "twelve"}').waitFor()
    await rows.getByText('<img src=x onerror=alert(1)>').waitFor()
    await rows.getByText('offset 40213, partition 1').waitFor()
    await rows.getByText(/orders_penstock_errors|_penstock_errors/).waitFor()
    await requireFitAndAccessible(page, 'rejected rows')
  })

  it('retries them after a confirmation', async () => {
    const rows = section('Rejected rows')
    await rows.getByRole('button', { name: 'Retry rows' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Rows that it rejects again stay here').waitFor()
    await requireFitAndAccessible(page, 'asking whether to try again')
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.url().endsWith('/errorReplay')),
      dialog.getByRole('button', { name: 'Retry rows' }).click(),
    ])
    assert.equal(request.method(), 'POST')
    const answer = (await (await request.response())!.json()) as { result: PipeMetrics }
    assert.notEqual(answer.result.replayRequestedAt, null)
    metrics = { ...running(), replayRequestedAt: answer.result.replayRequestedAt }
    await rows.getByText('The rows are being retried').waitFor()
    const button = rows.getByRole('button', { name: /^Retry rows/ })
    assert.equal(await button.getAttribute('aria-disabled'), 'true')
    await requireFitAndAccessible(page, 'rejected rows that are tried again')
  })

  it('has an activity for the retry', async () => {
    await page.goto(`${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}/activity`)
    await page.getByText(/retried rejected rows of the pipe/).waitFor()
  })

  it('explains that a changed failed pipe must be started, and that the reason is older than the change', async () => {
    const { SERVICE_ID, KAFKA_PIPE_ID, ORGANIZATION_ID } = penstock.sample
    const path = `/services/${SERVICE_ID}/pipes/${KAFKA_PIPE_ID}`
    metrics = {
      ...running(),
      state: 'Failed',
      stateReason: 'the topic orders does not exist',
      lastErrorAt: minutesAgo(5),
    }
    const onlyPipe = new RegExp(`${path}$`)
    await page.route(onlyPipe, async (route) => {
      const response = await route.fetch()
      const answer = (await response.json()) as { result: { state: string } }
      await route.fulfill({ response, json: { ...answer, result: { ...answer.result, state: 'Failed' } } })
    })
    await page.goto(`${penstock.url}/console/o/${ORGANIZATION_ID}${path}/edit`)
    await page.getByLabel('Name', { exact: true }).first().fill('orders after the failure')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('status').getByText('Saved. Start the pipe to try again.').waitFor()
    const reason = section('Now').getByRole('alert')
    await reason.getByText('Why it stopped, before the last change').waitFor()
    await reason.getByText('The topic orders does not exist.').waitFor()
    await reason.getByText(/Start it to try again/).waitFor()
    await requireFitAndAccessible(page, 'a failed pipe that was changed')
    await page.unroute(onlyPipe)
  })

  it('the overview shows why a pipe is degraded', async () => {
    const { SERVICE_ID, KAFKA_PIPE_ID, ORGANIZATION_ID } = penstock.sample
    await page.route('**/v1/organizations/*/prometheus', async (route) => {
      const text = await (await route.fetch()).text()
      // A pipe of the sample may be degraded too, because its engine is unreachable.
      const others = text.split('\n').filter((line) => !/^penstock_pipes\{.*"Degraded"/.test(line))
      await route.fulfill({
        body: `${others.join('\n')}penstock_pipes{service="${SERVICE_ID}",state="Degraded"} 1\n`,
      })
    })
    await page.route(new RegExp(`/services/${SERVICE_ID}/pipes(?:[?]|$)`), async (route) => {
      const [url] = route.request().url().split('?')
      const answer = (await (await route.fetch({ url: url! })).json()) as { result: { id: string; state: string }[] }
      const result = answer.result.filter(({ id }) => id === KAFKA_PIPE_ID)
      for (const pipe of result) pipe.state = 'Degraded'
      await route.fulfill({ json: { ...answer, result } })
    })
    metrics = { ...running(), state: 'Degraded', stateReason: 'kafka.northwind.example:9092 refuses the password' }
    await page.goto(`${penstock.url}/console/o/${ORGANIZATION_ID}`)
    const attention = section('What needs attention')
    await attention.getByText('kafka.northwind.example:9092 refuses the password.').waitFor()
    await requireFitAndAccessible(page, 'the overview with a degraded pipe')
    assert.deepEqual(person.complaints(), [])
  })
})
