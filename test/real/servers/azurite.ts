// Azurite: blobs and queues of Azure, in memory.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { BlobServiceClient } from '@azure/storage-blob'
import {
  AccountSASPermissions,
  generateAccountSASQueryParameters,
  QueueClient,
  QueueServiceClient,
  StorageSharedKeyCredential,
} from '@azure/storage-queue'
import { findFreePorts } from '../../../src/lib/free-port.ts'
import type { AzureServer } from '../../sources/object-server.ts'
import type { AzureQueueServer } from '../../sources/queue-worlds.ts'
import { installedFolder, pinnedVersion } from './installed.ts'
import { accepts, makeServerFolder, startServer } from './server-process.ts'

const account = 'penstocktest'

export function startAzurite(): Promise<AzureServer> {
  return startAzuriteWithQueues()
}

export async function startAzuriteWithQueues(): Promise<AzureQueueServer> {
  const program = join(installedFolder('azurite'), 'node_modules', 'azurite', 'dist', 'src', 'azurite.js')
  const folder = await makeServerFolder('azurite')
  // Allocated together, so that they differ.
  const [blob, queue, table] = (await findFreePorts(3)) as [number, number, number]
  const ports = { blob, queue, table }
  const key = randomBytes(64).toString('base64')
  const addresses = Object.entries(ports).flatMap(([service, port]) => [
    `--${service}Host`,
    '127.0.0.1',
    `--${service}Port`,
    String(port),
  ])
  const options = ['--inMemoryPersistence', '--silent', '--disableTelemetry', '--skipApiVersionCheck']
  const server = await startServer({
    name: 'Azurite',
    command: [process.execPath, program, ...addresses, ...options],
    folder,
    environment: { AZURITE_ACCOUNTS: `${account}:${key}` },
    isReady: async () => (await accepts(ports.blob)) && (await accepts(ports.queue)),
  })
  const endpoint = `http://127.0.0.1:${ports.blob}/${account}`
  const connectionString = `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};BlobEndpoint=${endpoint}`
  const service = BlobServiceClient.fromConnectionString(connectionString)
  const credential = new StorageSharedKeyCredential(account, key)
  const queues = new QueueServiceClient(`http://127.0.0.1:${ports.queue}/${account}`, credential)
  return {
    name: `Azurite ${pinnedVersion('azurite', /"node_modules\/azurite": \{\s*"version": "([^"]+)"/)}`,
    connectionString,
    async createContainer(container) {
      await service.getContainerClient(container).create()
    },
    async put(container, blob, bytes) {
      await service.getContainerClient(container).getBlockBlobClient(blob).uploadData(bytes)
    },
    async createQueue(name) {
      await queues.getQueueClient(name).create()
      return queues.getQueueClient(name).url
    },
    async send(queueUrl, body) {
      await new QueueClient(queueUrl, credential).sendMessage(body)
    },
    async attributes(queueUrl) {
      const queue = new QueueClient(queueUrl, credential)
      const { approximateMessagesCount = 0 } = await queue.getProperties()
      const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 })
      return { waiting: peekedMessageItems.length, held: approximateMessagesCount - peekedMessageItems.length }
    },
    async signed(permissions, lifeMs = 600_000) {
      const options = {
        expiresOn: new Date(Date.now() + lifeMs),
        permissions: AccountSASPermissions.parse(permissions),
        resourceTypes: 'co',
        services: 'bq',
      }
      return generateAccountSASQueryParameters(options, credential).toString()
    },
    stop: () => server.stop(),
  }
}
