// S9: what is sealed opens in its place, unharmed, with its key, or not at all.
// S4 (small): a canary in every secret slot, through requests that succeed and requests that fail in every way, is found
// nowhere afterwards: not in an answer, a log line, an activity, a metric, a table or the database file.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { TSchema } from 'typebox'
import { type App, openApp } from '../src/app.ts'
import type { Config } from '../src/config.ts'
import { Log } from '../src/lib/log.ts'
import { isObject } from '../src/lib/merge-patch.ts'
import { type MasterKeys, newMasterKeys, type Place, Vault, VaultError } from '../src/lib/vault.ts'
import { PipePatch, type SourceKindName } from '../src/pipes/pipe.ts'
import { findPipe, openSecrets } from '../src/pipes/store.ts'
import { basic, onBothDatabases, openTestApp, type RequestOptions, type TestApp, type TestResponse } from './harness.ts'

describe('S9 the vault', () => {
  const keys = newMasterKeys()
  const vault = new Vault(keys)
  const place: Place = { organizationId: 'o1', table: 'pipes', row: 'p1', field: 'secrets' }
  const secret = 'a secret of some length, with ünïcode'
  const sealed = vault.seal(secret, place)
  const bytesOf = (text: string) => Buffer.from(text.slice(text.indexOf('.') + 1), 'base64url')
  const sealedAs = (bytes: Buffer, keyId = keys.current) => `${keyId}.${bytes.toString('base64url')}`
  const refused = (text: string, where: Place = place, by = vault) =>
    assert.throws(() => by.open(text, where), VaultError, text)

  it('S9 opens what it sealed, in its place', () => {
    assert.equal(vault.open(sealed, place), secret)
    assert.equal(vault.open(vault.seal('', place), place), '')
    assert.ok(!sealed.includes('secret'))
  })

  it('S9 never seals to the same text twice', () => {
    const nonces = new Set(
      Array.from({ length: 1000 }, () => bytesOf(vault.seal(secret, place)).toString('hex', 0, 12)),
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

  it('S9 refuses what is cut or longer, down to nothing: no tag may be short', () => {
    const bytes = bytesOf(sealed)
    for (let length = 0; length < bytes.length; length++) {
      refused(sealedAs(bytes.subarray(0, length)))
      refused(sealedAs(bytes.subarray(bytes.length - length)))
    }
    // GCM itself would take a tag of 4 bytes.
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
    for (const name of ['organizationId', 'table', 'row', 'field'] as const) refused(sealed, { ...place, [name]: 'x' })
    // No choice of ids may make two places look the same.
    refused(vault.seal(secret, { ...place, organizationId: 'a', table: 'b' }), {
      ...place,
      organizationId: 'a"',
      table: ',"b',
    })
    refused(vault.seal(secret, { ...place, row: 'ab', field: 'c' }), { ...place, row: 'a', field: 'bc' })
  })

  it('S9 refuses a key that is not in the list, and a key of another name', () => {
    refused(sealed, place, new Vault(newMasterKeys()))
    refused(sealed.replace('k1.', 'k2.'))
    const twins = new Vault({ ...keys, keys: { ...keys.keys, k2: keys.keys.k1! } })
    assert.equal(twins.open(sealed, place), secret)
    refused(sealed.replace('k1.', 'k2.'), place, twins)
  })

  it('S9 opens with the old key and seals with the new one', () => {
    const rotated: MasterKeys = {
      ...keys,
      current: 'k2',
      keys: { ...keys.keys, k2: randomBytes(32).toString('base64') },
    }
    const both = new Vault(rotated)
    assert.equal(both.open(sealed, place), secret)
    const anew = both.seal(secret, place)
    assert.match(anew, /^k2\./)
    refused(anew)
    const { k1: _, ...onlyNew } = rotated.keys
    const without = new Vault({ ...rotated, keys: onlyNew })
    assert.equal(without.open(anew, place), secret)
    refused(sealed, place, without)
    assert.equal(both.fingerprint('test', 'x'), vault.fingerprint('test', 'x'), 'a new key must not revoke API keys')
  })

  it('S9 takes no weak key', () => {
    for (const bad of ['', 'AAAA', randomBytes(31).toString('base64'), randomBytes(33).toString('base64')]) {
      assert.throws(() => new Vault({ ...keys, keys: { k1: bad } }), VaultError)
      assert.throws(() => new Vault({ ...keys, pepper: bad }), VaultError)
    }
    assert.throws(() => new Vault({ ...keys, current: 'k2' }), VaultError)
  })
})

/** A value to look for. The token is enough to find most forms of it; the rest makes the forms differ. */
interface Canary {
  slot: string
  token: string
  value: string
}

function newCanary(slot: string): Canary {
  const token = `c4n4ry${randomBytes(12).toString('hex')}`
  return { slot, token, value: `${token}"\\/é+% ~${token}` }
}

/** Everything that a text may look like after having been escaped or encoded on its way. */
function formsOf(text: string): Buffer[] {
  const escaped = JSON.stringify(text).slice(1, -1)
  const forms = [
    text,
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    escaped.replaceAll(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
    encodeURIComponent(text),
    encodeURIComponent(text).replaceAll('%20', '+'),
    Buffer.from(text).toString('hex'),
    Buffer.from(text).toString('hex').toUpperCase(),
  ]
  // Base64 looks different for each of the three places that the text may begin at; what depends on its neighbours is cut.
  for (let offset = 0; offset < 3; offset++) {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3))
    for (const encoding of ['base64', 'base64url'] as const)
      forms.push(whole.toString(encoding).slice(offset === 0 ? 0 : 4))
  }
  return [...new Set(forms)].map((form) => Buffer.from(form)).concat(Buffer.from(text, 'utf16le'))
}

/** The names of the places where the text is found in any form. */
function placesOf(text: string, haystacks: Map<string, Buffer>): string[] {
  const forms = formsOf(text)
  return [...haystacks].filter(([, hay]) => forms.some((form) => hay.includes(form))).map(([name]) => name)
}

/** The paths of all fields that the shape of a pipe's change marks as secret, below `source`. */
function secretSlots(shape: TSchema, path: string[] = []): string[][] {
  const rules = shape as { secret?: boolean; properties?: Record<string, TSchema>; anyOf?: TSchema[] }
  if (rules.secret) return [path]
  const inside = Object.entries(rules.properties ?? {}).flatMap(([name, property]) =>
    secretSlots(property, [...path, name]),
  )
  return [...inside, ...(rules.anyOf ?? []).flatMap((branch) => secretSlots(branch, path))]
}

function nested(path: string[], value: unknown): object {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object
}

function deepMerge(into: Record<string, unknown>, from: object): Record<string, unknown> {
  for (const [key, value] of Object.entries(from)) {
    into[key] = isObject(value) && isObject(into[key]) ? deepMerge(into[key], value) : value
  }
  return into
}

async function dumpTables(app: TestApp): Promise<Map<string, Buffer>> {
  const tables = await app.query<{ name: string }>(
    app.dialect === 'sqlite'
      ? "SELECT name FROM sqlite_master WHERE type = 'table'"
      : "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
  )
  const dump = new Map<string, Buffer>()
  for (const { name } of tables) {
    const rows = await app.query<Record<string, unknown>>(`SELECT * FROM ${name}`)
    dump.set(`table ${name}`, Buffer.from(rows.flatMap((row) => Object.values(row)).join('\n')))
  }
  return dump
}

onBothDatabases('S4 canaries', (app) => {
  const slots = secretSlots(PipePatch)
  const canaries: Canary[] = []
  const answers: string[] = []
  const planted = newCanary('the name of a pipe')
  const plant = (slot: string): string => {
    const canary = newCanary(slot)
    canaries.push(canary)
    return canary.value
  }
  const path = (kind: SourceKindName) => {
    const { organizationId, serviceId, pipeIds } = app().sample
    return `/v1/organizations/${organizationId}/services/${serviceId}/pipes/${pipeIds[kind]}`
  }
  const send = async (method: string, url: string, options: RequestOptions = {}): Promise<TestResponse> => {
    const response = await app().request(method, url, options)
    answers.push(JSON.stringify(response.headers), response.text)
    return response
  }
  const kindOf = (slot: string[]) => slot[1] as SourceKindName
  /** The value of a slot; of a connection string only some parts are secret. */
  const textFor = (slot: string[], where: string): string => {
    const name = `${slot.join('.')} ${where}`
    if (slot.at(-1) !== 'connectionString') return plant(name)
    return `AccountName=x;AccountKey=${plant(name)};SharedAccessSignature=sv=1&sig=${plant(name)}&se=2;Endpoint=https://x/?sig=${plant(name)}`
  }

  it('S4 knows the secret slots of all four kinds', () => {
    const found = slots.map((slot) => slot.join('.')).sort()
    for (const known of [
      'source.kafka.credentials.password',
      'source.kafka.credentials.username',
      'source.kinesis.accessKey.accessKeyId',
      'source.kinesis.accessKey.secretKey',
      'source.objectStorage.accessKey.accessKeyId',
      'source.objectStorage.accessKey.secretKey',
      'source.objectStorage.connectionString',
      'source.postgres.credentials.password',
      'source.postgres.credentials.username',
    ]) {
      assert.ok(found.includes(known), known)
    }
  })

  it('S4 takes a canary in every slot, and keeps it', async () => {
    for (const kind of ['kafka', 'kinesis', 'objectStorage', 'postgres'] as const) {
      // Twice: the first canaries are replaced, and must be gone from the file all the same.
      for (const round of ['first', 'second']) {
        const first = canaries.length
        const body = slots
          .filter((slot) => kindOf(slot) === kind)
          .reduce<Record<string, unknown>>((merged, slot) => deepMerge(merged, nested(slot, textFor(slot, round))), {
            name: planted.value,
          })
        const headers = { 'idempotency-key': `${kind} ${round}` }
        assert.equal((await send('PATCH', path(kind), { body, headers })).status, 200)
        assert.equal((await send('PATCH', path(kind), { body, headers })).status, 200)
        const { organizationId, serviceId, pipeIds } = app().sample
        const pipe = await findPipe(app().sql, { organizationId, serviceId, pipeId: pipeIds[kind] })
        const opened = JSON.stringify(openSecrets(app().app.vault, pipe!))
        for (const { token, slot } of canaries.slice(first)) assert.ok(opened.includes(token), slot)
      }
    }
  })

  it('S4 takes canaries in requests that fail in every way', async () => {
    const stranger = await app().addOrganization()
    for (const slot of slots) {
      const url = path(kindOf(slot))
      const wrongKind = path(kindOf(slot) === 'kafka' ? 'postgres' : 'kafka')
      const at = (value: unknown) => nested(slot, value)
      const whole = (where: string) => at(textFor(slot, where))
      const text = (where: string) => JSON.stringify(whole(where))
      const tooLong = (where: string) => at(plant(`${slot.join('.')} ${where}`).padEnd(5000, 'x'))
      const parent = (value: unknown) => nested(slot.slice(0, -1), value)
      const failing: [where: string, status: number, url: string, make: (where: string) => RequestOptions][] = [
        ['as a list', 400, url, (where) => ({ body: at([plant(where)]) })],
        ['as an object', 400, url, (where) => ({ body: at({ x: plant(where) }) })],
        ['in place of its object', 400, url, (where) => ({ body: parent(plant(where)) })],
        ['in place of the source', 400, url, (where) => ({ body: { source: plant(where) } })],
        ['in place of the body', 400, url, (where) => ({ body: plant(where) })],
        ['too long', 400, url, (where) => ({ body: tooLong(where) })],
        ['beside an unknown field', 400, url, (where) => ({ body: deepMerge({ ...whole(where) }, { nmae: 'x' }) })],
        [
          'beside a read-only field',
          400,
          url,
          (where) => ({ body: deepMerge({ ...whole(where) }, { state: 'Running' }) }),
        ],
        ['in a misspelt field', 400, url, (where) => ({ body: parent({ [`${slot.at(-1)}s`]: plant(where) }) })],
        [
          'with samples to validate',
          400,
          url,
          (where) => ({ body: deepMerge({ ...whole(where) }, { source: { validateSamples: true } }) }),
        ],
        ['to another kind', 400, wrongKind, (where) => ({ body: whole(where) })],
        ['cut', 400, url, (where) => ({ text: text(where).slice(0, -6) })],
        [
          'twice',
          400,
          url,
          (where) => ({ text: text(where).replace(/"([^"]+)":("(?:[^"\\]|\\.)*")/, '"$1":$2,"$1":$2') }),
        ],
        ['with a bad escape', 400, url, (where) => ({ text: text(where).replace(/"(\}+)$/, '\\x"$1') })],
        ['with a NUL', 400, url, (where) => ({ text: text(where).replace(/"(\}+)$/, '\\u0000"$1') })],
        ['not in UTF-8', 400, url, (where) => ({ text: Buffer.from(text(where), 'latin1') })],
        ['as plain text', 415, url, (where) => ({ text: text(where), headers: { 'content-type': 'text/plain' } })],
        ['in a body that is too large', 413, url, (where) => ({ text: text(where).padEnd(1_048_577) })],
        ['with an old version', 412, url, (where) => ({ body: whole(where), headers: { 'if-match': '"0"' } })],
        [
          'with a used key',
          409,
          url,
          (where) => ({ body: whole(where), headers: { 'idempotency-key': 'kafka first' } }),
        ],
        ['in the query', 400, url, (where) => ({ body: whole(where) })],
        ['by a developer', 403, url, (where) => ({ body: whole(where), key: app().developer })],
        ['by a stranger', 404, url, (where) => ({ body: whole(where), key: stranger.admin })],
        ['by nobody', 401, url, (where) => ({ body: whole(where), key: null })],
        [
          'as the secret of a key',
          401,
          url,
          (where) => ({ body: {}, key: { keyId: stranger.admin.keyId, secret: plant(where) } }),
        ],
        [
          'as a bearer token',
          401,
          url,
          (where) => ({ body: {}, key: null, headers: { authorization: `Bearer ${plant(where).slice(0, 30)}` } }),
        ],
      ]
      for (const [index, [name, status, target, make]] of failing.entries()) {
        const where = `${slot.join('.')} ${name}`
        for (const accept of ['application/json', 'application/problem+json']) {
          const options = make(where)
          const suffix = name === 'in the query' ? `?password=${encodeURIComponent(plant(where))}` : ''
          const response = await send('PATCH', `${target}${suffix}`, {
            ...options,
            headers: { accept, ...options.headers },
            address: `10.0.${slots.indexOf(slot)}.${index}`,
          })
          assert.equal(response.status, status, `${where}: ${response.text}`)
        }
      }
    }
  })

  it('S9 refuses the secrets of another pipe: reading goes on, changing answers 500 and tells nothing', async () => {
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
        const body = { name: 'changed', source: { [kind]: { credentials: { password: plant(`${kind} 500`) } } } }
        const logged = app().logged.length
        const { status, body: answer, headers } = await send('PATCH', path(kind), { body })
        assert.equal(status, 500)
        assert.deepEqual(answer, {
          error: `INTERNAL: something went wrong on our side; the log has it under request ${headers['x-request-id']}`,
          status: 500,
        })
        assert.ok(
          app()
            .logged.slice(logged)
            .some((line) => line.includes(String(headers['x-request-id']))),
        )
        assert.deepEqual((await send('GET', path(kind))).body.result, before.body.result)
      }
    }
    await store(kafka!.secrets, postgres!.secrets)
    assert.equal((await send('PATCH', path('kafka'), { body: { name: planted.value } })).status, 200)
  })

  it('S4 finds what may be found, in every form', () => {
    const { value, token } = planted
    for (const text of [value, token]) {
      for (const form of formsOf(text)) {
        const hay = new Map([['hay', Buffer.concat([Buffer.from('x'), form, Buffer.from('y')])]])
        assert.deepEqual(placesOf(text, hay), ['hay'])
      }
      for (const offset of [0, 1, 2]) {
        const hay = Buffer.from(`${'x'.repeat(offset)}${text}tail`)
        for (const encoding of ['base64', 'base64url', 'hex'] as const) {
          assert.deepEqual(placesOf(text, new Map([['hay', Buffer.from(hay.toString(encoding))]])), ['hay'])
        }
      }
    }
  })

  it('S4 finds no secret anywhere', async () => {
    for (const kind of ['kafka', 'kinesis', 'objectStorage', 'postgres'] as const) await send('GET', path(kind))
    for (const page of ['/metrics', '/v1', '/docs', '/ready', '/nothing']) await send('GET', page)
    const haystacks = await dumpTables(app())
    haystacks.set('answers', Buffer.from(answers.join('\n')))
    haystacks.set('log', Buffer.from(app().logged.join('\n')))
    haystacks.set('metrics', Buffer.from((await app().request('GET', '/metrics')).text))
    if (app().dialect === 'sqlite') {
      const files = readdirSync(app().config.dataFolder).filter((file) => file.startsWith('penstock.db'))
      for (const file of files) haystacks.set(file, readFileSync(join(app().config.dataFolder, file)))
    }

    const found = placesOf(planted.token, haystacks)
    for (const place of ['table pipes', 'table activities', 'answers']) assert.ok(found.includes(place), place)
    if (app().dialect === 'sqlite') assert.ok(found.some((place) => place.startsWith('penstock.db')))
    const requestLine = `"organizationId":"${app().sample.organizationId}"`
    assert.ok(haystacks.get('log')!.includes(requestLine), 'the harness must log at the level of requests')
    assert.match(haystacks.get('metrics')!.toString(), /operation="updatePipe",status="500"/)

    const secrets = canaries.flatMap(({ slot, token, value }) => [
      [slot, token],
      [slot, value],
    ])
    secrets.push(['admin key', app().admin.secret], ['developer key', app().developer.secret])
    secrets.push(['sample password', 'sample-password'], ['sample account key', 'c2FtcGxlLWFjY291bnQta2V5'])
    const leaks = secrets.flatMap(([slot, text]) => placesOf(text!, haystacks).map((place) => `${slot} in ${place}`))
    assert.deepEqual(leaks, [])
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

  it('S9 on SQLite: opens with the old, seals with the new, and does not start without the old', async () => {
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
      allowLoopback: false,
      serviceChecks: false,
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

  describe('beside a Penstock that does not have it yet, on PostgreSQL', () => {
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

    it('S9 the one without the new key refuses to change what was sealed with it', async () => {
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
      assert.equal((await first.request('GET', url)).body.result.name, 'shop from postgres')
    })
  })
})
