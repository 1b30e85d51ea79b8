// WAL stream of logical replication. The acknowledged LSN is sent periodically, also while nobody reads; no other LSN is ever
// acknowledged.
import { NotConnected } from '../../source-shapes/source-failure.ts'
import { type Channel, type ChannelConversation, type LinkError, protocolViolation } from './postgres-channel.ts'
import { lsnText } from './postgres-lsn.ts'
import {
  copyDataMessage,
  errorIn,
  letters,
  PostgresError,
  queryMessage,
  tooLong,
  uint32At,
} from './postgres-messages.ts'
import { type WalBlock, WalQueue } from './postgres-wal-queue.ts'

export interface ReplicationStart {
  slot: string
  publication: string
  from: bigint
}

export interface WalReadOptions {
  maxBytes: number
  waitMs: number
  signal: AbortSignal
}

export interface WalStream {
  /**
   * Returns received pgoutput messages in order, at most about `maxBytes` but at least one message. Waits up to `waitMs` for the first
   * message and a few milliseconds for more. Rejects with NotConnected or PostgresError. Not for concurrent callers.
   */
  read(options: WalReadOptions): Promise<WalBlock>
  /** Everything before this LSN is durable. Sent with every status message; never goes back. */
  acknowledge(lsn: bigint): void
  /** End of the server's WAL, as last reported. */
  readonly serverEnd: bigint
}

const maxWaitingBytes = 8 * 1024 * 1024
/** Servers send single messages, and waking the reader for each would cost more than processing it. */
const gatherMs = 5
const enoughBytes = 256 * 1024
const maxMessageBytes = 256 * 1024 * 1024
const statusEveryMs = 10_000
const acknowledgeEveryMs = 100
/** Silence after which a reply of the server is requested. */
const askAfterMs = 30_000
/** Silence after which the connection is closed. Long, because decoding a transaction without published changes takes time. */
const silentLimitMs = 300_000

/** XLogData: kind byte and three 8-byte numbers before the message. Keepalive: kind byte, two 8-byte numbers, one byte. */
const xLogData = 0x77
const xLogHeaderBytes = 25
const keepalive = 0x6b
const keepaliveBytes = 18

/** Rejects with PostgresError when the server does not start streaming. */
export async function startWal(channel: Channel, start: ReplicationStart): Promise<Wal> {
  const wal = new Wal(channel)
  channel.converse(wal, queryMessage(startCommand(start)))
  await wal.started
  return wal
}

/** Replication commands escape quotes only by doubling. Names in the list are also quoted as identifiers. */
function startCommand({ slot, publication, from }: ReplicationStart): string {
  const names = quoted(quoted(publication, '"'), "'")
  const options = `proto_version '1', publication_names ${names}`
  return `START_REPLICATION SLOT ${quoted(slot, '"')} LOGICAL ${lsnText(from)} (${options})`
}

function quoted(text: string, quote: string): string {
  return `${quote}${text.replaceAll(quote, quote + quote)}${quote}`
}

export class Wal implements WalStream, ChannelConversation {
  readonly #channel: Channel
  readonly #queue = new WalQueue()
  readonly started: Promise<void>
  #settle: { begin(): void; fail(error: LinkError): void }
  #isStreaming = false
  #serverError: PostgresError | undefined
  #ended: LinkError | undefined
  #isRead = false
  #wake: (() => void) | undefined
  #wakeAtBytes = 0
  #gathering: NodeJS.Timeout | undefined
  #acknowledged = 0n
  #hasUnsentStatus = false
  #statusSentAtMs = 0
  #soon: NodeJS.Timeout | undefined
  #regular: NodeJS.Timeout | undefined
  // Two halves, because a bigint per message would cost more than all other work.
  #endHigh = 0
  #endLow = 0

  constructor(channel: Channel) {
    this.#channel = channel
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.started = promise
    this.#settle = { begin: resolve, fail: reject }
  }

