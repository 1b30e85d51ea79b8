import { Alert, Stack, Text } from '@mantine/core'
import type { Pipe, Service } from '../../src/client/shapes.ts'
import { choiceTexts } from '../components/choice-texts.ts'
import { CopyText } from '../components/copy.tsx'
import { exactTime } from '../components/exact-time.ts'
import { Facts } from '../components/facts.tsx'
import { ArrowIcon, WarningIcon } from '../components/icons.tsx'
import { PageLink } from '../components/page-link.tsx'
import { kindLabel, kindOf, settingFields } from '../components/pipe-fields.ts'
import { isEngineDown, serviceTrouble } from '../components/pipe-state.ts'
import { Section } from '../components/section.tsx'
import { sentence } from '../components/sentence.ts'
import { Time } from '../components/time.tsx'
import { PipeNow } from './pipe-now.tsx'
import { PipeTables } from './pipe-tables.tsx'

export function PipeOverview({
  organizationId,
  pipe,
  service,
}: {
  organizationId: string
  pipe: Pipe
  service: Service
}) {
  const changedSettings = Object.entries(settingFields).filter(
    ([name, field]) => pipe.settings[name as keyof typeof settingFields] !== field.default,
  )
  const [name, ...details] = originOf(pipe)
  return (
    <Stack gap="lg">
      {(isEngineDown(service) || service.state === 'degraded') && (
        <Alert
          color="orange"
          variant="light"
          icon={<WarningIcon />}
          title={`Service ${service.name} ${serviceTrouble(service)}`}
        >
          <Text size="sm">
            {service.stateReason ? `${sentence(service.stateReason)} ` : ''}
            {isEngineDown(service)
              ? 'The pipe cannot write to it until it answers.'
              : 'The pipe retries failed inserts.'}{' '}
            <PageLink
              to="/o/$organizationId/services/$serviceId"
              params={{ organizationId, serviceId: service.id }}
              size="sm"
              underline="always"
            >
              Open the service
            </PageLink>
          </Text>
        </Alert>
      )}
      <PipeNow organizationId={organizationId} pipe={pipe} service={service} />
      {pipe.source.postgres && <PipeTables organizationId={organizationId} pipe={pipe} />}
      <Section title="Data flow">
        <div className="pipe-flow">
          <div className="pipe-flow-end">
            <Text size="sm" c="dimmed">
              Source: {kindLabel(pipe)}
            </Text>
            <Text fw={600}>{name}</Text>
            {details.map((detail) => (
              <Text size="sm" key={detail}>
                {detail}
              </Text>
            ))}
          </div>
          <div className="pipe-flow-arrow">
            <ArrowIcon size={24} />
          </div>
          <div className="pipe-flow-end">
            <Text size="sm" c="dimmed">
              Service:{' '}
              <PageLink
                to="/o/$organizationId/services/$serviceId"
                params={{ organizationId, serviceId: service.id }}
                size="sm"
                underline="always"
              >
                {service.name}
              </PageLink>
            </Text>
            <Text fw={600}>{targetOf(pipe)}</Text>
            <Text size="sm">{targetDetailOf(pipe)}</Text>
          </div>
        </div>
      </Section>
      <Section title="Details">
        <Facts
          facts={[
            { label: 'Pipe id', value: <CopyText text={pipe.id} label="pipe id" /> },
            { label: 'Created', value: <When at={pipe.createdAt} /> },
            { label: 'Last changed', about: 'By a person or a key.', value: <When at={pipe.updatedAt} /> },
            {
              label: 'Settings',
              value: (
                <PageLink
                  to="/o/$organizationId/services/$serviceId/pipes/$pipeId"
                  params={{ organizationId, serviceId: pipe.serviceId, pipeId: pipe.id }}
                  search={{ tab: 'settings' }}
                  size="sm"
                >
                  {changedSettings.length === 0
                    ? 'All have their defaults'
                    : `${changedSettings.length} changed: ${changedSettings.map(([, { label }]) => label.toLowerCase()).join(', ')}`}
                </PageLink>
              ),
            },
            {
              label: 'Scaling',
              value: (
                <PageLink
                  to="/o/$organizationId/services/$serviceId/pipes/$pipeId"
                  params={{ organizationId, serviceId: pipe.serviceId, pipeId: pipe.id }}
                  search={{ tab: 'scaling' }}
                  size="sm"
                >
                  {pipe.scaling.replicas === 1 ? '1 replica' : `${pipe.scaling.replicas} replicas`} with{' '}
                  {pipe.scaling.replicaCpuMillicores} millicores and {pipe.scaling.replicaMemoryGb} GB
                </PageLink>
              ),
            },
          ]}
        />
      </Section>
    </Stack>
  )
}

function When({ at }: { at: string }) {
  return (
    <>
      {exactTime(at)} (<Time at={at} />)
    </>
  )
}

/** Source objects, then their location. */
function originOf(pipe: Pipe): string[] {
  const { kafka, kinesis, objectStorage, postgres } = pipe.source
  switch (kindOf(pipe)) {
    case 'kafka':
      return [spaced(kafka!.topics), `${choiceTexts.kafkaType[kafka!.type]} at`, ...firstOf(kafka!.brokers.split(','))]
    case 'kinesis':
      return [kinesis!.streamName, `in ${kinesis!.region}`]
    case 'objectStorage':
      return [
        objectStorage!.url ?? [objectStorage!.azureContainerName, objectStorage!.path].filter(Boolean).join('/'),
        `${choiceTexts.objectStorageType[objectStorage!.type]}, ${objectStorage!.isContinuous ? 'continuously' : 'once'}`,
        ...(objectStorage!.queueUrl === undefined ? [] : [`new files from the queue ${objectStorage!.queueUrl}`]),
      ]
    case 'postgres':
      return [
        postgres!.database,
        `at ${postgres!.host}:${postgres!.port}`,
        choiceTexts.replicationMode[postgres!.settings.replicationMode],
      ]
  }
}

function targetOf({ source, destination }: Pipe): string {
  if (source.postgres || destination.table === undefined) return destination.database
  return `${destination.database}.${destination.table}`
}

function targetDetailOf({ source, destination }: Pipe): string {
  const [count, noun] = source.postgres
    ? [source.postgres.tableMappings.length, 'table']
    : [destination.columns.length, 'column']
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

function firstOf(lines: string[], most = 3): string[] {
  return lines.length > most ? [...lines.slice(0, most), `and ${lines.length - most} more`] : lines
}

const spaced = (list: string): string => list.split(',').join(', ')
