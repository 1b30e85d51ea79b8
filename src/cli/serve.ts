// Runs an opened app until it is told to stop.
import { flushCompileCache } from 'node:module'
import { type App, openApp } from '../app.ts'
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
  const log = new Log(config.logLevel)
  const app = await openApp(config, {
    log,
    mayCreateKeys: options.mayCreateKeys,
    onFatal: (reason) => {
      log.error(
        reason === 'disk'
          ? 'the disk failed to keep what was written; ending, because a retry could hide the loss'
          : 'the thread that writes has ended, which is a defect',
      )
      log.flush()
      // Also what a stop ends with that is under way: it may be done before these 50 ms are over.
      process.exitCode = reason === 'disk' ? exitInputOutput : exitSoftware
      setTimeout(() => process.exit(), 50)
    },
  })
  return { app, log }
}

export async function serve({ app, log }: Serving): Promise<string> {
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) return
    stopping = true
    log.info('stopping', { reason: signal })
    app.close().then(
      () => process.exit(),
      () => process.exit(process.exitCode ?? exitSoftware),
    )
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  const crash = (error: unknown): void => {
    log.error('an error that nobody handled', { error: describeError(error) })
    log.flush()
    process.exit(exitSoftware)
  }
  process.on('unhandledRejection', crash)
  process.on('uncaughtException', crash)
  try {
    const url = await app.listen()
    log.info('listening', { reason: url })
    giveBackMemoryWhenIdle()
    // Otherwise only an orderly end keeps it, and whoever is killed starts more slowly each time.
    flushCompileCache()
    return url
  } catch (error) {
    await app.close()
    throw error
  }
}
