// An engine in memory that stores lines and deduplicates by token. A batch is stored completely or not at all.
import { type BadRow, type Delivery, EngineError, type Insert, type Sink } from '../../src/engine/engine.ts'

export class LineEngine {
  readonly lines: string[] = []
  readonly tokens = new Map<string, number>()
  readonly badRows = new Map<string, BadRow>()
  /** All inserts, including repeated ones. */
  readonly inserts: { token: string; isRepeat: boolean; lines: string[] }[] = []
  tryOuts = 0
  /** Error for every insert. */
  refusal: EngineError | undefined
  /** Every insert waits for this. */
  held: Promise<void> = Promise.resolve()
  openSinks = 0
  /** Accepts bad rows too. */
  takesAll = false

  /** Each call goes through `pass`, which may fail it. */
  sink(pass: <Result>(name: string, effect: () => Promise<Result>) => Promise<Result>): Sink {
    const delivery: Delivery = { delivery: 'exactly_once' }
    this.openSinks++
    return {
      delivery,
      insert: async (insert, signal) => {
        await insert.mayBegin?.(signal)
        const lines = await linesOf(insert)
        await orAborted(this.held, signal)
        return pass('insert', async () => {
          this.inserts.push({ token: insert.token, isRepeat: insert.isRepeat, lines })
          if (this.refusal) throw this.refusal
          if (lines.some(isBad) && !this.takesAll)
            throw new EngineError('data', 'the engine does not take the rows', 'bad')
          const known = this.tokens.get(insert.token)
          if (known !== undefined) return { rows: known, sentBytes: 1 }
          this.tokens.set(insert.token, lines.length)
          this.lines.push(...lines)
          return { rows: lines.length, sentBytes: 1 }
        })
      },
      tryOut: async (insert) => {
        const lines = await linesOf(insert)
        return pass('tryOut', async () => {
          this.tryOuts++
          const bad = this.takesAll ? undefined : lines.find(isBad)
          return bad && `cannot take ${bad}`
        })
      },
      openReadCheck: async () => undefined,
      keepBadRows: (rows) =>
        pass('keepBadRows', async () => {
          for (const row of rows) this.badRows.set(row.id, row)
        }),
      close: async () => {
        this.openSinks--
      },
    }
  }
}

async function orAborted(held: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  await Promise.race([held, promise]).finally(() => signal.removeEventListener('abort', abort))
}

function isBad(line: string): boolean {
  return line.includes('BAD')
}

async function linesOf(insert: Insert): Promise<string[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of insert.body()) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString().split('\n').slice(0, -1)
}
