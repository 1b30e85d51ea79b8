// S9: a sealed secret opens only unchanged, in its context and with its key.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type App, openApp } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import { Log } from '../../src/lib/log.ts'
import { type MasterKeys, newMasterKeys, type SealContext, Vault, VaultError } from '../../src/lib/vault.ts'
import { findPipe, openSecrets } from '../../src/pipes/store.ts'
import type { SourceKindName } from '../../src/source-shapes/source-kind.ts'
import {
  basic,
  onBothDatabases,
  openTestApp,
  type RequestOptions,
  type TestApp,
  type TestResponse,
} from '../harness/test-app.ts'

describe('S9 the vault', () => {
  const keys = newMasterKeys()
  const vault = new Vault(keys)
  const context: SealContext = { organizationId: 'o1', table: 'pipes', row: 'p1', field: 'secrets' }
  const secret = 'a secret of some length, with ünïcode'
  const sealed = vault.seal(secret, context)
  const bytesOf = (text: string) => Buffer.from(text.slice(text.indexOf('.') + 1), 'base64url')
  const sealedAs = (bytes: Buffer, keyId = keys.current) => `${keyId}.${bytes.toString('base64url')}`
  const refused = (text: string, where: SealContext = context, by = vault) =>
    assert.throws(() => by.open(text, where), VaultError, text)

  it('S9 opens what it sealed, in the same context', () => {
    assert.equal(vault.open(sealed, context), secret)
    assert.equal(vault.open(vault.seal('', context), context), '')
    assert.ok(!sealed.includes('secret'))
  })

  it('S9 never produces the same sealed text twice', () => {
    const nonces = new Set(
      Array.from({ length: 1000 }, () => bytesOf(vault.seal(secret, context)).toString('hex', 0, 12)),
    )
    assert.equal(nonces.size, 1000)
  })

  it('S9 refuses every flipped bit', () => {
    const bytes = bytesOf(sealed)
    for (let index = 0; index < bytes.length; index++) {
      for (let bit = 1; bit < 256; bit <<= 1) {
        const flipped = Buffer.from(bytes)
        flipped[index]! ^= bit
        refused(sealedAs(flipped))
      }
    }
  })

  it('S9 refuses every changed character, also those that decode to the same bytes', () => {
    for (let index = 0; index < sealed.length; index++) {
      for (const character of ['A', 'z', '9', '-', '=', '+', ' ', '.']) {
        if (sealed[index] === character) continue
        refused(sealed.slice(0, index) + character + sealed.slice(index + 1))
        refused(sealed.slice(0, index) + character + sealed.slice(index))
      }
    }
  })

  it('S9 refuses shorter and longer texts, including short tags', () => {
    const bytes = bytesOf(sealed)
    for (let length = 0; length < bytes.length; length++) {
      refused(sealedAs(bytes.subarray(0, length)))
      refused(sealedAs(bytes.subarray(bytes.length - length)))
    }
    // GCM would accept a tag of 4 bytes.
    for (let tag = 0; tag < 16; tag++) {
      refused(
        sealedAs(
          Buffer.concat([bytes.subarray(0, bytes.length - 16), bytes.subarray(bytes.length - 16).subarray(0, tag)]),
        ),
      )
    }
    refused(sealedAs(Buffer.concat([bytes, Buffer.alloc(1)])))
    for (const text of ['', '.', 'k1', 'k1.', '.AAAA', secret]) refused(text)
  })

  it('S9 refuses another organization, table, row and field', () => {
    for (const name of ['organizationId', 'table', 'row', 'field'] as const)
      refused(sealed, { ...context, [name]: 'x' })
    // No choice of ids may make two contexts equal.
    refused(vault.seal(secret, { ...context, organizationId: 'a', table: 'b' }), {
      ...context,
      organizationId: 'a"',
      table: ',"b',
    })
    refused(vault.seal(secret, { ...context, row: 'ab', field: 'c' }), { ...context, row: 'a', field: 'bc' })
  })

  it('S9 refuses a key that is not in the list, and a key of another name', () => {
    refused(sealed, context, new Vault(newMasterKeys()))
    refused(sealed.replace('k1.', 'k2.'))
    const twins = new Vault({ ...keys, keys: { ...keys.keys, k2: keys.keys.k1! } })
    assert.equal(twins.open(sealed, context), secret)
    refused(sealed.replace('k1.', 'k2.'), context, twins)
  })

  it('S9 opens with the old key and seals with the new key', () => {
    const rotated: MasterKeys = {
      ...keys,
      current: 'k2',
      keys: { ...keys.keys, k2: randomBytes(32).toString('base64') },
    }
    const both = new Vault(rotated)
    assert.equal(both.open(sealed, context), secret)
    const resealed = both.seal(secret, context)
    assert.match(resealed, /^k2\./)
    refused(resealed)
    const { k1: _, ...onlyNew } = rotated.keys
    const without = new Vault({ ...rotated, keys: onlyNew })
    assert.equal(without.open(resealed, context), secret)
    refused(sealed, context, without)
    assert.equal(both.fingerprint('test', 'x'), vault.fingerprint('test', 'x'), 'a new key must not revoke API keys')
  })

  it('S9 refuses weak keys', () => {
    for (const bad of ['', 'AAAA', randomBytes(31).toString('base64'), randomBytes(33).toString('base64')]) {
      assert.throws(() => new Vault({ ...keys, keys: { k1: bad } }), VaultError)
      assert.throws(() => new Vault({ ...keys, pepper: bad }), VaultError)
    }
    assert.throws(() => new Vault({ ...keys, current: 'k2' }), VaultError)
  })
})

