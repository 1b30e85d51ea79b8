// What a pipe is doing at this moment, how much it moves, and what keeps it from moving more.
import { Alert, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Pipe, PipeMetrics } from '../../src/client/shapes.ts'
import { asPenstockError } from '../api/change.ts'
import { pipeMetricsQuery } from '../api/queries.ts'
import { bytesOf, countOf, shortCount, threeDigits } from '../components/amounts.ts'
import { type Fact, Facts, NotSet } from '../components/facts.tsx'
import { WarningIcon } from '../components/icons.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { lastHour, type Minute, rowsPerSecond } from '../components/minutes.ts'
import { MinutesChart } from '../components/minutes-chart.tsx'
import { PageLink } from '../components/page-link.tsx'
import { stateMeanings } from '../components/pipe-fields.ts'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { Section } from '../components/section.tsx'
import { sentence } from '../components/sentence.ts'
import { StateBadge } from '../components/state-badge.tsx'
import { Time } from '../components/time.tsx'

export function PipeNow({ organizationId, pipe }: { organizationId: string; pipe: Pipe }) {
  const read = useQuery(pipeMetricsQuery(organizationId, pipe.serviceId, pipe.id))
  const metrics = read.data?.result
  return (
    <Section title="Now">
      {read.error && (
        <ProblemNotice
          error={asPenstockError(read.error)}
          title={metrics ? 'This may be out of date' : 'The figures of the pipe could not be read'}
        />
      )}
      {metrics && (
        <Figures organizationId={organizationId} pipe={pipe} metrics={metrics} readAtMs={read.dataUpdatedAt} />
      )}
      {read.isPending && <LoadingPage />}
    </Section>
  )
}

function Figures({
  organizationId,
  pipe,
  metrics,
  readAtMs,
}: {
  organizationId: string
  pipe: Pipe
  metrics: PipeMetrics
  readAtMs: number
}) {
  const { state, stateReason, doing, rowsWritten, rowsRefused, lag } = metrics
  const minutes: Minute[] = lastHour(metrics.throughput, readAtMs)
  const hasFailed = state === 'Failed' || state === 'InternalError'
  return (
    <Stack gap="lg">
      <Stack gap="xs">
        <Text size="sm" component="div" role="status">
          <StateBadge state={state} size="md" /> {stateMeanings[state]}
        </Text>
        {stateReason && (
          <Alert
            color={hasFailed ? 'red' : 'orange'}
            variant="light"
            icon={<WarningIcon />}
            title={hasFailed ? 'Why it has stopped' : 'What it meets'}
          >
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {sentence(stateReason)}
            </Text>
          </Alert>
        )}
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          <Text span inherit fw={600}>
            It is doing now:
          </Text>{' '}
          {doing}
        </Text>
      </Stack>
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        <Figure
          label="rows a second"
          value={threeDigits(rowsPerSecond(minutes, readAtMs))}
          about="over the last minute"
        />
        <Figure label="rows written" value={shortCount(rowsWritten)} about="since it was created" />
        {(lag !== null || !pipe.source.postgres) && (
          <Figure label={waitingOf(pipe)} value={lag === null ? 'unknown' : shortCount(lag)} about="in the source" />
        )}
        <Figure
          label="rows refused"
          value={shortCount(rowsRefused)}
          about={
            rowsRefused === 0 ? (
              'by the engine'
            ) : (
              <PageLink
                to="/o/$organizationId/services/$serviceId/pipes/$pipeId"
                params={{ organizationId, serviceId: pipe.serviceId, pipeId: pipe.id }}
                search={{ tab: 'errors' }}
                size="sm"
                underline="always"
              >
                Look at them
              </PageLink>
            )
          }
        />
      </SimpleGrid>
      <MinutesChart minutes={minutes} />
      <Facts facts={factsOf(pipe, metrics)} />
    </Stack>
  )
}

function waitingOf({ source: { objectStorage, postgres } }: Pipe): string {
  if (objectStorage) return 'files wait'
  return postgres ? 'changes wait' : 'records wait'
}

function Figure({ label, value, about }: { label: string; value: string; about: ReactNode }) {
  return (
    <div className="figure">
      <Text fz={{ base: 20, sm: 26 }} fw={600} lh={1.2} style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Text>
      <Text size="sm">{label}</Text>
      <Text size="sm" c="dimmed" component="div">
        {about}
      </Text>
    </div>
  )
}

function factsOf(pipe: Pipe, metrics: PipeMetrics): Fact[] {
  const { rowsRead, bytesRead, rowsWritten, bytesWritten, inserts, retries, lastInsertAt } = metrics
  return [
    { label: 'Delivery', value: <Delivery metrics={metrics} /> },
    { label: 'Read', value: `${countOf(rowsRead, 'row')}, ${bytesOf(bytesRead)}` },
    {
      label: 'Written',
      value: `${countOf(rowsWritten, 'row')} in ${countOf(inserts, 'insert')}, ${bytesOf(bytesWritten)} sent`,
    },
    ...logFacts(pipe, metrics),
    { label: 'Last insert', value: lastInsertAt === null ? <NotSet>None yet</NotSet> : <Time at={lastInsertAt} /> },
    { label: 'Attempts that were repeated', value: retries.toLocaleString('en') },
    { label: 'Last error', value: <LastError metrics={metrics} /> },
    { label: 'Workers', value: <Workers metrics={metrics} /> },
  ]
}

/** Only a pipe that follows its source has a place in its log. */
function logFacts({ source: { postgres } }: Pipe, { retainedBytes }: PipeMetrics): Fact[] {
  if (!postgres || postgres.settings.replicationMode === 'snapshot') return []
  return [
    {
      label: 'Log kept for the pipe',
      about: 'By PostgreSQL, until the pipe has taken it; also while the pipe is paused.',
      value: retainedBytes === null ? <NotSet>Unknown</NotSet> : bytesOf(retainedBytes),
    },
  ]
}

function Delivery({ metrics: { delivery, deliveryReason } }: { metrics: PipeMetrics }) {
  if (delivery === null) return <NotSet>Known when the pipe has run</NotSet>
  return (
    <>
      {delivery === 'exactly_once'
        ? 'Exactly once: no row is lost, and none is there twice, also after a failure.'
        : 'At least once: no row is lost; after a failure some may be there twice.'}
      {deliveryReason && (
        <Text size="sm" c="dimmed">
          {sentence(deliveryReason)}
        </Text>
      )}
    </>
  )
}

function LastError({ metrics: { lastError, lastErrorAt } }: { metrics: PipeMetrics }) {
  if (lastError === null) return <NotSet>None</NotSet>
  return (
    <>
      {sentence(lastError)}{' '}
      {lastErrorAt !== null && (
        <Text span inherit c="dimmed">
          <Time at={lastErrorAt} />
        </Text>
      )}
    </>
  )
}

function Workers({ metrics: { workers } }: { metrics: PipeMetrics }) {
  const [only] = workers
  if (!only) return <NotSet>None now</NotSet>
  if (workers.length === 1) return '1'
  return (
    <ol className="worker-list">
      {workers.map(({ slot, doing, lag }) => (
        <li key={slot} value={slot + 1}>
          {doing} {lag !== null && <NotSet>{`${lag.toLocaleString('en')} wait`}</NotSet>}
        </li>
      ))}
    </ol>
  )
}
