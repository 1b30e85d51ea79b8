// Versity S3 Gateway: an S3 server on a folder, with checks of signatures, owners and bucket policies.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CreateBucketCommand, PutBucketPolicyCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { findFreePort } from '../../../src/lib/free-port.ts'
import type { AccessKeyPair, ObjectServer } from '../../sources/object-server.ts'
import { installedFolder, pinnedVersion } from './installed.ts'
import { makeServerFolder, startServer } from './server-process.ts'

const run = promisify(execFile)
const region = 'eu-west-1'

export async function startVersitygw(): Promise<ObjectServer> {
  const program = join(installedFolder('versitygw'), 'versitygw')
  const folder = await makeServerFolder('versitygw')
  for (const name of ['objects', 'metadata', 'users']) await mkdir(join(folder, name))
  const port = await findFreePort()
  const endpoint = `http://127.0.0.1:${port}`
  const root = makeKey()
  const options = ['--access', root.accessKeyId, '--secret', root.secretKey, '--region', region, '--quiet']
  // Not every file system supports extended attributes.
  const storage = ['posix', '--sidecar', join(folder, 'metadata'), join(folder, 'objects')]
  const server = await startServer({
    name: 'Versity S3 Gateway',
    command: [
      program,
      '--port',
      `127.0.0.1:${port}`,
      '--iam-dir',
      join(folder, 'users'),
      '--keep-alive',
      ...options,
      ...storage,
    ],
    folder,
    // Anonymous requests are refused, but by S3.
    isReady: async () => (await fetch(endpoint)).status === 403,
  })

  async function createUser(role: 'user' | 'userplus'): Promise<AccessKeyPair> {
    const key = makeKey()
    const login = [
      '--access',
      root.accessKeyId,
      '--secret',
      root.secretKey,
      '--region',
      region,
      '--endpoint-url',
      endpoint,
    ]
    const user = ['--access', key.accessKeyId, '--secret', key.secretKey, '--role', role]
    await run(program, ['admin', ...login, 'create-user', ...user])
    return key
  }

  try {
    // May create buckets, with all permissions on them.
    const accessKey = await createUser('userplus')
    const powerless = await createUser('user')
    const onlyLists = await createUser('user')
    const onlyReads = await createUser('user')
    const credentials = { accessKeyId: accessKey.accessKeyId, secretAccessKey: accessKey.secretKey }
    const client = new S3Client({ region, endpoint, forcePathStyle: true, credentials })
    return {
      name: `Versity S3 Gateway ${pinnedVersion('versitygw', /versitygw v(\S+)/)}`,
      endpoint,
      region,
      accessKey,
      root,
      powerless,
      onlyLists,
      onlyReads,
      async createBucket(name, { isPublic = false, mayBeListed = true } = {}) {
        await client.send(new CreateBucketCommand({ Bucket: name }))
        const listers = isPublic && mayBeListed ? '*' : onlyLists.accessKeyId
        const readers = isPublic ? '*' : onlyReads.accessKeyId
        // A policy replaces the permissions of the owner, so it includes them.
        const Policy = policy(
          allow(accessKey.accessKeyId, 's3:*', name, `${name}/*`),
          allow(listers, 's3:ListBucket', name),
          allow(readers, 's3:GetObject', `${name}/*`),
        )
        await client.send(new PutBucketPolicyCommand({ Bucket: name, Policy }))
      },
      async put(bucket, key, bytes) {
        await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: bytes }))
      },
      async stop() {
        client.destroy()
        await server.stop()
      },
    }
  } catch (error) {
    await server.stop()
    throw error
  }
}

function allow(accessKeyId: string, action: string, ...resources: string[]): object {
  return {
    Effect: 'Allow',
    Principal: { AWS: accessKeyId },
    Action: action,
    Resource: resources.map((resource) => `arn:aws:s3:::${resource}`),
  }
}

function policy(...statements: object[]): string {
  return JSON.stringify({ Version: '2012-10-17', Statement: statements })
}

function makeKey(): AccessKeyPair {
  return {
    accessKeyId: `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
    secretKey: randomBytes(20).toString('hex'),
  }
}
