// Kafka's commands and a Penstock in its try-it mode, for the tutorials.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { mainFile, environment as ownEnvironment } from '../../bin/launch.js'
import type { KafkaServer } from '../sources/kafka-server.ts'
import { debianProgram, installedFolder } from './servers/installed.ts'

const startTimeoutMs = 90_000

/** The classes that Kafka's own scripts run. */
const kafkaCommands = {
  'kafka-topics.sh': 'org.apache.kafka.tools.TopicCommand',
  'kafka-configs.sh': 'kafka.admin.ConfigCommand',
  'kafka-acls.sh': 'org.apache.kafka.tools.AclCommand',
  'kafka-console-producer.sh': 'org.apache.kafka.tools.ConsoleProducer',
}
// Tuned for a fast start.
const javaOptions =
  '-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=error -Xshare:auto'

/** Writes the scripts of a Kafka distribution, which the servers' libraries come without. */
export function writeKafkaCommands(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const libraries = join(installedFolder('kafka'), 'lib', '*')
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const java = debianProgram('openjdk-17-jre-headless', `/usr/lib/jvm/java-17-openjdk-${architecture}/bin/java`)
  for (const [name, main] of Object.entries(kafkaCommands)) {
    const script = `#!/bin/sh\nexec '${java}' ${javaOptions} -cp '${libraries}' ${main} "$@"\n`
    writeFileSync(join(folder, name), script, { mode: 0o700 })
  }
}

/** The configuration with which an administrator runs these scripts. */
export function writeKafkaAdminConfig(file: string, { user }: KafkaServer): void {
  const login = `username="${user.username}" password="${user.password}"`
  const module = 'org.apache.kafka.common.security.scram.ScramLoginModule'
  const lines = [
    'security.protocol=SASL_PLAINTEXT',
    'sasl.mechanism=SCRAM-SHA-512',
    `sasl.jaas.config=${module} required ${login};`,
  ]
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 })
}

export interface TryProcess {
  /** Variables of sample.env. */
  sample: Record<string, string>
  /** An operation of the sample organization; resolves to its `result`. */
  call<Result>(method: string, path: string, body?: object): Promise<Result>
  stop(): Promise<void>
}

/** Runs the command of `npm start`, with its data in the folder `data`. */
export async function startTry(folder: string, settings: Record<string, string>): Promise<TryProcess> {
  const child = spawn(process.execPath, [mainFile, 'try'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...ownEnvironment, PENSTOCK_PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  try {
    await isWelcoming(child)
    const sample = readEnvironment(readFileSync(join(folder, 'data', 'sample.env'), 'utf8'))
    return { sample, call: (method, path, body) => call(sample, method, path, body), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function isWelcoming(child: ChildProcess): Promise<void> {
  let printed = ''
  child.stdout!.on('data', (chunk) => {
    printed += chunk
  })
  const deadlineMs = Date.now() + startTimeoutMs
  while (!printed.includes('Update a data pipe')) {
    if (child.exitCode !== null || Date.now() > deadlineMs) throw new Error(`Penstock did not start: ${printed}`)
    await sleep(50)
  }
}

/** Of lines with `NAME=value`. */
function readEnvironment(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]))
}

async function call<Result>(
  sample: Record<string, string>,
  method: string,
  path: string,
  body?: object,
): Promise<Result> {
  const authorization = `Basic ${Buffer.from(`${sample.KEY_ID}:${sample.KEY_SECRET}`).toString('base64')}`
  const response = await fetch(`${sample.BASE_URL}/v1/organizations/${sample.ORGANIZATION_ID}/${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return ((await response.json()) as { result: Result }).result
}
