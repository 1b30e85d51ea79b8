// `penstock doctor` on a new installation: its output and exit code.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { mainFile, environment as ownEnvironment } from '../../bin/launch.js'
import { type CheckName, checkNames, type Finding } from '../../src/doctor/finding.ts'
import type { MasterKeys } from '../../src/lib/vault.ts'
import { freshPostgresDatabase } from '../harness/test-app.ts'

/** Checks that depend on the machine. */
const ofMachine: CheckName[] = ['file system', 'disk sync', 'free space', 'open files', 'memory']
const onlyOfPostgres: CheckName[] = ['transactions', 'connections']

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`penstock doctor on ${dialect}`, () => {
    let folder: string
    let settings: Record<string, string>

    function run(args: string[], more: Record<string, string> = {}): Promise<{ code: number; printed: string }> {
      const env = { PATH: process.env.PATH, ...ownEnvironment, ...settings, ...more }
      return new Promise((resolve) => {
        execFile(process.execPath, [mainFile, ...args], { env, timeout: 60_000 }, (err, stdout, stderr) => {
          assert.equal(stderr, '')
          resolve({ code: err ? Number(err.code ?? -1) : 0, printed: stdout })
        })
      })
    }

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'penstock-doctor-'))
      chmodSync(folder, 0o700)
      const database = dialect === 'postgres' ? { DATABASE_URL: await freshPostgresDatabase() } : undefined
      settings = { PENSTOCK_DATA: folder, ...database }
      const person = ['--admin-name', 'Ada', '--admin-email', 'ada@acme.example']
      assert.equal((await run(['init', '--organization', 'Acme', ...person])).code, 0)
    })
    after(() => rmSync(folder, { recursive: true, force: true }))

    const secrets = (): string[] => {
      const { keys, pepper } = JSON.parse(readFileSync(join(folder, 'master-keys.json'), 'utf8')) as MasterKeys
      const password = settings.DATABASE_URL ? [new URL(settings.DATABASE_URL).password] : []
      return [...Object.values(keys), pepper, ...password]
    }

    it('prints a line per check, aligned and without colours, and exits with 0', async () => {
      const filesBefore = readdirSync(folder).filter((name) => !/-(?:wal|shm)$/.test(name))
      const { code, printed } = await run(['doctor'])
      assert.equal(code, 0, printed)
      const lines = printed.trimEnd().split('\n')
      assert.match(lines.pop()!, /^0 problems, \d warnings?\.$/)
      const expected = checkNames.filter((name) => dialect === 'postgres' || !onlyOfPostgres.includes(name))
      const found = lines.map((line) => /^(ok|warning|problem) +\b(.*?) {2,}\S/.exec(line)!.slice(1))
      assert.deepEqual(found.map(([, check]) => check).sort(), [...expected].sort())
      const notOk = found.filter(([verdict, check]) => verdict !== 'ok' && !ofMachine.includes(check as CheckName))
      assert.deepEqual(notOk, [], printed)
      const column = lines[0]!.indexOf('all are known')
      for (const line of lines) assert.match(line.slice(column - 2), /^ {2}\S/, line)
      assert.ok(!printed.includes('\u001b'))
      for (const secret of secrets()) assert.ok(!printed.includes(secret))
      assert.deepEqual(
        readdirSync(folder).filter((name) => !/-(?:wal|shm)$/.test(name)),
        filesBefore,
      )
    })

    it('prints the same as JSON, including problems, and exits with 1', async () => {
      chmodSync(folder, 0o750)
      try {
        const { code, printed } = await run(['doctor', '--json'])
        assert.equal(code, 1)
        const { problems, findings, notChecked } = JSON.parse(printed) as {
          problems: number
          findings: Finding[]
          notChecked: string[]
        }
        assert.equal(problems, 1)
        assert.deepEqual(notChecked, [])
        const [finding] = findings.filter(({ verdict }) => verdict === 'problem')
        assert.deepEqual(finding, {
          check: 'data folder',
          verdict: 'problem',
          found: `${folder} is open to other users (mode 0750)`,
          remedy: `run "chmod 700 ${folder}"`,
        })
        for (const secret of secrets()) assert.ok(!printed.includes(secret))
      } finally {
        chmodSync(folder, 0o700)
      }
    })

    it('reports skipped checks', async () => {
      const { code, printed } = await run(['doctor'], { PENSTOCK_PROT: '80' })
      assert.equal(code, 1)
      const [line, count, notChecked] = printed.split('\n')
      assert.match(line!, /^problem {2}settings {2,}PENSTOCK_PROT is not a setting of Penstock\..*; remedy: correct /)
      assert.equal(count, '1 problem, 0 warnings.')
      assert.match(notChecked!, /^Not checked, because an earlier check failed: listening, data folder, /)
    })
  })
}
