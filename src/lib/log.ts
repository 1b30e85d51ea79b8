// Structured logs, one JSON object a line on standard error. Only the fields listed here can be written:
// a secret cannot slip in with an object that happens to carry one.
import { type Logger, pino } from 'pino'
import type { ErrorFields } from './describe-error.ts'

export interface LogFields {
  requestId?: string
  operation?: string
  method?: string
  status?: number
  durationMs?: number
  keyId?: string
  userId?: string
  organizationId?: string
  pipeId?: string
  address?: string
  reason?: string
  /** Class, code and stack of an unexpected error. Foreign messages may quote secrets and are left out. */
  error?: ErrorFields
}

export class Log {
  readonly #logger: Logger

  constructor(level: string, destination?: NodeJS.WritableStream) {
    const options = { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` }
    this.#logger = destination ? pino(options, destination) : pino(options, pino.destination({ fd: 2, sync: false }))
  }

  get logsRequests(): boolean {
    return this.#logger.isLevelEnabled('debug')
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#logger.debug(fields, message)
  }

  info(message: string, fields: LogFields = {}): void {
    this.#logger.info(fields, message)
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#logger.warn(fields, message)
  }

  error(message: string, fields: LogFields = {}): void {
    this.#logger.error(fields, message)
  }

  flush(): void {
    this.#logger.flush()
  }
}
