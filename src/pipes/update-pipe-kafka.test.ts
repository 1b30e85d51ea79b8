// Credentials and authentication of a Kafka source. Every secret in this file has the word "hush" in it.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pipeTools } from '../../test/harness/pipes.ts'
import { onBothDatabases } from '../../test/harness/test-app.ts'
import {
  byRole,
  login,
  missing,
  newLogin,
  pem,
  plain,
  type Start,
  switches,
} from '../../test/pipe-cases/update-kafka.ts'
import { newId } from '../lib/id.ts'
import { insertPipe, openSecrets, sealSecrets } from './store.ts'

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
