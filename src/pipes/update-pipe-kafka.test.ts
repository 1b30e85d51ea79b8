// Credentials and authentication of a Kafka source. Every secret in this file has the word "hush" in it.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pipeTools } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import { newId } from '../lib/id.ts'
import type { SourceSecrets } from '../source-shapes/source-kind.ts'
import { insertPipe, openSecrets, sealSecrets } from './store.ts'

const role = 'arn:aws:iam::000000000000:role/penstock-kafka'
const otherRole = 'arn:aws:iam::111111111111:role/other'
const login = { username: 'hush-user', password: 'hush-password' }
const newLogin = { username: 'hush-new-user', password: 'hush-new-password' }
const userKey = { accessKeyId: 'hush-key-id', secretKey: 'hush-secret-key' }
const newUserKey = { accessKeyId: 'hush-new-key-id', secretKey: 'hush-new-secret-key' }
const clientCertificate = { certificate: 'hush-certificate', privateKey: 'hush-private-key' }
const pem = (name: string, content: string) => `-----BEGIN ${name}-----\n${content}\n-----END ${name}-----\n`
const newCertificate = { certificate: pem('CERTIFICATE', 'hush1'), privateKey: pem('EC PRIVATE KEY', 'hush2') }
const eventHub = { connectionString: 'Endpoint=hush' }

type Credentials = NonNullable<SourceSecrets['credentials']>

interface Start {
  authentication: string
  type?: string
  iamRole?: string
  credentials?: Credentials
}

interface Switch {
  title: string
  start: Start
  send: Record<string, unknown>
  /** After the update. */
  authentication: string
  iamRole?: string
  credentials?: Credentials
}

const plain: Start = { authentication: 'PLAIN', iamRole: role, credentials: login }
const scram: Start = { authentication: 'SCRAM-SHA-512', credentials: login }
const byRole: Start = { authentication: 'IAM_ROLE', iamRole: role }
const byRoleWithLogin: Start = { ...byRole, credentials: login }
const byUser: Start = { authentication: 'IAM_USER', credentials: userKey }
const byCertificate: Start = { authentication: 'MUTUAL_TLS', credentials: clientCertificate }

