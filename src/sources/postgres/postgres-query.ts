// Runs statements on a channel and gathers their rows, which are limited to bound memory.
import { type Channel, type ChannelConversation, type LinkError, protocolViolation } from './postgres-channel.ts'
import { columnCountIn, errorIn, letters, type PostgresError, rowIn, SessionError } from './postgres-messages.ts'

const maxAnswerBytes = 32 * 1024 * 1024

export interface Answer {
  /** The RowDescription without its header. */
  description: Buffer
  rows: (string | null)[][]
}

/** The rows of the last statement that has any, as text. */
export async function ask(channel: Channel, request: Buffer): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  channel.converse(answer(channel, resolve, reject), request)
  return promise
}

/** Of statements with parameters. */
const extendedLetters: number[] = [letters.parseComplete, letters.bindComplete, letters.noData]

function answer(
  channel: Channel,
  resolve: (answer: Answer) => void,
  reject: (error: LinkError) => void,
): ChannelConversation {
  let description = Buffer.alloc(0)
  let rows: Answer['rows'] = []
  let columnCount: number | undefined
  let isComplete = false
  let serverError: PostgresError | undefined
  let receivedBytes = 0
  const finish = (): void => {
    channel.endConversation()
    if (serverError) reject(serverError)
    else resolve({ description, rows })
  }
  return {
    receive(letter, bytes, start, end) {
      receivedBytes += end - start
      if (receivedBytes > maxAnswerBytes) throw new SessionError('too much')
      if (letter === letters.ready && (isComplete || serverError)) finish()
      else if (serverError) protocolViolation()
      else if (letter === letters.error) serverError = errorIn(bytes, start, end)
      else if (letter === letters.rowDescription) {
        columnCount = columnCountIn(bytes, start, end)
        description = Buffer.from(bytes.subarray(start, end))
        rows = []
        isComplete = false
      } else if (letter === letters.dataRow && columnCount !== undefined) {
        rows.push(rowIn(bytes, start, end, columnCount))
      } else if (letter === letters.commandComplete || letter === letters.emptyQuery) {
        columnCount = undefined
        isComplete = true
      } else if (!extendedLetters.includes(letter)) protocolViolation()
    },
    admit(letter, sizeBytes) {
      if (letter !== letters.dataRow || sizeBytes > maxAnswerBytes) protocolViolation()
      if (sizeBytes + receivedBytes > maxAnswerBytes) throw new SessionError('too much')
    },
    end: (error) => reject(serverError ?? error),
  }
}
