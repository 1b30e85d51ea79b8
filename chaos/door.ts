// The way of a pipe to a service of AWS: it breaks off, and lets in only who has one of its keys, which come and go.
import type { AccessKey } from '../test/sources/kinesis-server.ts'
import { type CheckedKey, type SignatureCheckOptions, startSignatureCheck } from '../test/sources/signature-check.ts'
import { startWay, type Way } from './way.ts'

/** Doors may have one in common. */
export interface KeyRing {
  keys: CheckedKey[]
  /** Lets another one in, beside those that are. */
  admit(): AccessKey
  /** Lets only the last one in from now on. */
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

export async function startDoor(options: SignatureCheckOptions): Promise<Way> {
  const check = await startSignatureCheck(options)
  const { hostname, port } = new URL(check.url)
  const way = await startWay({ host: hostname, port: Number(port) })
  return {
    ...way,
    async close() {
      await way.close()
      await check.stop()
    },
  }
}
