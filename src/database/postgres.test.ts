import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import { type Certificate, type Certificates, makeCertificates } from '../../test/sources/certificates.ts'
import type { Database, WriteContext } from './database.ts'
import { openPostgres } from './postgres.ts'
import { connectOnce } from './postgres-connect.ts'
import { statement } from './sql.ts'

const insert = statement<{ part: string }>('INSERT INTO halves (part) VALUES (:part)')
const backend = statement<Record<string, never>, { pid: number }>('SELECT pg_backend_pid() AS pid')

describe('a PostgreSQL connection that is lost in the middle of a write', () => {
  let app: TestApp
  let losses = 1
  const writes = {
    twoHalves: async ({ sql }: WriteContext, _: Record<string, never>) => {
      await sql.run(insert, { part: 'first' })
      const { pid } = (await sql.first(backend, {}))!
      if (losses-- > 0) {
        await app.query(`SELECT pg_terminate_backend(${pid})`)
        // Until this process has noticed.
        await sleep(200)
      }
      await sql.run(insert, { part: 'second' })
      return 'both'
    },
  }
  let database: Database<typeof writes>
  before(async () => {
    app = await openTestApp('postgres')
    await app.query('CREATE TABLE halves (part text NOT NULL)')
    const events = { onFatal: () => undefined, onTrouble: () => undefined }
    database = await openPostgres({ url: app.config.databaseUrl!, writes, vault: app.app.vault, events })
  })
  after(async () => {
    await database?.close()
    await app?.close()
  })

  it('leaves no partial write, and the write is run again', async () => {
    const outcome = await database.write('twoHalves', {}, 'order key').catch(() => 'refused')
    const parts = await app.query<{ part: string }>('SELECT part FROM halves ORDER BY part')
    assert.deepEqual(
      parts.map(({ part }) => part),
      ['first', 'second'],
    )
    assert.equal(outcome, 'both')
  })
})

describe('a PostgreSQL that asks for a transaction to be run again', () => {
  const note = statement<{ part: string }>('INSERT INTO notes (part) VALUES (:part)')
  const fail = statement<{ code: string }, { tries: number }>('SELECT fail_at_first(:code) AS tries')
  let app: TestApp
  let runs = 0
  const writes = {
    note: async ({ sql }: WriteContext, { part, code }: { part: string; code?: string }) => {
      runs++
      await sql.run(note, { part })
      if (code) await sql.first(fail, { code })
      return part
    },
  }
  let database: Database<typeof writes>
  before(async () => {
    app = await openTestApp('postgres')
    // A sequence keeps its value when its transaction is rolled back.
    await app.query('CREATE SEQUENCE tries')
    await app.query(`CREATE FUNCTION fail_at_first(code text) RETURNS bigint LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('tries') <= 3 THEN RAISE EXCEPTION 'come again' USING ERRCODE = code; END IF;
        RETURN currval('tries');
      END $$`)
    await app.query('CREATE TABLE notes (part text NOT NULL)')
    await app.query(`CREATE FUNCTION check_note() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.part = 'at the end' THEN PERFORM fail_at_first('40001'); END IF;
        IF NEW.part = 'never' THEN RAISE EXCEPTION 'come again' USING ERRCODE = '40001'; END IF;
        RETURN NULL;
      END $$`)
    await app.query(
      'CREATE CONSTRAINT TRIGGER check_notes AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_note()',
    )
    const events = { onFatal: () => undefined, onTrouble: () => undefined }
    database = await openPostgres({ url: app.config.databaseUrl!, writes, vault: app.app.vault, events })
  })
  beforeEach(async () => {
    await app.query("SELECT setval('tries', 1, false)")
    await app.query('TRUNCATE notes')
  })
  after(async () => {
    await database?.close()
    await app?.close()
  })
  const kept = async () =>
    (await app.query<{ part: string }>('SELECT part FROM notes ORDER BY part')).map(({ part }) => part)

  for (const code of ['40001', '40P01']) {
    it(`retries a write that fails with ${code}, and commits it once, with the others of its group`, async () => {
      const parts = [{ part: 'before' }, { part: 'failing', code }, { part: 'behind' }]
      const answers = await Promise.all(parts.map((input) => database.write('note', input, 'order key')))
      assert.deepEqual(answers, ['before', 'failing', 'behind'])
      assert.deepEqual(await kept(), ['before', 'behind', 'failing'])
    })
  }

  it('retries all writes of a failed commit', async () => {
    const answers = await Promise.all(
      ['one', 'at the end', 'two'].map((part) => database.write('note', { part }, 'order key')),
    )
    assert.deepEqual(answers, ['one', 'at the end', 'two'])
    assert.deepEqual(await kept(), ['at the end', 'one', 'two'])
  })

  it('answers 503 after the last attempt, and commits nothing', async () => {
    runs = 0
    await assert.rejects(database.write('note', { part: 'never' }, 'order key'), { status: 503 })
    assert.equal(runs, 8)
    assert.deepEqual(await kept(), [])
  })

  it('retries reads', async () => {
    assert.deepEqual(await database.reader.first(fail, { code: '40001' }), { tries: 4 })
  })
})

