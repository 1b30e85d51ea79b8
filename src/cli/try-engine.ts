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

export interface TryEngine {
  readonly access: { url: string; username: string; password: string }
  isEmbedded: boolean
  /** Contains the credentials if the engine is the embedded one. */
  readonly urlToShow: string
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
    // Rows of an existing table of the user must not be deleted.
    if ((await ask(access, 'EXISTS TABLE default.orders')) === '0') keepSmallFromNowOn({ access, isInMemory: false })
    return { access, isEmbedded: false, urlToShow: url }
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
  const isKept = (await ask(access, setTtl)) !== undefined
  if (isInMemory) for (const merge of merges) await ask(access, merge)
  return isKept
}

/** Undefined when the statement fails: the table may not exist yet, or the engine may be restarting. */
async function ask({ url, username, password }: TryEngine['access'], statement: string): Promise<string | undefined> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const signal = AbortSignal.timeout(tidyTimeoutMs)
  try {
    const response = await fetch(url, { method: 'POST', headers: { authorization }, body: statement, signal })
    const text = await response.text()
    return response.ok ? text.trim() : undefined
  } catch {
    return undefined
  }
}