onBothDatabases('S9 stored secrets', (app) => {
  const path = (kind: SourceKindName) => {
    const { organizationId, serviceId, pipeIds } = app().sample
    return `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeIds[kind]}`
  }
  const send = (method: string, url: string, options: RequestOptions = {}): Promise<TestResponse> =>
    app().request(method, url, options)

  it('S9 refuses the secrets of another pipe: reads work, changes get 500 without details', async () => {
    const { pipeIds } = app().sample
    const [kafka] = await app().query<{ secrets: string }>(`SELECT secrets FROM pipes WHERE id = '${pipeIds.kafka}'`)
    const [postgres] = await app().query<{ secrets: string }>(
      `SELECT secrets FROM pipes WHERE id = '${pipeIds.postgres}'`,
    )
    const store = async (forKafka: string, forPostgres: string) => {
      await app().query(`UPDATE pipes SET secrets = '${forKafka}' WHERE id = '${pipeIds.kafka}'`)
      await app().query(`UPDATE pipes SET secrets = '${forPostgres}' WHERE id = '${pipeIds.postgres}'`)
    }
    const damaged = kafka!.secrets.slice(0, -1) + (kafka!.secrets.endsWith('A') ? 'Q' : 'A')
    for (const [forKafka, forPostgres] of [
      [postgres!.secrets, kafka!.secrets],
      [damaged, kafka!.secrets.slice(0, 40)],
      [kafka!.secrets.replace('k1.', 'k9.'), 'k1.'],
    ] as const) {
      await store(forKafka, forPostgres)
      for (const kind of ['kafka', 'postgres'] as const) {
        const before = await send('GET', path(kind))
        assert.equal(before.status, 200)
        const body = { name: 'changed', source: { [kind]: { credentials: { password: 'never-told' } } } }
        const logged = app().logged.length
        const { status, body: answer, headers } = await send('PATCH', path(kind), { body })
        assert.equal(status, 500)
        assert.deepEqual(answer, {
          error: `INTERNAL: internal error; the log has the details under request ${headers['x-request-id']}`,
          status: 500,
        })
        assert.ok(
          app()
            .logged.slice(logged)
            .some((line) => line.includes(String(headers['x-request-id']))),
        )
        assert.ok(!app().logged.slice(logged).join().includes('never-told'))
        assert.deepEqual((await send('GET', path(kind))).body.result, before.body.result)
      }
    }
    await store(kafka!.secrets, postgres!.secrets)
    assert.equal((await send('PATCH', path('kafka'), { body: { name: 'changed' } })).status, 200)
  })
})

