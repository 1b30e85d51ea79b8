// Runs an opened app until a signal stops it.
import { flushCompileCache } from 'node:module'
import { type App, type AppOptions, openApp } from '../app.ts'
import type { Config } from '../config.ts'
import { describeError } from '../lib/describe-error.ts'
import { Log } from '../lib/log.ts'
import { giveBackMemoryWhenIdle } from './give-back-memory.ts'
import { exitSoftware } from './or-explain.ts'

const exitInputOutput = 74

export interface Serving {
  app: App
  log: Log
}

export async function open(config: Config, options: { mayCreateKeys: boolean }): Promise<Serving> {
  // The server continues when the reader of its output has gone, as in `npm start | head -1`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  const log = new Log(config.logLevel)
  const app = await openApp(config, {
    log,
    mayCreateKeys: options.mayCreateKeys,
    onFatal: (reason) => {
      log.error(explainFatal(reason, config))
      log.flush()
      // Also the exit code of a stop in progress, which may finish before these 50 ms are over.
      process.exitCode = reason === 'defect' ? exitSoftware : exitInputOutput
      setTimeout(() => process.exit(), 50)
    },
  })
  return { app, log }
}

function explainFatal(reason: Parameters<AppOptions['onFatal']>[0], { dataFolder, databaseUrl }: Config): string {
  switch (reason) {
    case 'disk':
      return 'the disk failed to keep what was written; ending, because a retry could hide the loss'
    case 'defect':
      return 'the thread that writes has ended, which is a defect'
    case 'deleted':
      return databaseUrl === undefined
        ? `the data folder ${dataFolder} was deleted or replaced, or the database in it; ending, because writes would be lost. ` +
            'Move it back, restore a backup with "penstock restore", or start again without one.'
        : `the data folder ${dataFolder} was deleted or replaced, or the master keys in it; ending, because secrets that are ` +
            'stored now could not be opened again. Put the master key file back from your backup before the next start.'
  }
}

export interface RunOptions {
  /** Limit of a graceful stop; then the process exits with requests and pipes unfinished. */
  longestStopMs?: number
  /** May take long, for example for a download. `stopping` is aborted on stop; the process waits until this has cleaned up. */
  start(stopping: AbortSignal): Promise<void>
}

/** Starts, and stops the process on a signal, also during the start. */
export async function runUntilStopped({ app, log }: Serving, { longestStopMs, start }: RunOptions): Promise<void> {
  const stopping = new AbortController()
  let starting: Promise<void> | undefined
  const stop = (signal: string): void => {
    if (stopping.signal.aborted) return
    log.info('stopping', { reason: signal })
    if (longestStopMs !== undefined) setTimeout(() => process.exit(), longestStopMs)
    stopping.abort()
    Promise.all([app.close(), starting]).then(
      () => process.exit(),
      () => process.exit(process.exitCode ?? exitSoftware),
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => stop(signal))
  stopWithLauncher(() => stop('launcher died'))
  const crash = (error: unknown): void => {
    log.error('an error that nobody handled', { error: describeError(error) })
    log.flush()
    process.exit(exitSoftware)
  }
  process.on('unhandledRejection', crash)
  process.on('uncaughtException', crash)
  starting = start(stopping.signal).catch(async (error: unknown) => {
    // The start was aborted by a stop.
    if (stopping.signal.aborted) return
    await app.close()
    throw error
  })
  await starting
}

/** Returns the base URL. */
export async function serve({ app, log }: Serving): Promise<string> {
  const url = await app.listen()
  log.info('listening', { reason: url })
  giveBackMemoryWhenIdle()
  // Otherwise Node writes the cache only at a normal exit, and a killed process would start slowly every time.
  flushCompileCache()
  return url
}

/** The launcher (bin/node24.js) holds the other end of the IPC channel while it lives. */
function stopWithLauncher(stop: () => void): void {
  if (!process.send) return
  // The launcher died while this process was starting.
  if (!process.connected) stop()
  process.once('disconnect', stop)
  // Otherwise the channel would keep the process running.
  process.channel?.unref()
}
