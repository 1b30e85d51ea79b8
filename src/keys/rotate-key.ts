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
    'Replaces the secret of the API key; its key id stays. The previous secret stays valid for `graceSeconds`, so ' +
    'that clients can be changed one by one. A secret from an earlier rotation expires immediately. If a key rotates ' +
    `itself, its previous secret stays valid for at least ${minOwnGraceSeconds} seconds.`,
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
            'Time in seconds for which the current secret stays valid. Default: 0, it expires immediately. For the key that ' +
            `authenticates the request: at least ${minOwnGraceSeconds}, default ${defaultOwnGraceSeconds}.`,
        }),
      ),
    },
    { $id: 'KeyRotation', description: 'Options of the rotation.', additionalProperties: false },
  ),
  result: KeyWithSecret,
  problems: [],
  example: {
    summary: 'Keep the previous secret valid for an hour',
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
        'if the response is lost, the new secret is lost too, and the key needs its previous secret'
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