describe('S9 a new master key', () => {
  const log = new Log('silent')
  const open = (config: Config) => openApp(config, { log, mayCreateKeys: true, onFatal: () => undefined })
  const rotate = (file: string, to: string): void => {
    const keys = JSON.parse(readFileSync(file, 'utf8')) as MasterKeys
    const rotated: MasterKeys = {
      ...keys,
      current: 'k2',
      keys: { ...keys.keys, k2: randomBytes(32).toString('base64') },
    }
    writeFileSync(to, JSON.stringify(rotated), { mode: 0o600 })
  }
  const forget = (file: string, keyId: string): void => {
    const keys = JSON.parse(readFileSync(file, 'utf8')) as MasterKeys
    delete keys.keys[keyId]
    writeFileSync(file, JSON.stringify(keys), { mode: 0o600 })
  }

  it('S9 on SQLite: opens with the old key, seals with the new one, and does not start without the old one', async () => {
    const dataFolder = mkdtempSync(join(tmpdir(), 'penstock-test-'))
    const config: Config = {
      host: '127.0.0.1',
      port: 0,
      dataFolder,
      masterKeyFile: join(dataFolder, 'master-keys.json'),
      databaseUrl: undefined,
      logLevel: 'info',
      rateLimit: undefined,
      trustedProxies: [],
      tlsInFront: false,
      hasPublicUrl: true,
      allowLoopback: false,
      allowPlaintext: false,
      caCertificates: undefined,
      awsEndpoints: {},
      role: 'api',
      serviceChecks: false,
      oidc: undefined,
      tryEngine: undefined,
      cacheFolder: '/nowhere',
      operations: { publicUrl: 'https://penstock.example.com', privateEndpointServices: {} },
    }
    let app: App | undefined
    try {
      app = await open(config)
      const sample = (await app.database.write('createSample', {}, 'initialize'))!
      await app.close()
      app = undefined
      rotate(config.masterKeyFile, config.masterKeyFile)
      app = await open(config)
      const { organizationId, serviceId, pipeIds } = sample
      const key = { organizationId, serviceId, pipeId: pipeIds.kafka }
      assert.match((await findPipe(app.database.reader, key))!.sealedSecrets!, /^k1\./)
      const response = await app.server.inject({
        method: 'PATCH',
        url: `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeIds.kafka}`,
        headers: { authorization: basic({ keyId: sample.keyId, secret: sample.keySecret }) },
        payload: { source: { kafka: { credentials: { password: 'new' } } } },
      })
      assert.equal(response.statusCode, 200, response.payload)
      const pipe = (await findPipe(app.database.reader, key))!
      assert.match(pipe.sealedSecrets!, /^k2\./)
      assert.deepEqual(openSecrets(app.vault, pipe), { credentials: { username: 'penstock', password: 'new' } })
      await app.close()
      app = undefined
      forget(config.masterKeyFile, 'k1')
      await assert.rejects(open(config), /does not belong to this database/)
      rmSync(config.masterKeyFile)
      await assert.rejects(open(config), /is missing, and the database has secrets sealed with it/)
    } finally {
      await app?.close()
      rmSync(dataFolder, { recursive: true, force: true })
    }
  })

  describe('beside a Penstock without it, on PostgreSQL', () => {
    let first: TestApp
    let second: App
    before(async () => {
      first = await openTestApp('postgres')
      const masterKeyFile = join(first.config.dataFolder, 'rotated.json')
      rotate(first.config.masterKeyFile, masterKeyFile)
      second = await open({ ...first.config, masterKeyFile })
    })
    after(async () => {
      await second?.close()
      await first?.close()
    })

    it('S9 a Penstock without the new key refuses to change secrets sealed with it', async () => {
      const { organizationId, serviceId, pipeIds } = first.sample
      const url = `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeIds.postgres}`
      const body = { source: { postgres: { credentials: { password: 'new' } } } }
      const changed = await second.server.inject({
        method: 'PATCH',
        url,
        headers: { authorization: basic(first.admin) },
        payload: body,
      })
      assert.equal(changed.statusCode, 200, changed.payload)
      const refused = await first.request('PATCH', url, { body: { name: 'x', source: { postgres: { port: 1 } } } })
      assert.equal(refused.status, 500)
      assert.equal(
        (await first.request('GET', url)).body.result.name,
        'Customers from PostgreSQL (add a server to start)',
      )
    })
  })
})
