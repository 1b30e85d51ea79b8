// Runs the tutorials unchanged against real servers: readers who paste their commands must get the documented output. The pipes
// write with a ClickHouse user that has the privileges of the page and no others.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import type { KafkaServer } from '../sources/kafka-server.ts'
import type { KinesisServer } from '../sources/kinesis-server.ts'
import type { ObjectServer } from '../sources/object-server.ts'
import type { PostgresServer } from '../sources/postgres-conformance.ts'
import { startModernEngine } from './servers/chdb.ts'
import type { EngineServer } from './servers/engine.ts'
import { startKafka } from './servers/kafka.ts'
import { startMotoKinesis } from './servers/moto-kinesis.ts'
import { startDebianPostgres } from './servers/postgres.ts'
import { startVersitygw } from './servers/versitygw.ts'
import { compareOutput, readTutorial, scriptOf, splitOutput, type Tutorial } from './tutorial-page.ts'
import { startTry, type TryProcess, writeKafkaAdminConfig, writeKafkaCommands } from './tutorial-servers.ts'

const names = ['first-pipe-from-kafka', 'replicate-postgresql', 'load-files-from-s3', 'stream-from-kinesis'] as const
type Name = (typeof names)[number]

const engineUser = (name: Name): string => name.replaceAll('-', '_')

const keyText = ({ accessKeyId, secretKey }: { accessKeyId: string; secretKey: string }): string =>
  `${accessKeyId}:${secretKey}`

const bucket = 'penstock-tutorial'

/** moto looks for permissions on `*`, whatever the stream. */
const streamOfPolicy = '"Resource": "$(stream StreamARN)"'
const streamForMoto = '"Resource": "*"'

/** Each wait in a tutorial ends after a minute. */
const timeoutMs = 400_000

describe('the tutorials', { concurrency: true }, () => {
  let tutorials: Record<Name, Tutorial>
  let folder: string
  /** Folder of Kafka's commands. */
  let commands: string
  const stops: (() => Promise<void>)[] = []
  let engine: EngineServer
  let penstock: TryProcess
  let kafka: KafkaServer
  let postgres: PostgresServer
  let objects: ObjectServer
  let kinesis: KinesisServer

  before(async () => {
    tutorials = Object.fromEntries(
      names.map((name) => [name, readTutorial(new URL(`../../docs/tutorials/${name}.md`, import.meta.url))]),
    ) as Record<Name, Tutorial>
    folder = mkdtempSync(join(tmpdir(), 'penstock-tutorials-'))
    commands = join(folder, 'commands')
    const grants = Object.fromEntries(names.map((name) => [engineUser(name), tutorials[name].grant]))
    const startPenstock = async (): Promise<void> => {
      ;[engine, postgres, kinesis] = await Promise.all([
        started(startModernEngine(grants)),
        started(startDebianPostgres()),
        started(startMotoKinesis()),
      ])
      writeFileSync(join(folder, 'ca.pem'), postgres.ca)
      penstock = await started(
        startTry(folder, {
          PENSTOCK_TRY_ENGINE: engineUrl(),
          PENSTOCK_AWS_ENDPOINTS: `kinesis=${kinesis.endpoint}`,
          PENSTOCK_CA_CERTIFICATES: join(folder, 'ca.pem'),
        }),
      )
    }
    const startOthers = async (): Promise<void> => {
      ;[kafka, objects] = await Promise.all([started(startKafka()), started(startVersitygw())])
      await objects.createBucket(bucket)
      writeKafkaCommands(commands)
      writeKafkaAdminConfig(join(folder, 'admin.properties'), kafka)
    }
    const results = await Promise.allSettled([startPenstock(), startOthers()])
    for (const result of results) if (result.status === 'rejected') throw result.reason
  })
  after(async () => {
    for (const stop of stops.reverse()) await stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  })

  async function started<Server extends { stop(): Promise<void> }>(starting: Promise<Server>): Promise<Server> {
    const server = await starting
    stops.push(() => server.stop())
    return server
  }

  const engineUrl = (): string => engine.url.replace('://', `://${engine.user.username}:${engine.user.password}@`)

  /** The variables that a page asks for. */
  const variablesOf: Record<Name, () => Record<string, string>> = {
    'first-pipe-from-kafka': () => ({
      KAFKA_BROKERS: kafka.listeners.saslPlain,
      KAFKA_ADMIN_CONFIG: join(folder, 'admin.properties'),
    }),
    'replicate-postgresql': () => ({
      PGHOST: postgres.host,
      PGPORT: String(postgres.port),
      PGUSER: postgres.superuser.username,
      PGPASSWORD: postgres.superuser.password,
    }),
    'load-files-from-s3': () => ({
      S3_BUCKET_URL: `${objects.endpoint}/${bucket}`,
      S3_REGION: objects.region,
      S3_ADMIN_KEY: keyText(objects.root!),
      S3_PRINCIPAL: objects.powerless!.accessKeyId,
      S3_KEY_ID: objects.powerless!.accessKeyId,
      S3_SECRET_KEY: objects.powerless!.secretKey,
    }),
    'stream-from-kinesis': () => ({
      AWS_REGION: kinesis.region,
      AWS_ADMIN_KEY: keyText(kinesis.credentials),
      KINESIS_ENDPOINT: kinesis.endpoint,
      IAM_ENDPOINT: kinesis.endpoint,
    }),
  }

  for (const name of names) {
    it(`docs/tutorials/${name}.md`, async () => {
      const tutorial = tutorials[name]
      const variables = variablesOf[name]()
      assert.deepEqual(Object.keys(tutorial.variables), Object.keys(variables))
      const values = Object.entries(tutorial.variables).map(([key, value]): [string, string] => [
        value,
        variables[key]!,
      ])
      const script = scriptOf(tutorial).replace(streamOfPolicy, streamForMoto)
      const { outputs, errors, code } = await run(name, script, variables)
      for (const [index, printed] of outputs.entries()) {
        const block = tutorial.blocks[index]!
        const { expected, actual } = compareOutput(block.output, printed, values)
        assert.equal(actual, expected, `${block.commands}\nprints:\n${actual}\nand not:\n${expected}`)
      }
      assert.equal(code, 0, `${tutorial.blocks[outputs.length]?.commands}\nfails:\n${errors}`)
    })
  }

  async function run(
    name: Name,
    script: string,
    variables: Record<string, string>,
  ): Promise<{ outputs: string[]; errors: string; code: number | null }> {
    const own = join(folder, name)
    mkdirSync(join(own, 'data'), { recursive: true })
    writeFileSync(join(own, 'data', 'sample.env'), await sampleFor(name))
    writeFileSync(join(own, 'tutorial.sh'), script)
    const child = spawn('sh', ['-e', 'tutorial.sh'], {
      cwd: own,
      env: {
        PATH: `${commands}:${process.env.PATH}:${dirname(process.execPath)}`,
        HOME: own,
        LC_ALL: 'C.UTF-8',
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
    })
    const [printed, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { outputs: splitOutput(printed), errors: `${printed.slice(-2_000)}\n${errors}`, code }
  }

  /** sample.env with a service whose user has the privileges of the page. */
  async function sampleFor(name: Name): Promise<string> {
    const { id } = await penstock.call<{ id: string }>('POST', 'services', {
      name,
      provider: 'aws',
      region: 'eu-west-1',
      endpoint: { url: engine.url, username: engineUser(name), password: engine.user.password },
    })
    const sample = { ...penstock.sample, SERVICE_ID: id, ENGINE_URL: engineUrl() }
    return Object.entries(sample)
      .map(([key, value]) => `${key}=${value}\n`)
      .join('')
  }
})
