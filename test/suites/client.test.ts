// The TypeScript client against a real Penstock, and against servers that drop, refuse and garble answers.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import type * as api from '../../src/client/client.ts'
import { PenstockClient } from '../../src/client/client.ts'
import type { Static } from '../../src/lib/schema.ts'
import type { Member, MemberPatch } from '../../src/members/member.ts'
import type { Pipe, PipePatch } from '../../src/pipes/pipe.ts'
import type { PrivateEndpoint, PrivateEndpointCreate } from '../../src/private-endpoints/private-endpoint.ts'
import { close, listen, refusal } from '../harness/client-servers.ts'
import { openTestApp, type TestApp } from '../harness/test-app.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

// The compiler checks that generated types equal the shapes. For the source of a pipe the type is less specific than the shape.
type Same<A, B> = [A, B] extends [B, A] ? true : false
const same: [
  Same<api.Member, Member>,
  Same<api.MemberPatch, Static<typeof MemberPatch>>,
  Same<Omit<api.Pipe, 'source'>, Omit<Pipe, 'source'>>,
  Same<Omit<api.PipePatch, 'source'>, Omit<PipePatch, 'source'>>,
  Same<api.PrivateEndpoint, PrivateEndpoint>,
  Same<api.PrivateEndpointCreate, Static<typeof PrivateEndpointCreate>>,
] = [true, true, true, true, true, true]

void same