  get serverEnd(): bigint {
    return (BigInt(this.#endHigh) << 32n) | BigInt(this.#endLow)
  }

  async read({ maxBytes, waitMs, signal }: WalReadOptions): Promise<WalBlock> {
    if (this.#isRead) throw new Error('the log is being read already')
    this.#isRead = true
    try {
      this.#wakeAtBytes = Math.min(maxBytes, enoughBytes)
      const hasEnough = this.#queue.waitingBytes >= this.#wakeAtBytes
      const mostMs = this.#queue.isEmpty ? waitMs : Math.min(waitMs, gatherMs)
      if (!hasEnough && !this.#ended && !signal.aborted) await this.#waitForMore(mostMs, signal)
    } finally {
      this.#isRead = false
    }
    if (signal.aborted) throw new NotConnected()
    if (this.#ended) throw this.#ended
    const block = this.#queue.take(maxBytes)
    if (this.#queue.waitingBytes <= maxWaitingBytes) this.#channel.resume()
    return block
  }

  async #waitForMore(waitMs: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = (): void => resolve()
    const limit = setTimeout(wake, waitMs)
    signal.addEventListener('abort', wake)
    this.#wake = wake
    await promise
    this.#wake = undefined
    signal.removeEventListener('abort', wake)
    clearTimeout(limit)
    clearTimeout(this.#gathering)
    this.#gathering = undefined
  }

  acknowledge(lsn: bigint): void {
    if (lsn <= this.#acknowledged) return
    this.#acknowledged = lsn
    this.#hasUnsentStatus = true
    if (this.#soon || this.#ended) return
    const waitMs = this.#statusSentAtMs + acknowledgeEveryMs - performance.now()
    if (waitMs <= 0) this.#sendStatus()
    else this.#soon = setTimeout(() => this.#sendStatus(), waitMs).unref()
  }

  /** Sends the acknowledged LSN if it was not sent yet. */
  sendPendingStatus(): void {
    if (this.#hasUnsentStatus) this.#sendStatus()
  }

  receive(letter: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#isStreaming) this.#receiveAtStart(letter, bytes, start, end)
    else if (letter === letters.copyData) this.#receiveData(bytes, start, end)
    else if (letter === letters.error) throw errorIn(bytes, start, end)
    else protocolViolation()
  }

  #receiveAtStart(letter: number, bytes: Buffer, start: number, end: number): void {
    if (letter === letters.ready && this.#serverError) {
      this.#settle.fail(this.#serverError)
      this.#channel.endConversation()
    } else if (this.#serverError) protocolViolation()
    else if (letter === letters.copyBoth) this.#begin()
    else if (letter === letters.error) this.#serverError = errorIn(bytes, start, end)
    else protocolViolation()
  }

  admit(letter: number, sizeBytes: number): void {
    if (letter !== letters.copyData || !this.#isStreaming) protocolViolation()
    if (sizeBytes > maxMessageBytes) throw new PostgresError(tooLong)
  }

  end(error: LinkError): void {
    this.#ended = this.#serverError ?? error
    clearTimeout(this.#soon)
    clearInterval(this.#regular)
    this.#settle.fail(this.#ended)
    this.#wakeUp()
  }

  #wakeUp(): void {
    if (!this.#wake) return
    this.#wake()
    this.#wake = undefined
  }

  #begin(): void {
    this.#isStreaming = true
    this.#regular = setInterval(() => this.#sendStatusRegularly(), statusEveryMs).unref()
    this.#settle.begin()
  }

  #receiveData(bytes: Buffer, start: number, end: number): void {
    const kind = bytes[start]
    if (kind === xLogData && end - start > xLogHeaderBytes) {
      this.#seeEnd(uint32At(bytes, start + 9), uint32At(bytes, start + 13))
      this.#queue.add(bytes, start + xLogHeaderBytes, end)
      if (this.#queue.waitingBytes > maxWaitingBytes) this.#channel.pause()
      if (this.#queue.waitingBytes >= this.#wakeAtBytes) this.#wakeUp()
      else if (this.#wake) this.#gathering ??= setTimeout(() => this.#wakeUp(), gatherMs)
    } else if (kind === keepalive && end - start === keepaliveBytes) {
      this.#seeEnd(uint32At(bytes, start + 1), uint32At(bytes, start + 5))
      this.#queue.reach(bytes.readBigUInt64BE(start + 1))
      if (bytes[end - 1] !== 0) this.#sendStatus()
    } else protocolViolation()
  }

  #seeEnd(high: number, low: number): void {
    if (high < this.#endHigh || (high === this.#endHigh && low <= this.#endLow)) return
    this.#endHigh = high
    this.#endLow = low
  }

  #sendStatusRegularly(): void {
    const silentMs = this.#channel.isPaused ? 0 : this.#channel.silentMs
    if (silentMs > silentLimitMs) this.#channel.end(new NotConnected())
    else this.#sendStatus(silentMs > askAfterMs)
  }

  #sendStatus(mustAnswer = false): void {
    clearTimeout(this.#soon)
    this.#soon = undefined
    this.#hasUnsentStatus = false
    this.#statusSentAtMs = performance.now()
    this.#channel.send(copyDataMessage(statusOf(this.#acknowledged, mustAnswer)))
  }
}

const epochMs = Date.UTC(2000, 0, 1)

/** The same LSN as written, flushed and applied. */
function statusOf(acknowledged: bigint, mustAnswer: boolean): Buffer {
  const status = Buffer.allocUnsafe(34)
  status.write('r', 'latin1')
  for (const at of [1, 9, 17]) status.writeBigUInt64BE(acknowledged, at)
  status.writeBigInt64BE(BigInt(Date.now() - epochMs) * 1000n, 25)
  status.writeUInt8(mustAnswer ? 1 : 0, 33)
  return status
}
