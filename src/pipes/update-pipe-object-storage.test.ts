// Credentials and authentication of an object storage source, and the mask of its connection string. Every secret in this
// file has the word "hush" in it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pipeTools } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import type { SourceSecrets } from '../source-shapes/source-kind.ts'
import { insertPipe, openSecrets, sealSecrets } from './store.ts'

const role = 'arn:aws:iam::000000000000:role/penstock-invoices'
const otherRole = 'arn:aws:iam::111111111111:role/other'
const userKey = { accessKeyId: 'hush-key-id', secretKey: 'hush-secret-key' }
const newKey = { accessKeyId: 'hush-new-key-id', secretKey: 'hush-new-secret-key' }
const accountString = 'AccountName=northwind;AccountKey=hush+key/==;EndpointSuffix=core.example'
const accountMask = 'AccountName=northwind;AccountKey=***;EndpointSuffix=core.example'
const signedString = 'BlobEndpoint=https://northwind.example;SharedAccessSignature=sv=2026&sig=hush%3D'
const signedMask = 'BlobEndpoint=https://northwind.example;SharedAccessSignature=***'

interface Source {
  type: string
  authentication?: string
  iamRole?: string
  connectionString?: string
  azureContainerName?: string
  path?: string
  isContinuous?: boolean
  queueUrl?: string
}

interface State {
  source: Source
  secrets: SourceSecrets
}

const state = (base: State, source: Partial<Source>, secrets: SourceSecrets = {}): State => ({
  source: { ...base.source, ...source },
  secrets: { ...base.secrets, ...secrets },
})

const container = { azureContainerName: 'invoices', path: '*.json' }
const openS3: State = { source: { type: 's3' }, secrets: {} }
const byRole: State = { source: { type: 's3', authentication: 'IAM_ROLE', iamRole: role }, secrets: {} }
const byUser: State = { source: { type: 's3', authentication: 'IAM_USER' }, secrets: { accessKey: userKey } }
const byQueue: State = state(byRole, { isContinuous: true, queueUrl: 'https://sqs.example/000000000000/invoices' })
const openAzure: State = { source: { type: 'azureblobstorage', ...container }, secrets: {} }
const azure: State = {
  source: {
    type: 'azureblobstorage',
    ...container,
    authentication: 'CONNECTION_STRING',
    connectionString: accountMask,
  },
  secrets: { connectionString: accountString },
}

const switches: [title: string, start: State, send: Record<string, unknown>, end: State][] = [
  ['a key alone switches from a role, which is kept', byRole, { accessKey: userKey }, state(byUser, { iamRole: role })],
  [
    'a role alone switches from a key, which is kept',
    byUser,
    { iamRole: role },
    state(byRole, {}, { accessKey: userKey }),
  ],
  ['a key alone switches from public', openS3, { accessKey: userKey }, byUser],
  ['a role alone switches from public', openS3, { iamRole: role }, byRole],
  ['a connection string alone switches from public', openAzure, { connectionString: accountString }, azure],
  ['another key switches nothing', byUser, { accessKey: newKey }, state(byUser, {}, { accessKey: newKey })],
  ['another role switches nothing', byRole, { iamRole: otherRole }, state(byRole, { iamRole: otherRole })],
  [
    'another connection string switches nothing',
    azure,
    { connectionString: signedString },
    state(azure, { connectionString: signedMask }, { connectionString: signedString }),
  ],
  [
    'a new secret keeps the id of the key',
    byUser,
    { accessKey: { secretKey: 'hush-new-secret-key' } },
    state(byUser, {}, { accessKey: { ...userKey, secretKey: 'hush-new-secret-key' } }),
  ],
  [
    'key and role together switch nothing from a role, and both are kept',
    byRole,
    { iamRole: otherRole, accessKey: newKey },
    state(byRole, { iamRole: otherRole }, { accessKey: newKey }),
  ],
  [
    'key and role together switch nothing from a key, and both are kept',
    byUser,
    { iamRole: otherRole, accessKey: newKey },
    state(byUser, { iamRole: otherRole }, { accessKey: newKey }),
  ],
  [
    'the role it has switches nothing',
    state(byUser, { iamRole: role }),
    { iamRole: role },
    state(byUser, { iamRole: role }),
  ],
  [
    'authentication alone works with what is stored',
    state(byRole, {}, { accessKey: userKey }),
    { authentication: 'IAM_USER' },
    state(byUser, { iamRole: role }),
  ],
  [
    'authentication decides against the key that comes with it',
    byRole,
    { authentication: 'IAM_ROLE', accessKey: newKey },
    state(byRole, {}, { accessKey: newKey }),
  ],
  [
    'authentication decides between what comes with it',
    openS3,
    { authentication: 'IAM_USER', iamRole: role, accessKey: newKey },
    state(byUser, { iamRole: role }, { accessKey: newKey }),
  ],
  [
    'no authentication makes the objects public and keeps the rest',
    byRole,
    { authentication: null },
    state(openS3, { iamRole: role }),
  ],
  [
    'no authentication decides against the key that comes with it',
    byRole,
    { authentication: null, accessKey: newKey },
    state(openS3, { iamRole: role }, { accessKey: newKey }),
  ],
  ['null clears a role that is not in use', state(byUser, { iamRole: role }), { iamRole: null }, byUser],
  ['null clears a key that is not in use', state(byRole, {}, { accessKey: userKey }), { accessKey: null }, byRole],
  ['a key that replaces the role', byRole, { iamRole: null, accessKey: userKey }, byUser],
  ['a role that replaces the key', byUser, { iamRole: role, accessKey: null }, byRole],
  [
    'null clears the connection string with its secret',
    state(byRole, { connectionString: accountMask }, { connectionString: accountString }),
    { connectionString: null },
    byRole,
  ],
  [
    'no authentication of azure keeps the connection string, which says where the account is',
    azure,
    { authentication: null },
    { source: { type: 'azureblobstorage', ...container, connectionString: accountMask }, secrets: azure.secrets },
  ],
  ['the connection string as it was read changes nothing', azure, { connectionString: accountMask }, azure],
  ['the connection string it has changes nothing', azure, { connectionString: accountString }, azure],
  [
    'a connection string is of no use to s3: it is kept and switches nothing',
    byRole,
    { connectionString: accountString },
    state(byRole, { connectionString: accountMask }, { connectionString: accountString }),
  ],
  [
    'key and role are of no use to azure: they are kept and switch nothing',
    azure,
    { iamRole: role, accessKey: userKey },
    state(azure, { iamRole: role }, { accessKey: userKey }),
  ],
  [
    'container and path change together',
    azure,
    { azureContainerName: 'other', path: 'other/*.csv' },
    state(azure, { azureContainerName: 'other', path: 'other/*.csv' }),
  ],
]

