// Kinesis of moto, with a role of its STS. moto sends errors in XML for every service; Kinesis of AWS sends JSON with other error
// names, so a proxy in front of moto converts them. moto decides what is refused.
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { administer, type KinesisServer } from '../../sources/kinesis-server.ts'
import { startMoto } from './moto.ts'

const namesInJson: Record<string, string> = {
  AccessDenied: 'AccessDeniedException',
  InvalidClientTokenId: 'UnrecognizedClientException',
  SignatureDoesNotMatch: 'InvalidSignatureException',
}

const organizationId = 'organization-of-the-role'

export async function startMotoKinesis(): Promise<KinesisServer> {
  const moto = await startMoto()
  const proxy = await startErrorProxy(moto.url)
  const { close, ...administration } = administer(moto.url, moto.region, moto.user)
  const stop = async (): Promise<void> => {
    close()
    await proxy.stop()
    await moto.stop()
  }
  try {
    const roleArn = await moto.createRole('penstock', { externalId: organizationId, mayRead: true })
    return {
      name: moto.name,
      region: moto.region,
      endpoint: proxy.url,
      credentials: moto.user,
      powerless: moto.powerless,
      keepsClosedShards: false,
      role: { stsEndpoint: moto.url, roleArn, operator: moto.user, organizationId },
      ...administration,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startErrorProxy(target: string): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    convertErrors(request, response, target).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

async function convertErrors(incoming: IncomingMessage, outgoing: ServerResponse, target: string): Promise<void> {
  const { status, contentType, body } = await ask(incoming, target)
  const refusal = body.toString().match(/^<.*<Code>(\w+)<\/Code>/s)?.[1]
  if (refusal === undefined) {
    outgoing.writeHead(status, { 'content-type': contentType }).end(body)
    return
  }
  const answer = { __type: namesInJson[refusal] ?? refusal, message: 'no' }
  outgoing.writeHead(400, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(answer))
}

/** Forwarded unchanged, including the signed Host header. */
async function ask(incoming: IncomingMessage, target: string) {
  const body = await buffer(incoming)
  const request = httpRequest(new URL(incoming.url ?? '/', target), {
    method: incoming.method,
    headers: incoming.headers,
    agent: false,
  })
  request.end(body)
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  return {
    status: answer.statusCode ?? 500,
    contentType: answer.headers['content-type'] ?? 'application/x-amz-json-1.1',
    body: await buffer(answer),
  }
}