describe('a PostgreSQL that cannot be connected to', () => {
  let certificates: Certificates
  let folder: string
  before(async () => {
    certificates = await makeCertificates()
    folder = mkdtempSync(join(tmpdir(), 'penstock-postgres-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  /** The error for a server that answers the TLS request like this and then closes the connection. */
  async function saidOf(answer: Certificate | 'no TLS' | 'nothing', query: string): Promise<string> {
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined))
      socket.once('data', () => {
        if (answer === 'nothing') return
        socket.write(answer === 'no TLS' ? 'N' : 'S')
        if (answer === 'no TLS') return
        const encrypted = new TLSSocket(socket, { isServer: true, ...answer })
        encrypted.on('error', () => undefined).on('data', () => encrypted.destroy())
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    try {
      await connectOnce(`postgres://penstock:hidden@127.0.0.1:${port}/penstock?${query}`)
      return 'connected'
    } catch (error) {
      const { name, message } = error as Error
      assert.equal(name, 'StartError')
      assert.doesNotMatch(message, /hidden/)
      return message
    } finally {
      for (const socket of sockets) socket.destroy()
      server.close()
    }
  }

  it('has an untrusted certificate, or one for another host', async () => {
    const { server, expired, otherHost, ca } = certificates
    assert.match(
      await saidOf(server, 'sslmode=verify-full'),
      /its certificate is of an authority that is not trusted here \([A-Z_]+\); add &sslrootcert=\/path\/ca\.pem to DATABASE_URL, or set NODE_EXTRA_CA_CERTS/,
    )
    const file = join(folder, 'ca.pem')
    writeFileSync(file, ca)
    const trusting = `sslmode=verify-full&sslrootcert=${file}`
    assert.match(await saidOf(server, trusting), /cannot be used: the connection failed; check/)
    assert.match(await saidOf(expired, trusting), /its certificate has expired\.$/)
    assert.match(await saidOf(otherHost, trusting), /its certificate is for another host than/)
    assert.match(
      await saidOf(server, 'sslmode=verify-full&sslrootcert=/nowhere/ca.pem'),
      /the file \/nowhere\/ca\.pem, which DATABASE_URL names, cannot be read \(ENOENT\)\.$/,
    )
  })

  it('has no TLS, or an unknown sslmode', async () => {
    assert.match(
      await saidOf('no TLS', 'sslmode=verify-full'),
      /it has no TLS, which DATABASE_URL asks for; .*sslmode=disable/,
    )
    assert.match(
      await saidOf('no TLS', 'sslmode=on'),
      /^DATABASE_URL has sslmode="on", which is unknown: use verify-full, or /,
    )
  })

  it('does not answer in time', async () => {
    assert.match(await saidOf('nothing', 'sslmode=verify-full'), /no connection within 5 seconds; check host, port and/)
  })
})

describe('a PostgreSQL that was away', () => {
  it('is used again also when the clock was set back', async (t) => {
    const app = await openTestApp('postgres')
    const url = new URL(app.config.databaseUrl!)
    const target = { host: url.hostname, port: Number(url.port) }
    const sockets = new Set<Socket>()
    let isAway = false
    const server = createServer((socket) => {
      if (isAway) return void socket.destroy()
      const onward = connect(target)
      for (const one of [socket, onward]) sockets.add(one.on('error', () => undefined))
      socket.pipe(onward).pipe(socket)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const events = { onFatal: () => undefined, onTrouble: () => undefined }
    const database = await openPostgres({ url: url.href, writes: {}, vault: app.app.vault, events })
    try {
      const nowMs = Date.now()
      t.mock.timers.enable({ apis: ['Date'], now: nowMs })
      isAway = true
      for (const socket of sockets) socket.destroy()
      for (let round = 0; round < 4; round++) await assert.rejects(database.reader.first(backend, {}), { status: 503 })
      isAway = false
      t.mock.timers.setTime(nowMs - 3_600_000)
      await sleep(1_100)
      assert.ok(await database.reader.first(backend, {}))
    } finally {
      await database.close()
      for (const socket of sockets) socket.destroy()
      server.close()
      await app.close()
    }
  })
})