const switches: Switch[] = [
  {
    title: 'a new password keeps the user name',
    start: plain,
    send: { credentials: { password: 'hush-new-password' } },
    ...plain,
    credentials: { ...login, password: 'hush-new-password' },
  },
  {
    title: 'a new user name keeps the password',
    start: plain,
    send: { credentials: { username: 'hush-new-user' } },
    ...plain,
    credentials: { ...login, username: 'hush-new-user' },
  },
  { title: 'the login it has changes nothing', start: plain, send: { credentials: login }, ...plain },
  {
    title: 'a login stays with the mechanism in use',
    start: scram,
    send: { credentials: newLogin },
    ...scram,
    credentials: newLogin,
  },
  {
    title: 'a role alone switches from a login, which is kept',
    start: plain,
    send: { iamRole: otherRole },
    authentication: 'IAM_ROLE',
    iamRole: otherRole,
    credentials: login,
  },
  {
    title: 'a role alone switches from SCRAM',
    start: scram,
    send: { iamRole: role },
    authentication: 'IAM_ROLE',
    iamRole: role,
    credentials: login,
  },
  {
    title: 'a role alone switches from an access key',
    start: byUser,
    send: { iamRole: role },
    authentication: 'IAM_ROLE',
    iamRole: role,
    credentials: userKey,
  },
  {
    title: 'a role alone switches from a client certificate',
    start: byCertificate,
    send: { iamRole: role },
    authentication: 'IAM_ROLE',
    iamRole: role,
    credentials: clientCertificate,
  },
  { title: 'the role it has switches nothing', start: plain, send: { iamRole: role }, ...plain },
  {
    title: 'a role in the place of a role switches nothing',
    start: byRoleWithLogin,
    send: { iamRole: otherRole },
    ...byRoleWithLogin,
    iamRole: otherRole,
  },
  {
    title: 'a login switches from a role to PLAIN',
    start: byRole,
    send: { credentials: newLogin },
    authentication: 'PLAIN',
    iamRole: role,
    credentials: newLogin,
  },
  {
    title: 'a new password and the stored user name switch from a role to PLAIN',
    start: byRoleWithLogin,
    send: { credentials: { password: 'hush-new-password' } },
    authentication: 'PLAIN',
    iamRole: role,
    credentials: { ...login, password: 'hush-new-password' },
  },
  {
    title: 'a login switches from an access key to PLAIN, and the key is kept',
    start: byUser,
    send: { credentials: newLogin },
    authentication: 'PLAIN',
    credentials: { ...userKey, ...newLogin },
  },
  {
    title: 'login and role together switch nothing from a login, and both are kept',
    start: plain,
    send: { iamRole: otherRole, credentials: newLogin },
    authentication: 'PLAIN',
    iamRole: otherRole,
    credentials: newLogin,
  },
  {
    title: 'login and role together switch nothing from a role, and both are kept',
    start: byRole,
    send: { iamRole: otherRole, credentials: newLogin },
    authentication: 'IAM_ROLE',
    iamRole: otherRole,
    credentials: newLogin,
  },
  {
    title: 'authentication alone works with what is stored',
    start: plain,
    send: { authentication: 'SCRAM-SHA-256' },
    ...plain,
    authentication: 'SCRAM-SHA-256',
  },
  {
    title: 'authentication decides against the role that comes with it',
    start: plain,
    send: { authentication: 'PLAIN', iamRole: otherRole },
    ...plain,
    iamRole: otherRole,
  },
  {
    title: 'authentication decides against the login that comes with it',
    start: byRole,
    send: { authentication: 'IAM_ROLE', credentials: newLogin },
    ...byRole,
    credentials: newLogin,
  },
  {
    title: 'authentication decides between what comes with it',
    start: byRole,
    send: { authentication: 'SCRAM-SHA-512', credentials: newLogin, iamRole: otherRole },
    authentication: 'SCRAM-SHA-512',
    iamRole: otherRole,
    credentials: newLogin,
  },
  {
    title: 'null clears a role that is not in use',
    start: plain,
    send: { iamRole: null },
    authentication: 'PLAIN',
    credentials: login,
  },
  {
    title: 'null clears a login that is not in use',
    start: byRoleWithLogin,
    send: { credentials: null },
    ...byRole,
  },
  {
    title: 'a login that replaces the role',
    start: byRole,
    send: { iamRole: null, credentials: newLogin },
    authentication: 'PLAIN',
    credentials: newLogin,
  },
  {
    title: 'a role that replaces the login',
    start: scram,
    send: { iamRole: role, credentials: null },
    authentication: 'IAM_ROLE',
    iamRole: role,
  },
  {
    title: 'Event Hubs does with its connection string',
    start: { authentication: 'PLAIN', type: 'azureeventhub', credentials: eventHub },
    send: { reversePrivateEndpointIds: ['rpe-2'] },
    authentication: 'PLAIN',
    credentials: eventHub,
  },
  {
    title: 'another connection string stays with the mechanism in use',
    start: { authentication: 'SCRAM-SHA-256', type: 'azureeventhub', credentials: eventHub },
    send: { credentials: { connectionString: 'Endpoint=hush-new' } },
    authentication: 'SCRAM-SHA-256',
    credentials: { connectionString: 'Endpoint=hush-new' },
  },
  {
    title: 'a connection string alone switches Event Hubs from a role to PLAIN',
    start: { ...byRole, type: 'azureeventhub' },
    send: { credentials: eventHub },
    authentication: 'PLAIN',
    iamRole: role,
    credentials: eventHub,
  },
  {
    title: 'a connection string is of no use to another Kafka: it is kept and switches nothing',
    start: byRole,
    send: { credentials: eventHub },
    ...byRole,
    credentials: eventHub,
  },
  {
    title: 'an access key alone switches from a login, which is kept',
    start: plain,
    send: { credentials: userKey },
    authentication: 'IAM_USER',
    iamRole: role,
    credentials: { ...login, ...userKey },
  },
  {
    title: 'an access key alone switches from a role',
    start: byRole,
    send: { credentials: userKey },
    authentication: 'IAM_USER',
    iamRole: role,
    credentials: userKey,
  },
  {
    title: 'a new secret keeps the id of the access key',
    start: byUser,
    send: { credentials: { secretKey: newUserKey.secretKey } },
    authentication: 'IAM_USER',
    credentials: { ...userKey, secretKey: newUserKey.secretKey },
  },
  {
    title: 'a client certificate alone switches from a login',
    start: scram,
    send: { credentials: newCertificate },
    authentication: 'MUTUAL_TLS',
    credentials: { ...login, ...newCertificate },
  },
  {
    title: 'another client certificate switches nothing',
    start: byCertificate,
    send: { credentials: newCertificate },
    authentication: 'MUTUAL_TLS',
    credentials: newCertificate,
  },
  {
    title: 'login and access key together switch nothing, and both are kept',
    start: byRole,
    send: { credentials: { ...newLogin, ...newUserKey } },
    ...byRole,
    credentials: { ...newLogin, ...newUserKey },
  },
  {
    title: 'access key and client certificate together switch nothing, and both are kept',
    start: scram,
    send: { credentials: { ...newUserKey, ...newCertificate } },
    authentication: 'SCRAM-SHA-512',
    credentials: { ...login, ...newUserKey, ...newCertificate },
  },
  {
    title: 'access key and role together switch nothing, and both are kept',
    start: plain,
    send: { iamRole: otherRole, credentials: newUserKey },
    authentication: 'PLAIN',
    iamRole: otherRole,
    credentials: { ...login, ...newUserKey },
  },
  {
    title: 'authentication decides for the access key that comes with it',
    start: plain,
    send: { authentication: 'IAM_USER', credentials: { ...newUserKey, ...newLogin } },
    authentication: 'IAM_USER',
    iamRole: role,
    credentials: { ...newUserKey, ...newLogin },
  },
]

