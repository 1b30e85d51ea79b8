// Engine of the sample service in the try-it mode: the embedded one, or the user's own.
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { hasEmbeddedEngine, startEmbeddedEngine } from '../embedded-engine/embedded-engine.ts'
import type { Serving } from './serve.ts'

/** One day of orders is a million rows. */
const keptFor = 'INTERVAL 1 DAY'
const tidyEveryMs = 60_000
/** The pipe creates its table shortly after it starts. */
const retryTidyMs = 2_000
const tidyTimeoutMs = 10_000
/** Shorter than the pauses in which the pipe tries to create its table, so that the check comes first. */
const retryCheckMs = 500
const checkTimeoutMs = 5_000

export interface TryEngine {
  readonly access: { url: string; username: string; password: string }
  isEmbedded: boolean
  /** Contains the credentials if the engine is the embedded one. */
  readonly urlToShow: string
  /** Why the user's engine cannot be used now, as a sentence. */
  problem?: string
}

export interface TryEngineOptions {
  stopping: AbortSignal
  /** Called when the embedded engine has another port. */
  onMoved(engine: TryEngine): void
}

/** Undefined when the sample was created for the user's own engine. */
export async function openTryEngine(
  config: Config,
  { app: { isNew }, log }: Serving,
  { stopping, onMoved }: TryEngineOptions,
): Promise<TryEngine | undefined> {
  const folder = join(config.dataFolder, 'engine')
  if (isNew && config.tryEngine) {
    const { url, username, password } = config.tryEngine
    const access = { url, username, password: password.reveal() }
    const problem = await keepOwnEngineSmall(access, stopping)
    return { access, isEmbedded: false, urlToShow: url, ...(problem === undefined ? {} : { problem }) }
  }
  if (!isNew && !hasEmbeddedEngine(folder)) return undefined
  const engine = await startEmbeddedEngine({
    folder,
    cacheFolder: config.cacheFolder,
    environment: process.env,
    out: process.stdout,
    onRestart: () => log.warn('the embedded engine died and is being restarted'),
    onMoved: () => onMoved(tryEngine),
    stopping,
  })
  const { username, password } = engine
  const tryEngine: TryEngine = {
    get access() {
      return { url: engine.url, username, password }
    },
    isEmbedded: true,
    get urlToShow() {
      return engine.url.replace('://', `://${username}:${password}@`)
    },
  }
  keepSmallFromNowOn({ access: engine, isInMemory: engine.isInMemory })
  return tryEngine
}

/** Undefined when the engine can be used. */
export async function findProblem(access: TryEngine['access']): Promise<string | undefined> {
  const answer = await checkOrders(access)
  return 'text' in answer ? undefined : problemOf(access, answer.failure)
}

/** Returns why the engine cannot be used; it is then checked until it can be, or until Penstock stops. */
async function keepOwnEngineSmall(access: TryEngine['access'], stopping: AbortSignal): Promise<string | undefined> {
  const answer = await checkOrders(access)
  if ('text' in answer) {
    // Rows of an existing table of the user must not be deleted.
    if (answer.text === '0') keepSmallFromNowOn({ access, isInMemory: false })
    return undefined
  }
  setTimeout(async () => {
    if (stopping.aborted) return
    const problem = await keepOwnEngineSmall(access, stopping)
    if (problem === undefined) console.log(`The ClickHouse at ${access.url} answers now.`)
  }, retryCheckMs).unref()
  return problemOf(access, answer.failure)
}

function problemOf({ url }: TryEngine['access'], failure: string): string {
  return (
    `The ClickHouse at ${url} ${failure}, so the sample has no rows yet. Start it or correct its account; Penstock retries until it ` +
    'answers. To use another one, change the endpoint of the service in the console.'
  )
}

/** Whether the table of the sample exists: 1 or 0. */
async function checkOrders(access: TryEngine['access']): Promise<Answer> {
  const answer = await ask(access, 'EXISTS TABLE default.orders', checkTimeoutMs)
  return 'failure' in answer || /^[01]$/.test(answer.text)
    ? answer
    : { failure: 'does not answer as a ClickHouse does' }
}

interface EngineToTidy {
  access: TryEngine['access']
  isInMemory: boolean
}

/** Limits the size of the sample tables, so that the sample can run for weeks. Repeated, because tables are created and dropped. */
function keepSmallFromNowOn(engine: EngineToTidy, waitMs = retryTidyMs): void {
  setTimeout(async () => {
    const isKept = await keepSmall(engine)
    keepSmallFromNowOn(engine, isKept ? tidyEveryMs : retryTidyMs)
  }, waitMs).unref()
}

/** False when the table does not exist yet. */
export async function keepSmall({ access, isInMemory }: EngineToTidy): Promise<boolean> {
  const setTtl = `ALTER TABLE default.orders MODIFY TTL ordered_at + ${keptFor}`
  // An in-memory engine has no background merges, and only merges remove old rows.
  const merges = ['orders', 'shop_orders', 'shop_customers'].map((table) => `OPTIMIZE TABLE default.${table} FINAL`)
  const isKept = 'text' in (await ask(access, setTtl))
  if (isInMemory) for (const merge of merges) await ask(access, merge)
  return isKept
}

/** `failure` continues a sentence about the engine. */
type Answer = { text: string } | { failure: string }

/** Fails, too, when the table does not exist yet or the engine is being restarted. */
async function ask(
  { url, username, password }: TryEngine['access'],
  statement: string,
  timeoutMs = tidyTimeoutMs,
): Promise<Answer> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, { method: 'POST', headers: { authorization }, body: statement, signal })
    const text = await response.text()
    if (response.ok) return { text: text.trim() }
    const isRefused = response.status === 401 || response.status === 403
    return { failure: isRefused ? 'refuses the user name or the password' : `answers with status ${response.status}` }
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string }
    return { failure: `does not answer${code === undefined ? '' : ` (${code})`}` }
  }
}
