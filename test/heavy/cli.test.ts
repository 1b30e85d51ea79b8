// The CLI commands: their output, exit codes, and effects.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { mainFile } from '../../bin/launch.js'
import { end, environment, opening, refuses, run, signIn, start } from './cli-processes.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
/** Of util-linux. */
const terminalMaker = '/usr/bin/script'
const initArguments = ['init', '--organization', 'Acme', '--admin-name', 'Ada', '--admin-email', 'ada@acme.example']

describe('the commands', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-cli-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('print their version', async () => {
    for (const option of ['--version', '-V']) {
      assert.deepEqual(await run([option], {}), { code: 0, printed: `${version}\n`, error: '' })
    }
  })

  describe('try', () => {
    it('creates a sample once, keeps it private, and exits with 0 on SIGTERM', async () => {
      const data = join(folder, 'try')
      const first = await start('try', { PENSTOCK_DATA: data })
      assert.match(first.printed, /curl/)
      const [, url, token] = opening.exec(first.printed)!
      assert.match(first.printed.trimStart(), /^Open the console: /)
      const session = await signIn(url!, token!)
      assert.equal(session.user.email, 'ingrid.solheim@northwind.example')
      await assert.rejects(signIn(url!, token!), /401/)
      const file = join(data, 'sample.env')
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.equal(statSync(join(data, 'master-keys.json')).mode & 0o777, 0o600)
      assert.equal(statSync(data).mode & 0o777, 0o700)
      const made = readFileSync(file, 'utf8')
      assert.ok(
        made
          .split('\n')
          .filter(Boolean)
          .every((line) => /^[A-Z_]+=\S+$/.test(line)),
        made,
      )
      assert.equal(await end(first.child), 0)
      assert.ok(!existsSync(join(data, 'penstock.db-wal')), 'all of it is in the file')

      const second = await start('try', { PENSTOCK_DATA: data, PENSTOCK_TRY_ENGINE: 'http://127.0.0.1:1' })
      assert.match(second.printed, /^PENSTOCK_TRY_ENGINE is ignored: the data folder has a service already\./m)
      const examined = async (...options: string[]) =>
        (await run(['doctor', ...options], { PENSTOCK_DATA: data })).printed.split('\n')
      const aboutEngines = /^problem +engines/
      const untold = await examined()
      assert.match(untold[0]!, /^ok +settings .*"penstock doctor --try" checks it with those settings$/)
      assert.match(untold.find((line) => aboutEngines.test(line))!, /is on the machine of Penstock itself/)
      const findings = await examined('--try')
      assert.match(findings[0]!, /^ok +settings +all are known and valid$/)
      assert.ok(!findings.some((line) => line.includes('is on the machine of Penstock itself')), findings.join('\n'))
      const without = (text: string) => text.replace(/^BASE_URL=.*$/m, '')
      assert.equal(without(readFileSync(file, 'utf8')), without(made))
      const [, secondUrl, secondToken] = opening.exec(second.printed)!
      assert.equal((await signIn(secondUrl!, secondToken!)).user.email, 'ingrid.solheim@northwind.example')
      assert.equal(await end(second.child), 0)
    })

    it('serves order files as object storage, and survives malformed requests', async () => {
      const data = join(folder, 'files')
      const { child, printed } = await start('try', {
        PENSTOCK_DATA: data,
        PENSTOCK_TRY_ENGINE: 'http://reader:engine-password@127.0.0.1:18123',
      })
      assert.match(printed, /Orders from files[\s\S]*created with the ClickHouse at http:\/\/127\.0\.0\.1:18123\./)
      assert.doesNotMatch(printed, /:8123|engine-password/)
      const files = /^FILES_URL=(http:\/\/127\.0\.0\.1:\d+)\/files\/orders\/\*\.json$/m.exec(
        readFileSync(join(data, 'sample.env'), 'utf8'),
      )![1]!
      const listed = await (await fetch(`${files}/files?list-type=2&prefix=orders/`)).text()
      const key = /<Key>([^<]+)<\/Key>/.exec(listed)![1]!
      const [order] = (await (await fetch(`${files}/files/${key}`)).text()).split('\n')
      assert.deepEqual(Object.keys(JSON.parse(order!)), ['order_id', 'ordered_at', 'product', 'country', 'amount'])
      assert.equal((await fetch(`${files}/files/orders/../../master-keys.json`)).status, 403)
      assert.equal((await fetch(`${files}/files/orders/%2e%2e%2fsample.env`)).status, 404)
      assert.equal((await fetch(`${files}/files/${key}`, { method: 'DELETE' })).status, 403)
      const { status } = await new Promise<{ status: number | undefined }>((resolve, reject) => {
        request(files, { path: '//' }, (answer) => resolve({ status: answer.resume().statusCode }))
          .on('error', reject)
          .end()
      })
      assert.equal(status, 400)
      assert.equal(await end(child), 0)
    })

    it('keeps the keys of the sample when it cannot listen', async () => {
      const data = join(folder, 'taken')
      const other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const { port } = other.address() as { port: number }
      await refuses(['try'], { PENSTOCK_DATA: data, PENSTOCK_PORT: String(port) }, /^Port \d+ on 127\.0\.0\.1 is taken/)
      other.close()
      assert.match(readFileSync(join(data, 'sample.env'), 'utf8'), /^KEY_SECRET=pst_/m)
    })
  })

  describe('init and start', () => {
    it('refuse an unknown role, and one that cannot run alone on SQLite', async () => {
      const settings = { PENSTOCK_DATA: join(folder, 'roles') }
      await refuses(['start', '--role', 'worker'], settings, /^--role must be one of all, api, runner, not "worker"/)
      await refuses(['start', '--role', 'runner'], settings, /^--role runner needs PostgreSQL \(DATABASE_URL\)/)
    })

    it('set up once, then run', async () => {
      const data = join(folder, 'real')
      await refuses(['start'], { PENSTOCK_DATA: data }, /^This Penstock has not been set up yet/)
      assert.ok(!existsSync(join(data, 'master-keys.json')), 'start must make no key')
      const made = await run(initArguments, { PENSTOCK_DATA: data })
      assert.equal(made.code, 0, made.error)
      assert.match(made.printed, /^Key secret +pst_\w{49} /m)
      const token = /^Sign in at +http:\S+\/console\/sign-in#(lnk_\w{43}) {3}\(works once, /m.exec(made.printed)![1]!
      await refuses(initArguments, { PENSTOCK_DATA: data }, /^This Penstock has been set up already/)
      const running = await start('start', { PENSTOCK_DATA: data })
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(running.printed)![0]
      assert.equal((await signIn(url, token)).user.email, 'ada@acme.example')
      await refuses(
        ['link', '--email', 'ada@acme.example'],
        { PENSTOCK_DATA: data },
        /^Penstock is running on this data/,
      )
      await refuses(['start'], { PENSTOCK_DATA: data }, /^Another Penstock is using /)
      assert.equal(await end(running.child), 0)

      const keys = join(data, 'master-keys.json')
      renameSync(keys, `${keys}.away`)
      await refuses(['start'], { PENSTOCK_DATA: data }, /^The master key file .* is missing/)
      const another = join(folder, 'another')
      await run(initArguments, { PENSTOCK_DATA: another })
      await refuses(
        ['start'],
        { PENSTOCK_DATA: data, PENSTOCK_MASTER_KEY_FILE: join(another, 'master-keys.json') },
        /does not belong to this database/,
      )
    })

    it('print a sign-in link for a user without a password', async () => {
      const data = join(folder, 'linked')
      await refuses(
        ['link', '--email', 'ada@acme.example'],
        { PENSTOCK_DATA: data },
        /^This Penstock has not been set up yet/,
      )
      await run(initArguments, { PENSTOCK_DATA: data })
      const settings = { PENSTOCK_DATA: data, PENSTOCK_PUBLIC_URL: 'https://penstock.acme.example/' }
      const made = await run(['link', '--email', 'Ada@acme.example', '--minutes', '5'], settings)
      assert.equal(made.code, 0, made.error)
      assert.match(
        made.printed,
        /^https:\/\/penstock\.acme\.example\/console\/sign-in#lnk_\w{43}\nIt signs ada@acme\.example in once, within 5 minutes\.\n$/,
      )
      await refuses(['link', '--email', 'nobody@acme.example'], settings, /^Nobody here has the email address "nobody@/)
      for (const minutes of ['0', '-1', '1.5', 'x', '10081', '']) {
        await refuses(
          ['link', '--email', 'ada@acme.example', `--minutes=${minutes}`],
          settings,
          /^--minutes must be a number from 1 to 10080/,
        )
      }
    })

    it('create another organization, for an existing or a new user', async () => {
      const data = join(folder, 'several')
      const settings = { PENSTOCK_DATA: data }
      const create = (...more: string[]) => ['organization', 'create', '--name', 'Acme Labs', ...more]
      await refuses(create('--admin-email', 'ada@acme.example'), settings, /^This Penstock has not been set up yet/)
      const first = await run(initArguments, settings)
      const adaId = /Admin user +(\S+)/.exec(first.printed)![1]
      await refuses(
        create('--admin-email', 'ADA@acme.example', '--admin-name', 'Ada'),
        settings,
        /^"ada@acme\.example" is the account of "Ada", here since \d{4}-\d\d-\d\d, a member of "Acme"\. .*--existing-account/,
      )
      const known = await run(create('--admin-email', 'ADA@acme.example', '--existing-account'), settings)
      assert.equal(known.code, 0, known.error)
      assert.equal(/Admin user +(\S+)/.exec(known.printed)![1], adaId)
      assert.match(known.printed, /^Organization \S+\n[\s\S]*Key secret +pst_\w+[\s\S]*Sign in at +http\S+#lnk_\w{43} /)
      assert.notEqual(/Organization (\S+)/.exec(known.printed)![1], /Organization (\S+)/.exec(first.printed)![1])
      for (const more of [[], ['--admin-name', 'Noor', '--existing-account']]) {
        const args = create('--admin-email', 'noor@acme.example', ...more)
        await refuses(args, settings, /^Nobody here has the email address "noor@/)
      }
      const fresh = await run(create('--admin-email', 'noor@acme.example', '--admin-name', 'Noor'), settings)
      assert.equal(fresh.code, 0, fresh.error)
      assert.notEqual(/Admin user +(\S+)/.exec(fresh.printed)![1], adaId)
      await refuses(
        create('--admin-email', 'ada@acme.example'),
        settings,
        /is the account of "Ada", .*, a member of "Acme", "Acme Labs"\. /,
      )
      await refuses(create('--admin-email', 'noor'), settings, /^"noor" is not an email address/)
    })

    it('ask for missing values', async () => {
      await refuses(['init'], { PENSTOCK_DATA: join(folder, 'asked') }, /^--organization is missing/)
    })

    /** Runs with a pseudo-terminal. Types each answer once its question appears. */
    async function runAtTerminal(
      args: string[],
      settings: Record<string, string>,
      answers: [question: string, typed: string][],
    ): Promise<{ code: number | null; printed: string }> {
      const command = [process.execPath, mainFile, ...args].join(' ')
      const child = spawn(terminalMaker, ['-qec', command, '/dev/null'], {
        env: environment(settings),
        timeout: 60_000,
      })
      let printed = ''
      let seen = 0
      const left = [...answers]
      child.stdout.on('data', (chunk) => {
        printed += chunk
        const [next] = left
        const at = next ? printed.indexOf(`${next[0]}: `, seen) : -1
        if (at < 0) return
        seen = at + 1
        left.shift()
        child.stdin.write(next![1])
      })
      const [code] = (await once(child, 'close')) as [number | null]
      assert.deepEqual(left, [], printed)
      return { code, printed }
    }

    const [ctrlC, ctrlD] = ['\u0003', '\u0004']
    const canMakeTerminal = process.platform === 'linux' && existsSync(terminalMaker)

    it('ask again after an invalid answer', { skip: !canMakeTerminal }, async () => {
      const { code, printed } = await runAtTerminal(['init'], { PENSTOCK_DATA: join(folder, 'typed') }, [
        ['Name of the organization', '\r'],
        ['Name of the organization', 'Acme\r'],
        ['Name of its first admin', 'Ada\r'],
        ['Email of the admin', 'ada.acme.example\r'],
        ['Email of the admin', 'ada@acme.example\r'],
      ])
      assert.equal(code, 0, printed)
      assert.match(printed, /^It must not be empty\.\r$/m)
      assert.match(printed, /^"ada\.acme\.example" is not an email address\.\r$/m)
      assert.match(printed, /^Key secret +pst_/m)
    })

    it('end with a message when the terminal is closed, and create nothing', { skip: !canMakeTerminal }, async () => {
      const data = join(folder, 'gone')
      for (const [at, key] of [ctrlC, ctrlD].entries()) {
        const { code, printed } = await runAtTerminal(['init'], { PENSTOCK_DATA: `${data}-${at}` }, [
          ['Name of the organization', 'Acme\r'],
          ['Name of its first admin', key],
        ])
        assert.equal(code, 1, printed)
        assert.match(printed, /\r\nNothing was changed\.\r\n$/)
        assert.doesNotMatch(printed, /defect/)
        assert.ok(!existsSync(`${data}-${at}`))
      }
    })

    it('refuse an invalid email address before asking anything', async () => {
      const data = join(folder, 'slip')
      await refuses(['init', '--admin-email', 'ada'], { PENSTOCK_DATA: data }, /^"ada" is not an email address/)
    })

    it('listen beyond loopback only behind TLS', async () => {
      const data = join(folder, 'open')
      await run(initArguments, { PENSTOCK_DATA: data })
      await refuses(
        ['start'],
        { PENSTOCK_DATA: data, PENSTOCK_HOST: '0.0.0.0' },
        /PENSTOCK_TLS_IN_FRONT=true, PENSTOCK_PUBLIC_URL and PENSTOCK_TRUSTED_PROXIES/,
      )
    })
  })

  describe('settings', () => {
    const oidc = (issuer: string): Record<string, string> => ({
      PENSTOCK_OIDC_ISSUER: issuer,
      PENSTOCK_OIDC_CLIENT_ID: 'penstock',
      PENSTOCK_OIDC_CLIENT_SECRET_FILE: '/nowhere/secret',
    })
    const cases: [string, Record<string, string>, RegExp][] = [
      ['a setting that does not exist', { PENSTOCK_PROT: '1' }, /^PENSTOCK_PROT is not a setting/],
      ['an invalid port', { PENSTOCK_PORT: '80 80' }, /^PENSTOCK_PORT must be/],
      ['a rate limit without a unit', { PENSTOCK_RATE_LIMIT: '100' }, /^PENSTOCK_RATE_LIMIT must be/],
      ['a proxy that is not an address', { PENSTOCK_TRUSTED_PROXIES: 'proxy' }, /^PENSTOCK_TRUSTED_PROXIES must be/],
      ['yes instead of true', { PENSTOCK_ALLOW_LOOPBACK: 'yes' }, /^PENSTOCK_ALLOW_LOOPBACK must be true or false/],
      [
        'a public address with a path',
        { PENSTOCK_PUBLIC_URL: 'https://example.com/penstock' },
        /^PENSTOCK_PUBLIC_URL must be the address .*without a path/,
      ],
      [
        'an invalid public address',
        { PENSTOCK_PUBLIC_URL: 'https://exa mple.com' },
        /^PENSTOCK_PUBLIC_URL must be the address/,
      ],
      [
        'a public address with an impossible port',
        { PENSTOCK_PUBLIC_URL: 'https://penstock.example.com:99999' },
        /^PENSTOCK_PUBLIC_URL must be the address/,
      ],
      [
        'a public address with a query',
        { PENSTOCK_PUBLIC_URL: 'https://example.com/?a=b' },
        /^PENSTOCK_PUBLIC_URL must be the address/,
      ],
      ['an invalid host', { PENSTOCK_HOST: 'a b' }, /^PENSTOCK_HOST must be an address or a name/],
      [
        'TLS in front without the address that it is for',
        { PENSTOCK_TLS_IN_FRONT: 'true' },
        /^PENSTOCK_TLS_IN_FRONT=true needs PENSTOCK_PUBLIC_URL with the https address/,
      ],
      [
        'TLS in front of an address without TLS',
        { PENSTOCK_TLS_IN_FRONT: 'true', PENSTOCK_PUBLIC_URL: 'http://penstock.example.com' },
        /^PENSTOCK_TLS_IN_FRONT=true needs PENSTOCK_PUBLIC_URL with the https address/,
      ],
      ['another database', { DATABASE_URL: 'mysql://127.0.0.1/x' }, /^DATABASE_URL must begin with postgres/],
      [
        'an unreachable DATABASE_URL',
        { DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/x' },
        /nothing listens there\.$/,
      ],
      ['a DATABASE_URL that is not a URL', { DATABASE_URL: 'postgres://a:hid/den@127.0.0.1/x' }, /^PostgreSQL at /],
      [
        'half of an OpenID provider',
        { PENSTOCK_OIDC_ISSUER: 'https://accounts.example.com' },
        /missing: PENSTOCK_OIDC_CLIENT_ID, PENSTOCK_OIDC_CLIENT_SECRET_FILE\.$/,
      ],
      ['a name of an OpenID provider alone', { PENSTOCK_OIDC_NAME: 'Google' }, /must all be set/],
      [
        'an OpenID provider without TLS',
        oidc('http://accounts.example.com'),
        /^PENSTOCK_OIDC_ISSUER must be the https/,
      ],
      ['an OpenID provider that is not a URL', oidc('accounts'), /^PENSTOCK_OIDC_ISSUER must be the https/],
      [
        'a client secret file that does not exist',
        oidc('http://127.0.0.1:9'),
        /^PENSTOCK_OIDC_CLIENT_SECRET_FILE=\/nowhere\/secret cannot be read \(ENOENT\)\.$/,
      ],
      [
        'a folder that cannot be created',
        { PENSTOCK_DATA: '/proc/penstock' },
        /^The data folder \/proc\/penstock cannot be used/,
      ],
      [
        'a folder that is a file',
        { PENSTOCK_DATA: '/etc/passwd' },
        /^The data folder \/etc\/passwd is not a folder\. Set PENSTOCK_DATA to one\.$/,
      ],
      [
        'an unknown sslmode',
        { DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/x?sslmode=yes' },
        /^DATABASE_URL has sslmode="yes", which is unknown/,
      ],
    ]
    for (const [name, settings, sentence] of cases) {
      it(`refuse ${name}`, async () => {
        await refuses(['start'], { PENSTOCK_DATA: join(folder, 'settings'), ...settings }, sentence)
      })
    }

    it('refuse a folder that others can read, and leave it unchanged', async () => {
      const data = join(folder, 'shared')
      mkdirSync(data)
      chmodSync(data, 0o755)
      await refuses(['try'], { PENSTOCK_DATA: data }, /is open to other users/)
      assert.equal(statSync(data).mode & 0o777, 0o755)
    })

    it('never print the password of DATABASE_URL', async () => {
      const { printed, error } = await run(['start'], {
        DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/x',
        PENSTOCK_DATA: join(folder, 'x'),
      })
      assert.doesNotMatch(printed + error, /hidden/)
    })
  })
})
