// The try-it mode of `npm start`: an empty store gets a sample organization, and the terminal three commands to play with.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { allowedToTry, type Config, readConfig, sampleFile } from '../config.ts'
import { writePrivateFile } from '../installation/master-keys.ts'
import { type Sample, type SampleInput, sampleAdminEmail } from '../installation/sample.ts'
import { signInLink } from '../sessions/session.ts'
import { makeSignInToken } from './new-organization.ts'
import { open, serve } from './serve.ts'
import { serveTryFiles } from './try-files.ts'

export async function tryIt(): Promise<void> {
  const config = { ...readConfig(process.env, { logLevel: 'warn' }), ...allowedToTry }
  const serving = await open(config, { mayCreateKeys: true })
  const file = join(config.dataFolder, sampleFile)
  const port = serving.app.isNew ? 0 : filesPort(file)
  const filesUrl = port === undefined ? undefined : await serveTryFiles(join(config.dataFolder, 'sample-files'), port)
  const input = { ...(filesUrl === undefined ? {} : { filesUrl }), ...tryEngine(config.tryEngine) }
  const sample = serving.app.isNew ? await serving.app.database.write('createSample', input, 'initialize') : undefined
  // Before anything can fail: nobody else has the secrets.
  if (sample) writePrivateFile(file, sampleEnvironment('', sample, filesUrl), 'replace')
  const url = await serve(serving)
  if (config.tryEngine && !sample) console.log(lateEngine)
  if (existsSync(file)) {
    writePrivateFile(file, readFileSync(file, 'utf8').replace(/^BASE_URL=.*$/m, `BASE_URL=${url}`), 'replace')
  }
  if (!existsSync(file)) {
    console.log(plainWelcome(url))
    return
  }
  const token = await makeSignInToken(serving.app, sampleAdminEmail)
  // Port 0 stands for any free one: which it is is known only now.
  const publicUrl = config.operations.publicUrl.endsWith(':0') ? url : config.operations.publicUrl
  const opening = token
    ? `Open the console: ${signInLink(publicUrl, token)}   (works once)`
    : `The console is at ${publicUrl}/console`
  console.log(welcome(url, shellPath(file), Boolean(sample), opening, aboutFiles(port, filesUrl)))
}

/** Where the files were served before: the pipe looks for them there. Undefined when there is no such pipe. */
function filesPort(file: string): number | undefined {
  const url = existsSync(file) ? /^FILES_URL=(\S+)$/m.exec(readFileSync(file, 'utf8'))?.[1] : undefined
  return url === undefined ? undefined : Number(new URL(url).port)
}

function tryEngine(engine: Config['tryEngine']): Pick<SampleInput, 'engine'> {
  return engine ? { engine: { ...engine, password: engine.password.reveal() } } : {}
}

function sampleEnvironment(url: string, sample: Sample, filesUrl: string | undefined): string {
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
    KAFKA_PIPE_ID: sample.pipeIds.kafka,
    KINESIS_PIPE_ID: sample.pipeIds.kinesis,
    OBJECT_STORAGE_PIPE_ID: sample.pipeIds.objectStorage,
    POSTGRES_PIPE_ID: sample.pipeIds.postgres,
    ...(sample.runningPipeId === undefined ? {} : { RUNNING_PIPE_ID: sample.runningPipeId, FILES_URL: filesUrl }),
  }
  return `${Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`
}

/** As short as it can be and still work when pasted into a shell here. */
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
${isFirst ? 'A sample organization was made; its ids and API keys are in' : 'The ids and API keys of the sample organization are in'} ${file}
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
  return `\nPenstock is running at ${url}   reference: ${url}/docs   stop: Ctrl+C\nThe store has data already; no sample was made.\n${loopbackNotice}\n`
}

const loopbackNotice = 'This mode lets Penstock connect to programs on this machine (PENSTOCK_ALLOW_LOOPBACK=true).'

const lateEngine =
  '\nPENSTOCK_TRY_ENGINE is not looked at: the data folder has a service already. Change the endpoint of that in the console, or set\nPENSTOCK_DATA to an empty folder.'

/** Nothing when there is no pipe that loads files. */
function aboutFiles(port: number | undefined, filesUrl: string | undefined): string {
  if (port === undefined) return ''
  if (filesUrl === undefined) {
    return `\nPort ${port} is taken by another program: the pipe "orders from files" has nothing to load until it is free again.\n`
  }
  return `
The pipe "orders from files" loads a small file every two seconds into the table "orders" of the sample service: the ClickHouse at
127.0.0.1:8123, or the one of PENSTOCK_TRY_ENGINE=http://user:password@host:port when the sample was made.
No ClickHouse there? "npm run engine" in a second terminal starts one from npm, to try with.
`
}