// One database suffices: the client sees no difference (test/harness/test-app.ts runs tests on both).
describe('the client and a real Penstock', () => {
  let app: TestApp
  let url: string
  let client: PenstockClient
  before(async () => {
    app = await openTestApp('sqlite')
    url = await app.app.listen()
    client = new PenstockClient({ url: `${url}/`, keyId: app.admin.keyId, keySecret: app.admin.secret })
  })
  after(() => app.close())

  const member = () => ({ organizationId: app.sample.organizationId, userId: app.sample.userId })
  const service = () => ({ organizationId: app.sample.organizationId, serviceId: app.sample.serviceId })

  it('reads and changes, with versions', async () => {
    const read = await client.getMember(member())
    assert.equal(read.result.userId, app.sample.userId)
    assert.match(read.requestId, /^[0-9a-f-]{36}$/)
    assert.deepEqual([read.warning, read.next], [undefined, undefined])
    const role = read.result.role === 'admin' ? 'developer' : 'admin'
    const changed = await client.updateMember(member(), { role }, { ifMatch: read.etag })
    assert.equal(changed.result.role, role)
    assert.notEqual(changed.etag, read.etag)
    const error = await refusal(client.updateMember(member(), { role: read.result.role }, { ifMatch: read.etag }))
    assert.deepEqual([error.status, error.code], [412, 'version_mismatch'])
  })

  it('reports errors with all details', async () => {
    const error = await refusal(client.updateMember(member(), { role: 'owner' as 'admin' }))
    assert.equal(error.status, 400)
    assert.equal(error.code, 'invalid_body')
    assert.equal(error.message, 'role must be one of admin, developer, not "owner"')
    assert.match(error.requestId!, /^[0-9a-f-]{36}$/)
    assert.deepEqual(error.errors, [{ pointer: '#/role', detail: error.message }])
  })

  it('reports warnings', async () => {
    const { warning, result } = await client.createPrivateEndpoint(service(), { id: 'un"usual' })
    assert.equal(result.id, 'un"usual')
    assert.match(warning!, /^id "un\\"usual" does not look like/)
    const error = await refusal(client.createPrivateEndpoint({ ...service(), strict: true }, { id: 'odd' }))
    assert.equal(error.status, 400)
  })

  it('reads all pages of a list', async () => {
    const serviceId = await app.addService(app.sample.organizationId)
    const params = { organizationId: app.sample.organizationId, serviceId }
    const made = ['vpce-00000001', 'vpce-00000002', 'vpce-00000003', 'vpce-00000004', 'vpce-00000005']
    for (const id of made) await client.createPrivateEndpoint(params, { id })
    const first = await client.listPrivateEndpoints({ ...params, limit: 2 })
    assert.equal(first.result.length, 2)
    const second = await client.listPrivateEndpoints({ ...params, limit: 2, cursor: first.next })
    assert.equal(second.result.length, 2)
    const seen: string[] = []
    for await (const endpoint of client.all('listPrivateEndpoints', { ...params, limit: 2 })) seen.push(endpoint.id)
    assert.deepEqual(seen, made.toReversed())
    for await (const _ of client.all('listPrivateEndpoints', { ...params, serviceId: app.sample.serviceId })) break
  })

  it('returns text as text, and null without a result', async () => {
    const { organizationId } = app.sample
    assert.match((await client.getOrganizationPrometheus({ organizationId })).result, /^# HELP /)
    const invited = await client.createInvitation({ organizationId }, { email: 'new@northwind.example', role: 'admin' })
    const deleted = await client.deleteInvitation({ organizationId, invitationId: invited.result.id })
    assert.equal(deleted.result, null)
    const [organization] = (await client.listOrganizations()).result
    assert.equal(organization!.id, organizationId)
  })

  it('does not expose the secret', async () => {
    const secret = `${app.admin.secret}-wrong`
    const wrong = new PenstockClient({ url, keyId: app.admin.keyId, keySecret: secret })
    const error = await refusal(wrong.getMember(member()))
    assert.deepEqual([error.status, error.code], [401, 'unauthorized'])
    const shown = inspect([error, wrong], { depth: 9, showHidden: true }) + error.stack + JSON.stringify([error, wrong])
    assert.ok(!shown.includes(secret) && !shown.includes(btoa(`${app.admin.keyId}:${secret}`)), shown)
  })

  describe('when the answer of a write is lost', () => {
    // Adding a table twice is refused, so that a duplicate execution is noticed.
    const addTable = (targetTable: string): api.PipePatch => ({
      source: {
        postgres: { tableMappingsToAdd: [{ sourceSchemaName: 'public', sourceTable: targetTable, targetTable }] },
      },
    })
    const pipe = () => ({ ...service(), pipeId: app.sample.pipeIds.postgres })

    /** Forwards requests to Penstock, but closes the connection instead of forwarding the first answer. */
    async function throughLossyProxy(
      forwarded: (headers: Record<string, string>) => Record<string, string>,
      use: (url: string) => Promise<void>,
    ): Promise<number> {
      let count = 0
      const proxy = createServer(async (request, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk as Buffer)
        const { host: _host, connection: _connection, ...headers } = request.headers as Record<string, string>
        const answer = await fetch(`${url}${request.url}`, {
          method: request.method!,
          headers: forwarded(headers),
          body: Buffer.concat(chunks),
        })
        const text = await answer.text()
        count += 1
        if (count === 1) request.socket.destroy()
        else response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(text)
      })
      await use(await listen(proxy)).finally(() => close(proxy))
      return count
    }

    it('repeats it, and it is applied once', async () => {
      const before = await app.query("SELECT id FROM activities WHERE type = 'pipe_updated'")
      const count = await throughLossyProxy(
        (headers) => headers,
        async (proxyUrl) => {
          const lossy = new PenstockClient({ url: proxyUrl, keyId: app.admin.keyId, keySecret: app.admin.secret })
          const { result } = await lossy.updatePipe(pipe(), addTable('lost_once'))
          assert.equal(result.source.postgres?.tableMappings.filter((it) => it.targetTable === 'lost_once').length, 1)
        },
      )
      assert.equal(count, 2)
      const now = await app.query("SELECT id FROM activities WHERE type = 'pipe_updated'")
      assert.equal(now.length, before.length + 1)
    })

    it('without the idempotency key it would be applied twice', async () => {
      await throughLossyProxy(
        ({ 'idempotency-key': _key, ...headers }) => headers,
        async (proxyUrl) => {
          const lossy = new PenstockClient({ url: proxyUrl, keyId: app.admin.keyId, keySecret: app.admin.secret })
          assert.equal((await refusal(lossy.updatePipe(pipe(), addTable('lost_again')))).status, 400)
        },
      )
    })
  })
})

describe('the client as a package', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-client-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const tsc = (...args: string[]) => {
    try {
      execFileSync(join(root, 'node_modules/.bin/tsc'), args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' })
    } catch (error) {
      assert.fail((error as { stdout: string }).stdout)
    }
  }

  it('compiles for a strict consumer, and runs with nothing else installed', () => {
    const home = join(folder, 'node_modules/penstock-server')
    mkdirSync(home, { recursive: true })
    // Only the published files.
    writeFileSync(join(home, 'package.json'), readFileSync(join(root, 'package.json'), 'utf8'))
    tsc('-p', join(root, 'tsconfig.client.json'), '--outDir', join(home, 'dist'))
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
    writeFileSync(
      join(folder, 'consumer.ts'),
      `import { type Member, PenstockClient, PenstockError } from 'penstock-server/client'
      const client = new PenstockClient({ url: 'http://127.0.0.1:1', keyId: 'k', keySecret: 's', retries: 0 })
      async function use(): Promise<void> {
        const { result, etag } = await client.getMember({ organizationId: 'o', userId: 'u' })
        const member: Member = result
        await client.updateMember({ organizationId: 'o', userId: 'u' }, { role: member.role }, { ifMatch: etag })
        // @ts-expect-error there is no such role
        await client.updateMember({ organizationId: 'o', userId: 'u' }, { role: 'owner' })
        // @ts-expect-error an id is missing
        await client.getMember({ organizationId: 'o' })
        // @ts-expect-error a read has no version to compare
        await client.getMember({ organizationId: 'o', userId: 'u' }, { ifMatch: '*' })
        const list = { organizationId: 'o', serviceId: 's' }
        const page = await client.listPrivateEndpoints(list)
        await client.listPrivateEndpoints({ ...list, cursor: page.next })
        for await (const endpoint of client.all('listPrivateEndpoints', list)) {
          const id: string = endpoint.id
          // @ts-expect-error there is no such field
          console.log(id, endpoint.ids)
        }
        // @ts-expect-error not a list
        client.all('getMember', { organizationId: 'o', userId: 'u' })
      }
      const error: unknown = await use().catch((reason: unknown) => reason)
      if (error instanceof PenstockError) console.log(error.code satisfies string, error.status satisfies number)
      `,
    )
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2022']
    tsc(
      ...strict,
      '--noEmit',
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
      '--lib',
      'es2022,dom',
      '--types',
      '',
      'consumer.ts',
    )
    tsc(...strict, '--module', 'nodenext', '--lib', 'es2022,dom', '--types', '', 'consumer.ts')
    const printed = execFileSync(process.execPath, ['consumer.js'], { cwd: folder, encoding: 'utf8' })
    assert.equal(printed, 'no_answer 0\n')
  })
})
