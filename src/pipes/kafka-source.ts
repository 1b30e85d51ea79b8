import { mergePatch } from '../lib/merge-patch.ts'
import type { FieldProblem } from '../lib/problem.ts'
import { quote } from '../lib/shape-rules.ts'
import { brokersProblem, urlProblem } from './address.ts'
import { KafkaSource, KafkaSourceCreate, KafkaSourcePatch } from './kafka-shapes.ts'
import {
  authenticationAfter,
  bringsValue,
  fieldProblem,
  mergeSecrets,
  missingSecretProblems,
  type PipeSource,
  type SourceKind,
} from './pipe-source.ts'

type Authentication = KafkaSource['authentication']

export const kafka: SourceKind<KafkaSource, KafkaSourceCreate, KafkaSourcePatch> = {
  Shown: KafkaSource,
  Create: KafkaSourceCreate,
  Patch: KafkaSourcePatch,

  create({ credentials, schemaRegistry, ...fields }, pipeId, problems) {
    const { credentials: registryLogin, ...registry } = schemaRegistry ?? {}
    const authentication = registryLogin ? { authentication: 'PLAIN' as const } : {}
    const source: PipeSource<KafkaSource> = {
      shown: {
        consumerGroup: `penstock-${pipeId}`,
        offset: { strategy: 'from_beginning' },
        ...fields,
        ...(schemaRegistry ? { schemaRegistry: { ...authentication, ...registry, url: schemaRegistry.url } } : {}),
      },
      secrets: mergeSecrets({}, { credentials, schemaRegistry: registryLogin }),
    }
    problems.push(...addressProblems(source.shown), ...offsetProblems(source.shown), ...registryProblems(source))
    return source
  },

  merge({ shown, secrets }, { credentials, ...fields }) {
    const merged = mergePatch(shown, fields)
    const inUse = shown.authentication
    // Three mechanisms take a user name and a password: the one in use stays.
    const byLogin: Authentication = inUse === 'IAM_ROLE' || inUse === 'IAM_USER' ? 'PLAIN' : inUse
    const brings = (...names: (keyof NonNullable<typeof credentials>)[]): boolean =>
      names.some((name) => credentials?.[name] !== undefined)
    merged.authentication = authenticationAfter(inUse, fields.authentication, [
      brings('username', 'password') && byLogin,
      brings('accessKeyId', 'secretKey') && 'IAM_USER',
      brings('certificate', 'privateKey') && 'MUTUAL_TLS',
      // What this type of Kafka cannot use is kept, but switches nothing.
      brings('connectionString') && shown.type === 'azureeventhub' && byLogin,
      bringsValue(fields.iamRole, shown.iamRole) && 'IAM_ROLE',
    ])!
    return { shown: merged, secrets: mergeSecrets(secrets, { credentials }) }
  },

  problems({ shown, secrets }) {
    const because = `authentication is ${shown.authentication}`
    const need = (...names: string[]): FieldProblem[] =>
      missingSecretProblems('source.kafka.credentials', secrets.credentials, names, because)
    switch (shown.authentication) {
      case 'IAM_ROLE':
        return shown.iamRole ? [] : [fieldProblem('source.kafka.iamRole', `is required, because ${because}`)]
      case 'IAM_USER':
        return need('accessKeyId', 'secretKey')
      case 'MUTUAL_TLS':
        return need('certificate', 'privateKey')
      default:
        // Azure Event Hubs hands out a connection string that stands for user name and password.
        return shown.type === 'azureeventhub' && secrets.credentials?.connectionString
          ? []
          : need('username', 'password')
    }
  },
}

const topicName = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/

function addressProblems({ brokers, topics }: KafkaSource): FieldProblem[] {
  const problems: FieldProblem[] = []
  const rest = brokersProblem(brokers)
  if (rest) problems.push(fieldProblem('source.kafka.brokers', rest))
  const wrong = topics.split(',').find((topic) => !topicName.test(topic))
  if (wrong !== undefined) {
    const must = 'must be names of topics, separated by commas and nothing else'
    problems.push(fieldProblem('source.kafka.topics', `${must}, but has ${quote(wrong)}`))
  }
  return problems
}

function offsetProblems({ offset }: KafkaSource): FieldProblem[] {
  if (!offset) return []
  const { strategy, timestamp } = offset
  const path = 'source.kafka.offset.timestamp'
  if (strategy !== 'from_timestamp') {
    return timestamp === undefined ? [] : [fieldProblem(path, `is only for from_timestamp; strategy is ${strategy}`)]
  }
  if (timestamp === undefined) return [fieldProblem(path, 'is required, because strategy is from_timestamp')]
  return isMoment(timestamp) ? [] : [fieldProblem(path, `must be a moment that there is, not "${timestamp}"`)]
}

/** Refuses the 30th of February, which Date would take for the 2nd of March. */
function isMoment(minute: string): boolean {
  const date = new Date(`${minute}:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(minute)
}

function registryProblems({ shown, secrets }: PipeSource<KafkaSource>): FieldProblem[] {
  const path = 'source.kafka.schemaRegistry'
  const { format, schemaRegistry } = shown
  if (!schemaRegistry) {
    return format === 'AvroConfluent' ? [fieldProblem(path, `is required, because format is ${format}`)] : []
  }
  const rest = urlProblem(schemaRegistry.url, ['http', 'https'])
  const problems = rest ? [fieldProblem(`${path}.url`, rest)] : []
  if (schemaRegistry.authentication) {
    const needed = ['username', 'password']
    const because = `authentication is ${schemaRegistry.authentication}`
    problems.push(...missingSecretProblems(`${path}.credentials`, secrets.schemaRegistry, needed, because))
  }
  return problems
}
