// Sources with a queue for new objects, and the publication and replication slot that Penstock creates in PostgreSQL, in forms
// and pages.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { ObjectStorageSource, Pipe, PipeBadRow, PostgresSource } from '../../src/client/shapes.ts'
import { badRowExample } from '../../src/progress/progress.ts'
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

const queueUrl = 'https://sqs.eu-west-1.amazonaws.com/123456789012/orders'

describe('the source of a pipe, in the console', () => {
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

  const queue = () => page.getByRole('textbox', { name: /^Queue URL/ })
  const loadFirst = () => page.getByRole('switch', { name: 'Load existing objects first' })
  const provider = () => page.getByRole('combobox', { name: 'Provider' })

  const addressOf = (pipeId: string, rest = ''): string => {
    const { ORGANIZATION_ID, SERVICE_ID } = penstock.sample
    return `${penstock.url}/console/o/${ORGANIZATION_ID}/services/${SERVICE_ID}/pipes/${pipeId}${rest}`
  }

  /** The page of a sample pipe with a mocked source. */
  const openSource = async (pipeId: string, change: (source: Pipe['source']) => void): Promise<void> => {
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.route(`**/v1/**/pipes/${pipeId}`, async (route) => {
      const response = await route.fetch()
      const json = (await response.json()) as { result: Pipe }
      change(json.result.source)
      await route.fulfill({ response, json })
    })
    await page.goto(addressOf(pipeId, '?tab=source'))
  }
  const factOf = async (label: string): Promise<string> => {
    const fact = page.locator('dl.facts > div').filter({ has: page.locator('dt', { hasText: label }) })
    return fact.locator('dd').innerText()
  }
  const openObjects = (more: Partial<ObjectStorageSource>) =>
    openSource(penstock.sample.OBJECT_STORAGE_PIPE_ID!, ({ objectStorage }) => {
      for (const name of ['queueUrl', 'azureContainerName', 'path', 'connectionString'] as const) {
        delete objectStorage![name]
      }
      Object.assign(objectStorage!, { isContinuous: true, ...more })
    })
  const openPostgres = (settings: Partial<PostgresSource['settings']>) =>
    openSource(penstock.sample.POSTGRES_PIPE_ID!, ({ postgres }) => {
      const { publicationName: _, replicationSlotName: __, ...others } = postgres!.settings
      postgres!.settings = { ...others, ...settings }
    })

  it('is shown with its queue, and with the handling of existing objects', async () => {
    await openObjects({ queueUrl })
    await page.getByText(queueUrl).waitFor()
    assert.equal(await factOf('Load existing objects first'), 'Yes')
    await requireFitAndAccessible(page, 'a source with a queue')
    await openObjects({ queueUrl, skipInitialLoad: true })
    await page.getByText(queueUrl).waitFor()
    assert.equal(await factOf('Load existing objects first'), 'No')
    await openObjects({})
    await page.getByText('None: the bucket is listed periodically').waitFor()
    await openObjects({ isContinuous: false })
    await page.getByText('Otherwise the pipe completes').waitFor()
    assert.equal(await page.getByText('Queue URL').count(), 0)
  })

  it('is shown, and edited, without the fields of other stores', async () => {
    const pipeId = penstock.sample.OBJECT_STORAGE_PIPE_ID!
    const labels = () => page.locator('dl.facts dt').allInnerTexts()
    const inputs = async (): Promise<string[]> => {
      await page.goto(addressOf(pipeId, '/edit'))
      await page.getByRole('combobox', { name: 'Authentication' }).waitFor()
      return await page.locator('label').allInnerTexts()
    }
    const ofAzure = ['Container', 'Path']
    const foundOf = (names: string[], all: string[]) =>
      names.filter((name) => all.some((text) => text.startsWith(name)))
    await openObjects({ queueUrl })
    await page.getByText(queueUrl).waitFor()
    assert.deepEqual(foundOf([...ofAzure, 'Connection string', 'URL', 'IAM role'], await labels()), ['URL', 'IAM role'])
    assert.deepEqual(foundOf([...ofAzure, 'IAM role'], await inputs()), ['IAM role'])
    assert.equal(await page.getByText('does not use what follows').count(), 0)
    // A value stored by an update can still be seen and cleared.
    await openObjects({ queueUrl, path: 'kept' })
    await page.getByText('kept', { exact: true }).waitFor()
    assert.deepEqual(foundOf([...ofAzure, 'IAM role'], await inputs()), ['Path', 'IAM role'])
    await page.getByText('does not use what follows').waitFor()
    await openObjects({ type: 'azureblobstorage', azureContainerName: 'orders', path: '*.json' })
    await page.getByText('orders', { exact: true }).first().waitFor()
    assert.deepEqual(foundOf([...ofAzure, 'Connection string'], await labels()), [...ofAzure, 'Connection string'])
  })

  it('is named on the overview of the pipe with its queue', async () => {
    await openObjects({ queueUrl })
    await page.goto(addressOf(penstock.sample.OBJECT_STORAGE_PIPE_ID!))
    const flow = page.getByRole('region', { name: 'Data flow', exact: true })
    await flow.getByText(`new files from the queue ${queueUrl}`).waitFor()
    await requireFitAndAccessible(page, 'a pipe with a queue')
  })

  it('distinguishes skipped messages and files from rejected rows', async () => {
    const given: Partial<PipeBadRow>[] = [
      { id: 'row', partition: 'object:etag a.json', position: 'bytes 0 to 120 of a.json' },
      { id: 'file', partition: 'object:etag b.json', position: 'the object b.json', raw: '{"key":"b.json"}' },
      { id: 'message', partition: 'message:5fea7756', position: 'message:5fea7756', raw: '{"Records":[]}' },
    ]
    await openObjects({ queueUrl })
    await page.route('**/pipes/*/errors?*', (route) =>
      route.fulfill({
        json: { requestId: 'r', status: 200, result: given.map((one) => ({ ...badRowExample, ...one })) },
      }),
    )
    await page.goto(addressOf(penstock.sample.OBJECT_STORAGE_PIPE_ID!, '?tab=errors'))
    const kept = page.getByRole('region', { name: 'Rejected rows, messages and files', exact: true })
    const entries = kept.locator('.rejected-rows > li')
    await entries.first().waitFor()
    const texts = await entries.allInnerTexts()
    assert.deepEqual(
      texts.map((text) => /This is a (message|file), not a row/.exec(text)?.[1]),
      [undefined, 'file', 'message'],
    )
    await requireFitAndAccessible(page, 'messages and files that were given up')
    await kept.getByRole('button', { name: 'Retry rows' }).click()
    await page.getByRole('dialog').getByText('Messages and files are not retried').waitFor()
    assert.deepEqual(person.complaints(), [])
  })

  it('is shown with the created or the configured replication slot and publication', async () => {
    const own = `penstock_${penstock.sample.POSTGRES_PIPE_ID!.replaceAll('-', '_')}`
    await openPostgres({ replicationMode: 'cdc' })
    await page.getByText(own).first().waitFor()
    assert.equal(await factOf('Replication slot'), `${own} Created by Penstock`)
    assert.equal(await factOf('Publication'), `${own} Created by Penstock`)
    await requireFitAndAccessible(page, 'a source with a slot of its own')
    await openPostgres({ replicationMode: 'cdc_only', replicationSlotName: 'theirs' })
    await page.getByText('theirs', { exact: true }).waitFor()
    assert.equal(await factOf('Replication slot'), 'theirs')
    await openPostgres({ replicationMode: 'snapshot' })
    await page.getByText('None: the tables are loaded once').first().waitFor()
    assert.equal(await page.getByText(own).count(), 0)
    assert.deepEqual(person.complaints(), [])
  })

  it('offers a queue for continuous pipes of stores with queues', async () => {
    const { ORGANIZATION_ID, SERVICE_ID } = penstock.sample
    await page.goto(`${penstock.url}/console/o/${ORGANIZATION_ID}/pipes/new?kind=objectStorage&service=${SERVICE_ID}`)
    const continuous = page.getByRole('switch', { name: 'Continuous' })
    await continuous.waitFor()
    assert.equal(await queue().count(), 0)
    await continuous.click()
    await queue().waitFor()
    assert.equal(await loadFirst().count(), 0)
    for (const type of ['gcs', 'dospaces']) {
      await provider().selectOption(type)
      await queue().waitFor({ state: 'detached' })
    }
    await provider().selectOption('azureblobstorage')
    await page.getByText(/Event Grid notifies of new blobs/).waitFor()
    await provider().selectOption('s3')
    await page.getByText(/which the bucket notifies of new objects/).waitFor()
  })

  it('does not combine public access with a queue', async () => {
    const authentication = page.getByRole('combobox', { name: 'Authentication' })
    const open = authentication.locator('option', { hasText: 'None (public objects)' })
    await authentication.selectOption('none')
    await queue().fill(queueUrl)
    await open.waitFor({ state: 'detached' })
    assert.equal(await authentication.inputValue(), 'IAM_ROLE')
    await queue().fill('')
    await open.waitFor({ state: 'attached' })
  })

  it('loads existing objects first by default', async () => {
    await queue().fill(queueUrl)
    assert.ok(await loadFirst().isChecked())
    await requireFitAndAccessible(page, 'a queue that is entered')
    const checked = async (): Promise<Record<string, unknown>> => {
      const asked = page.waitForRequest('**/pipes/schemaDiscovery')
      await page.getByRole('button', { name: 'Check connection' }).click()
      const body = (await asked).postDataJSON() as { source: { objectStorage: Record<string, unknown> } }
      return body.source.objectStorage
    }
    await page.getByRole('textbox', { name: /^URL/ }).fill('http://127.0.0.1:9/orders/*.json')
    await page.getByRole('textbox', { name: /^IAM role/ }).fill('arn:aws:iam::123456789012:role/penstock')
    const first = await checked()
    assert.deepEqual([first.queueUrl, first.skipInitialLoad], [queueUrl, undefined])
    await loadFirst().click()
    assert.ok(!(await loadFirst().isChecked()))
    assert.equal((await checked()).skipInitialLoad, true)
    assert.deepEqual(person.complaints(), [])
  })
})
