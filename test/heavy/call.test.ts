// `penstock call`, `login` and `logout` for people and scripts, against a real Penstock.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { mainFile } from '../../bin/launch.js'
import { operationHelp, operationList, optionName, parametersOf } from '../../src/cli/call-help.ts'
import { operations } from '../../src/operations.ts'
import { openTestApp, type TestApp } from '../harness/test-app.ts'
import { calls, type Ended } from './call-processes.ts'

const nobody = '00000000-0000-4000-8000-000000000000'

describe('penstock call', () => {
  let app: TestApp
  let url: string
  let folder: string
  before(async () => {
    app = await openTestApp('sqlite')
    url = await app.app.listen()
    folder = mkdtempSync(join(tmpdir(), 'penstock-call-'))
  })
  after(async () => {
    await app.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const key = () => ({
    PENSTOCK_URL: url,
    PENSTOCK_KEY_ID: app.admin.keyId,
    PENSTOCK_KEY_SECRET: app.admin.secret,
    PENSTOCK_ORGANIZATION_ID: app.sample.organizationId,
  })

  const { run, works, fails } = calls(key, () => folder)
  const member = () => ['--user-id', app.sample.userId]

  describe('explains', () => {
    it('the list of operations', async () => {
      for (const args of [['call'], ['call', '--help']]) {
        const { printed } = await works(args, {})
        for (const { id, summary, tag } of operations) {
          assert.match(printed, new RegExp(`^  ${id} +${summary}`, 'm'))
          assert.match(printed, new RegExp(`^${tag}$`, 'm'))
        }
      }
    })

    it('an operation, from its shapes', async () => {
      const { printed } = await works(['call', 'updateMember', '--help'], {})
      assert.match(printed, /^PATCH \/v1\/organizations\/\{organizationId\}\/members\/\{userId\}$/m)
      assert.match(printed, /^ {2}--user-id +uuid, required\n {4}Id of the user,/m)
      assert.match(printed, /^ {2}--if-match /m)
      assert.match(printed, /^ {2}role +admin \| developer, required$/m)
      assert.match(printed, /penstock call updateMember --user-id … --body '\{"role":"admin"\}'/)
      assert.doesNotMatch(printed, /--all/)
    })

    it('every operation, within the width of the terminal', () => {
      assert.ok(operationList(operations).length > 0)
      for (const operation of operations) {
        const help = operationHelp(operation, 100)
        for (const { name } of parametersOf(operation))
          assert.match(help, new RegExp(`^  --${optionName(name)}\\b`, 'm'))
        const [described] = help.split(/^(?:Example|Answers)/m)
        const long = described!.split('\n').filter((line) => line.length > 100 && line.trim().includes(' '))
        assert.deepEqual(long, [], operation.id)
      }
    })
  })

  describe('0', () => {
    it('one resource, as fields', async () => {
      const { printed, error } = await works(['call', 'getMember', ...member()])
      assert.match(printed, new RegExp(`^userId +${app.sample.userId}$`, 'm'))
      assert.match(printed, /^role +(?:admin|developer)$/m)
      assert.match(printed, /^ETag "[\d.]+" \(for --if-match\)$/m)
      assert.equal(error, '')
    })

    it('a nested resource, with dots', async () => {
      const { serviceId, pipeIds } = app.sample
      const { printed } = await works(['call', 'getPipe', '--service-id', serviceId, '--pipe-id', pipeIds.kafka])
      assert.match(printed, /^source\.kafka\.topics +\S/m)
      assert.match(printed, /^destination\.columns\[0\] +name=\S+ type=\S+$/m)
    })

    it('the unchanged answer, with --json', async () => {
      const { printed } = await works(['call', 'getMember', ...member(), '--json'])
      const answer = JSON.parse(printed)
      assert.deepEqual(Object.keys(answer), ['requestId', 'result', 'status'])
      assert.equal(answer.result.userId, app.sample.userId)
    })

    it('a body from the command line, from a file and from standard input; a version; a key', async () => {
      const userId = await app.addMember(app.sample.organizationId, 'developer')
      const update = ['call', 'updateMember', '--user-id', userId]
      const file = join(folder, 'body.json')
      writeFileSync(file, '{"role": "admin"}\n')
      const roleOf = ({ printed }: Ended) => /^role +(\w+)$/m.exec(printed)?.[1]
      assert.equal(roleOf(await works([...update, '--body', `@${file}`])), 'admin')
      const changed = await works([...update, '--body', '-'], key(), '{"role": "developer"}')
      assert.equal(roleOf(changed), 'developer')
      const etag = /^ETag "(.*)"/m.exec(changed.printed)![1]!
      const versioned = [...update, '--body', '{"role": "admin"}', '--if-match', etag]
      assert.equal(roleOf(await works([...versioned, '--idempotency-key', 'once'])), 'admin')
      // The repeated request with the key gets its first answer, although the version is outdated.
      assert.equal(roleOf(await works([...versioned, '--idempotency-key', 'once'])), 'admin')
      await fails(
        1,
        /^If-Match does not match.*\n\(status 412, version_mismatch, request [0-9a-f-]{36}\)\n$/,
        versioned,
      )
    })

    it('a list as a table, page by page or complete; and a warning', async () => {
      const serviceId = await app.addService(app.sample.organizationId)
      const list = ['call', 'listPrivateEndpoints', '--service-id', serviceId]
      const empty = await works(list)
      assert.deepEqual([empty.printed, empty.error], ['', 'The list is empty.\n'])
      const create = ['call', 'createPrivateEndpoint', '--service-id', serviceId, '--body']
      await works([...create, '{"id": "vpce-00000001", "description": "first"}'])
      await works([...create, '{"id": "vpce-00000002"}'])
      const odd = await works([...create, '{"id": "odd"}'])
      assert.match(odd.error, /^Warning: id "odd" does not look like an endpoint of aws/)
      await fails(1, /^id "odder" does not look like/, [...create, '{"id": "odder"}', '--strict'])
      await works([...create, '{"id": "odder"}', '--strict', 'false'])

      const all = await works(list)
      assert.equal(all.error, '')
      assert.deepEqual(
        all.printed.split('\n').map((line) => line.trimEnd().split(/ {2,}/)),
        [
          ['id', 'cloudProvider', 'description', 'region'],
          ['odder', 'aws', '""', 'eu-west-1'],
          ['odd', 'aws', '""', 'eu-west-1'],
          ['vpce-00000002', 'aws', '""', 'eu-west-1'],
          ['vpce-00000001', 'aws', 'first', 'eu-west-1'],
          [''],
        ],
      )
      const first = await works([...list, '--limit', '3'])
      assert.equal(first.printed.split('\n').length, 5)
      const cursor = /^There is more: add --all, or --cursor (\S+)\n$/.exec(first.error)![1]!
      assert.match((await works([...list, '--limit', '3', '--cursor', cursor])).printed, /^vpce-00000001 /m)
      const whole = await works([...list, '--limit', '1', '--all'])
      assert.deepEqual([whole.printed, whole.error], [all.printed, ''])
      const json = JSON.parse((await works([...list, '--limit', '1', '--all', '--json'])).printed)
      assert.deepEqual(
        json.result.map(({ id }: { id: string }) => id),
        ['odder', 'odd', 'vpce-00000002', 'vpce-00000001'],
      )
    })
  })

  describe('0 without fields', () => {
    it('text unchanged', async () => {
      const { printed } = await works(['call', 'getOrganizationPrometheus'])
      assert.match(printed, /^# HELP \S+ .*\n# TYPE /)
    })

    it('"done" without a result', async () => {
      const invited = [
        'call',
        'createInvitation',
        '--json',
        '--body',
        '{"email": "new@northwind.example", "role": "admin"}',
      ]
      const { id } = JSON.parse((await works(invited)).printed).result
      assert.equal((await works(['call', 'deleteInvitation', '--invitation-id', id])).printed, 'Done.\n')
    })
  })

  describe('1', () => {
    it('the error message of the API, with the request id', async () => {
      const { printed } = await fails(
        1,
        /^role must be one of admin, developer, not "owner"\n\(status 400, invalid_body, request [0-9a-f-]{36}\)\n$/,
        ['call', 'updateMember', ...member(), '--body', '{"role": "owner"}'],
      )
      assert.equal(printed, '')
      await fails(1, /^member .* was not found/, ['call', 'getMember', '--user-id', nobody])
    })

    it('the complete error on standard output, with --json', async () => {
      const { printed } = await fails(1, /^role must be/, [
        ...['call', 'updateMember', ...member(), '--json'],
        ...['--body', '{"role": "owner"}'],
      ])
      assert.equal(JSON.parse(printed).code, 'invalid_body')
    })

    it('an unreachable server, and a server that is not Penstock', async () => {
      const page: Server = createServer((_request, response) => response.end('<h1>Welcome</h1>')).listen(0, '127.0.0.1')
      await once(page, 'listening')
      const other = `http://127.0.0.1:${(page.address() as AddressInfo).port}`
      const args = ['call', 'getMember', ...member()]
      await fails(1, /^the answer is not one of Penstock \(status 200, /, args, { ...key(), PENSTOCK_URL: other })
      page.closeAllConnections()
      page.close()
      await once(page, 'close')
      const closed = await fails(1, /cannot be reached: ECONNREFUSED\n$/, args, { ...key(), PENSTOCK_URL: other })
      assert.ok(!closed.error.includes(app.admin.secret))
    })
  })

  describe('2', () => {
    const cases: [string, string[], RegExp][] = [
      [
        'an operation that does not exist',
        ['getMembers'],
        /^There is no operation "getMembers"; did you mean \w+\?\n$/,
      ],
      ['an operation like no other', ['frobnicate'], /^There is no operation "frobnicate"; "penstock call" lists them/],
      ['an option that is missing', ['getMember'], /^--user-id is missing; see "penstock call getMember --help"\n$/],
      ['options that are missing', ['updateMember'], /^--user-id, --body are missing;/],
      ['an option that does not exist', ['getMember', '--usr-id', 'x'], /^unknown option '--usr-id'.*--user-id/],
      ['an option without its value', ['getMember', '--user-id'], /^option '--user-id <value>' argument missing/],
      [
        'a body for an operation without one',
        ['getMember', '--user-id', nobody, '--body', '{}'],
        /^unknown option '--body'/,
      ],
      ['a word too many', ['getMember', 'x', '--user-id', nobody], /^too many arguments/],
      ['an id that is empty', ['getMember', '--user-id', ''], /^userId must be a text that is not empty/],
      ['an id that leads elsewhere', ['getMember', '--user-id', '..'], /^userId must be a text/],
      [
        'a body that is not JSON',
        ['updateMember', '--user-id', nobody, '--body', '{"role": hunter2}'],
        /^--body: the body is not valid JSON at line 1, column 10(?!.*hunter2)/,
      ],
      [
        'a body with a field twice',
        ['updateMember', '--user-id', nobody, '--body', '{"role": "admin", "role": "admin"}'],
        /^--body: role is sent twice/,
      ],
      [
        'a file that is not there',
        ['updateMember', '--user-id', nobody, '--body', '@/nowhere.json'],
        /^--body: \/nowhere\.json cannot be read \(ENOENT\)/,
      ],
    ]
    for (const [name, args, sentence] of cases) {
      it(name, () => fails(2, sentence, ['call', ...args]).then(() => undefined))
    }

    it('no organization', async () => {
      const { PENSTOCK_ORGANIZATION_ID: _, ...settings } = key()
      const args = ['call', 'getMember', ...member()]
      await fails(2, /^--organization-id is missing; set PENSTOCK_ORGANIZATION_ID/, args, settings)
      await works([...args, '--organization-id', app.sample.organizationId], settings)
    })
  })

  describe('4', () => {
    it('a wrong key, a role without permission, no key', async () => {
      const args = ['call', 'updateMember', ...member(), '--body', '{"role": "admin"}']
      const sentence =
        /^The key id or its secret, from PENSTOCK_KEY_ID and PENSTOCK_KEY_SECRET of the environment, is wrong; .*\n\(status 401, unauthorized, request /
      const wrong = await fails(4, sentence, args, { ...key(), PENSTOCK_KEY_SECRET: 'wrong-secret' })
      assert.ok(!wrong.error.includes('wrong-secret'))
      const { keyId, secret } = app.developer
      await fails(4, /needs a key with the role admin/, args, {
        ...key(),
        PENSTOCK_KEY_ID: keyId,
        PENSTOCK_KEY_SECRET: secret,
      })
      await fails(4, /^There are no credentials. Run "penstock login"/, args, {
        XDG_CONFIG_HOME: join(folder, 'empty'),
      })
      await fails(4, /^PENSTOCK_URL is set in the environment; set PENSTOCK_KEY_ID and PENSTOCK_KEY_SECRET too/, args, {
        PENSTOCK_URL: url,
      })
      await fails(
        4,
        /^PENSTOCK_URL and PENSTOCK_KEY_ID are set in the environment; set PENSTOCK_KEY_SECRET too/,
        args,
        {
          PENSTOCK_URL: url,
          PENSTOCK_KEY_ID: app.admin.keyId,
        },
      )
    })
  })

  describe('login', () => {
    const home = (name: string) => ({ XDG_CONFIG_HOME: join(folder, name) })
    const stored = (name: string) => join(folder, name, 'penstock', 'credentials.json')
    const login = (name: string, more: string[] = [], secret = app.admin.secret) => {
      const args = ['login', '--url', url, '--key-id', app.admin.keyId, '--key-secret-stdin', ...more]
      return run(args, home(name), `${secret}\n`)
    }

    it('keeps the key for calls, for the owner only, until logout', async () => {
      const { code, printed, error } = await login('kept')
      assert.equal(code, 0, error)
      assert.match(printed, new RegExp(`^Logged in to ${url}, organization .* \\(${app.sample.organizationId}\\)`))
      assert.ok(!(printed + error).includes(app.admin.secret))
      assert.equal(statSync(stored('kept')).mode & 0o777, 0o600)
      assert.equal(statSync(join(folder, 'kept', 'penstock')).mode & 0o777, 0o700)
      await works(['call', 'getMember', ...member()], home('kept'))
      chmodSync(stored('kept'), 0o644)
      await fails(
        4,
        /is open to other users \(mode 0644\): run "chmod 600 /,
        ['call', 'getMember', ...member()],
        home('kept'),
      )
      chmodSync(stored('kept'), 0o600)
      const winning = { ...home('kept'), ...key(), PENSTOCK_KEY_SECRET: 'wrong' }
      await fails(4, /, from PENSTOCK_KEY_ID and .* environment, is wrong/, ['call', 'getMember', ...member()], winning)
      await fails(4, /set PENSTOCK_KEY_ID and/, ['call', 'getMember', ...member()], {
        ...home('kept'),
        PENSTOCK_URL: url,
      })
      const elsewhere = { ...home('kept'), PENSTOCK_ORGANIZATION_ID: nobody }
      await fails(1, /^organization .* was not found/, ['call', 'getMember', ...member()], elsewhere)

      assert.match((await works(['logout'], home('kept'))).printed, /^Removed .*credentials\.json/)
      assert.ok(!existsSync(stored('kept')))
      assert.equal((await works(['logout'], home('kept'))).printed, 'There were no credentials.\n')
      await fails(4, /^There are no credentials/, ['call', 'getMember', ...member()], home('kept'))
    })

    it('stores no refused key, and keeps the previous one', async () => {
      await login('before')
      const kept = readFileSync(stored('before'), 'utf8')
      const refused = await login('before', [], 'pst_wrong-secret')
      assert.equal(refused.code, 4)
      assert.match(refused.error, /^The key id or its secret, from --key-id and standard input, is wrong/)
      assert.ok(!(refused.printed + refused.error).includes('pst_wrong-secret'))
      assert.equal(readFileSync(stored('before'), 'utf8'), kept)
      writeFileSync(stored('before'), kept.replace(app.admin.secret, 'pst_wrong-secret'))
      const fromFile = /^The key id or its secret, from .*credentials\.json \(made by "penstock login"\), is wrong/
      await fails(4, fromFile, ['call', 'getMember', ...member()], home('before'))
    })

    it('asks for missing values, and accepts no secret on the command line', async () => {
      await fails(2, /^--url is missing/, ['login'], home('asks'))
      await fails(2, /^--key-id is missing/, ['login', '--url', url], home('asks'))
      await fails(2, /^--key-secret-stdin is missing/, ['login', '--url', url, '--key-id', 'k'], home('asks'))
      await fails(2, /must not be empty/, ['login', '--url', url, '--key-id', 'k', '--key-secret-stdin'], home('asks'))
      await fails(2, /unknown option '--key-secret'/, ['login', '--key-secret', 'x'], home('asks'))
      await fails(
        2,
        /^url must begin with https/,
        ['login', '--url', 'ftp://x', '--key-id', 'k', '--key-secret-stdin'],
        home('asks'),
        's',
      )
      assert.ok(!existsSync(stored('asks')))
    })

    it('reports a damaged credentials file', async () => {
      mkdirSync(join(folder, 'damaged', 'penstock'), { recursive: true })
      for (const text of ['{', 'null', '{"url": "http://127.0.0.1"}']) {
        writeFileSync(stored('damaged'), text, { mode: 0o600 })
        await fails(4, /is damaged\. Run "penstock login" again/, ['call', 'getMember', ...member()], home('damaged'))
      }
    })
  })

  it('the server ignores the settings of calls', async () => {
    const child = spawn(process.execPath, [mainFile, 'try'], {
      env: {
        PATH: process.env.PATH,
        ...key(),
        PENSTOCK_PORT: '0',
        PENSTOCK_DATA: join(folder, 'data'),
        PENSTOCK_TRY_ENGINE: 'http://127.0.0.1:8123',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer]
    assert.match(String(chunk), /Penstock is running/)
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
})
