// Overview of an organization with more broken pipes than fit on a list page.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
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

const failedCount = 7
const degradedCount = 1

describe('what needs attention', () => {
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

  /** Replaces the sample by failed and degraded pipes, and one with rejected rows. */
  async function serveBrokenPipes(): Promise<void> {
    const { SERVICE_ID, KAFKA_PIPE_ID } = penstock.sample
    const stored = (await callApi(penstock, 'GET', `/services/${SERVICE_ID}/pipes/${KAFKA_PIPE_ID}`)).result as object
    const pipeAt = (state: string, index: number) => ({
      ...stored,
      id: `${state === 'Failed' ? 'f' : 'd'}0000000-0000-4000-8000-00000000000${index}`,
      name: `${state.toLowerCase()} ${index}`,
      state,
    })
    await page.route('**/prometheus', async (route) => {
      const text = await (await route.fetch()).text()
      const ours = [
        `penstock_pipes{service="${SERVICE_ID}",state="Degraded"} ${degradedCount}`,
        `penstock_pipes{service="${SERVICE_ID}",state="Failed"} ${failedCount}`,
        `penstock_pipe_rejected_rows{service="${SERVICE_ID}",pipe="${KAFKA_PIPE_ID}",name="orders"} 1234`,
      ]
      const others = text.split('\n').filter((line) => !/^penstock_pipe(?:s|_rejected_rows)\{/.test(line))
      await route.fulfill({ body: `${others.join('\n')}${ours.join('\n')}\n`, contentType: 'text/plain' })
    })
    await page.route('**/pipes?*state=*', async (route) => {
      const query = new URL(route.request().url()).searchParams
      const state = query.get('state')!
      const count = Math.min(Number(query.get('limit')), state === 'Failed' ? failedCount : degradedCount)
      const result = Array.from({ length: count }, (_, index) => pipeAt(state, index))
      await route.fulfill({ json: { status: 200, requestId: 'r', result } })
    })
    await page.route('**/pipes/*/metrics', async (route) => {
      const read = await callApi(penstock, 'GET', `/services/${SERVICE_ID}/pipes/${KAFKA_PIPE_ID}/metrics`)
      const result = { ...(read.result as object), stateReason: 'the topic orders does not exist' }
      await route.fulfill({ json: { status: 200, requestId: 'r', result } })
    })
  }

  it('names pipes with their reasons, failed before degraded, and counts the others and rejected rows', async () => {
    await serveBrokenPipes()
    await page.reload()
    const section = page.getByRole('region', { name: 'What needs attention' })
    await section.getByText('The topic orders does not exist.').nth(5).waitFor()
    const items = (await section.getByRole('listitem').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))
    const aboutPipes = items.filter((text) => /pipe/.test(text))
    assert.deepEqual(
      aboutPipes.map((text) => /failed \d|and 2 more pipes|degraded 0|1,234 rejected rows/.exec(text)?.[0]),
      [
        ...Array.from({ length: 5 }, (_, index) => `failed ${index}`),
        'and 2 more pipes',
        'degraded 0',
        '1,234 rejected rows',
      ],
      items.join('\n'),
    )
    await requireFitAndAccessible(page, 'what needs attention')
    await section.getByRole('link', { name: 'and 2 more pipes' }).click()
    await page.waitForURL('**/pipes?state=Failed')
    await page.goBack()
    await section.getByRole('link', { name: '1,234 rejected rows' }).click()
    await page.waitForURL(`**/pipes/${penstock.sample.KAFKA_PIPE_ID}?tab=errors`)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  it('no page caused browser errors', () => {
    assert.deepEqual(person.complaints(), [])
  })
})
