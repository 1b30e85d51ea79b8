// Runs Penstock and a real browser.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { findFreePort } from '../../src/lib/free-port.ts'

export const chromiumFile = '/usr/bin/chromium'
const root = join(import.meta.dirname, '../..')
/** Long enough for a busy machine. */
const startTimeoutMs = 90_000
const pageTimeoutMs = 45_000

export interface RunningPenstock {
  url: string
  /** One-time sign-in link of the sample's admin. */
  signInLink: string
  /** The lines of sample.env. */
  sample: Record<string, string>
  stop(): Promise<void>
}

export function makeFolder(): string {
  return mkdtempSync(join(tmpdir(), 'penstock-console-'))
}

/** For startPenstock(): the engine of `npm start` instead of an unreachable one. */
export const embeddedEngine = { PENSTOCK_TRY_ENGINE: '' }

/** Starts the try-it mode in the given folder, or in a new one that is removed at the stop. */
export async function startPenstock(settings: Record<string, string> = {}, given?: string): Promise<RunningPenstock> {
  const folder = given ?? makeFolder()
  const child = spawn(process.execPath, [join(root, 'bin/penstock.js'), 'try'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
      // Links contain the configured port, so it must be known before the start.
      PENSTOCK_PORT: String(await findFreePort()),
      PENSTOCK_DATA: join(folder, 'data'),
      PENSTOCK_TRY_ENGINE: 'http://127.0.0.1:8123',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const deadline = Date.now() + startTimeoutMs
  while (!/sign-in#lnk_\w+[\s\S]*Update a data pipe/.test(printed)) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`Penstock did not start: ${printed}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const sampleLines = readFileSync(join(folder, 'data/sample.env'), 'utf8').trim().split('\n')
  const sample = Object.fromEntries(sampleLines.map((line) => line.split(/=(.*)/s).slice(0, 2)))
  return {
    url: sample.BASE_URL!,
    signInLink: /http\S+sign-in#lnk_\w+/.exec(printed)![0],
    sample,
    stop: () => stop(child, given ? undefined : folder),
  }
}

async function stop(child: ChildProcess, folder: string | undefined): Promise<void> {
  if (child.exitCode === null) {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  if (folder) rmSync(folder, { recursive: true, force: true })
}

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumFile,
    timeout: startTimeoutMs,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  })
}

/** Removes request handlers first, so that a pending one does not fail because of the close. */
export async function closeBrowser(browser: Browser | undefined): Promise<void> {
  for (const page of browser?.contexts().flatMap((context) => context.pages()) ?? []) {
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
  await browser?.close()
}

export interface Person {
  page: Page
  context: BrowserContext
  /** Script errors and content security policy violations since the last call. */
  complaints(): string[]
}

/** Opens the link and signs in. */
export async function signInByLink(page: Page, { signInLink }: RunningPenstock): Promise<void> {
  await page.goto(signInLink)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL('**/console/o/*')
}

/** A browser of one person, with its own cookies. */
export async function openPerson(
  browser: Browser,
  look: { width?: number; height?: number; colorScheme?: 'light' | 'dark' } = {},
): Promise<Person> {
  const { width = 1280, height = 900, colorScheme = 'light' } = look
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(pageTimeoutMs)
  const page = await context.newPage()
  let heard: string[] = []
  page.on('pageerror', (error) => heard.push(error.message))
  page.on('console', (message) => {
    // A refused request is reported by the page itself, and is what some tests are about.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) heard.push(message.text())
  })
  page.on('dialog', (dialog) => {
    heard.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return {
    page,
    context,
    complaints: () => {
      const since = heard
      heard = []
      return since
    },
  }
}

/** Only the colours of a page differ in dark mode. */
const rulesOfColours = ['color-contrast', 'link-in-text-block']

/** Throws accessibility violations of the page. */
export async function requireAccessible(page: Page, where: string, { onlyColours = false } = {}): Promise<void> {
  const isThere = await page.evaluate(`'axe' in globalThis`)
  if (!isThere) await page.evaluate(axe.source)
  const found = await page.evaluate(
    async (options) => {
      const { axe } = globalThis as unknown as {
        axe: { run(options: object): Promise<{ violations: AxeViolation[] }> }
      }
      return (await axe.run(options)).violations
    },
    onlyColours ? { runOnly: rulesOfColours } : {},
  )
  const serious = found.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const violations = serious.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes
        .map(({ html }) => html)
        .slice(0, 3)
        .join(' ')}`,
  )
  assert.deepEqual(violations, [], where)
}

interface AxeViolation {
  id: string
  help: string
  impact: string
  nodes: { html: string }[]
}

/** Calls the API with an API key. */
export async function callApi(
  { url, sample }: RunningPenstock,
  method: string,
  path: string,
  body?: unknown,
  key = { id: sample.KEY_ID!, secret: sample.KEY_SECRET! },
): Promise<{ status: number; result: never }> {
  const response = await fetch(`${url}/v1/organizations/${sample.ORGANIZATION_ID}${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${key.id}:${key.secret}`).toString('base64')}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { result } = (await response.json()) as { result: never }
  return { status: response.status, result }
}
