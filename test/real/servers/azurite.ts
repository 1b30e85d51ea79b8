// Azurite: the blobs of Azure, in memory.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { BlobServiceClient } from '@azure/storage-blob'
import type { AzureServer } from '../../sources/object-server.ts'
import { installedFolder, pinnedVersion } from './installed.ts'
import { accepts, findFreePort, makeServerFolder, startServer } from './server-process.ts'

const account = 'penstocktest'

export async function startAzurite(): Promise<AzureServer> {
  const program = join(installedFolder('azurite'), 'node_modules', 'azurite', 'dist', 'src', 'blob', 'main.js')
  const folder = await makeServerFolder('azurite')
  const port = await findFreePort()
  const key = randomBytes(64).toString('base64')
  const options = ['--inMemoryPersistence', '--silent', '--disableTelemetry', '--skipApiVersionCheck']
  const server = await startServer({
    name: 'Azurite',
    command: [process.execPath, program, '--blobHost', '127.0.0.1', '--blobPort', String(port), ...options],
    folder,
    environment: { AZURITE_ACCOUNTS: `${account}:${key}` },
    isReady: () => accepts(port),
  })
  const endpoint = `http://127.0.0.1:${port}/${account}`
  const connectionString = `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};BlobEndpoint=${endpoint}`
  const service = BlobServiceClient.fromConnectionString(connectionString)
  return {
    name: `Azurite ${pinnedVersion('azurite', /"node_modules\/azurite": \{\s*"version": "([^"]+)"/)}`,
    connectionString,
    async createContainer(container) {
      await service.getContainerClient(container).create()
    },
    async put(container, blob, bytes) {
      await service.getContainerClient(container).getBlockBlobClient(blob).uploadData(bytes)
    },
    stop: () => server.stop(),
  }
}