const missing: [title: string, start: Start, send: Record<string, unknown>, field: string][] = [
  ['a role', scram, { authentication: 'IAM_ROLE' }, 'iamRole'],
  ['the role in use', byRole, { iamRole: null }, 'iamRole'],
  ['an access key', plain, { authentication: 'IAM_USER' }, 'credentials'],
  ['a client certificate', plain, { authentication: 'MUTUAL_TLS' }, 'credentials'],
  ['a login', byRole, { authentication: 'SCRAM-SHA-256' }, 'credentials'],
  ['the login in use', plain, { credentials: null }, 'credentials'],
  ['the access key in use', byUser, { credentials: null }, 'credentials'],
  ['the secret of an access key', plain, { credentials: { accessKeyId: 'hush-key-id' } }, 'credentials'],
  [
    'the key of a client certificate',
    plain,
    { credentials: { certificate: pem('CERTIFICATE', 'hush') } },
    'credentials',
  ],
  ['a user name', byRole, { credentials: { password: 'hush-password' } }, 'credentials'],
  ['a password', byRole, { credentials: { username: 'hush-user' } }, 'credentials'],
  ['a user name beside an access key', byUser, { credentials: { password: 'hush-password' } }, 'credentials'],
  ['a login on a certificate', byCertificate, { authentication: 'PLAIN' }, 'credentials'],
]

