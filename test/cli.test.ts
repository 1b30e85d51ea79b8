// The commands as a person meets them: what they print, how they end, and what they leave behind.
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const compileCache = fileURLToPath(new URL('../node_modules/.cache/penstock', import.meta.url))
const initArguments = ['init', '--organization', 'Acme', '--admin-name', 'Ada', '--admin-email', 'ada@acme.example']

describe('the commands', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-cli-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const environment = (settings: Record<string, string>) => ({
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: compileCache,
    PENSTOCK_PORT: '0',
    ...settings,
  })

  function run(
    args: string[],
    settings: Record<string, string>,
  ): Promise<{ code: number; printed: string; error: string }> {
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        [program, ...args],
        { env: environment(settings), timeout: 20_000 },
        (error, stdout, stderr) =>
          resolve({ code: error ? Number(error.code ?? -1) : 0, printed: stdout, error: stderr }),
      )
    })
  }

  async function start(
    command: string,
    settings: Record<string, string>,
  ): Promise<{ child: ChildProcess; printed: string }> {
    const child = spawn(process.execPath, [program, command], {
      env: environment(settings),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (chunk) => {
        printed += chunk
      })
    }
    while (!/http:\/\/127\.0\.0\.1:\d+/.test(printed) && child.exitCode === null)
      await new Promise((r) => setTimeout(r, 20))
    return { child, printed }
  }

  async function end(child: ChildProcess): Promise<number | null> {
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number | null]
    return code
  }

  async function refuses(args: string[], settings: Record<string, string>, sentence: RegExp): Promise<void> {
    const { code, printed, error } = await run(args, settings)
    assert.equal(code, 1, `${printed}${error}`)
    assert.match(error.trim(), sentence)
    assert.equal(error.trim().split('\n').length, 1, `more than one sentence: ${error}`)
    assert.doesNotMatch(error, /\bat .*:\d+:\d+/, 'a stack trace')
  }

  describe('try', () => {
    it('makes a sample once, keeps it private, and ends with 0 on SIGTERM', async () => {
      const data = join(folder, 'try')
      const first = await start('try', { PENSTOCK_DATA: data })
      assert.match(first.printed, /curl/)
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

      const second = await start('try', { PENSTOCK_DATA: data })
      const without = (text: string) => text.replace(/^BASE_URL=.*$/m, '')
      assert.equal(without(readFileSync(file, 'utf8')), without(made))
      assert.equal(await end(second.child), 0)
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
    it('set up once, then run', async () => {
      const data = join(folder, 'real')
      await refuses(['start'], { PENSTOCK_DATA: data }, /^This Penstock has not been set up yet/)
      assert.ok(!existsSync(join(data, 'master-keys.json')), 'start must make no key')
      const made = await run(initArguments, { PENSTOCK_DATA: data })
      assert.equal(made.code, 0, made.error)
      assert.match(made.printed, /^Key secret +pst_\w{49} /m)
      await refuses(initArguments, { PENSTOCK_DATA: data }, /^This Penstock has been set up already/)
      const running = await start('start', { PENSTOCK_DATA: data })
      assert.match(running.printed, /"listening"/)
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

    it('ask for what is missing', async () => {
      await refuses(['init'], { PENSTOCK_DATA: join(folder, 'asked') }, /^--organization is missing/)
    })

    it('listen beyond loopback only behind TLS', async () => {
      const data = join(folder, 'open')
      await run(initArguments, { PENSTOCK_DATA: data })
      await refuses(['start'], { PENSTOCK_DATA: data, PENSTOCK_HOST: '0.0.0.0' }, /PENSTOCK_TLS_IN_FRONT=true/)
    })
  })

  describe('settings', () => {
    const cases: [string, Record<string, string>, RegExp][] = [
      ['a setting that does not exist', { PENSTOCK_PROT: '1' }, /^PENSTOCK_PROT is not a setting/],
      ['a port that is none', { PENSTOCK_PORT: '80 80' }, /^PENSTOCK_PORT must be/],
      ['a rate limit without a unit', { PENSTOCK_RATE_LIMIT: '100' }, /^PENSTOCK_RATE_LIMIT must be/],
      ['a proxy that is no address', { PENSTOCK_TRUSTED_PROXIES: 'proxy' }, /^PENSTOCK_TRUSTED_PROXIES must be/],
      ['a yes that is not true', { PENSTOCK_ALLOW_LOOPBACK: 'yes' }, /^PENSTOCK_ALLOW_LOOPBACK must be true or false/],
      ['another database', { DATABASE_URL: 'mysql://127.0.0.1/x' }, /^DATABASE_URL must begin with postgres/],
      ['nobody at DATABASE_URL', { DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/x' }, /nothing listens there\.$/],
      ['a DATABASE_URL that is no URL', { DATABASE_URL: 'postgres://a:hid/den@127.0.0.1/x' }, /^PostgreSQL at /],
      [
        'a folder that cannot be made',
        { PENSTOCK_DATA: '/proc/penstock' },
        /^The data folder \/proc\/penstock cannot be used/,
      ],
    ]
    for (const [name, settings, sentence] of cases) {
      it(`refuse ${name}`, async () => {
        await refuses(['start'], { PENSTOCK_DATA: join(folder, 'settings'), ...settings }, sentence)
      })
    }

    it('refuse a folder that others may look into, and leave it as it is', async () => {
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
