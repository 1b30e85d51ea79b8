// The log of PostgreSQL as logical replication sends it. What was acknowledged is told again and again, also while nobody reads;
// nothing else is ever acknowledged.
import { NotConnected } from '../source.ts'
import { type Channel, type ChannelConversation, type LinkError, refuse } from './postgres-channel.ts'
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
   * Messages of pgoutput in order: what has come, at most about `maxBytes` (but at least one message), waiting at most `waitMs`
   * for the first, and a moment for more. Rejects with NotConnected or PostgresError. Not for two callers at once.
   */
  read(options: WalReadOptions): Promise<WalBlock>
  /** Everything before it is durable here: told with every status message. Never goes back. */
  acknowledge(lsn: bigint): void
  /** The end of the server's log as it last said. */
  readonly serverEnd: bigint
}

const maxWaitingBytes = 8 * 1024 * 1024
/** A server sends each message by itself: to read them one by one costs many times what is done with them. */
const gatherMs = 5
const enoughBytes = 256 * 1024
const maxMessageBytes = 256 * 1024 * 1024
const statusEveryMs = 10_000
const acknowledgeEveryMs = 100
/** A server that has said nothing for this long is asked for a sign of life, */
const askAfterMs = 30_000
/** and is taken for dead after this time. A transaction that has nothing for us can keep it busy for long. */
const silentLimitMs = 300_000

/** An XLogData has three numbers of eight bytes before the message, a keepalive two and a byte. */
const xLogData = 0x77
const xLogHeaderBytes = 25
const keepalive = 0x6b
const keepaliveBytes = 18

/** Rejects with PostgresError when the server does not begin. */
export async function startWal(channel: Channel, start: ReplicationStart): Promise<Wal> {
  const wal = new Wal(channel)
  channel.converse(wal, queryMessage(startCommand(start)))
  await wal.started
  return wal
}

/** The grammar of these commands knows no escapes in texts but the doubled quote; the names in the list are quoted on their own. */
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
  #refused: PostgresError | undefined
  #ended: LinkError | undefined
  #isRead = false
  #wake: (() => void) | undefined
  #wakeAtBytes = 0
  #gathering: NodeJS.Timeout | undefined
  #acknowledged = 0n
  #hasUntold = false
  #toldAtMs = 0
  #soon: NodeJS.Timeout | undefined
  #regular: NodeJS.Timeout | undefined
  // Halves: to make a bigint of each message would cost more than all the rest.
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
    this.#hasUntold = true
    if (this.#soon || this.#ended) return
    const waitMs = this.#toldAtMs + acknowledgeEveryMs - performance.now()
    if (waitMs <= 0) this.#tellStatus()
    else this.#soon = setTimeout(() => this.#tellStatus(), waitMs).unref()
  }

  /** What was acknowledged and not told yet. */
  tellRest(): void {
    if (this.#hasUntold) this.#tellStatus()
  }

  receive(letter: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#isStreaming) this.#receiveAtStart(letter, bytes, start, end)
    else if (letter === letters.copyData) this.#receiveData(bytes, start, end)
    else if (letter === letters.error) throw errorIn(bytes, start, end)
    else refuse()
  }

  #receiveAtStart(letter: number, bytes: Buffer, start: number, end: number): void {
    if (letter === letters.ready && this.#refused) {
      this.#settle.fail(this.#refused)
      this.#channel.rest()
    } else if (this.#refused) refuse()
    else if (letter === letters.copyBoth) this.#begin()
    else if (letter === letters.error) this.#refused = errorIn(bytes, start, end)
    else refuse()
  }

  admit(letter: number, sizeBytes: number): void {
    if (letter !== letters.copyData || !this.#isStreaming) refuse()
    if (sizeBytes > maxMessageBytes) throw new PostgresError(tooLong)
  }

  end(error: LinkError): void {
    this.#ended = this.#refused ?? error
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
    this.#regular = setInterval(() => this.#tellRegularly(), statusEveryMs).unref()
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
      if (bytes[end - 1] !== 0) this.#tellStatus()
    } else refuse()
  }

  #seeEnd(high: number, low: number): void {
    if (high < this.#endHigh || (high === this.#endHigh && low <= this.#endLow)) return
    this.#endHigh = high
    this.#endLow = low
  }

  #tellRegularly(): void {
    const silentMs = this.#channel.isPaused ? 0 : this.#channel.silentMs
    if (silentMs > silentLimitMs) this.#channel.end(new NotConnected())
    else this.#tellStatus(silentMs > askAfterMs)
  }

  #tellStatus(mustAnswer = false): void {
    clearTimeout(this.#soon)
    this.#soon = undefined
    this.#hasUntold = false
    this.#toldAtMs = performance.now()
    this.#channel.send(copyDataMessage(statusOf(this.#acknowledged, mustAnswer)))
  }
}

const epochMs = Date.UTC(2000, 0, 1)

/** Written, flushed and applied are one to us: it is durable, or it is not. */
function statusOf(acknowledged: bigint, mustAnswer: boolean): Buffer {
  const status = Buffer.allocUnsafe(34)
  status.write('r', 'latin1')
  for (const at of [1, 9, 17]) status.writeBigUInt64BE(acknowledged, at)
  status.writeBigInt64BE(BigInt(Date.now() - epochMs) * 1000n, 25)
  status.writeUInt8(mustAnswer ? 1 : 0, 33)
  return status
}
