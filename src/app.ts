// Composition root: configuration → database → HTTP server and runner.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { attemptSeconds, OidcFlow, pageOfConsole } from './accounts/oidc.ts'
import { Sealer } from './activities/sealer.ts'
import { type Config, operationSettings } from './config.ts'
import type { DatabaseEvents, FatalReason } from './database/database.ts'
import type { EngineReader } from './engine/engine-reader.ts'
import { consoleActions } from './execution/console-actions.ts'
import { executeAction } from './execution/execute-action.ts'
import { readOperation } from './execution/execute-operation.ts'
import { prepareAndExecute } from './execution/prepare-operation.ts'
import type { PenstockDatabase } from './execution/writes.ts'
import { type ConsoleFiles, serveConsole } from './http/console-files.ts'
import { prepareDrain } from './http/drain.ts'
import { ServerMetrics } from './http/metrics.ts'
import { serveOidc } from './http/oidc.ts'
import { serveHealth, servePages } from './http/pages.ts'
import { buildServer } from './http/server.ts'
import { SessionGuard } from './http/session-guard.ts'
import { checkKeys } from './installation/key-check.ts'
import { followMasterKeys, readMasterKeys, writeMasterKeys } from './installation/master-keys.ts'
import type { ApiKey } from './keys/key.ts'
import { describeError } from './lib/describe-error.ts'
import type { Egress } from './lib/egress.ts'
import type { LastUsed } from './lib/last-used.ts'
import type { Log } from './lib/log.ts'
import { newMasterKeys, Vault } from './lib/vault.ts'
import { watchForDeletion } from './lib/watch-for-deletion.ts'
import type { ActionCall } from './operation/console-action.ts'
import type { OperationAnswer, OperationRequest } from './operation/operation.ts'
import { operations, operationsById } from './operations.ts'
import { ServiceChecker } from './services/checker.ts'
import { makeEngineReports } from './services/engine-reports.ts'
import { longestDays } from './sessions/session.ts'
import type { ActiveSession } from './sessions/store.ts'
import type { Prober } from './sources/probe.ts'
import { LazyRunner } from './startup/lazy-runner.ts'
import { listen } from './startup/listen.ts'
import { openAuthentication } from './startup/open-authentication.ts'
import { openDatabase, prepareFolder } from './startup/open-database.ts'

type Execute = (request: OperationRequest) => Promise<OperationAnswer>

export interface App {
  server: FastifyInstance
  database: PenstockDatabase
  vault: Vault
  keyUses: LastUsed<ApiKey>
  sessionUses: LastUsed<ActiveSession>
  sealer: Sealer
  /** Whether the database has not been initialized yet. */
  isNew: boolean
  /** Returns the base URL. */
  listen(): Promise<string>
  /** Stops accepting requests, finishes those in progress, closes the database. */
  close(): Promise<void>
}

export interface AppOptions {
  log: Log
  /** Creates the master key when there is neither a key nor data. */
  mayCreateKeys: boolean
  /** Replaces the egress from the configuration. */
  egress?: Egress
  /** The process must exit; pending requests have been answered. */
  onFatal(reason: FatalReason): void
}

