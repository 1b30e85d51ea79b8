// Takes the screenshots of docs/reference/console.md from a new Penstock: npm run screenshots. With a folder as argument: every page at
// both widths, in light and dark mode.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PipeMetrics } from '../../src/client/shapes.ts'
import { startObjectServer } from '../sources/object-server.ts'
import {
  callApi,
  embeddedEngine,
  openBrowser,
  openPerson,
  type RunningPenstock,
  signInByLink,
  startPenstock,
} from './browser.ts'
import { everyPage } from './pages.ts'

const folder = process.argv[2]
const orders = [
  { id: 4021, placed_at: '2026-11-14T09:12:44.310Z', customer: { id: 77, country: 'NO' }, total: 129.9, note: null },
  { id: 4022, placed_at: '2026-11-14T09:13:02.871Z', customer: { id: 12, country: 'KE' }, total: 18.5 },
  {
    id: 4023,
    placed_at: '2026-11-14T09:15:37.005Z',
    customer: { id: 77, country: 'NO' },
    total: 240,
    note: 'Leave it at the door',
  },
]
const penstock = await startPenstock(embeddedEngine)
const browser = await openBrowser()
try {
  await makeHistory(penstock)
  const person = await openPerson(browser)
  await signInByLink(person.page, penstock)
  const cookies = await person.context.cookies()
  await (folder ? everyPageInto(folder) : picturesOfDocs())

  async function picture(
    file: string,
    path: string,
    look: { width: number; height: number; colorScheme: 'light' | 'dark' },
  ) {
    const { page, context } = await openPerson(browser, look)
    await context.addCookies(cookies)
    await page.goto(`${penstock.url}/console${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('networkidle')
    await page.waitForTimeout(300)
    await page.screenshot({ path: file, fullPage: Boolean(folder) })
    await context.close()
  }

  async function picturesOfDocs(): Promise<void> {
    const { sample } = penstock
    const home = `/o/${sample.ORGANIZATION_ID}`
    const pipes = `${home}/services/${sample.SERVICE_ID}/pipes`
    const pipe = `${pipes}/${sample.KAFKA_PIPE_ID}`
    const wide = { width: 1280, height: 800 }
    const images = join(import.meta.dirname, '../../docs/images')
    mkdirSync(images, { recursive: true })
    await picture(join(images, 'overview.png'), home, { ...wide, colorScheme: 'light' })
    await picture(join(images, 'members.png'), `${home}/members`, { ...wide, colorScheme: 'light' })
    await picture(join(images, 'new-key.png'), `${home}/keys/new`, { ...wide, colorScheme: 'light' })
    await picture(join(images, 'pipe.png'), `${pipes}/${sample.RUNNING_PIPE_ID}`, { ...wide, colorScheme: 'dark' })
    await picture(join(images, 'pipe-data.png'), `${pipes}/${sample.SHOP_PIPE_ID}?tab=data`, {
      ...wide,
      colorScheme: 'light',
    })
    await picture(join(images, 'edit-pipe.png'), `${pipe}/edit`, { ...wide, colorScheme: 'light' })
    await pictureOfCheck(join(images, 'check-source.png'), `${home}/pipes/new?service=${sample.SERVICE_ID}`)
    await picture(join(images, 'activity-narrow.png'), `${home}/activity`, {
      width: 390,
      height: 800,
      colorScheme: 'dark',
    })
  }

  async function pictureOfCheck(file: string, newPipe: string): Promise<void> {
    const store = await startObjectServer()
    try {
      await store.createBucket('northwind', { isPublic: true })
      await store.put(
        'northwind',
        'orders/2026-11-14.json',
        Buffer.from(orders.map((one) => JSON.stringify(one)).join('\n')),
      )
      const { page, context } = await openPerson(browser, { width: 1280, height: 900, colorScheme: 'light' })
      await context.addCookies(cookies)
      await page.goto(`${penstock.url}/console${newPipe}&kind=objectStorage`)
      await page.getByRole('textbox', { name: /^URL/ }).fill(`${store.endpoint}/northwind/orders/*.json`)
      await page.getByRole('combobox', { name: 'Authentication' }).selectOption('none')
      await page.getByRole('button', { name: 'Check connection' }).click()
      await page.getByText('Connection OK').waitFor()
      const section = await page.getByRole('region', { name: 'Check connection' }).boundingBox()
      await page.evaluate(`window.scrollBy(0, ${section!.y - 80})`)
      await page.waitForTimeout(300)
      await page.screenshot({ path: file })
      await context.close()
    } finally {
      await store.stop()
    }
  }

  async function everyPageInto(target: string): Promise<void> {
    mkdirSync(target, { recursive: true })
    for (const [index, path] of (await everyPage(penstock)).entries()) {
      const name = `${String(index).padStart(2, '0')}-${
        path
          .replace(/^\/o\/[^/]+\/?/, '')
          .replaceAll(/[0-9a-f]{8}-[\w-]{27}/g, 'id')
          .replaceAll(/\W+/g, '-') || 'overview'
      }`
      for (const [kind, width] of [
        ['wide', 1280],
        ['narrow', 390],
      ] as const) {
        for (const colorScheme of ['light', 'dark'] as const) {
          await picture(join(target, `${name}-${kind}-${colorScheme}.png`), path, { width, height: 844, colorScheme })
        }
      }
    }
  }
} finally {
  await browser.close()
  await penstock.stop()
}

/** Makes some changes, so that lists have entries. */
async function makeHistory(running: RunningPenstock): Promise<void> {
  const { sample } = running
  const service = `/services/${sample.SERVICE_ID}`
  await callApi(running, 'PATCH', `/members/${sample.USER_ID}`, { role: 'admin' })
  await callApi(running, 'POST', '/invitations', { email: 'noor.haddad@northwind.example', role: 'developer' })
  await callApi(running, 'POST', '/keys', { name: 'Terraform', roles: ['admin'] })
  await callApi(running, 'POST', `${service}/privateEndpoint`, {
    id: 'vpce-0a1b2c3d4e5f67890',
    description: 'Analytics VPC',
  })
  await callApi(running, 'PATCH', `${service}/pipes/${sample.KAFKA_PIPE_ID}`, {
    settings: { streaming_max_insert_wait_ms: 1000 },
  })
  for (let waits = 0; waits < 300; waits++) {
    const { state } = (await callApi(running, 'GET', service)).result as { state: string }
    const metricsOf = async (pipeId = '') =>
      (await callApi(running, 'GET', `${service}/pipes/${pipeId}/metrics`)).result
    const pipes: PipeMetrics[] = [await metricsOf(sample.RUNNING_PIPE_ID), await metricsOf(sample.SHOP_PIPE_ID)]
    const areRunning = pipes.every((pipe) => pipe.state === 'Running' && pipe.inserts >= 20)
    if (state === 'running' && areRunning) return
    await new Promise((resolve) => setTimeout(resolve, 400))
  }
  throw new Error('the engine and the pipes of the pictures were not found to run')
}
