// One connection: splits the stream into requests and answers them in order, as Kafka does. Invalid requests, and requests before the
// login, end it.
import type { Socket } from 'node:net'
import type { Api, BrokerState, Client } from './api.ts'
import { apiVersionsKey, findApi } from './apis.ts'
import { errorCode } from './error-codes.ts'
import { LoginRefused } from './sasl.ts'
import { anonymous } from './users.ts'
import { MalformedMessage, WireReader, WireWriter } from './wire.ts'

const lengthSizeBytes = 4
const longestRequestBytes = 104_857_600
/** Size limit of requests before the login. */
const longestLoginBytes = 524_288

export interface Connection {
  socket: Socket
  client: Client
  broker: BrokerState
  /** Called with errors of the fake broker itself. */
  fail(error: unknown): void
}

export function serve(connection: Connection): void {
  const { socket, client, fail } = connection
  let received = Buffer.alloc(0)
  let work = Promise.resolve()

  const cutOff = (error: unknown) => {
    if (!(error instanceof MalformedMessage || error instanceof LoginRefused)) fail(error)
    socket.destroy()
  }
  const answerNext = async (message: Buffer) => {
    if (!socket.destroyed) await answer(connection, message).catch(cutOff)
  }
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    while (received.length >= lengthSizeBytes) {
      const sizeBytes = received.readInt32BE()
      // Bytes of TLS or HTTP fail here.
      if (sizeBytes < 0 || sizeBytes > (client.user ? longestRequestBytes : longestLoginBytes)) {
        socket.destroy()
        return
      }
      const end = lengthSizeBytes + sizeBytes
      if (received.length < end) return
      const message = received.subarray(lengthSizeBytes, end)
      received = received.subarray(end)
      work = work.then(() => answerNext(message))
    }
  })
  // The client may disconnect at any time; 'close' handles it.
  socket.on('error', () => {})
}

async function answer(connection: Connection, message: Buffer): Promise<void> {
  const { client } = connection
  if (client.sasl?.isBare && !client.user) return answerBare(connection, message)
  const header = readHeader(message)
  const api = findApi(header.key)
  if (!api || (!client.user && !api.isOpen)) throw new MalformedMessage('a request that is not allowed now')
  if (header.version >= api.firstVersion && header.version <= api.lastVersion) {
    return answerRequest(connection, api, header)
  }
  if (api.key !== apiVersionsKey) throw new MalformedMessage('a version that was not offered')
  // The ApiVersions request of a newer client: answered in version 0, which all clients understand.
  const response = new WireWriter(false).int16(errorCode.UNSUPPORTED_VERSION)
  response.array([api], ({ key, firstVersion, lastVersion }) =>
    response.int16(key).int16(firstVersion).int16(lastVersion),
  )
  send(connection, header.correlationId, response.toBuffer())
}

interface Header {
  key: number
  version: number
  correlationId: number
  /** The part after the common request header. */
  rest: Buffer
}

function readHeader(message: Buffer): Header {
  const reader = new WireReader(message, false)
  const [key, version, correlationId] = [reader.int16(), reader.int16(), reader.int32()]
  reader.nullableString()
  return { key, version, correlationId, rest: reader.rest() }
}

async function answerRequest(connection: Connection, api: Api, header: Header): Promise<void> {
  const { socket, client, broker } = connection
  const { version, correlationId } = header
  const isFlexible = api.flexibleFrom !== undefined && version >= api.flexibleFrom
  const request = new WireReader(header.rest, isFlexible)
  request.tags()
  const response = new WireWriter(isFlexible)
  // Tagged fields of the response header. ApiVersions has none, so that unknown clients can parse it.
  if (api.key !== apiVersionsKey) response.tags()
  const outcome = await api.answer({ version, request, response, client, user: client.user ?? anonymous, broker })
  if (!request.isAtEnd()) throw new MalformedMessage('a request that is longer than it should be')
  if (outcome !== 'no response') send(connection, correlationId, response.toBuffer())
  if (outcome === 'response, then close') socket.end()
}

/** SASL without Kafka headers, and without error messages. */
async function answerBare({ socket, client }: Connection, message: Buffer): Promise<void> {
  if (!client.sasl?.exchange) throw new MalformedMessage('no login is under way')
  const { user, message: answered } = await client.sasl.exchange(message)
  client.user = user
  socket.write(new WireWriter(false).bytes(answered).toBuffer())
}

function send({ socket }: Connection, correlationId: number, body: Buffer): void {
  if (socket.destroyed) return
  const head = Buffer.alloc(2 * lengthSizeBytes)
  head.writeInt32BE(lengthSizeBytes + body.length)
  head.writeInt32BE(correlationId, lengthSizeBytes)
  socket.write(Buffer.concat([head, body]))
}
