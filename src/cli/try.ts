// Try-it mode (`npm start`): creates a sample organization in an empty database and prints three example commands.
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { allowedToTry, type Config, readConfig, sampleFile } from '../config.ts'
import { type Sample, sampleAdminEmail } from '../installation/sample.ts'
import { writePrivateFile } from '../lib/private-file.ts'
import { signInLink } from '../sessions/session.ts'
import { makeSignInToken } from './new-organization.ts'
import { readSampleFile, replaceInSampleFile, SampleAddresses } from './sample-addresses.ts'
import { open, runUntilStopped, type Serving, serve } from './serve.ts'
import { findProblem, openTryEngine } from './try-engine.ts'
import { serveTryFiles } from './try-files.ts'
import { openTryShop } from './try-shop.ts'

/**
 * A person waits at the terminal, so everything must stop within 5 s. The launcher detects within 0.5 s that npm died
 * (bin/node24.js), and child processes end 2 s after this one (embedded-postgres/postgres-server.ts).
 */
const longestStopMs = 2_500

export async function tryIt(): Promise<void> {
  const config = { ...readConfig(process.env, { logLevel: 'warn' }), ...allowedToTry }
  const serving = await open(config, { mayCreateKeys: true })
  await runUntilStopped(serving, { longestStopMs, start: (stopping) => start(config, serving, stopping) })
}

async function start(config: Config, serving: Serving, stopping: AbortSignal): Promise<void> {
  const file = join(config.dataFolder, sampleFile)
  const addresses = new SampleAddresses(serving.app, file)
  const { isNew } = serving.app
  const port = isNew ? 0 : filesPort(file)
  const filesUrl = port === undefined ? undefined : await serveTryFiles(join(config.dataFolder, 'sample-files'), port)
  const engine = await openTryEngine(config, serving, {
    stopping,
    onMoved: (engine) => void addresses.moveEngine(engine),
  })
  const shop = engine?.isEmbedded
    ? await openTryShop({
        dataFolder: config.dataFolder,
        isNew,
        log: serving.log,
        onMoved: (shop) => void addresses.moveShop(shop),
      })
    : undefined
  const input = {
    ...(shop === undefined ? {} : { shop }),
    ...(filesUrl === undefined ? {} : { filesUrl }),
    ...(engine === undefined ? {} : { engine: engine.access }),
  }
  const sample = isNew ? await serving.app.database.write('createSample', input, 'initialize') : undefined
  // Written before anything can fail, because the secrets are stored nowhere else.
  if (sample) writePrivateFile(file, sampleEnvironment('', sample, engine!.urlToShow, filesUrl), 'replace')
  if (!sample && engine?.isEmbedded) {
    await addresses.moveEngine(engine)
    await (shop ? addresses.moveShop(shop) : addresses.stopShopPipe())
  }
  const url = await serve(serving)
  const { tryEngine } = config
  const isSameEngine = tryEngine !== undefined && tryEngine.url === readSampleFile(file).ENGINE_URL
  if (tryEngine && !sample && !isSameEngine) console.log(lateEngine)
  if (!existsSync(file)) {
    console.log(plainWelcome(url))
    return
  }
  replaceInSampleFile(file, 'BASE_URL', url)
  const token = await makeSignInToken(serving.app, sampleAdminEmail)
  // With port 0 the actual port is known only now.
  const publicUrl = config.operations.publicUrl.endsWith(':0') ? url : config.operations.publicUrl
  const opening = token
    ? `Open the console: ${signInLink(publicUrl, token)}   (works once)`
    : `The console is at ${publicUrl}/console`
  const isEmbedded = engine?.isEmbedded ?? false
  const files = aboutFiles(port, filesUrl, {
    isEmbedded,
    engineUrl: readSampleFile(file).ENGINE_URL,
    envFile: shellPath(file),
  })
  console.log(welcome(url, shellPath(file), Boolean(sample), opening, files))
  const isKnownEngine = !sample && isSameEngine
  const problem = isKnownEngine
    ? await findProblem({ ...tryEngine, password: tryEngine.password.reveal() })
    : engine?.problem
  if (problem !== undefined) console.log(problem)
}

/** The port from which the pipe loads the sample files; undefined when there is no such pipe. */
function filesPort(file: string): number | undefined {
  const { FILES_URL: url } = readSampleFile(file)
  return url === undefined ? undefined : Number(new URL(url).port)
}

