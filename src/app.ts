// The only place where the parts meet: configuration → database → HTTP.
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import type { DatabaseEvents, FatalReason } from './database/database.ts'
import { openSqlite } from './database/sqlite-database.ts'
import { readOperation } from './execute-operation.ts'
import { prepareDrain } from './http/drain.ts'
import { ServerMetrics } from './http/metrics.ts'
import { openApiDocument } from './http/openapi.ts'
import { servePages } from './http/pages.ts'
import { buildServer } from './http/server.ts'
import { installationState } from './installation/installation.ts'
import { readMasterKeys, writeMasterKeys } from './installation/master-keys.ts'
import { addressAllowed, hashSecret, isKeyId, keyOpens } from './keys/key.ts'
import { findKey } from './keys/store.ts'
import { describeError, type Log } from './lib/log.ts'
import { StartError } from './lib/start-error.ts'
import { type MasterKeys, newMasterKeys, Vault } from './lib/vault.ts'
import { operations } from './operations.ts'
import { type WriterData, writerModule } from './writer.ts'
import { makeWrites, type PenstockDatabase } from './writes.ts'

export interface App {
  server: FastifyInstance
  database: PenstockDatabase
  vault: Vault
  /** Whether this Penstock has never been set up. */
  isNew: boolean
  /** Returns the base URL. */
  listen(): Promise<string>
  /** Stops accepting, finishes what is under way, closes the database. */
  close(): Promise<void>
}

export interface AppOptions {
  log: Log
  /** Makes the master key when there is neither a key nor data. */
  mayCreateKeys: boolean
  /** The process must end; what is under way has been answered. */
  onFatal(reason: FatalReason): void
}

const forgetEveryMs = 3_600_000

export async function openApp(config: Config, options: AppOptions): Promise<App> {
  const { log } = options
  const metrics = new ServerMetrics()
  prepareFolder(config)
  const storedKeys = readMasterKeys(config.masterKeyFile)
  const masterKeys = storedKeys ?? newMasterKeys()
  const vault = new Vault(masterKeys)
  const events: DatabaseEvents = {
    onGroup: (figures) => metrics.observeGroup(figures),
    onTrouble: (reason, error) => log.warn(reason, error ? { error } : {}),
    onFatal: (reason) => setImmediate(() => options.onFatal(reason)),
  }
  const database = await openDatabase(config, masterKeys, vault, events)
  let isNew: boolean
  try {
    isNew = await checkKeys(database, vault, config, storedKeys !== undefined)
    if (isNew && !storedKeys && options.mayCreateKeys) writeMasterKeys(config.masterKeyFile, masterKeys)
  } catch (error) {
    await database.close()
    throw error
  }

  let closing = false
  const { reader } = database
  const server = buildServer({
    operations,
    hashSecret: (secret) => hashSecret(vault, secret),
    authenticate: async (keyId, secretHash, address) => {
      const key = isKeyId(keyId) ? await findKey(reader, keyId) : undefined
      if (!keyOpens(key, secretHash)) return undefined
      const { id, organizationId, role, ipAccessList } = key!
      return { id, keyId, organizationId, role, addressAllowed: addressAllowed(ipAccessList, address) }
    },
    read: (request) => readOperation({ sql: reader, vault, settings: config.operations }, request),
    write: (request) => database.write('writeOperation', request, request.caller.organizationId),
    current: (operation, caller, params) => operation.echo!.current({ sql: reader, vault, caller }, params),
    closing: () => closing,
    fingerprint: (purpose, text) => vault.fingerprint(purpose, text),
    log,
    metrics,
    rateLimit: config.rateLimit,
    trustedProxies: config.trustedProxies,
  })
  servePages(server, {
    document: openApiDocument(operations),
    ready: async () => {
      if (closing) return false
      await database.check()
      return true
    },
    metrics: () => metrics.text(),
  })
  const drain = prepareDrain(server)
  const forgetting = setInterval(() => {
    forgetOldKeys(database).catch((error: unknown) => {
      log.warn('old idempotency records could not be removed', { error: describeError(error) })
    })
  }, forgetEveryMs)
  forgetting.unref()

  return {
    server,
    database,
    vault,
    isNew,
    listen: () => listen(server, config),
    close: async () => {
      closing = true
      clearInterval(forgetting)
      await drain()
      await database.close()
    },
  }
}

