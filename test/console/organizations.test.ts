// One person in two organizations.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import {
  makeFolder,
  openBrowser,
  openPerson,
  type RunningPenstock,
  requireAccessible,
  signInByLink,
  startPenstock,
} from './browser.ts'

const program = join(import.meta.dirname, '../../bin/penstock.js')

describe('two organizations', () => {
  const folder = makeFolder()
  let penstock: RunningPenstock
  let browser: Browser
  let secondId: string
  before(async () => {
    await (await startPenstock({}, folder)).stop()
    const command = ['organization', 'create', '--name', 'Contoso Retail', '--existing-account']
    const printed = execFileSync(
      process.execPath,
      [program, ...command, '--admin-email', 'ingrid.solheim@northwind.example'],
      {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, PENSTOCK_DATA: join(folder, 'data') },
      },
    )
    secondId = /^Organization (\S+)$/m.exec(printed)![1]!
    penstock = await startPenstock({}, folder)
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await penstock?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('are switched in the header, and data of one does not appear in the other', async () => {
    const { page, complaints } = await openPerson(browser)
    await signInByLink(page, penstock)
    await page.goto(`${penstock.url}/console/o/${penstock.sample.ORGANIZATION_ID}/members`)
    await page.getByText('Amara Okafor').waitFor()
    await page.getByRole('button', { name: /Northwind Analytics; choose another/ }).click()
    await requireAccessible(page, 'the menu of organizations')
    await page.getByRole('menuitem', { name: /Contoso Retail/ }).click()
    await page.waitForURL(`**/console/o/${secondId}`)
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Members' }).click()
    await page.getByText('ingrid.solheim@northwind.example').waitFor()
    assert.equal(await page.getByText('Amara Okafor').count(), 0)
    // The choice is remembered.
    await page.goto(`${penstock.url}/console`)
    await page.waitForURL(`**/console/o/${secondId}`)
    // A service of the other organization is not found in this one.
    await page.goto(`${penstock.url}/console/o/${secondId}/services/${penstock.sample.SERVICE_ID}`)
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor()
    await page.goto(`${penstock.url}/console/o/6b1f0d9e-0000-4000-8000-000000000000`)
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor()
    await requireAccessible(page, 'an organization that is not there')
    assert.deepEqual(complaints(), [])
  })
})