onBothDatabases('updatePipe of a Kafka source', (app) => {
  const { answers, path, load, patch } = pipeTools(app, 'kafka')

  async function addPipe({ credentials, ...start }: Start = plain): Promise<string> {
    const sample = await load(app().sample.pipeIds.kafka)
    const { iamRole: _, ...source } = sample.source as { iamRole?: string }
    const pipe = { ...sample, id: newId(), source: { ...source, ...start } }
    const sealedSecrets = sealSecrets(app().app.vault, pipe, credentials ? { credentials } : {})
    await insertPipe(app().sql, { ...pipe, sealedSecrets })
    return pipe.id
  }

  describe('200', () => {
    for (const { title, start, send, credentials, ...shown } of switches) {
      it(title, async () => {
        const pipeId = await addPipe(start)
        const answer = await patch(pipeId, send)
        assert.equal(answer.status, 200, answer.text)
        const { authentication, iamRole } = answer.body.result.source.kafka
        assert.deepEqual({ authentication, iamRole }, { iamRole: undefined, ...shown })
        const stored = await load(pipeId)
        assert.equal((stored.source as Start).authentication, authentication)
        assert.deepEqual(openSecrets(app().app.vault, stored), credentials ? { credentials } : {})
        assert.equal(stored.sealedSecrets === null, credentials === undefined)
      })
    }

    it('keeps the secrets when something else changes', async () => {
      const pipeId = await addPipe()
      assert.equal((await patch(pipeId, { caCertificate: null }, { name: 'renamed' })).status, 200)
      assert.deepEqual(openSecrets(app().app.vault, await load(pipeId)), { credentials: login })
    })
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
          [`#/source/kafka/${field}`],
        )
        assert.match(answer.body.detail, /because authentication is /)
        assert.deepEqual(await load(pipeId), before)
      })
    }

    it('invalid credentials are named and not quoted', async () => {
      const pipeId = await addPipe()
      const before = await load(pipeId)
      for (const [send, inside] of [
        ['hush-password', ''],
        [['hush-password'], ''],
        [5, ''],
        [{ password: '' }, '/password'],
        [{ password: null }, '/password'],
        [{ password: ['hush-password'] }, '/password'],
        [{ password: 'hush'.repeat(2000) }, '/password'],
        [{ username: 1234567 }, '/username'],
        [{ username: null }, '/username'],
        [{ username: 'hush'.repeat(2000) }, '/username'],
        [{ secretKey: 'hush'.repeat(2000) }, '/secretKey'],
        [{ accessKeyId: null }, '/accessKeyId'],
        [{ certificate: 'hush-certificate' }, '/certificate'],
        [{ certificate: pem('PRIVATE KEY', 'hush') }, '/certificate'],
        [{ certificate: null }, '/certificate'],
        [{ privateKey: 'hush-private-key' }, '/privateKey'],
        [{ privateKey: pem('CERTIFICATE', 'hush') }, '/privateKey'],
        [{ privateKey: pem('ENCRYPTED PRIVATE KEY', 'hush') }, '/privateKey'],
        [{ connectionString: '' }, '/connectionString'],
        [{ connectionString: 'hush'.repeat(2000) }, '/connectionString'],
        [{ apiKey: 'hush-key-id' }, '/apiKey'],
      ] as const) {
        const answer = await patch(pipeId, { credentials: send })
        assert.equal(answer.status, 400, answer.text)
        assert.deepEqual(
          answer.body.errors.map((error: { pointer: string }) => error.pointer),
          [`#/source/kafka/credentials${inside}`],
        )
        assert.doesNotMatch(answer.text, /1234567/)
      }
      assert.equal((await patch(pipeId, 'hush-password')).status, 400)
      assert.equal((await patch(pipeId, { password: 'hush-password' })).status, 400)
      assert.deepEqual(await load(pipeId), before)
    })

    it('a body that breaks off inside a secret is not quoted', async () => {
      const text = '{"source": {"kafka": {"credentials": {"password": "hush-password'
      for (const broken of [text, `${text}"`, `${text}\\x"}}}}`, `${text}" hush`]) {
        const answer = await app().request('PATCH', path(await addPipe()), { text: broken })
        assert.equal(answer.status, 400)
        answers.push(answer.text)
      }
    })
  })

  describe('secrets', () => {
    it('are in no answer, and in no line of the log', async () => {
      assert.ok(answers.some((text) => text.includes('"status":200')) && answers.length > 40)
      assert.doesNotMatch(answers.join('\n'), /hush/)
      assert.ok(app().logged.length > 40)
      assert.doesNotMatch(app().logged.join('\n'), /hush/)
    })

    it('are in no activity, but that they changed is', async () => {
      const pipeId = await addPipe(byRole)
      await patch(pipeId, { credentials: newLogin })
      const rows = await app().query<{ target: string; changes: string }>('SELECT * FROM activities')
      assert.doesNotMatch(JSON.stringify(rows), /hush/)
      const [activity] = rows.filter(({ target }) => target.includes(pipeId))
      assert.deepEqual(JSON.parse(activity!.changes), [
        { field: 'source.kafka.authentication', from: 'IAM_ROLE', to: 'PLAIN' },
        { field: 'source.kafka.credentials', to: 'changed' },
      ])
    })

    it('are sealed at rest', async () => {
      const rows = await app().query<{ secrets: string | null }>('SELECT * FROM pipes')
      assert.ok(rows.some(({ secrets }) => secrets !== null))
      assert.doesNotMatch(JSON.stringify(rows), /hush/)
      const { dialect, config } = app()
      const files = readdirSync(config.dataFolder).map((file) => readFileSync(join(config.dataFolder, file)))
      const bytes = Buffer.concat(files)
      assert.equal(bytes.includes('Orders from Kafka'), dialect === 'sqlite')
      assert.ok(!bytes.includes('hush'))
    })

    it('sealed for one pipe do not open in another', async () => {
      const [one, two] = [await load(await addPipe()), await load(await addPipe())]
      assert.throws(() => openSecrets(app().app.vault, { ...one, sealedSecrets: two.sealedSecrets }))
    })
  })
})