/** A few at a time: other writes come between. */
async function forgetOldKeys(database: PenstockDatabase): Promise<void> {
  const now = new Date().toISOString()
  while ((await database.write('forgetOldKeys', { now }, 'maintenance')) > 0) {}
}

async function openDatabase(
  config: Config,
  masterKeys: MasterKeys,
  vault: Vault,
  events: DatabaseEvents,
): Promise<PenstockDatabase> {
  if (config.databaseUrl) {
    // Loaded only where it is used: the driver takes memory that SQLite users need not spend.
    const { openPostgres } = await import('./database/postgres.ts')
    return openPostgres({ url: config.databaseUrl, writes: makeWrites(config.operations), vault, events })
  }
  const file = join(config.dataFolder, 'penstock.db')
  const writerData: WriterData = { masterKeys, settings: config.operations }
  return openSqlite({ file, writer: writerModule, writerData: { ...writerData }, events })
}

/** The data folder is ours alone. One that others may look into was made by somebody, and is not ours to change. */
function prepareFolder({ dataFolder }: Config): void {
  let mode: number
  try {
    if (!existsSync(dataFolder)) {
      mkdirSync(dirname(dataFolder), { recursive: true })
      mkdirSync(dataFolder, { mode: 0o700 })
    }
    mode = statSync(dataFolder).mode
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new StartError(
      `The data folder ${dataFolder} cannot be used (${code}). Set PENSTOCK_DATA to a folder that this user may write.`,
    )
  }
  if ((mode & 0o077) !== 0) {
    throw new StartError(
      `The data folder ${dataFolder} is open to other users. Run "chmod 700" on it, or set PENSTOCK_DATA to another one.`,
    )
  }
}

async function checkKeys(
  database: PenstockDatabase,
  vault: Vault,
  config: Config,
  hasKeyFile: boolean,
): Promise<boolean> {
  const state = await installationState(database.reader, vault)
  if (state === 'wrong-key' && !hasKeyFile) {
    throw new StartError(
      `The master key file ${config.masterKeyFile} is missing, and the database has secrets sealed with it. Restore the file from your backup.`,
    )
  }
  if (state === 'wrong-key') {
    throw new StartError(
      `The master key file ${config.masterKeyFile} does not belong to this database. Restore the file that the database was set up with.`,
    )
  }
  return state === 'new'
}

async function listen(server: FastifyInstance, config: Config): Promise<string> {
  const isLoopback = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/.test(config.host)
  if (!isLoopback && !config.tlsInFront) {
    throw new StartError(
      `PENSTOCK_HOST=${config.host} can be reached from other machines, and API keys would cross the network in the clear. ` +
        'Put a proxy with TLS in front and set PENSTOCK_TLS_IN_FRONT=true, or listen on 127.0.0.1.',
    )
  }
  try {
    await server.listen({ host: config.host, port: config.port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reasons: Record<string, string> = {
      EADDRINUSE: `Port ${config.port} on ${config.host} is taken by another program. Set PENSTOCK_PORT to a free one.`,
      EACCES: `Port ${config.port} may not be used by this user. Set PENSTOCK_PORT to one above 1023.`,
      EADDRNOTAVAIL: `This machine has no address ${config.host}. Set PENSTOCK_HOST to one that it has.`,
      ENOTFOUND: `PENSTOCK_HOST=${config.host} does not resolve.`,
    }
    throw new StartError(reasons[code ?? ''] ?? `Penstock cannot listen on ${config.host}:${config.port} (${code}).`)
  }
  const address = server.server.address()
  const port = typeof address === 'object' && address ? address.port : config.port
  return `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`
}
