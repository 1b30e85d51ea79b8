// Tables of a postgres pipe during the load, in the console. The metrics are mocked.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { PipeMetrics, PipeTable } from '../../src/client/shapes.ts'
import { metricsExample } from '../../src/progress/progress.ts'
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

const table = (name: string, more: Partial<PipeTable> = {}): PipeTable => ({
  sourceSchemaName: 'public',
  sourceTable: name,
  targetTable: name,
  state: 'waiting',
  isResync: false,
  rowsLoaded: 0,
  rowsEstimated: null,
  percent: 0,
  secondsLeft: null,
  ...more,
})

const done = { percent: 100, rowsLoaded: 48_211, rowsEstimated: 48_000 }
const tables: PipeTable[] = [
  table('customers', { state: 'following', ...done }),
  table('orders', {
    state: 'loading',
    rowsLoaded: 1_250_000,
    rowsEstimated: 5_000_000,
    percent: 25,
    secondsLeft: 5_400,
  }),
  table('a_table_with_a_name_that_is_as_long_as_PostgreSQL_lets_names_be', {
    state: 'loading',
    rowsLoaded: 1,
    percent: 3.4,
  }),
  table('later'),
]

describe('the tables of a postgres pipe, in the console', () => {
  let penstock: RunningPenstock
  let browser: Browser
  let person: Person
  let page: Page
  let metrics: PipeMetrics = {
    ...metricsExample,
    state: 'Snapshot',
    doing: 'Loading public.orders.',
    retainedBytes: 31_330_000,
    tables,
  }
  const section = (name: string) => page.getByRole('region', { name, exact: true })
  const row = (text: string) => section('Tables').getByRole('row').filter({ hasText: text })
  before(async () => {
    penstock = await startPenstock()
    browser = await openBrowser()
    person = await openPerson(browser)
    page = person.page
    await signInByLink(page, penstock)
    const { ORGANIZATION_ID, SERVICE_ID, POSTGRES_PIPE_ID } = penstock.sample
    await page.route(`**/pipes/${POSTGRES_PIPE_ID}/metrics`, (route) =>
      route.fulfill({ json: { requestId: '0b0f2a52-7c0f-4a6e-8f0c-6c2b1f2f9d11', result: metrics, status: 200 } }),
    )
    await page.goto(`${penstock.url}/console/o/${ORGANIZATION_ID}/services/${SERVICE_ID}/pipes/${POSTGRES_PIPE_ID}`)
  })
  after(async () => {
    await closeBrowser(browser)
    await penstock?.stop()
  })

  it('are shown with progress and remaining time, loading tables first', async () => {
    await section('Tables').getByText('2 loading, 1 waiting, 1 replicating changes.').waitFor()
    assert.deepEqual(await section('Tables').getByRole('row').getByRole('cell').first().allInnerTexts(), [
      'public.orders',
    ])
    await row('public.orders').getByText('25%, 1,250,000 of about 5,000,000 rows, about 90 minutes left').waitFor()
    const bar = row('public.orders').getByRole('progressbar', { name: 'Load of public.orders' })
    assert.equal(await bar.getAttribute('aria-valuenow'), '25')
    await row('a_table_with').getByText('3.4%, 1 row', { exact: true }).waitFor()
    await row('customers').getByText('Replicating changes').waitFor()
    await row('customers').getByText('48,211 rows').waitFor()
    await row('later').getByText('Waiting to be loaded').waitFor()
    assert.equal(await section('Tables').getByRole('progressbar').count(), 2)
    await section('Now').getByText('31.3 MB', { exact: true }).waitFor()
    await section('Now').getByText('changes wait').waitFor()
    await requireFitAndAccessible(page, 'tables that are loaded')
    assert.deepEqual(person.complaints(), [])
  })

  it('are shown beside the tables that replace them', async () => {
    metrics = {
      ...metrics,
      state: 'Resync',
      retainedBytes: null,
      tables: [
        table('orders', { state: 'following', ...done }),
        table('orders', {
          targetTable: 'orders_penstock_resync',
          isResync: true,
          state: 'loading',
          rowsLoaded: 4_000_000,
          rowsEstimated: 5_000_000,
          percent: 80,
          secondsLeft: 20,
        }),
      ],
    }
    const shadow = row('orders_penstock_resync')
    await shadow.getByText('Reloading').waitFor()
    await shadow.getByText('Replaces the current table once it is loaded').waitFor()
    await shadow.getByText('80%, 4,000,000 of about 5,000,000 rows, under a minute left').waitFor()
    await section('Now').getByText('Unknown', { exact: true }).waitFor()
    await requireFitAndAccessible(page, 'tables that are loaded again')
    assert.deepEqual(person.complaints(), [])
  })

  it('are shown page by page', async () => {
    const many = Array.from({ length: 60 }, (_, index) => table(`table_${index}`, { state: 'loaded', ...done }))
    metrics = { ...metrics, state: 'Completed', tables: many }
    await section('Tables').getByText('60 loaded.', { exact: true }).waitFor()
    const rows = section('Tables').getByRole('row')
    assert.equal(await rows.count(), 51)
    await section('Tables').getByRole('button', { name: 'Show more' }).click()
    await row('public.table_59').waitFor()
    assert.equal(await rows.count(), 61)
    assert.equal(await section('Tables').getByRole('button').count(), 0)
  })

  it('are not shown for other kinds of pipes', async () => {
    const { ORGANIZATION_ID, SERVICE_ID, KAFKA_PIPE_ID } = penstock.sample
    await page.goto(`${penstock.url}/console/o/${ORGANIZATION_ID}/services/${SERVICE_ID}/pipes/${KAFKA_PIPE_ID}`)
    await section('Now').getByText('records wait').waitFor()
    assert.equal(await section('Tables').count(), 0)
    assert.equal(await section('Now').getByText('WAL retained by PostgreSQL').count(), 0)
  })
})
