// The source check in the console: errors appear at their fields, discovered fields are offered for the destination, and a pipe
// is created from them.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { type ObjectServer, startObjectServer } from '../sources/object-server.ts'
import {
  callApi,
  closeBrowser,
  openBrowser,
  openPerson,
  type Person,
  type RunningPenstock,
  signInByLink,
  startPenstock,
} from './browser.ts'
import { requireFitAndAccessible } from './looks.ts'

/** PostgreSQL of the test run, with the example database. */
const postgres = new URL(process.env.PENSTOCK_TEST_POSTGRES!)

const records = [
  { id: 1, customer: { name: '<img src=x onerror=alert(1)>' }, note: 'x'.repeat(400), total: 12.5 },
  { id: 2, customer: null, total: 7 },
]

describe('the check of a source', () => {
  let penstock: RunningPenstock
  let browser: Browser
  let person: Person
  let page: Page
  let store: ObjectServer
  before(async () => {
    store = await startObjectServer()
    await store.createBucket('events', { isPublic: true })
    await store.put('events', 'orders.json', Buffer.from(records.map((record) => JSON.stringify(record)).join('\n')))
    penstock = await startPenstock()
    browser = await openBrowser()
    person = await openPerson(browser)
    page = person.page
    await answerDestinationCheck([])
    await signInByLink(page, penstock)
  })
  /** Mocks the engine of the sample, which is unreachable. */
  const answerDestinationCheck = async (errors: { pointer: string; detail: string }[]) => {
    await page.unroute('**/pipes/destinationCheck')
    await page.route('**/pipes/destinationCheck', (route) => {
      const result = { databaseExists: errors.length === 0, tableExists: false, databases: ['default', 'shop'], errors }
      return route.fulfill({ json: { status: 200, requestId: 'r', result } })
    })
  }
  after(async () => {
    await closeBrowser(browser)
    await penstock?.stop()
    await store?.stop()
  })

  const openNewPipe = async (kind: string, on = page) => {
    const { ORGANIZATION_ID, SERVICE_ID } = penstock.sample
    await on.goto(`${penstock.url}/console/o/${ORGANIZATION_ID}/pipes/new?kind=${kind}&service=${SERVICE_ID}`)
    await on.getByRole('heading', { name: 'Check connection' }).waitFor()
  }
  const section = () => page.getByRole('region', { name: 'Check connection' })
  const checkButton = () => section().getByRole('button', { name: 'Check connection' })
  const field = (name: string | RegExp) => page.getByRole('textbox', { name })
  const next = (name: string) => page.getByRole('button', { name: `Next: ${name}` }).click()
  const secret = () => page.locator('input[type="password"]')
  const listPipes = async () =>
    (await callApi(penstock, 'GET', `/services/${penstock.sample.SERVICE_ID}/pipes?limit=100`)).result as {
      id: string
      name: string
    }[]
  let pipeId = ''

  it('requires a complete source, and names missing fields', async () => {
    await openNewPipe('postgres')
    assert.ok(await checkButton().isDisabled())
    await section().getByText('Still needed: Host, Database, User name, Password.').waitFor()
  })

  it('reports a wrong password at its field, with the step, the reason and what to do', async () => {
    await field(/^Host/).fill('127.0.0.1')
    await field(/^Port/).fill(postgres.port)
    await field(/^Database/).fill('shop')
    await field(/^User name/).fill('shop_reader')
    await secret().fill('not-the-password')
    await page.getByLabel('Replication mode').selectOption('snapshot')
    await checkButton().click()
    const alert = section().getByRole('alert')
    await alert.getByText('Signing in failed').waitFor()
    await alert.getByText(`127.0.0.1:${postgres.port} refuses the user name or the password.`).waitFor()
    await alert.getByText('Check username and password.').waitFor()
    assert.equal(await secret().getAttribute('aria-invalid'), 'true')
    await alert.getByRole('button', { name: 'Go to the field' }).click()
    await secret().and(page.locator(':focus')).waitFor()
    await requireFitAndAccessible(page, 'a source that failed')
  })

  it('discards its result when the source is changed', async () => {
    await secret().fill('a-password')
    await section()
      .getByText(/changed since it was checked/)
      .waitFor()
    assert.equal(await section().getByRole('alert').count(), 0)
    assert.notEqual(await secret().getAttribute('aria-invalid'), 'true')
  })

  it('can be cancelled while it runs', async () => {
    await page.route('**/pipes/schemaDiscovery', () => undefined)
    const failed = page.waitForEvent('requestfailed', (request) => /schemaDiscovery/.test(request.url()))
    await checkButton().click()
    await section().getByRole('status').getByText('Connecting…').waitFor()
    await section().getByRole('button', { name: 'Cancel the check' }).click()
    await section().getByText('The check was cancelled.').waitFor()
    await failed
    await checkButton().and(page.locator(':focus')).waitFor()
    await page.unroute('**/pipes/schemaDiscovery')
  })

  it('lists the tables, and adds one with a click', async () => {
    await checkButton().click()
    await section().getByRole('status').getByText('Connection OK').waitFor()
    await section()
      .getByText(/^Connected .*signed in .* ms/)
      .waitFor()
    await section().getByRole('button', { name: 'Add public.orders' }).click()
    await section().getByRole('button', { name: 'public.orders is added' }).waitFor()
    await section()
      .getByText(/Check the connection again to see what is in the table/)
      .waitFor()
    await checkButton().click()
    const columns = section().getByRole('region', { name: 'Columns of public.orders' })
    await columns.getByRole('row', { name: /^id Int64/ }).waitFor()
    const sample = section().getByRole('region', { name: 'Sample of public.orders' })
    await sample.getByText('2026-11-02').waitFor()
    await requireFitAndAccessible(page, 'tables that were found')
  })

  it('offers a search when there are many tables', async () => {
    await page.route('**/pipes/schemaDiscovery', async (route) => {
      const response = await route.fetch()
      const answer = await response.json()
      const more = Array.from({ length: 999 }, (_, index) => ({
        sourceSchemaName: 'archive',
        sourceTable: `orders_${index}`,
        primaryKey: [],
      }))
      answer.result.availableTables.push(...more)
      await route.fulfill({ response, json: answer })
    })
    await checkButton().click()
    await section().getByText('The first 1,000 tables.').waitFor()
    await section().getByRole('textbox', { name: 'Find a table' }).fill('ARCHIVE.orders_99')
    await section().getByText('10 of the first 1,000 tables.').waitFor()
    assert.equal(await section().getByRole('button', { name: /^Add / }).count(), 10)
    await page.unroute('**/pipes/schemaDiscovery')
    await checkButton().click()
    await section().getByRole('button', { name: 'public.orders is added' }).waitFor()
  })

  it('shows the request of the button as a command', async () => {
    await section().getByRole('button', { name: 'Copy as curl' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Secrets that you typed are in it').waitFor()
    const command = (await dialog.locator('pre').textContent())!
    assert.match(command, /-X POST '.*\/pipes\/schemaDiscovery'/)
    await page.keyboard.press('Escape')
    const sent = page.waitForRequest(/schemaDiscovery/)
    await checkButton().click()
    assert.deepEqual(JSON.parse(/-d '(.*)'$/s.exec(command)![1]!), (await sent).postDataJSON())
    await section().getByText('Connection OK').waitFor()
  })

  it('offers the tables beside the mappings, and checks again before the pipe is created', async () => {
    await next('destination')
    await page.getByRole('button', { name: 'public.orders is added' }).waitFor()
    assert.equal(await field(/^Target table 1/).inputValue(), 'orders')
    await field(/^Database/).fill('analytics')
    await next('settings')
    await next('review')
    await field(/^Name/).fill('shop orders')
    assert.ok(await page.getByRole('checkbox', { name: 'Check the source before saving' }).isChecked())
    await page.getByText('"validateSamples": true').waitFor()
    await requireFitAndAccessible(page, 'the review')
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/pipes'))
    await page.getByRole('button', { name: 'Create the pipe' }).click()
    assert.equal((await sent).postDataJSON().source.validateSamples, true)
    await page.getByRole('heading', { level: 1, name: /shop orders/ }).waitFor()
    const created = (await listPipes()).find(({ name }) => name === 'shop orders')
    assert.ok(created)
    pipeId = created.id
  })

  it('checks an existing pipe with its stored secrets and the pending changes', async () => {
    const path = `/services/${penstock.sample.SERVICE_ID}/pipes/${pipeId}`
    await page.goto(`${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}${path}/edit`)
    const asPresent = page.waitForRequest(/schemaDiscovery/)
    await checkButton().click()
    assert.deepEqual((await asPresent).postDataJSON(), { pipeId })
    await section().getByRole('button', { name: 'public.orders is added' }).waitFor()
    await requireFitAndAccessible(page, 'a pipe that was checked')
    await field(/^Database/).fill('nowhere')
    const asChanged = page.waitForRequest(/schemaDiscovery/)
    await checkButton().click()
    const patch = { source: { postgres: { database: 'nowhere' } } }
    assert.deepEqual((await asChanged).postDataJSON(), { pipeId, patch })
    await section()
      .getByRole('alert')
      .getByText(/has no database "nowhere"/)
      .waitFor()
    assert.equal(await field(/^Database/).getAttribute('aria-invalid'), 'true')
  })

  it('a change of the source is stored only after a successful check, unless the check is switched off', async () => {
    const pane = page.getByRole('region', { name: 'What will change' })
    const checkbox = page.getByRole('checkbox', { name: 'Check the source before saving' })
    assert.ok(await checkbox.isChecked())
    await page.getByRole('button', { name: 'Save changes' }).click()
    await pane
      .getByRole('alert')
      .getByText(/has no database "nowhere"/)
      .waitFor()
    await requireFitAndAccessible(page, 'a change that was refused')
    await field(/^Database/).fill('shop')
    await page.getByLabel('Name', { exact: true }).first().fill('orders of the shop')
    assert.ok(!(await checkbox.isChecked()), 'a change that is not of the source is checked')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { level: 1, name: /orders of the shop/ }).waitFor()
  })

  it('shows fields and records as plain text', async () => {
    await openNewPipe('objectStorage')
    await field(/^URL/).fill(`${store.endpoint}/events/*.json`)
    await page.getByRole('combobox', { name: 'Authentication' }).selectOption('none')
    await checkButton().click()
    await section().getByText('Connection OK').waitFor()
    const fields = section().getByRole('region', { name: 'Fields' })
    await fields.getByRole('row', { name: /^id Int64 no/ }).waitFor()
    await fields.getByRole('row', { name: /^note Nullable\(String\) yes/ }).waitFor()
    const sample = section().getByRole('region', { name: 'Sample' })
    await sample.getByText('{"name":"<img src=x onerror=alert(1)>"}').waitFor()
    await sample.getByText(`${'x'.repeat(120)}…`).waitFor()
    await sample.getByText('null', { exact: true }).first().waitFor()
    assert.equal(await sample.locator('img').count(), 0)
    await requireFitAndAccessible(page, 'fields that were found')
  })

  it('fills in the columns, asks before it replaces any, and suggests fields for the mappings', async () => {
    await section().getByRole('button', { name: 'Use these fields as columns' }).click()
    await section().getByText('The columns of the destination are these fields.').waitFor()
    await next('destination')
    assert.equal(await field('Column 1').inputValue(), 'id')
    assert.equal(await field('Type 1').inputValue(), 'Int64')
    await field('Type 1').fill('UInt64')
    await page.getByRole('button', { name: 'Use these fields as columns' }).click()
    const question = page.getByRole('dialog', { name: 'Replace the columns?' })
    await question.getByRole('button', { name: 'Keep them' }).click()
    assert.equal(await field('Type 1').inputValue(), 'UInt64')
    await page.getByRole('button', { name: 'Add a field mapping' }).click()
    await page.getByRole('combobox', { name: 'Source field 1' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.type('tot')
    await page.getByRole('option', { name: 'total' }).click()
    assert.equal(await page.getByRole('combobox', { name: 'Source field 1' }).inputValue(), 'total')
    await requireFitAndAccessible(page, 'columns that were filled in')
    await page.getByRole('button', { name: 'Use these fields as columns' }).click()
    await question.getByRole('button', { name: 'Replace the columns' }).click()
    assert.equal(await field('Type 1').inputValue(), 'Int64')
  })

  it('returns to the destination when records do not match, and creates the pipe on request', async () => {
    await field(/^Database/).fill('analytics')
    await field(/^Table/).fill('events')
    await page.getByRole('combobox', { name: 'Source field 1' }).fill('amount')
    await page.getByRole('combobox', { name: 'Destination column 1' }).fill('total')
    await answerDestinationCheck([
      { pointer: '#/database', detail: 'the engine has no database "analytics"; create it with CREATE DATABASE' },
    ])
    // A click on a later step does not skip the check either.
    await page.getByRole('button', { name: 'Source', exact: true }).click()
    await page.getByRole('group', { name: /^Step 2 of 5/ }).waitFor()
    await page.getByRole('button', { name: /^5?\s*Review$/ }).click()
    await page.getByRole('group', { name: /^Step 3 of 5/ }).waitFor()
    const missing = page.getByRole('alert').filter({ hasText: 'The engine does not have what the destination names' })
    await missing.getByText('Its databases: default, shop.').waitFor()
    assert.equal(await field(/^Database/).getAttribute('aria-invalid'), 'true')
    await requireFitAndAccessible(page, 'a database that does not exist')
    await page.getByRole('button', { name: 'Continue anyway' }).waitFor()
    await answerDestinationCheck([])
    await field(/^Database/).fill('shop')
    assert.notEqual(await field(/^Database/).getAttribute('aria-invalid'), 'true')
    await next('settings')
    await next('review')
    await field(/^Name/).fill('events')
    await page.getByRole('button', { name: 'Create the pipe' }).click()
    const alert = page.getByRole('alert')
    await alert.getByText('The pipe was not created: the records do not match the table').waitFor()
    await page.getByRole('group', { name: /^Step 3 of 5/ }).waitFor()
    await requireFitAndAccessible(page, 'records that do not match')
    await alert.getByRole('button', { name: 'Go to review' }).click()
    await page.getByRole('checkbox', { name: 'Check the source before saving' }).uncheck()
    await page.getByRole('button', { name: 'Create the pipe' }).click()
    await page.getByRole('heading', { level: 1, name: /events/ }).waitFor()
  })

  it('warns of mismatches when an existing pipe is checked', async () => {
    const created = (await listPipes()).find(({ name }) => name === 'events')!
    const path = `/services/${penstock.sample.SERVICE_ID}/pipes/${created.id}`
    await page.goto(`${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}${path}/edit`)
    await checkButton().click()
    const warning = section().getByRole('alert').filter({ hasText: 'The records do not match the table' })
    await warning.getByText(/amount/).waitFor()
    await requireFitAndAccessible(page, 'a pipe with mismatches')
    await page.getByRole('button', { name: 'Remove field mapping 1' }).click()
    await warning.getByText(/were changed since/).waitFor()
    await checkButton().click()
    await section().getByText('Connection OK').waitFor()
    assert.equal(await warning.count(), 0)
  })

  it('is not available to developers, and says why', async () => {
    const email = 'noor.haddad@northwind.example'
    const invited = await callApi(penstock, 'POST', '/invitations', { email, role: 'developer' })
    const theirs = await openPerson(browser)
    await theirs.page.goto((invited.result as { link: string }).link)
    await theirs.page.getByLabel('Name').fill('Noor Haddad')
    await theirs.page.getByLabel('Password', { exact: true }).fill('a long and quiet river')
    await theirs.page.getByRole('button', { name: /join/i }).click()
    await theirs.page.waitForURL('**/console/o/*')
    await openNewPipe('kafka', theirs.page)
    const theirSection = theirs.page.getByRole('region', { name: 'Check connection' })
    assert.ok(await theirSection.getByRole('button', { name: 'Check connection' }).isDisabled())
    await theirSection.getByText('Only admins can check a connection.').waitFor()
    const { ORGANIZATION_ID, SERVICE_ID, KAFKA_PIPE_ID } = penstock.sample
    const edited = `/o/${ORGANIZATION_ID}/services/${SERVICE_ID}/pipes/${KAFKA_PIPE_ID}/edit`
    await theirs.page.goto(`${penstock.url}/console${edited}`)
    await theirSection.getByText('Only admins can check a connection.').waitFor()
    assert.ok(await theirSection.getByRole('button', { name: 'Check connection' }).isDisabled())
    await theirs.context.close()
  })

  it('no page caused browser errors', () => {
    assert.deepEqual(person.complaints(), [])
  })
})