const forgetEveryMs = 3_600_000
/** For all source accesses of one request (docs/reference/source-checks.md). */
const probeTimeoutMs = 10_000
export async function openApp(config: Config, options: AppOptions): Promise<App> {
  const { log } = options
  const metrics = new ServerMetrics()
  prepareFolder(config)
  const storedKeys = readMasterKeys(config.masterKeyFile)
  const masterKeys = storedKeys ?? newMasterKeys()
  // With SQLite, master keys cannot change while Penstock runs.
  const news = config.databaseUrl ? followMasterKeys(config.masterKeyFile, masterKeys.pepper) : undefined
  const vault = new Vault(masterKeys, news)
  const events: DatabaseEvents = {
    onGroup: (group) => metrics.observeGroup(group),
    onTrouble: (reason, error) => log.warn(reason, error ? { error } : {}),
    onFatal: (reason) => setImmediate(() => options.onFatal(reason)),
  }
  const database = await openDatabase(config, masterKeys, vault, events)
  let isNew: boolean
  try {
    isNew = await checkKeys(database.reader, vault, config, storedKeys !== undefined)
    if (isNew && !storedKeys && options.mayCreateKeys) writeMasterKeys(config.masterKeyFile, masterKeys)
  } catch (error) {
    await database.close()
    throw error
  }

  // Without its master keys, a restarted Penstock could not open sealed secrets. With SQLite, the database watches the folder.
  const { dataFolder, masterKeyFile } = config
  const hasKeys = dirname(masterKeyFile) === dataFolder && existsSync(masterKeyFile)
  const watched = [{ path: dataFolder }, { path: masterKeyFile, mayBeReplaced: true }]
  const endWatch =
    config.databaseUrl && hasKeys ? watchForDeletion(watched, () => options.onFatal('deleted')) : undefined

  let closing = false
  const { reader } = database
  const sealer = new Sealer({
    reader,
    seal: (organizationId) => database.write('sealActivities', { organizationId }, organizationId),
    log,
  })
  // A process that only runs pipes records no activities.
  const isApi = config.role !== 'runner'
  if (isApi) sealer.start()
  const { keyUses, sessionUses, authentication } = openAuthentication({ database, vault, log })
  const executionContext = { sql: reader, vault, settings: operationSettings(config) }
  const { publicUrl } = config.operations
  const isOnlyOrigin = config.hasPublicUrl
  const guard = new SessionGuard({ publicUrl, isOnlyOrigin, lifetimeSeconds: longestDays * 86_400 })
  // Loaded on first use: TLS and name resolution take memory that an idle Penstock does not need.
  const loadEgress = once(async () => options.egress ?? (await import('./startup/open-egress.ts')).openEgress(config))
  const checker = config.serviceChecks && isApi ? openChecker({ database, vault, log, loadEgress }) : undefined
  const { caCertificates, allowPlaintext, awsEndpoints, reversePrivateEndpoints = new Map() } = config
  const context = { caCertificates, allowPlaintext, awsEndpoints, reversePrivateEndpoints }
  const loadRunner = async () => {
    const [egress, { openRunner }] = await Promise.all([loadEgress(), import('./runner/open-runner.ts')])
    const isAlone = database.dialect === 'sqlite'
    const { retainedLogWarningBytes } = config.operations
    return openRunner({ database, vault, egress, context, isAlone, log, retainedLogWarningBytes })
  }
  const runner = config.role === 'api' ? undefined : new LazyRunner(reader, loadRunner, log)
  let prober: Prober | undefined
  const loadProber = once(async () => {
    const { Prober } = await import('./sources/probe.ts')
    prober = new Prober({ egress: await loadEgress(), context, timeoutMs: probeTimeoutMs, log })
    return prober
  })
  const reportEngine = makeEngineReports({
    reader,
    write: (report) => database.write('reportEngine', report, report.organizationId),
    log,
  })
  let engineReader: EngineReader | undefined
  const loadEngineReader = once(async () => {
    const { EngineReader } = await import('./engine/engine-reader.ts')
    engineReader = new EngineReader(await loadEgress(), (outcome) => void reportEngine(outcome))
    return engineReader
  })
  const prepared = (request: OperationRequest, gone: AbortSignal | undefined, execute: Execute) =>
    prepareAndExecute(
      executionContext,
      request,
      {
        makeProbe: async () => (await loadProber()).probeFor(gone),
        loadEngineReads: async () => (await loadEngineReader()).readsFor(gone),
        recordActivity: async (activity) => {
          const { organizationId } = activity.caller
          sealer.touch(organizationId)
          await database.write('writeActivity', activity, organizationId)
        },
      },
      execute,
    )
  const server = buildServer({
    operations: isApi ? operations : [],
    console: {
      actions: isApi ? consoleActions : [],
      run: async (call) => {
        // Orders the changes of one person; anonymous requests do not wait for each other.
        const orderKey = call.request.signedIn?.userId ?? call.request.requestId
        const write = (prepared: ActionCall) => database.write('writeAction', prepared, orderKey)
        const outcome = await executeAction(executionContext, call, write)
        if (outcome.recordedIn !== undefined) sealer.touch(outcome.recordedIn)
        return outcome
      },
    },
    authentication: { ...authentication, guard },
    read: (request, gone) => prepared(request, gone, (ready) => readOperation(executionContext, ready)),
    write: (request, gone) => {
      const { organizationId } = request.caller
      const written = prepared(request, gone, (ready) => {
        sealer.touch(organizationId)
        return database.write('writeOperation', ready, organizationId)
      })
      const woken = { checker, runner }
      written.then(
        () => {
          for (const name of operationsById.get(request.operationId)?.wakes ?? []) woken[name]?.poke()
        },
        () => undefined,
      )
      return written
    },
    current: (operation, caller, params) => operation.echo!.current({ sql: reader, vault, caller }, params),
    isHangingUp: () => drain.isHangingUp(),
    fingerprint: (purpose, text) => vault.fingerprint(purpose, text),
    log,
    metrics,
    rateLimit: config.rateLimit,
    trustedProxies: config.trustedProxies,
  })
  serveHealth(server, {
    ready: async () => {
      if (closing) return false
      await database.check()
      return true
    },
    metrics: () => metrics.text(),
  })
  if (isApi) {
    servePages(server, { document: async () => (await import('./http/openapi.ts')).openApiDocument(operations) })
    serveConsole(server, consoleFiles())
  }
  if (isApi && config.oidc) {
    const flow = new OidcFlow({
      settings: config.oidc,
      publicUrl,
      vault,
      signIn: (input) => database.write('signInWithOidc', input, input.person.oidcSubject),
      log,
    })
    serveOidc(server, {
      publicUrl,
      guard,
      attemptSeconds,
      begin: (to) => flow.begin(to),
      finish: (returned) => flow.finish(returned),
      pageAsked: pageOfConsole,
      pageOfAttempt: (attempt) => flow.pageOfAttempt(attempt),
      explain: (error, requestId) => flow.explain(error, requestId),
    })
  }
  const drain = prepareDrain(server)
  const forgetting = setInterval(() => {
    forget(database).catch((error: unknown) => {
      log.warn('old idempotency records, sessions and counters could not be removed', { error: describeError(error) })
    })
  }, forgetEveryMs)
  forgetting.unref()

  return {
    server,
    database,
    vault,
    keyUses,
    sessionUses,
    sealer,
    isNew,
    listen: async () => {
      const url = await listen(server, config)
      checker?.start()
      runner?.start()
      return url
    },
    close: async () => {
      closing = true
      endWatch?.()
      clearInterval(forgetting)
      prober?.close()
      engineReader?.close()
      await checker?.stop()
      await Promise.all([runner?.stop(), drain.run()])
      await sealer.close()
      await database.close()
    },
  }
}