const refused: [title: string, start: State, send: Record<string, unknown>, field: string][] = [
  ['the role in use is cleared', byRole, { iamRole: null }, 'iamRole'],
  ['a role is missing', byUser, { authentication: 'IAM_ROLE' }, 'iamRole'],
  ['the key in use is cleared', byUser, { accessKey: null }, 'accessKey'],
  ['a key is missing', byRole, { authentication: 'IAM_USER' }, 'accessKey'],
  ['the id of a key is missing', byRole, { accessKey: { secretKey: 'hush' } }, 'accessKey'],
  ['the secret of a key is missing', openS3, { accessKey: { accessKeyId: 'hush' } }, 'accessKey'],
  ['the connection string in use is cleared', azure, { connectionString: null }, 'connectionString'],
  ['a connection string is missing', openAzure, { authentication: 'CONNECTION_STRING' }, 'connectionString'],
  ['s3 has no connection string', byRole, { authentication: 'CONNECTION_STRING' }, 'authentication'],
  ['azure has no roles', azure, { authentication: 'IAM_ROLE', iamRole: role }, 'authentication'],
  ['azure has no access keys', azure, { authentication: 'IAM_USER', accessKey: userKey }, 'authentication'],
  ['a queue has no credentials any more', byQueue, { authentication: null }, 'authentication'],
  ['a queue has no role any more', byQueue, { authentication: null, iamRole: null }, 'authentication'],
  ['azure needs a container', azure, { azureContainerName: null }, 'azureContainerName'],
  ['azure needs a path', azure, { path: null }, 'path'],
  [
    'azure needs a connection string, also without authentication',
    azure,
    { authentication: null, connectionString: null },
    'connectionString',
  ],
  [
    'the masked string is another one',
    azure,
    { connectionString: accountMask.replace('northwind', 'other') },
    'connectionString',
  ],
  ['the masked string is a signature', azure, { connectionString: signedMask }, 'connectionString'],
  [
    'the masked string is a signed URL',
    azure,
    { connectionString: 'BlobEndpoint=https://northwind.example?sv=2026&sig=***&se=2027' },
    'connectionString',
  ],
  ['a masked string is sent without a stored one', openAzure, { connectionString: accountMask }, 'connectionString'],
]

