// moto: Kinesis, S3, IAM and STS of AWS, with checks of signatures, permissions and role trust. Users are created before the
// checks are switched on.
import { join } from 'node:path'
import { findFreePort } from '../../../src/lib/free-port.ts'
import type { AccessKey } from '../../sources/kinesis-server.ts'
import { installedFolder, pinnedVersion } from './installed.ts'
import { makeServerFolder, startServer } from './server-process.ts'

export interface RoleOptions {
  /** Required to assume the role. */
  externalId: string
  /** Whether the role has all permissions or none. */
  mayRead: boolean
}

export interface MotoServer {
  name: string
  region: string
  /** `http://127.0.0.1:port`, for all services. */
  url: string
  /** All permissions. */
  user: AccessKey
  /** Valid key without permissions. */
  powerless: AccessKey
  /** Creates a role that only `user` may assume. Resolves to its ARN. */
  createRole(name: string, options: RoleOptions): Promise<string>
  stop(): Promise<void>
}

const region = 'eu-west-1'
const userName = 'penstock'
const everything = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }],
})

export async function startMoto(): Promise<MotoServer> {
  const python = join(installedFolder('moto'), 'environment', 'bin', 'python')
  const folder = await makeServerFolder('moto')
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const server = await startServer({
    name: 'moto',
    command: [python, '-m', 'moto.server', '--host', '127.0.0.1', '--port', String(port)],
    folder,
    isReady: async () => (await fetch(`${url}/moto-api/data.json`)).ok,
  })

  async function createUser(name: string): Promise<AccessKey> {
    await callIam(url, { Action: 'CreateUser', UserName: name })
    const key = await callIam(url, { Action: 'CreateAccessKey', UserName: name })
    return { accessKeyId: valueIn(key, 'AccessKeyId'), secretKey: valueIn(key, 'SecretAccessKey') }
  }

  try {
    const user = await createUser(userName)
    await callIam(url, {
      Action: 'PutUserPolicy',
      UserName: userName,
      PolicyName: 'everything',
      PolicyDocument: everything,
    })
    const powerless = await createUser('powerless')
    await letIn(url, 'only who may')
    return {
      name: `moto ${pinnedVersion('moto', /^moto==(.+)$/m)}`,
      region,
      url,
      user,
      powerless,
      createRole: async (name, options) => {
        await letIn(url, 'everyone')
        try {
          return await createRole(url, name, options)
        } finally {
          await letIn(url, 'only who may')
        }
      },
      stop: () => server.stop(),
    }
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function createRole(url: string, name: string, { externalId, mayRead }: RoleOptions): Promise<string> {
  const user = await callIam(url, { Action: 'GetUser', UserName: userName })
  const trust = {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Principal: { AWS: valueIn(user, 'Arn') },
        Action: 'sts:AssumeRole',
        Condition: { StringEquals: { 'sts:ExternalId': externalId } },
      },
    ],
  }
  const role = await callIam(url, {
    Action: 'CreateRole',
    RoleName: name,
    AssumeRolePolicyDocument: JSON.stringify(trust),
  })
  if (mayRead) {
    await callIam(url, {
      Action: 'PutRolePolicy',
      RoleName: name,
      PolicyName: 'everything',
      PolicyDocument: everything,
    })
  }
  return valueIn(role, 'Arn')
}

/** Lets everyone in, or only permitted callers: moto skips the checks of this many requests. */
async function letIn(url: string, who: 'everyone' | 'only who may'): Promise<void> {
  const response = await fetch(`${url}/moto-api/reset-auth`, {
    method: 'POST',
    body: who === 'everyone' ? '1000' : '0',
  })
  if (!response.ok) throw new Error(`moto answers ${response.status}`)
}

/** Unsigned: moto reads the header only for the name of the service. */
async function callIam(url: string, parameters: Record<string, string>): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=nobody/20260101/${region}/iam/aws4_request, SignedHeaders=host, Signature=none`,
    },
    body: new URLSearchParams({ ...parameters, Version: '2010-05-08' }),
  })
  const answer = await response.text()
  if (!response.ok) throw new Error(`${parameters.Action} is answered with ${response.status}: ${answer}`)
  return answer
}

function valueIn(xml: string, element: string): string {
  const value = xml.match(new RegExp(`<${element}>([^<]+)</${element}>`))?.[1]
  if (value === undefined) throw new Error(`no ${element} in ${xml}`)
  return value
}
