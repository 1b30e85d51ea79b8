import { differences } from '../lib/merge-patch.ts'
import { invalidBody } from '../lib/problem.ts'
import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { type Key, KeyPath, KeyWithSecret, keyExample, keySecretExample, newSecret } from './key.ts'
import { loadKey, replaceSecret } from './store.ts'

/** If the response with the new secret is lost, a key that rotates itself needs its old secret to repeat the request. */
const minOwnGraceSeconds = 60
const defaultOwnGraceSeconds = 300

export const rotateKey = operation({
  id: 'rotateKey',
  method: 'POST',
  path: '/v1/organizations/{organizationId}/keys/{keyId}/rotate',
  tag: 'OpenAPI',
  summary: 'Rotate API key',
  description:
    'Gives the key another secret; its key id stays. The secret that it had stays good for `graceSeconds`, so that ' +
    'clients can be changed one after another; one from an earlier rotation ends at once. ' +
    `A key may rotate itself; its old secret then stays good for at least ${minOwnGraceSeconds} seconds.`,
  access: 'admin',
  activity: 'key_rotated',
  params: KeyPath,
  body: Type.Object(
    {
      graceSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 604_800,
          description:
            'How long the present secret stays good: at most a week. With 0, as when it is left out, it ends now. For the ' +
            `key that the request is made with it is at least ${minOwnGraceSeconds}, and ${defaultOwnGraceSeconds} when it is left out.`,
        }),
      ),
    },
    { $id: 'KeyRotation', additionalProperties: false },
  ),
  result: KeyWithSecret,
  problems: [],
  example: {
    summary: 'Leave an hour to change the clients',
    body: { graceSeconds: 3600 },
    result: {
      key: { ...keyExample, keySuffix: 'x4Tb', previousSecretValidUntil: '2026-11-02T17:40:09.120Z' },
      keyId: keyExample.keyId,
      keySecret: keySecretExample,
    },
  },
  async run({ sql, vault, caller, now, record }, { params, body }) {
    const { organizationId, keyId: id } = params
    const stored = await loadKey(sql, organizationId, id)
    const isOwn = id === caller.id
    const { graceSeconds = isOwn ? defaultOwnGraceSeconds : 0 } = body
    if (isOwn && graceSeconds < minOwnGraceSeconds) {
      const detail =
        `graceSeconds must be at least ${minOwnGraceSeconds}, not ${graceSeconds}, for the key that the request is made with: ` +
        'if the answer were lost, nobody would have its new secret, and the old one would no longer open it'
      throw invalidBody([{ path: 'graceSeconds', detail }])
    }
    const previousSecretValidUntil =
      graceSeconds === 0 ? null : new Date(Date.parse(now) + graceSeconds * 1000).toISOString()
    const made = newSecret(vault)
    await replaceSecret(sql, organizationId, id, made, previousSecretValidUntil)
    const before = { previousSecretValidUntil: stored.key.previousSecretValidUntil }
    record({ type: 'key', id }, [
      { field: 'keySecret', to: 'changed' },
      ...differences(before, { previousSecretValidUntil }),
    ])
    const key: Key = { ...stored.key, keySuffix: made.keySuffix, previousSecretValidUntil }
    return { result: { key, keyId: key.keyId, keySecret: made.secret.reveal() } }
  },
})