/** Connection strings, with their masked form. */
const masks: [sent: string, shown: string][] = [
  [accountString, accountMask],
  [signedString, signedMask],
  ['AccountKey=hush', 'AccountKey=***'],
  ['AccountKey=hush;', 'AccountKey=***;'],
  ['accountkey=hush;ACCOUNTNAME=a', 'accountkey=***;ACCOUNTNAME=a'],
  ['SharedAccessSignature=sv=1&sig=hush&se=hush;AccountName=a', 'SharedAccessSignature=***;AccountName=a'],
  ['AccountKey=hush1;SharedAccessSignature=hush2', 'AccountKey=***;SharedAccessSignature=***'],
  ['AccountKey=hush1;AccountKey=hush2', 'AccountKey=***;AccountKey=***'],
  ['BlobEndpoint=https://a.example/c?sv=1&sig=hush%2B&se=2', 'BlobEndpoint=https://a.example/c?sv=1&sig=***&se=2'],
  ['BlobEndpoint=https://a.example?SIG=hush;AccountName=a', 'BlobEndpoint=https://a.example?SIG=***;AccountName=a'],
  // A known name is not enough: a value that is not plain text may have a second part in it.
  ['AccountName=a,AccountKey=hush', 'AccountName=***'],
  ['AccountName=a AccountKey=hush', 'AccountName=***'],
  ['AccountName=a&AccountKey=hush;EntityPath=orders/eu', 'AccountName=***;EntityPath=orders/eu'],
  ['EndpointSuffix=core.example?sig=hush', 'EndpointSuffix=***'],
  ['UseDevelopmentStorage=true;Passphrase=hush;Whatever=hush', 'UseDevelopmentStorage=***;Passphrase=***;Whatever=***'],
  [
    'Endpoint=sb://a.example/;SharedAccessKeyName=reader;SharedAccessKey=hush;EntityPath=orders',
    'Endpoint=sb://a.example/;SharedAccessKeyName=reader;SharedAccessKey=***;EntityPath=orders',
  ],
  ['DefaultEndpointsProtocol=https;AccountKey=', 'DefaultEndpointsProtocol=https;AccountKey=***'],
  ['BlobEndpoint=https://hush:hush@a.example/c', 'BlobEndpoint=***'],
  ['BlobEndpoint=https://a.example/c#sig=hush', 'BlobEndpoint=***'],
  ['BlobEndpoint=hush', 'BlobEndpoint=***'],
  [
    'QueueEndpoint=https://a.example:10001/q?hush&sv=1&%73ig=hush',
    'QueueEndpoint=https://a.example:10001/q?***&sv=1&***',
  ],
  [
    'FileEndpoint=https://a.example?se=2026-11-15T00%3A00Z&sp=r%26sig%3Dhush',
    'FileEndpoint=https://a.example?se=2026-11-15T00%3A00Z&***',
  ],
]

/** Not `name=value` parts, so they could not be masked part by part. */
const noConnectionStrings = [
  'hush',
  'https://a.example/c?sig=hush',
  'AccountName=a\nAccountKey=hush',
  'AccountName=a\rAccountKey=hush',
  'AccountName=a\u0001AccountKey=hush',
  'AccountName=a\u2028AccountKey=hush',
  'AccountName=a;AccountKey = hush',
  'AccountName=a; AccountKey=hush',
  'Account Key=hush',
  '"AccountKey"=hush',
  'Account-Key=hush',
  'AccountName=a;;AccountKey=hush',
  'AccountName=a;hush',
  ';AccountKey=hush',
  '=hush',
]

