// Runs the examples of the documentation unchanged: readers who paste them must get the documented result.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestEngine } from '../fakes/engine-front.ts'
import { openEmbeddedEngine } from '../harness/embedded-engine.ts'
import { openTestApp, type TestApp } from '../harness/test-app.ts'

const run = promisify(execFile)
/** Some examples run many commands, each of which loads the whole program. */
const timeout = 100_000
const root = new URL('../../', import.meta.url)
const textOf = (page: string): string => readFileSync(new URL(page, root), 'utf8')
/** Pages with `sh` blocks; those of tutorials run in test/real/tutorials.test.ts, because they need servers. */
const pages = ['README.md', ...globSync('docs/{how-to,reference,explanation}/*.md', { cwd: fileURLToPath(root) })]
  .toSorted()
  .filter((page) => textOf(page).includes('\n```sh\n'))

describe('the examples of the documentation', () => {
  let app: TestApp
  let engine: TestEngine
  let environment: Record<string, string>
  before(async () => {
    app = await openTestApp('sqlite')
    const { sample } = app
    engine = await openEmbeddedEngine()
    const { url, username, password } = engine
    const service = `/v1/organizations/${sample.organizationId}/services/${sample.serviceId}`
    await app.request('PATCH', service, { body: { endpoint: { url, username, password } } })
    // The commands of this checkout, with a separate home folder.
    const commands = join(app.config.dataFolder, 'commands')
    mkdirSync(commands)
    const program = fileURLToPath(new URL('../../bin/penstock.js', import.meta.url))
    writeFileSync(join(commands, 'penstock'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
      mode: 0o700,
    })
    environment = {
      PATH: `${commands}:${process.env.PATH}`,
      XDG_CONFIG_HOME: join(app.config.dataFolder, 'home'),
      BASE_URL: await app.app.listen(),
      KEY_ID: sample.keyId,
      KEY_SECRET: sample.keySecret,
      DEVELOPER_KEY_ID: sample.developerKeyId,
      DEVELOPER_KEY_SECRET: sample.developerKeySecret,
      ORGANIZATION_ID: sample.organizationId,
      ADMIN_USER_ID: sample.adminUserId,
      USER_ID: sample.userId,
      SERVICE_ID: sample.serviceId,
      KAFKA_PIPE_ID: sample.pipeIds.kafka,
      KINESIS_PIPE_ID: sample.pipeIds.kinesis,
      OBJECT_STORAGE_PIPE_ID: sample.pipeIds.objectStorage,
      POSTGRES_PIPE_ID: sample.pipeIds.postgres,
    }
  })
  after(async () => {
    await app.close()
    await engine.close()
  })

  for (const page of pages) {
    const text = textOf(page)
    const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => match[1]!)
    for (const [index, block] of blocks.entries()) {
      it(`${page}, example ${index + 1}`, async () => {
        // The reader's shell runs in the folder that contains data/sample.env.
        const file = join(app.config.dataFolder, 'example.sh')
        writeFileSync(file, block.replace(/^\. \.\/data\/sample\.env$/m, ''))
        const { stdout } = await run('sh', ['-e', file], {
          env: environment,
          cwd: app.config.dataFolder,
          timeout,
        })
        assert.doesNotMatch(stdout, /"status":5\d\d/)
      })
    }
  }

  it('docs/reference/client.md: its examples form one program', async () => {
    const text = textOf('docs/reference/client.md')
    const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]!)
    assert.ok(blocks.length > 3)
    const client = new URL('../../src/client/client.ts', import.meta.url).href
    const file = join(app.config.dataFolder, 'example.mts')
    writeFileSync(file, blocks.join('\n').replace("'penstock-server/client'", `'${client}'`))
    const { stdout } = await run(process.execPath, [file], {
      env: {
        ...environment,
        PENSTOCK_URL: environment.BASE_URL!,
        PENSTOCK_KEY_ID: environment.KEY_ID!,
        PENSTOCK_KEY_SECRET: environment.KEY_SECRET!,
        PENSTOCK_ORGANIZATION_ID: environment.ORGANIZATION_ID!,
      },
      timeout,
    })
    assert.match(stdout, /[0-9a-f-]{36}\n/)
  })

  it('README.md: its three operations succeed', async () => {
    const text = textOf('README.md')
    const block = /^```sh\n(.*?)^```$/ms.exec(text)![1]!.replace(/^\. \.\/data\/sample\.env$/m, '')
    const { stdout } = await run('sh', ['-ec', block], {
      env: environment,
      timeout,
    })
    assert.deepEqual(stdout.match(/"status":\d+/g), ['"status":200', '"status":200', '"status":200'])
  })
})
