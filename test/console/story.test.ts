// A first day of two people with the console: from the link of `npm start` to a working API key, an invited colleague, a service,
// a private endpoint, a changed pipe, and the activity of all of it.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import {
  callApi,
  openBrowser,
  openPerson,
  type Person,
  type RunningPenstock,
  requireAccessible,
  startPenstock,
} from './browser.ts'

const password = 'a long and quiet river'

describe('the console, from the first start', () => {
  let penstock: RunningPenstock
  let browser: Browser
  let admin: Person
  let colleague: Person
  let page: Page
  before(async () => {
    penstock = await startPenstock()
    browser = await openBrowser()
    admin = await openPerson(browser)
    colleague = await openPerson(browser)
    page = admin.page
  })
  after(async () => {
    await browser?.close()
    await penstock?.stop()
  })

  const open = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click()
  const title = (name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()

  it('the printed link signs in, once', async () => {
    await page.goto(penstock.signInLink)
    await title('Sign in as Ingrid Solheim')
    assert.ok(!page.url().includes('lnk_'), 'the token stays in the address bar')
    await page.getByText('ingrid.solheim@northwind.example').waitFor()
    await requireAccessible(page, 'a link that asks')
    // Viewing the page does not use up the link.
    await colleague.page.goto(penstock.signInLink)
    await colleague.page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await title('Overview')

    await colleague.page.reload()
    await colleague.page.goto(penstock.signInLink)
    await colleague.page.getByRole('alert').getByText(/link/i).first().waitFor()
    await requireAccessible(colleague.page, 'a link that was used')
  })

  it('makes an API key that works, and shows its secret once', async () => {
    await open('API keys')
    await page
      .getByRole('link', { name: /create/i })
      .first()
      .click()
    await page.getByLabel('Name', { exact: false }).first().fill('Terraform')
    await page.getByRole('radio', { name: /admin/i }).check()
    await page.getByRole('button', { name: 'Create key' }).click()
    const read = async (name: string) => (await page.locator(`[data-secret="${name}"]`).textContent())!.trim()
    const key = { id: await read('KEY_ID'), secret: await read('KEY_SECRET') }
    await requireAccessible(page, 'a new key')
    const used = await callApi(penstock, 'GET', '/keys/current', undefined, key)
    assert.equal(used.status, 200)
    assert.equal((used.result as { name: string }).name, 'Terraform')
    await page
      .getByRole('link', { name: 'Open the key' })
      .or(page.getByRole('button', { name: 'Open the key' }))
      .click()
    const question = page.getByRole('dialog', { name: 'Have you saved the secret?' })
    await question.getByRole('button', { name: 'Leave' }).click()
    await page.waitForURL(/keys\/[0-9a-f-]{36}$/)
    await page.getByRole('heading', { name: 'About this key' }).waitFor()
    assert.ok(!(await page.content()).includes(key.secret))
  })

  it('reports an unknown outcome, and creates one key when the button is pressed again', async () => {
    await page.goto(`${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}/keys/new`)
    const statuses: number[] = []
    const keysPath = '**/v1/organizations/*/keys'
    await page.route(keysPath, async (route) => {
      if (route.request().method() !== 'POST') return route.fallback()
      // Penstock has executed it; the answers of the request and of all retries are lost.
      statuses.push((await route.fetch()).status())
      await route.abort('connectionreset')
    })
    await page.getByLabel('Name', { exact: false }).first().fill('Lost and found')
    await page.getByRole('button', { name: 'Create key' }).click()
    const notice = page.getByRole('alert')
    await notice.getByText('It is not known whether this was done').waitFor()
    await notice.getByText(/press the button again without changing anything/).waitFor()
    assert.equal(await page.getByText('Nothing was changed').count(), 0)
    assert.deepEqual(statuses, [200, 200, 200])
    await requireAccessible(page, 'a change whose answer was lost')

    await page.unroute(keysPath)
    await page.getByRole('button', { name: 'Create key' }).click()
    const shownId = (await page.locator('[data-secret="KEY_ID"]').textContent())!.trim()
    const keys = (await callApi(penstock, 'GET', '/keys')).result as { name: string; keyId: string }[]
    const made = keys.filter(({ name }) => name === 'Lost and found')
    assert.deepEqual(
      made.map(({ keyId }) => keyId),
      [shownId],
    )
    await page
      .getByRole('button', { name: "I've saved the secret" })
      .or(page.getByRole('link', { name: "I've saved the secret" }))
      .click()
    await title('API keys')
  })

  it('changes a role, and refuses to demote the last admin', async () => {
    await open('Members')
    const stored = async () =>
      ((await callApi(penstock, 'GET', `/members/${penstock.sample.USER_ID}`)).result as { role: string }).role
    const dialog = page.getByRole('dialog', { name: 'Role of Amara Okafor' })
    for (const [label, said, expected] of [
      ['Admin', 'Amara Okafor is now an admin', 'admin'],
      ['Developer', 'Amara Okafor is now a developer', 'developer'],
    ] as const) {
      await page.getByRole('button', { name: 'Change role of Amara Okafor' }).click()
      await dialog.getByRole('radio', { name: label }).check()
      await dialog.getByRole('button', { name: 'Change role' }).click()
      await page.getByRole('status').getByText(said).waitFor()
      await dialog.waitFor({ state: 'hidden' })
      assert.equal(await stored(), expected)
    }
    await page.getByText('The only admin').waitFor()
    await page
      .getByRole('button', { name: /^Change role of Ingrid Solheim\. An organization keeps an admin/ })
      .waitFor()
    await requireAccessible(page, 'the members, with a notice that it worked')
  })

  it('invites a colleague, who joins with a name and a password, and signs in with them', async () => {
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Email').fill('noor.haddad@northwind.example')
    await dialog.getByRole('button', { name: 'Create invitation' }).click()
    const link = (await dialog.locator('[data-secret]').textContent())!.trim()
    assert.match(link, /\/console\/invitations\/accept#inv_/)
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByText('noor.haddad@northwind.example').first().waitFor()

    const theirs = colleague.page
    await theirs.goto(link)
    await theirs.getByLabel('Name').fill('Noor Haddad')
    await theirs.getByLabel('Password', { exact: true }).fill('short')
    await theirs.getByRole('button', { name: /join/i }).click()
    await theirs
      .getByText(/12 characters/)
      .first()
      .waitFor()
    await requireAccessible(theirs, 'a password that is too short')
    await theirs.getByLabel('Password', { exact: true }).fill(password)
    // A corrected field is no longer marked as invalid before it is sent.
    await theirs.locator('[aria-invalid="true"]').waitFor({ state: 'detached' })
    assert.equal(await theirs.getByRole('alert').count(), 0)
    await theirs.getByRole('button', { name: /join/i }).click()
    await theirs.waitForURL('**/console/o/*')

    await theirs.getByRole('button', { name: /Account of Noor Haddad/ }).click()
    await theirs.getByRole('menuitem', { name: 'Sign out' }).click()
    await theirs.getByLabel('Email').fill('noor.haddad@northwind.example')
    await theirs.getByLabel('Password', { exact: true }).fill('x'.repeat(2_000))
    await theirs.getByRole('button', { name: 'Sign in', exact: true }).click()
    await theirs.locator('[name="password"][aria-invalid="true"]').waitFor()
    await theirs.getByLabel('Password', { exact: true }).fill('not the password')
    await theirs.locator('[aria-invalid="true"]').waitFor({ state: 'detached' })
    await theirs.getByRole('button', { name: 'Sign in', exact: true }).click()
    await theirs.getByRole('alert').first().waitFor()
    await theirs.getByLabel('Password', { exact: true }).fill(password)
    await theirs.getByRole('button', { name: 'Sign in', exact: true }).click()
    await theirs.waitForURL('**/console/o/*')
    // A developer sees why a control is disabled.
    await theirs.goto(`${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}/members`)
    await theirs.getByRole('heading', { level: 1, name: 'Members' }).waitFor()
    assert.ok(
      await theirs
        .getByRole('button', { name: /^Invite/ })
        .first()
        .isDisabled(),
    )
  })

  it('registers a service and shows the result of its first check', async () => {
    await open('Services')
    await page
      .getByRole('link', { name: /register/i })
      .first()
      .click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('events')
    await page
      .getByRole('textbox', { name: 'Region' })
      .or(page.getByRole('combobox', { name: 'Region' }))
      .first()
      .fill('eu-west-1')
    await page.getByLabel(/^URL/i).fill('http://127.0.0.1:9')
    await page.getByLabel(/^User/).fill('default')
    await page
      .getByLabel(/^Password/)
      .first()
      .fill('engine-password')
    await page.getByRole('button', { name: /^Register/ }).click()
    await page
      .getByText(/nothing accepts connections at 127\.0\.0\.1:9\b/)
      .first()
      .waitFor({ timeout: 60_000 })
    await requireAccessible(page, 'a service that cannot be reached')
  })

  it('adds a private endpoint and detaches it', async () => {
    const { sample } = penstock
    await page.goto(
      `${penstock.url}/console/o/${sample.ORGANIZATION_ID}/services/${sample.SERVICE_ID}?tab=private-endpoints`,
    )
    await page.getByRole('button', { name: 'Add private endpoint' }).first().click()
    const dialog = page.getByRole('dialog')
    const form = (await dialog.count()) > 0 ? dialog : page
    await form
      .getByRole('textbox', { name: /endpoint id/i })
      .or(form.getByRole('combobox', { name: /endpoint id/i }))
      .first()
      .fill('vpce-0a1b2c3d4e5f67890')
    await form.getByLabel('Description').fill('Analytics VPC')
    await form.getByRole('button', { name: 'Add private endpoint' }).last().click()
    await page
      .getByRole('cell', { name: /vpce-0a1b2c3d4e5f67890/ })
      .first()
      .waitFor()
    const listed = await callApi(penstock, 'GET', `/services/${sample.SERVICE_ID}/privateEndpoint`)
    assert.deepEqual(
      (listed.result as { id: string }[]).map(({ id }) => id),
      ['vpce-0a1b2c3d4e5f67890'],
    )
    await page
      .getByRole('button', { name: /detach/i })
      .first()
      .click()
    await page.getByRole('dialog').getByRole('button', { name: 'Detach private endpoint' }).click()
    await page.getByText('No private endpoints yet').waitFor()
    await page.getByRole('status').getByText('Private endpoint Analytics VPC detached').waitFor()
  })

  it('edits a pipe with a preview of the request', async () => {
    const { sample } = penstock
    const path = `/services/${sample.SERVICE_ID}/pipes/${sample.KAFKA_PIPE_ID}`
    await page.goto(`${penstock.url}/console/o/${sample.ORGANIZATION_ID}${path}/edit`)
    await page.getByLabel('Name', { exact: true }).first().fill('orders (eu)')
    const sent = page.waitForRequest((request) => request.method() === 'PATCH')
    const preview = page.getByRole('region', { name: /what will change/i })
    await preview.getByText('orders (eu)').first().waitFor()
    await requireAccessible(page, 'a changed pipe')
    await page
      .getByRole('button', { name: /save|send/i })
      .first()
      .click()
    assert.deepEqual((await sent).postDataJSON(), { name: 'orders (eu)' })
    await title(/orders \(eu\)/)
    await page.getByRole('status').getByText('Pipe orders (eu) saved').waitFor()
    assert.equal(((await callApi(penstock, 'GET', path)).result as { name: string }).name, 'orders (eu)')
  })

  it('shows all of it in the activity, with actors and previous values', async () => {
    await open('Activity')
    await page.getByText('orders (eu)').first().waitFor()
    await page.getByText('Ingrid Solheim').first().waitFor()
    await page
      .getByRole('link', { name: /details/i })
      .first()
      .click()
    await page.getByRole('row', { name: /name/ }).getByText('orders (eu)').waitFor()
  })

  it('"copy as curl" does the same as the button', async () => {
    await page.goto(`${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}/settings`)
    await page.getByRole('textbox', { name: 'Name' }).first().fill('Northwind')
    await page.getByRole('button', { name: 'Copy as curl' }).first().click()
    await page.getByRole('status').getByText('Copied: the same with an API key.').waitFor()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')
    const { execFileSync } = await import('node:child_process')
    const { KEY_ID, KEY_SECRET } = penstock.sample
    const answer = execFileSync('sh', ['-c', `${command} -sS`], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, KEY_ID, KEY_SECRET },
    })
    assert.equal(JSON.parse(answer).status, 200)
    assert.equal(((await callApi(penstock, 'GET', '')).result as { name: string }).name, 'Northwind')
  })

  it('keeps typed text when the session ends, and continues after signing in again', async () => {
    const theirs = colleague.page
    await theirs.goto(
      `${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}/pipes/new?kind=kafka&service=${penstock.sample.SERVICE_ID}`,
    )
    await theirs.getByLabel(/^Topics/).fill('orders, refunds')
    const cookies = await colleague.context.cookies()
    await colleague.context.clearCookies()
    // Detected by the next background request of the page.
    const dialog = theirs.getByRole('dialog', { name: 'You were signed out' })
    await dialog.waitFor({ timeout: 60_000 })
    await requireAccessible(theirs, 'a session that has ended')
    await dialog.getByRole('button', { name: 'I have signed in again' }).click()
    await dialog.getByText('You are not signed in yet.').waitFor()
    await colleague.context.addCookies(cookies)
    await dialog.getByRole('button', { name: 'I have signed in again' }).click()
    await dialog.waitFor({ state: 'hidden' })
    assert.equal(await theirs.getByLabel(/^Topics/).inputValue(), 'orders, refunds')
  })

  it('"sign out everywhere" ends sessions in other browsers', async () => {
    const elsewhere = await openPerson(browser)
    await elsewhere.page.goto(`${penstock.url}/console/sign-in`)
    await elsewhere.page.getByLabel('Email').fill('noor.haddad@northwind.example')
    await elsewhere.page.getByLabel('Password', { exact: true }).fill(password)
    await elsewhere.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await elsewhere.page.waitForURL('**/console/o/*')
    await elsewhere.page.goto(`${elsewhere.page.url()}/account`)
    await elsewhere.page.getByRole('button', { name: /sign out everywhere/i }).click()
    await elsewhere.page
      .getByRole('dialog')
      .getByRole('button', { name: /sign out/i })
      .click()
    await elsewhere.page.waitForURL('**/console/sign-in*')
    const another = await colleague.context.newPage()
    await another.goto(`${penstock.url}/console`)
    await another.waitForURL('**/console/sign-in*')
  })

  it('no page caused browser errors', () => {
    assert.deepEqual([...admin.complaints(), ...colleague.complaints()], [])
  })
})
