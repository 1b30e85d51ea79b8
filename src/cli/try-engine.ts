// The engine of the try-it mode's sample: the embedded one, or the user's own.
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { hasEmbeddedEngine, startEmbeddedEngine } from '../embedded-engine/embedded-engine.ts'
import type { Serving } from './serve.ts'

/** A day of orders is a million rows. */
const keptFor = 'INTERVAL 1 DAY'
const tidyEveryMs = 60_000
/** The pipe creates its table when it has run for a moment. */
const retryTidyMs = 2_000
const tidyTimeoutMs = 10_000

export interface TryEngine {
  readonly access: { url: string; username: string; password: string }
  isEmbedded: boolean
  /** With the credentials of an engine that is ours. */
  readonly urlToShow: string
}

export interface TryEngineOptions {
  stopping: AbortSignal
  /** The embedded engine has another port now. */
  onMoved(engine: TryEngine): void
}

/** Undefined when an earlier start made the sample for an engine that is not ours to start. */
export async function openTryEngine(
  config: Config,
  { app: { isNew }, log }: Serving,
  { stopping, onMoved }: TryEngineOptions,
): Promise<TryEngine | undefined> {
  const folder = join(config.dataFolder, 'engine')
  if (isNew && config.tryEngine) {
    const { url, username, password } = config.tryEngine
    const access = { url, username, password: password.reveal() }
    // A table of that name which the user has already is not ours to delete rows from.
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

/** So that the sample can run for weeks. Repeated: the pipe creates the table, and whoever tries it may drop it. */
function keepSmallFromNowOn(engine: EngineToTidy, waitMs = retryTidyMs): void {
  setTimeout(async () => {
    const isKept = await keepSmall(engine)
    keepSmallFromNowOn(engine, isKept ? tidyEveryMs : retryTidyMs)
  }, waitMs).unref()
}

/** False when the table is not there yet. */
export async function keepSmall({ access, isInMemory }: EngineToTidy): Promise<boolean> {
  const setTtl = `ALTER TABLE default.orders MODIFY TTL ordered_at + ${keptFor}`
  // In memory nothing is merged in the background, and a merge is what removes old rows.
  const merges = ['orders', 'shop_orders', 'shop_customers'].map((table) => `OPTIMIZE TABLE default.${table} FINAL`)
  const isKept = (await ask(access, setTtl)) !== undefined
  if (isInMemory) for (const merge of merges) await ask(access, merge)
  return isKept
}

/** Undefined when it is refused: the table may not be there yet, the engine may be starting again. */
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
