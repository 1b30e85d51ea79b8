// Fake Azure Queue Storage in this process, together with Blob Storage, as far as sources use it. Keys are checked, and a message gets a
// new pop receipt whenever it is received or its visibility timeout is extended. Written from the service documentation.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { account, isSignedWith, Refused, refusing, startAzureBlobServer } from './azure-blob-server.ts'
import type { AzureQueueServer } from './queue-worlds.ts'

interface Message {
  id: string
  text: string
  receipt: string
  receivedCount: number
  hiddenUntilMs: number
}

export async function startAzureWithQueues(): Promise<AzureQueueServer> {
  const blobs = await startAzureBlobServer()
  const accountKey = Buffer.from(/AccountKey=([^;]+)/.exec(blobs.connectionString)![1]!, 'base64')
  const queues = new Map<string, Message[]>()
  const server = createServer(refusing((request, response) => answer(request, response, queues, accountKey)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${account}`
  const messagesOf = (queueUrl: string): Message[] => queues.get(queueUrl.slice(endpoint.length + 1))!
  return {
    ...blobs,
    async createQueue(name) {
      queues.set(name, [])
      return `${endpoint}/${name}`
    },
    async send(queueUrl, text) {
      messagesOf(queueUrl).push({ id: randomUUID(), text, receipt: '', receivedCount: 0, hiddenUntilMs: 0 })
    },
    async attributes(queueUrl) {
      const messages = messagesOf(queueUrl)
      const waiting = messages.filter(({ hiddenUntilMs }) => hiddenUntilMs <= Date.now()).length
      return { waiting, held: messages.length - waiting }
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await Promise.all([closed, blobs.stop()])
    },
  }
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  queues: Map<string, Message[]>,
  accountKey: Buffer,
): void {
  const url = new URL(request.url!, 'http://127.0.0.1')
  const [, , name = '', folder, id] = url.pathname.split('/')
  if (!isSignedWith(accountKey, request, url)) throw new Refused(403, 'AuthenticationFailed')
  const messages = queues.get(name)
  if (!messages) throw new Refused(404, 'QueueNotFound')
  const action = `${request.method} ${folder ?? url.searchParams.get('comp')}`
  if (action === 'GET metadata') {
    response.writeHead(200, { 'x-ms-approximate-messages-count': messages.length }).end()
  } else if (action === 'GET messages') {
    response.writeHead(200, { 'content-type': 'application/xml' })
    response.end(receive(messages, url.searchParams))
  } else {
    const message = messages.find((each) => each.id === id)
    if (!message) throw new Refused(404, 'MessageNotFound')
    if (message.receipt !== url.searchParams.get('popreceipt')) throw new Refused(400, 'PopReceiptMismatch')
    if (action === 'DELETE messages') messages.splice(messages.indexOf(message), 1)
    else hide(message, url.searchParams)
    response.writeHead(204, { 'x-ms-popreceipt': message.receipt, 'x-ms-time-next-visible': new Date().toUTCString() })
    response.end()
  }
}

function hide(message: Message, query: URLSearchParams): void {
  message.hiddenUntilMs = Date.now() + Number(query.get('visibilitytimeout')) * 1_000
  message.receipt = Buffer.from(randomUUID()).toString('base64')
}

function receive(messages: Message[], query: URLSearchParams): string {
  const visible = messages.filter(({ hiddenUntilMs }) => hiddenUntilMs <= Date.now())
  const given = visible.slice(0, Number(query.get('numofmessages')))
  for (const message of given) {
    message.receivedCount += 1
    hide(message, query)
  }
  const items = given.map(
    ({ id, receipt, receivedCount, text }) =>
      `<QueueMessage><MessageId>${id}</MessageId><InsertionTime>${new Date().toUTCString()}</InsertionTime>` +
      `<PopReceipt>${receipt}</PopReceipt><DequeueCount>${receivedCount}</DequeueCount>` +
      `<MessageText>${escaped(text)}</MessageText></QueueMessage>`,
  )
  return `<?xml version="1.0" encoding="utf-8"?><QueueMessagesList>${items.join('')}</QueueMessagesList>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
