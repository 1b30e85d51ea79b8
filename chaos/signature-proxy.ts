// Proxy in front of an AWS service that can be blocked and accepts only requests signed with one of its access keys.
import type { AccessKey } from '../test/sources/kinesis-server.ts'
import { type CheckedKey, type SignatureCheckOptions, startSignatureCheck } from '../test/sources/signature-check.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

/** Access keys; several proxies may share one ring. */
export interface KeyRing {
  keys: CheckedKey[]
  /** Adds another accepted key. */
  admit(): AccessKey
  /** Revokes all keys but the last one. */
  forgetOthers(): void
}

export const unknownKey: AccessKey = { accessKeyId: 'AKIANOBODYKNOWSTHIS0', secretKey: 'a-secret-without-a-key' }

export function makeKeyRing(): KeyRing {
  const keys: CheckedKey[] = []
  let made = 0
  return {
    keys,
    admit() {
      const number = String(++made).padStart(8, '0')
      const key = { accessKeyId: `AKIACHAOS000${number}`, secretKey: `secret-of-key/+${number}` }
      keys.push({ ...key, mayRead: true })
      return key
    },
    forgetOthers() {
      keys.splice(0, keys.length - 1)
    },
  }
}

export async function startSignatureProxy(options: SignatureCheckOptions): Promise<TcpProxy> {
  const check = await startSignatureCheck(options)
  const { hostname, port } = new URL(check.url)
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) })
  return {
    ...proxy,
    async close() {
      await proxy.close()
      await check.stop()
    },
  }
}