function sampleEnvironment(url: string, sample: Sample, engineUrl: string, filesUrl: string | undefined): string {
  const values = {
    BASE_URL: url,
    KEY_ID: sample.keyId,
    KEY_SECRET: sample.keySecret,
    DEVELOPER_KEY_ID: sample.developerKeyId,
    DEVELOPER_KEY_SECRET: sample.developerKeySecret,
    ORGANIZATION_ID: sample.organizationId,
    ADMIN_USER_ID: sample.adminUserId,
    USER_ID: sample.userId,
    SERVICE_ID: sample.serviceId,
    ENGINE_URL: engineUrl,
    KAFKA_PIPE_ID: sample.pipeIds.kafka,
    KINESIS_PIPE_ID: sample.pipeIds.kinesis,
    OBJECT_STORAGE_PIPE_ID: sample.pipeIds.objectStorage,
    POSTGRES_PIPE_ID: sample.pipeIds.postgres,
    ...(sample.runningPipeId === undefined ? {} : { RUNNING_PIPE_ID: sample.runningPipeId, FILES_URL: filesUrl }),
    ...(sample.shopPipeId === undefined ? {} : { SHOP_PIPE_ID: sample.shopPipeId }),
  }
  return `${Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`
}

/** The shortest path that works when pasted into a shell in this directory. */
function shellPath(file: string): string {
  const fromHere = relative(process.cwd(), file)
  const path = fromHere.startsWith('..') ? file : `./${fromHere}`
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}

function welcome(url: string, file: string, isFirst: boolean, opening: string, files: string): string {
  const call = (method: string, path: string, body: string): string =>
    `  (. ${file}; curl -sS -u "$KEY_ID:$KEY_SECRET" -X ${method} \\\n` +
    `    "$BASE_URL/v1/organizations/$ORGANIZATION_ID/${path}" \\\n` +
    `    -H 'Content-Type: application/json' -d '${body}')`
  return `
${opening}

Penstock is running at ${url}   reference: ${url}/docs   stop: Ctrl+C
${isFirst ? 'A sample organization was created; its ids and API keys are in' : 'The ids and API keys of the sample organization are in'} ${file}
${loopbackNotice}
${files}
Change the role of a member:
${call('PATCH', 'members/$USER_ID', '{"role": "admin"}')}

Create a private endpoint:
${call('POST', 'services/$SERVICE_ID/privateEndpoint', '{"id": "vpce-0a1b2c3d4e5f67890", "description": "Analytics VPC"}')}

Update a data pipe:
${call('PATCH', 'services/$SERVICE_ID/pipes/$KAFKA_PIPE_ID', '{"name": "orders (eu)", "settings": {"streaming_max_insert_wait_ms": 1000}}')}
`
}

function plainWelcome(url: string): string {
  return `\nPenstock is running at ${url}   reference: ${url}/docs   stop: Ctrl+C\nThe database has data already; no sample was created.\n${loopbackNotice}\n`
}

const loopbackNotice = 'This mode lets Penstock connect to programs on this machine (PENSTOCK_ALLOW_LOOPBACK=true).'

const lateEngine =
  '\nPENSTOCK_TRY_ENGINE is ignored: the data folder has a service already. Change the endpoint of that in the console, or set\nPENSTOCK_DATA to an empty folder.'

/** Empty when there is no pipe that loads files. */
function aboutFiles(
  port: number | undefined,
  filesUrl: string | undefined,
  { isEmbedded, engineUrl, envFile }: { isEmbedded: boolean; engineUrl: string | undefined; envFile: string },
): string {
  if (port === undefined) return ''
  if (filesUrl === undefined) {
    return `\nPort ${port} is taken by another program: the pipe "Orders from files" has nothing to load until it is free again.\n`
  }
  const where = 'into the table "orders" of the sample service "analytics"'
  if (!isEmbedded) {
    const created = engineUrl === undefined ? '' : `,\nwhich was created with the ClickHouse at ${engineUrl}`
    return `\nThe pipe "Orders from files" loads a small file every two seconds ${where}${created}.\n`
  }
  return `
The pipe "Orders from files" loads a small file every two seconds ${where}, an embedded ClickHouse. Its rows:
  (. ${envFile}; curl -sS "$ENGINE_URL" --data 'SELECT count() FROM orders')
`
}
