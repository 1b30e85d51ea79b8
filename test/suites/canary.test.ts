// S4: sends a canary in every secret field of every operation, in requests that succeed and in requests that fail in every way.
// Afterwards no answer, log line, activity, metric, table or database file contains one. The secret fields come from the shapes,
// so a new one is covered, or the test fails.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { hashPassword } from '../../src/lib/password.ts'
import { operations } from '../../src/operations.ts'
import {
  actionBodies,
  actionSlots,
  assertFoundInEveryEncoding,
  Canaries,
  databaseFiles,
  dumpTables,
  locationsOf,
  merged,
  nested,
  pagesOf,
  readList,
  slots,
} from '../harness/canary.ts'
import {
  type Carrier,
  carriers,
  failingRequests,
  kindOf,
  publicFields,
  storedSecrets,
  textFor,
} from '../harness/canary-carriers.ts'
import { type Json, kinds, withField } from '../harness/pipes.ts'
import { type Key, openTestApp, type RequestOptions, type TestApp, type TestResponse } from '../harness/test-app.ts'
import { freshAddress, type Ids, makeIds, pathOf } from '../harness/world.ts'

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`S4 canaries on ${dialect}`, () => {
    /** Must not be found anywhere. */
    const secrets = new Canaries()
    /** Sent in fields that are not secret: only the answer to the same request may quote it. */
    const quotable = new Canaries()
    /** May be shown, and must be found: otherwise the search would prove nothing. */
    const seen = new Canaries()
    const shownToAll = seen.value('names')
    /** Secrets created by Penstock, each shown in one answer. */
    const generated: string[] = []
    /** Secrets that no answer shows. */
    const usedUp: string[] = []

    let app: TestApp
    let isOpen = false
    let folder: string
    let ids: Ids
    let stranger: Key
    const answers: string[] = []
    /** Answers that may quote their request, or show a secret once. */
    const ownAnswers: string[] = []
    const exercised = new Set<string>()

    before(async () => {
      // A separate folder that outlives the test app, because its files are searched after the end too.
      folder = mkdtempSync(join(tmpdir(), 'penstock-test-'))
      app = await openTestApp(dialect, { dataFolder: folder })
      isOpen = true
      const { organizationId, serviceId, userId } = app.sample
      const given = { organizationId, serviceId, userId }
      ids = await makeIds(app, app.admin, given)
      stranger = (await app.addOrganization()).admin
    })
    after(async () => {
      if (isOpen) await app.close()
      rmSync(folder, { recursive: true, force: true })
    })

    async function send(
      method: string,
      path: string,
      options: RequestOptions = {},
      keptIn = answers,
    ): Promise<TestResponse> {
      const response = await app.request(method, path, { address: freshAddress(), ...options })
      keptIn.push(JSON.stringify(response.headers), response.text)
      return response
    }

    const pathFor = ({ operation, kind }: Carrier, changes: Ids = {}): string =>
      pathOf(operation, { ...ids, ...(kind ? { pipeId: app.sample.pipeIds[kind] } : {}), ...changes })

    const filled = (carrier: Carrier, where: string): Json => {
      const isPatched = carrier.slots[0]?.path[0] === 'patch'
      const base = isPatched ? { pipeId: app.sample.pipeIds[carrier.kind!] } : carrier.base
      return carrier.slots.reduce((body, slot) => merged(body, nested(slot.path, textFor(secrets, slot, where))), base)
    }

    it('S4 accepts and stores a canary in every secret field', async () => {
      for (const carrier of carriers) {
        // Two rounds: the first secrets are replaced, and must be gone from the files too.
        for (const round of ['first', 'second']) {
          const before = secrets.planted.size
          for (const { name } of carrier.slots) exercised.add(name)
          if (carrier.connects) {
            const failed = await send('POST', pathFor(carrier), { body: filled(carrier, round) })
            assert.equal(failed.status, 400)
            assert.match(failed.text, /the step \S+ failed: /)
            continue
          }
          const body = { ...filled(carrier, round), name: `${shownToAll} ${round}`.slice(0, 50) }
          // The repeated request is answered from the idempotency record, which must not contain a secret either.
          const headers = { 'idempotency-key': `${carrier.slots[0]!.name} ${round}` }
          const { method } = carrier.operation
          const first = await send(method, pathFor(carrier), { body, headers })
          assert.equal(first.status, 200, `${carrier.operation.id}: ${first.text}`)
          const again = await send(method, pathFor(carrier), { body, headers })
          assert.deepEqual(again.body.result, first.body.result)
          const stored = await storedSecrets(app, carrier, first.body.result)
          for (const [token, where] of [...secrets.planted].slice(before)) assert.ok(stored.includes(token), where)
        }
      }
    })

    it('S4 has covered every secret field', () => {
      assert.deepEqual([...exercised].sort(), slots.map(({ name }) => name).sort())
      for (const known of [
        'createService endpoint.password',
        'updateService endpoint.password',
        'createPipe source.kafka.credentials.privateKey',
        'createPipe source.kafka.schemaRegistry.credentials.password',
        'createPipe source.postgres.credentials.password',
        'updatePipe source.kinesis.accessKey.secretKey',
        'updatePipe source.objectStorage.connectionString',
      ]) {
        assert.ok(exercised.has(known), known)
      }
    })

    it('S4 sends canaries in requests that fail in every way', async () => {
      for (const carrier of carriers) {
        const { operation } = carrier
        const url = pathFor(carrier)
        for (const slot of carrier.slots) {
          const whole = (where: string): Json => filled({ ...carrier, slots: [slot] }, where)
          const context = { secrets, developer: app.developer, stranger, filled }
          const failing = failingRequests(carrier, slot, context)
          for (const [where, status, make] of failing) {
            for (const accept of ['application/json', 'application/problem+json']) {
              const { headers, ...options } = make(where)
              const response = await send(operation.method, url, { ...options, headers: { accept, ...headers } })
              assert.equal(response.status, status, `${slot.name} ${where}: ${response.text.slice(0, 1000)}`)
            }
          }
          // An unknown field is quoted, so that typing errors can be found.
          const unknownField = [...slot.path.slice(0, -1), quotable.token(`${slot.name}, as a field beside it`)]
          const unknown = { body: withField(filled(carrier, 'beside'), unknownField.join('.'), 'x') }
          assert.equal((await send(operation.method, url, unknown, ownAnswers)).status, 400)
          const query = `?password=${encodeURIComponent(secrets.value(`${slot.name}, in the query`))}`
          assert.equal(
            (await send(operation.method, `${url}${query}`, { body: whole('beside the query') })).status,
            400,
          )
        }
      }
    })

    it('S4 sends secrets of another kind of pipe', async () => {
      for (const slot of slots.filter(({ operation }) => operation.id === 'updatePipe')) {
        const other = kinds.find((kind) => kind !== kindOf(slot))!
        const url = pathOf(slot.operation, { ...ids, pipeId: app.sample.pipeIds[other] })
        const body = nested(slot.path, textFor(secrets, slot, 'to another kind'))
        assert.equal((await send('PATCH', url, { body })).status, 400)
      }
    })

    it('S4 refuses passwords in public fields', async () => {
      for (const [operationId, kind, path, pattern] of publicFields) {
        const carrier = carriers.find((each) => each.operation.id === operationId && each.kind === kind)!
        const url = pathFor(carrier)
        for (const accept of ['application/json', 'application/problem+json']) {
          const text = pattern.replace('CANARY', secrets.token(`${operationId} ${path}`))
          const body = withField(carrier.base, path, text)
          const response = await send(carrier.operation.method, url, { body, headers: { accept } })
          assert.equal(response.status, 400, `${operationId} ${path}: ${response.text}`)
        }
      }
    })

    it('S4 sends canaries in console actions that succeed and fail', async () => {
      const { adminUserId } = app.sample
      const [admin] = await app.query<{ email: string }>(`SELECT email FROM users WHERE id = '${adminUserId}'`)
      const password = secrets.token('a password')
      await app.query(`UPDATE users SET password_hash = '${await hashPassword(password)}' WHERE id = '${adminUserId}'`)
      const headers = { origin: 'https://penstock.example.com' }
      const signIn = { email: admin!.email, password }
      const signedIn = await send('POST', '/console/api/session', { key: null, headers, body: signIn }, ownAnswers)
      assert.equal(signedIn.status, 200)
      generated.push(/=(ses_\w{43});/.exec(String(signedIn.headers['set-cookie']))![1]!)
      const session = await app.addSession(adminUserId)
      const next = secrets.token('the next password')
      const change = { currentPassword: password, newPassword: next }
      assert.equal((await send('POST', '/console/api/account/password', { session, body: change })).status, 200)
      const link = (await app.app.database.write('createSignInLink', { email: admin!.email, minutes: 1 }, 'link'))!
      const byLink = await send(
        'POST',
        '/console/api/session/link',
        { key: null, headers, body: { token: link } },
        ownAnswers,
      )
      assert.equal(byLink.status, 200)
      generated.push(/=(ses_\w{43});/.exec(String(byLink.headers['set-cookie']))![1]!)
      usedUp.push(link, session.token)

      assert.ok(actionSlots.length >= 6)
      for (const { action, field, name } of actionSlots) {
        const others = Object.keys(action.body!.properties).filter((each) => each !== field)
        const base = Object.fromEntries(others.map((each) => [each, each === 'email' ? admin!.email : 'x'.repeat(16)]))
        const bodies = (where: string): unknown[] =>
          actionBodies(base, field, (how) => secrets.token(`${name}, ${where}${how}`))
        for (const body of bodies('with a session')) {
          const own = await app.addSession(adminUserId)
          assert.ok((await send(action.method, action.path, { session: own, body })).status >= 400, name)
        }
        for (const body of bodies('without')) {
          assert.ok((await send(action.method, action.path, { key: null, headers, body })).status >= 400, name)
        }
        const text = `{"${field}": "${secrets.token(`${name}, broken`)}`
        assert.equal(
          (await send(action.method, action.path, { session: await app.addSession(adminUserId), text })).status,
          400,
        )
      }
    })

    it('S4 sends canaries in ids, paths and headers', async () => {
      for (const carrier of carriers) {
        const { operation, base: body } = carrier
        for (const name of Object.keys(operation.params.properties)) {
          const url = pathFor(carrier, { [name]: quotable.token(`${operation.id} ${name}`) })
          const response = await send(operation.method, url, { body }, ownAnswers)
          assert.equal(response.status, 400, response.text)
        }
        for (const header of ['if-match', 'content-type', 'content-encoding']) {
          const headers = { [header]: quotable.token(`${operation.id} ${header}`) }
          const { status } = await send(operation.method, pathFor(carrier), { body, headers }, ownAnswers)
          assert.ok([400, 415].includes(status), `${header}: ${status}`)
        }
      }
      const nowhere = `/v1/${quotable.token('a path')}`
      assert.equal((await send('GET', nowhere, {}, ownAnswers)).status, 404)
    })

    it('S4 queries the rejected rows of an engine with the password of the service', async () => {
      const pipeId = app.sample.pipeIds.kafka
      await app.query(`INSERT INTO pipe_figures (pipe_id, rows_refused) VALUES ('${pipeId}', 1)`)
      const read = (id: string) => operations.find((operation) => operation.id === id)!
      const failed = await send('GET', pathOf(read('listPipeErrors'), { ...ids, pipeId }))
      assert.equal(failed.status, 503, failed.text)
      assert.equal((await send('GET', pathOf(read('getPipeMetrics'), { ...ids, pipeId }))).status, 200)
    })

    it('S4 reveals no secret when the store is damaged', async () => {
      const { pipeIds } = app.sample
      const [stored] = await app.query<{ secrets: string }>(`SELECT secrets FROM pipes WHERE id = '${pipeIds.kafka}'`)
      const store = (text: string) => app.query(`UPDATE pipes SET secrets = '${text}' WHERE id = '${pipeIds.kafka}'`)
      await store(stored!.secrets.slice(0, -8))
      for (const carrier of carriers.filter(
        ({ operation, kind }) => operation.id === 'updatePipe' && kind === 'kafka',
      )) {
        assert.equal((await send('PATCH', pathFor(carrier), { body: filled(carrier, 'damaged') })).status, 500)
      }
      await store(stored!.secrets)
    })

    it('S4 shows a created secret once', async () => {
      const ask = async (method: string, path: string, body: unknown, headers: Record<string, string> = {}) => {
        const response = await send(
          method,
          `/v1/organizations/${ids.organizationId}${path}`,
          { body, headers },
          ownAnswers,
        )
        assert.equal(response.status, 200, response.text)
        return response.body.result
      }
      const name = shownToAll
      const headers = { 'idempotency-key': 'a new key' }
      const made = await ask('POST', '/keys', { name, roles: ['admin'] }, headers)
      const again = await ask('POST', '/keys', { name, roles: ['admin'] }, headers)
      assert.equal(again.keySecret, made.keySecret)
      generated.push(made.keySecret)
      for (const graceSeconds of [0, 3600, 3600]) {
        generated.push((await ask('POST', `/keys/${made.key.id}/rotate`, { graceSeconds })).keySecret)
      }
      for (const email of ['noor@northwind.example', 'sam@northwind.example']) {
        const { link } = await ask('POST', '/invitations', { email, role: 'developer' })
        generated.push(/#(inv_\w{43})$/.exec(link)![1]!)
      }
      // Used, used with a wrong secret, and revoked.
      for (const secret of generated.filter((text) => !text.startsWith('ses_'))) {
        await send('GET', '/v1/organizations', { key: { keyId: made.keyId, secret } })
        await send('PATCH', `/v1/organizations/${ids.organizationId}`, {
          body: { name: 17 },
          key: { keyId: made.keyId, secret },
        })
      }
      await send('PATCH', `/v1/organizations/${ids.organizationId}/keys/${made.key.id}`, {
        body: { state: 'disabled' },
      })
      await send('GET', '/v1/organizations', { key: { keyId: made.keyId, secret: generated.at(-3)! } })
      assert.equal(new Set(generated).size, 8)
    })

    it('S4 finds public values in every encoding', () => {
      assertFoundInEveryEncoding(seen, shownToAll)
      assert.deepEqual(seen.findIn(new Map([['hay', Buffer.from(`${secrets.marker} ${quotable.marker}`)]])), [])
    })

    /** Finds generated secrets and the keys of the test; only the one answer may contain them. */
    function generatedIn(haystacks: Map<string, Buffer>): string[] {
      const texts = [
        ...generated,
        ...usedUp,
        app.admin.secret,
        app.developer.secret,
        stranger.secret,
        'sample-password',
        'c2FtcGxlLWFjY291bnQta2V5',
      ]
      return texts.flatMap((text) => locationsOf(text, haystacks).map((place) => `${text.slice(0, 8)}…: in ${place}`))
    }

    it('S4 finds no secret anywhere', async () => {
      const { organizationId } = ids
      const readPipe = operations.find(({ id }) => id === 'getPipe')!
      for (const kind of kinds) await send('GET', pathOf(readPipe, { ...ids, pipeId: app.sample.pipeIds[kind] }))
      const activities = await readList(`/v1/organizations/${organizationId}/activities`, (path) => send('GET', path))
      const prometheus = [
        (await send('GET', `/v1/organizations/${organizationId}/prometheus`)).text,
        (await send('GET', `/v1/organizations/${organizationId}/services/${ids.serviceId}/prometheus`)).text,
      ]
      for (const page of pagesOf(organizationId!)) await send('GET', page)

      const haystacks = new Map([...(await dumpTables(app)), ...databaseFiles(folder)])
      haystacks.set('answers', Buffer.from(answers.join('\n')))
      haystacks.set('log', Buffer.from(app.logged.join('\n')))
      haystacks.set('activities', Buffer.from(activities.join('\n')))
      haystacks.set('metrics', Buffer.from((await app.request('GET', '/metrics')).text))
      haystacks.set('prometheus', Buffer.from(prometheus.join('\n')))

      const found = locationsOf(seen.marker, haystacks)
      for (const place of [
        'table pipes',
        'table services',
        'table api_keys',
        'table activities',
        'answers',
        'activities',
        'prometheus',
      ]) {
        assert.ok(found.includes(place), place)
      }
      if (dialect === 'sqlite')
        assert.ok(
          found.some((place) => place.startsWith('file penstock.db')),
          'the files',
        )
      assert.ok(locationsOf(app.admin.keyId, haystacks).includes('log'), 'the log of requests')
      assert.match(haystacks.get('log')!.toString(), /a request failed/)
      assert.match(haystacks.get('metrics')!.toString(), /operation="updatePipe",status="500"/)

      assert.ok(secrets.planted.size > 1000 && quotable.planted.size > 10)
      assert.deepEqual(secrets.findIn(haystacks), [])
      assert.deepEqual(secrets.findIn(new Map([['answers that may quote', Buffer.from(ownAnswers.join('\n'))]])), [])
      assert.deepEqual(quotable.findIn(haystacks), [])
      assert.deepEqual(generatedIn(haystacks), [])
      const own = ownAnswers.join('\n')
      const firstKey = generated.findIndex((text) => text.startsWith('pst_'))
      for (const [index, secret] of generated.entries()) {
        // The first key was requested twice with one idempotency key.
        assert.equal(
          own.split(secret).length - 1,
          index === firstKey ? 2 : 1,
          'shown in the answer that made it, and in no other',
        )
      }
    })

    it('S4 finds no secret in the files after the end', async () => {
      isOpen = false
      await app.close()
      const haystacks = databaseFiles(folder)
      if (dialect === 'sqlite') assert.ok(locationsOf(seen.marker, haystacks).length > 0)
      haystacks.set('log', Buffer.from(app.logged.join('\n')))
      assert.deepEqual([...secrets.findIn(haystacks), ...quotable.findIn(haystacks), ...generatedIn(haystacks)], [])
    })
  })
}
