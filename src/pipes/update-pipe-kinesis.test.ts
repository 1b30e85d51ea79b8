// Credentials and authentication of a Kinesis source. Every secret in this file has the word "hush" in it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pipeTools } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import type { SourceSecrets } from '../source-shapes/source-kind.ts'
import { insertPipe, openSecrets, sealSecrets } from './store.ts'

const role = 'arn:aws:iam::000000000000:role/penstock-kinesis'
const otherRole = 'arn:aws:iam::111111111111:role/other'
const userKey = { accessKeyId: 'hush-key-id', secretKey: 'hush-secret-key' }
const newKey = { accessKeyId: 'hush-new-key-id', secretKey: 'hush-new-secret-key' }

interface Source {
  authentication: 'IAM_ROLE' | 'IAM_USER'
  iamRole?: string
  accessKey?: NonNullable<SourceSecrets['accessKey']>
}

const byRole: Source = { authentication: 'IAM_ROLE', iamRole: role }
const byUser: Source = { authentication: 'IAM_USER', accessKey: userKey }
const both: Source = { ...byUser, iamRole: role }

const switches: [title: string, start: Source, send: Record<string, unknown>, end: Source][] = [
  [
    'an access key alone switches from a role, which is kept',
    byRole,
    { accessKey: userKey },
    { ...byUser, iamRole: role },
  ],
  [
    'a role alone switches from an access key, which is kept',
    byUser,
    { iamRole: role },
    { ...byRole, accessKey: userKey },
  ],
  ['another access key switches nothing', byUser, { accessKey: newKey }, { ...byUser, accessKey: newKey }],
  ['another role switches nothing', byRole, { iamRole: otherRole }, { ...byRole, iamRole: otherRole }],
  ['the role it has switches nothing', both, { iamRole: role }, both],
  ['the access key it has changes nothing', byUser, { accessKey: userKey }, byUser],
  [
    'both together switch nothing from a role, and both are kept',
    byRole,
    { iamRole: otherRole, accessKey: newKey },
    { authentication: 'IAM_ROLE', iamRole: otherRole, accessKey: newKey },
  ],
  [
    'both together switch nothing from an access key, and both are kept',
    byUser,
    { iamRole: otherRole, accessKey: newKey },
    { authentication: 'IAM_USER', iamRole: otherRole, accessKey: newKey },
  ],
  [
    'a new secret keeps the id of the key',
    byUser,
    { accessKey: { secretKey: 'hush-new-secret-key' } },
    { ...byUser, accessKey: { ...userKey, secretKey: 'hush-new-secret-key' } },
  ],
  [
    'a new id keeps the secret of the key',
    byUser,
    { accessKey: { accessKeyId: 'hush-new-key-id' } },
    { ...byUser, accessKey: { ...userKey, accessKeyId: 'hush-new-key-id' } },
  ],
  [
    'a part of the stored key switches from a role',
    { ...byRole, accessKey: userKey },
    { accessKey: { secretKey: 'hush-new-secret-key' } },
    { ...both, accessKey: { ...userKey, secretKey: 'hush-new-secret-key' } },
  ],
  [
    'authentication alone works with what is stored',
    { ...byRole, accessKey: userKey },
    { authentication: 'IAM_USER' },
    both,
  ],
  [
    'authentication decides against the key that comes with it',
    byRole,
    { authentication: 'IAM_ROLE', accessKey: newKey },
    { ...byRole, accessKey: newKey },
  ],
  [
    'authentication decides against the role that comes with it',
    byUser,
    { authentication: 'IAM_USER', iamRole: otherRole },
    { ...byUser, iamRole: otherRole },
  ],
  [
    'authentication decides between what comes with it',
    byRole,
    { authentication: 'IAM_USER', iamRole: otherRole, accessKey: newKey },
    { authentication: 'IAM_USER', iamRole: otherRole, accessKey: newKey },
  ],
  ['null clears a role that is not in use', both, { iamRole: null }, byUser],
  ['null clears a key that is not in use', { ...byRole, accessKey: userKey }, { accessKey: null }, byRole],
  ['a key that replaces the role', byRole, { iamRole: null, accessKey: userKey }, byUser],
  ['a role that replaces the key', byUser, { iamRole: role, accessKey: null }, byRole],
]

const missing: [title: string, start: Source, send: Record<string, unknown>, field: string][] = [
  ['the role in use', byRole, { iamRole: null }, 'iamRole'],
  ['a role', byUser, { authentication: 'IAM_ROLE' }, 'iamRole'],
  ['the key in use', byUser, { accessKey: null }, 'accessKey'],
  ['the key in use beside a role', both, { accessKey: null }, 'accessKey'],
  ['a key', byRole, { authentication: 'IAM_USER' }, 'accessKey'],
  ['the id of a key', byRole, { accessKey: { secretKey: 'hush' } }, 'accessKey'],
  ['the secret of a key', byRole, { accessKey: { accessKeyId: 'hush' } }, 'accessKey'],
]