onBothDatabases('updatePipe of an object storage source', (app) => {
  const { answers, path, load, patch } = pipeTools(app, 'objectStorage')

  const common = { compression: 'auto', format: 'JSONEachRow', isContinuous: true, url: 'https://a.example/*' }

  async function addPipe({ source, secrets }: State): Promise<string> {
    const sample = await load(app().sample.pipeIds.objectStorage)
    const pipe = { ...sample, id: newId(), source: { ...common, ...source } }
    await insertPipe(app().sql, { ...pipe, sealedSecrets: sealSecrets(app().app.vault, pipe, secrets) })
    return pipe.id
  }

  const changesOf = async (pipeId: string) =>
    (await app().query<{ target: string; changes: string }>('SELECT * FROM activities ORDER BY id'))
      .filter(({ target }) => target.includes(pipeId))
      .map(({ changes }) => JSON.parse(changes))

  describe('200', () => {
    for (const [title, start, send, end] of switches) {
      it(title, async () => {
        const pipeId = await addPipe(start)
        const answer = await patch(pipeId, send)
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual(answer.body.result.source.objectStorage, { ...common, ...end.source })
        const stored = await load(pipeId)
        assert.deepEqual(stored.source, { ...common, ...end.source })
        assert.deepEqual(openSecrets(app().app.vault, stored), end.secrets)
        const changesNothing =
          JSON.stringify([start.source, start.secrets]) === JSON.stringify([end.source, end.secrets])
        if (changesNothing) assert.deepEqual(await changesOf(pipeId), [])
      })
    }

    it('shows a connection string without its secret, and keeps it with', async () => {
      for (const [sent, shown] of masks) {
        const pipeId = await addPipe(openAzure)
        const answer = await patch(pipeId, { connectionString: sent })
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.body.result.source.objectStorage.connectionString, shown)
        const read = await app().request('GET', path(pipeId))
        answers.push(read.text)
        assert.equal(read.body.result.source.objectStorage.connectionString, shown)
        assert.deepEqual(openSecrets(app().app.vault, await load(pipeId)), { connectionString: sent })

        const { etag } = read.headers
        const again = await patch(pipeId, { connectionString: shown })
        assert.equal(again.status, 200, again.text)
        assert.equal(again.headers.etag, etag)
        assert.deepEqual(openSecrets(app().app.vault, await load(pipeId)), { connectionString: sent })
      }
    })

    it('distinguishes two keys with the same mask', async () => {
      const pipeId = await addPipe(azure)
      const before = await app().request('GET', path(pipeId))
      const rotated = accountString.replace('hush+key/==', 'hush+other/==')
      const answer = await patch(pipeId, { connectionString: rotated })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.body.result.source.objectStorage.connectionString, accountMask)
      assert.notEqual(answer.headers.etag, before.headers.etag)
      assert.deepEqual(openSecrets(app().app.vault, await load(pipeId)), { connectionString: rotated })
      assert.deepEqual(await changesOf(pipeId), [[{ field: 'source.objectStorage.connectionString', to: 'changed' }]])
    })
  })

  describe('400', () => {
    for (const [title, start, send, field] of refused) {
      it(title, async () => {
        const pipeId = await addPipe(start)
        const before = await load(pipeId)
        const answer = await patch(pipeId, send, { name: 'not applied' })
        assert.equal(answer.status, 400, answer.text)
        assert.deepEqual(
          answer.body.errors.map((error: { pointer: string }) => error.pointer),
          [`#/source/objectStorage/${field}`],
        )
        assert.deepEqual(await load(pipeId), before)
      })
    }

    for (const connectionString of noConnectionStrings) {
      it(`${JSON.stringify(connectionString)} is no connection string, and is not quoted`, async () => {
        const pipeId = await addPipe(azure)
        const before = await load(pipeId)
        const answer = await patch(pipeId, { connectionString })
        assert.equal(answer.status, 400, answer.text)
        const must = 'must be "name=value" parts separated by ";" or null'
        assert.equal(answer.body.detail, `source.objectStorage.connectionString ${must}`)
        assert.deepEqual(await load(pipeId), before)
      })
    }

    it('invalid secrets are named and not quoted', async () => {
      const pipeId = await addPipe(azure)
      const before = await load(pipeId)
      for (const [send, field] of [
        [{ connectionString: `AccountKey=${'hush'.repeat(2000)}` }, 'connectionString'],
        [{ connectionString: ['AccountKey=hush'] }, 'connectionString'],
        [{ connectionString: { AccountKey: 'hush' } }, 'connectionString'],
        [{ accessKey: 'hush' }, 'accessKey'],
        [{ accessKey: { secretKey: 'hush'.repeat(1000) } }, 'accessKey/secretKey'],
        [{ accessKey: { accessKeyId: null } }, 'accessKey/accessKeyId'],
        [{ credentials: { password: 'hush' } }, 'credentials'],
      ] as const) {
        const answer = await patch(pipeId, send)
        assert.equal(answer.status, 400, answer.text)
        assert.deepEqual(
          answer.body.errors.map((error: { pointer: string }) => error.pointer),
          [`#/source/objectStorage/${field}`],
        )
      }
      assert.equal((await patch(pipeId, 'AccountKey=hush')).status, 400)
      assert.deepEqual(await load(pipeId), before)
    })
  })

  describe('secrets', () => {
    it('are in no answer, no line of the log, no activity and no row', async () => {
      assert.ok(answers.length > 60 && app().logged.length > 60)
      const activities = await app().query<{ changes: string }>('SELECT * FROM activities')
      const pipes = await app().query('SELECT * FROM pipes')
      assert.ok(activities.some(({ changes }) => changes.includes('connectionString')) && pipes.length > 40)
      assert.doesNotMatch([...answers, ...app().logged, JSON.stringify({ activities, pipes })].join('\n'), /hush/)
    })

    it('are recorded as changed', async () => {
      const pipeId = await addPipe(openAzure)
      await patch(pipeId, { connectionString: accountString })
      const [changes] = (await changesOf(pipeId)) as { field: string; to: string }[][]
      assert.deepEqual([...new Set(changes!.map(({ field }) => field))].sort(), [
        'source.objectStorage.authentication',
        'source.objectStorage.connectionString',
      ])
      assert.ok(changes!.some(({ field, to }) => field.endsWith('connectionString') && to === 'changed'))
    })
  })
})
