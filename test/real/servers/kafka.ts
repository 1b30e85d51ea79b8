// Apache Kafka: one broker with all listeners of the interface.
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePorts } from '../../../src/lib/free-port.ts'
import { type Certificates, makeCertificates } from '../../sources/certificates.ts'
import type { KafkaServer, Login } from '../../sources/kafka-server.ts'
import { debianProgram, installedFolder, pinnedVersion } from './installed.ts'
import { committedOffsets, createTopic, isAnswering, produce } from './kafka-administration.ts'
import { type Addresses, brokerProperties, listenerNames } from './kafka-properties.ts'
import { makeServerFolder, startServer } from './server-process.ts'

// Tuned for a fast start and a small footprint.
const javaOptions = '-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn'
const clusterId = Buffer.from('penstock-testing').toString('base64url')

export async function startKafka(): Promise<KafkaServer> {
  const user = makeLogin('reader')
  const powerlessUser = makeLogin('powerless')
  const start = startScript([user, powerlessUser])
  const addresses = await chooseAddresses()
  const certificates = await makeCertificates()
  const folder = await makeServerFolder('kafka')
  const write = (file: string, text: string) => writeFile(join(folder, file), text, { mode: 0o600 })
  await writeCertificates(write, certificates)
  await write('server.properties', brokerProperties(folder, addresses, { superUser: user, powerlessUser }))
  await write('start.sh', start)
  const broker = await startServer({
    name: 'Apache Kafka',
    command: ['/bin/sh', '-e', 'start.sh'],
    folder,
    isReady: () => isAnswering(addresses.plain),
  })
  const { controller: _, ...listeners } = addresses
  const { ca, client, strangeClient } = certificates
  return {
    name: `Apache Kafka ${pinnedVersion('kafka', /<artifactId>kafka_2\.13<\/artifactId>\s*<version>([^<]+)</)}`,
    listeners,
    ca,
    client,
    strangeClient,
    user,
    powerlessUser,
    createTopic: (name, partitions) => createTopic(addresses.plain, name, partitions),
    produce: (topic, records, compression) => produce(addresses.plain, topic, records, compression),
    committedOffsets: (group) => committedOffsets(addresses.plain, group),
    stop: () => broker.stop(),
  }
}

async function chooseAddresses(): Promise<Addresses> {
  const ports = await findFreePorts(listenerNames.length)
  return Object.fromEntries(listenerNames.map((name, index) => [name, `127.0.0.1:${ports[index]}`])) as Addresses
}

function makeLogin(username: string): Login {
  return { username, password: randomBytes(12).toString('hex') }
}

async function writeCertificates(
  write: (file: string, text: string) => Promise<void>,
  { ca, server, expired, otherHost }: Certificates,
): Promise<void> {
  await write('ca.pem', ca)
  for (const [name, { cert, key }] of Object.entries({ server, expired, otherHost })) {
    await write(`${name}.pem`, key + cert)
  }
}

/** Formats the data folder, including the first logins, and runs the broker. */
function startScript(logins: Login[]): string {
  const libraries = join(installedFolder('kafka'), 'lib', '*')
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const java = debianProgram('openjdk-17-jre-headless', `/usr/lib/jvm/java-17-openjdk-${architecture}/bin/java`)
  const scram = logins.flatMap(({ username, password }) =>
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].map(
      (mechanism) => `--add-scram '${mechanism}=[name=${username},password=${password}]'`,
    ),
  )
  return `kafka() { exec '${java}' ${javaOptions} -cp '${libraries}' "$@"; }
    (kafka kafka.tools.StorageTool format -t ${clusterId} -c server.properties ${scram.join(' ')})
    kafka kafka.Kafka server.properties`
}