onBothDatabases('updatePipe of a Kinesis source', (app) => {
  const { answers, load, patch } = pipeTools(app, 'kinesis')

  async function addPipe({ accessKey, ...start }: Source): Promise<string> {
    const sample = await load(app().sample.pipeIds.kinesis)
    const { iamRole: _, ...source } = sample.source as Source
    const pipe = { ...sample, id: newId(), source: { ...source, ...start } }
    const sealedSecrets = sealSecrets(app().app.vault, pipe, accessKey ? { accessKey } : {})
    await insertPipe(app().sql, { ...pipe, sealedSecrets })
    return pipe.id
  }

  describe('200', () => {
    for (const [title, start, send, { accessKey, ...shown }] of switches) {
      it(title, async () => {
        const pipeId = await addPipe(start)
        const answer = await patch(pipeId, send)
        assert.equal(answer.status, 200, answer.text)
        const { authentication, iamRole } = answer.body.result.source.kinesis
        assert.deepEqual({ authentication, iamRole }, { iamRole: undefined, ...shown })
        const stored = await load(pipeId)
        assert.equal((stored.source as Source).authentication, authentication)
        assert.deepEqual(openSecrets(app().app.vault, stored), accessKey ? { accessKey } : {})
      })
    }
  })

  describe('400', () => {
    for (const [title, start, send, field] of missing) {
      it(`${title} is missing`, async () => {
        const pipeId = await addPipe(start)
        const before = await load(pipeId)
        const answer = await patch(pipeId, send, { name: 'not applied' })
        assert.equal(answer.status, 400, answer.text)
        assert.deepEqual(
          answer.body.errors.map((error: { pointer: string }) => error.pointer),
          [`#/source/kinesis/${field}`],
        )
        assert.match(answer.body.detail, /because authentication is /)
        assert.deepEqual(await load(pipeId), before)
      })
    }

    it('an invalid access key is named and not quoted', async () => {
      const pipeId = await addPipe(byUser)
      const before = await load(pipeId)
      for (const [send, inside] of [
        ['hush-secret-key', ''],
        [['hush-secret-key'], ''],
        [{ secretKey: '' }, '/secretKey'],
        [{ secretKey: null }, '/secretKey'],
        [{ secretKey: ['hush'] }, '/secretKey'],
        [{ secretKey: 'hush'.repeat(1000) }, '/secretKey'],
        [{ accessKeyId: null }, '/accessKeyId'],
        [{ accessKeyId: 'hush'.repeat(1000) }, '/accessKeyId'],
        [{ password: 'hush' }, '/password'],
      ] as const) {
        const answer = await patch(pipeId, { accessKey: send })
        assert.equal(answer.status, 400, answer.text)
        assert.deepEqual(
          answer.body.errors.map((error: { pointer: string }) => error.pointer),
          [`#/source/kinesis/accessKey${inside}`],
        )
      }
      assert.equal((await patch(pipeId, { secretKey: 'hush-secret-key' })).status, 400)
      assert.deepEqual(await load(pipeId), before)
    })
  })

  describe('secrets', () => {
    it('are in no answer, no line of the log, no activity and no row', async () => {
      assert.ok(answers.length > 30 && app().logged.length > 30)
      const activities = await app().query<{ changes: string }>('SELECT * FROM activities')
      const pipes = await app().query('SELECT * FROM pipes')
      assert.ok(activities.some(({ changes }) => changes.includes('source.kinesis.accessKey')) && pipes.length > 20)
      assert.doesNotMatch([...answers, ...app().logged, JSON.stringify({ activities, pipes })].join('\n'), /hush/)
    })

    it('are recorded as changed', async () => {
      const pipeId = await addPipe(byRole)
      await patch(pipeId, { accessKey: newKey })
      await patch(pipeId, { authentication: 'IAM_ROLE', accessKey: null })
      const rows = await app().query<{ target: string; changes: string }>('SELECT * FROM activities ORDER BY id')
      assert.deepEqual(
        rows.filter(({ target }) => target.includes(pipeId)).map(({ changes }) => JSON.parse(changes)),
        [
          [
            { field: 'source.kinesis.authentication', from: 'IAM_ROLE', to: 'IAM_USER' },
            { field: 'source.kinesis.accessKey', to: 'changed' },
          ],
          [
            { field: 'source.kinesis.authentication', from: 'IAM_USER', to: 'IAM_ROLE' },
            { field: 'source.kinesis.accessKey', to: 'changed' },
          ],
        ],
      )
    })
  })
})