/** From a checkout the console is built when its sources have changed; an installed package contains the build. */
function consoleFiles(): ConsoleFiles {
  const here = import.meta.dirname
  if (!import.meta.filename.endsWith('.ts')) return { folder: join(here, 'console') }
  return {
    folder: join(here, '../dist/console'),
    build: async () => (await import('./startup/build-console.ts')).buildConsole(join(here, '../console')),
  }
}

function openChecker(parts: {
  database: PenstockDatabase
  vault: Vault
  log: Log
  loadEgress(): Promise<Egress>
}): ServiceChecker {
  const { database, vault, log, loadEgress } = parts
  return new ServiceChecker({
    reader: database.reader,
    claim: (claim) => database.write('claimServiceChecks', claim, claim.organizationId),
    record: (record) => database.write('recordServiceCheck', record, record.organizationId),
    check: async (engine, signal) => {
      const [egress, { checkEngine }] = await Promise.all([loadEgress(), import('./engine/check.ts')])
      return checkEngine(egress, engine, { signal })
    },
    vault,
    log,
  })
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** Deletes in small batches, so that other writes can run in between. */
async function forget(database: PenstockDatabase): Promise<void> {
  const now = new Date().toISOString()
  while ((await database.write('forgetOldKeys', { now }, 'maintenance')) > 0) {}
  while ((await database.write('forgetOldSessions', { now }, 'maintenance')) > 0) {}
  while ((await database.write('forgetOldThroughput', { now }, 'maintenance')) > 0) {}
  while ((await database.write('forgetFinishedPartitions', { now }, 'maintenance')) > 0) {}
  await database.write('forgetRunners', { now }, 'maintenance')
}
