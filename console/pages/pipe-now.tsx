// Current activity of a pipe, its throughput and its errors.
import { Alert, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Pipe, PipeMetrics, Service } from '../../src/client/shapes.ts'
import { pipeMetricsQuery } from '../api/queries.ts'
import { bytesOf, countOf, durationOf, shortCount, threeDigits } from '../components/amounts.ts'
import { type Fact, Facts, NotSet } from '../components/facts.tsx'
import { WarningIcon } from '../components/icons.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { lastHour, type Minute, rowsPerSecond } from '../components/minutes.ts'
import { MinutesChart } from '../components/minutes-chart.tsx'
import { PageLink } from '../components/page-link.tsx'
import { firstStep, hasFailed, isReasonOutdated, stateMeaning } from '../components/pipe-state.ts'
import { ReadProblem } from '../components/problem-notice.tsx'
import { Section } from '../components/section.tsx'
import { sentence } from '../components/sentence.ts'
import { PipeStateBadge } from '../components/state-badge.tsx'
import { Time } from '../components/time.tsx'

export function PipeNow({ organizationId, pipe, service }: { organizationId: string; pipe: Pipe; service: Service }) {
  const read = useQuery(pipeMetricsQuery(organizationId, pipe.serviceId, pipe.id))
  const metrics = read.data?.result
  return (
    <Section title="Now">
      {read.error && (
        <ReadProblem
          error={read.error}
          title={metrics ? 'This may be out of date' : 'The metrics of the pipe could not be read'}
        />
      )}
      {metrics && (
        <Figures
          organizationId={organizationId}
          pipe={pipe}
          service={service}
          metrics={metrics}
          readAtMs={read.dataUpdatedAt}
        />
      )}
      {read.isPending && <LoadingPage />}
    </Section>
  )
}

function Figures({
  organizationId,
  pipe,
  service,
  metrics,
  readAtMs,
}: {
  organizationId: string
  pipe: Pipe
  service: Service
  metrics: PipeMetrics
  readAtMs: number
}) {
  const { state, stateReason, doing, rowsWritten, rowsRefused, lag } = metrics
  const minutes: Minute[] = lastHour(metrics.throughput, readAtMs)
  const isFailed = hasFailed(state)
  const isOutdated = isReasonOutdated(pipe, metrics)
  const nextStep = firstStep(metrics)
  return (
    <Stack gap="lg">
      <Stack gap="xs">
        <Text size="sm" component="div" role="status">
          <PipeStateBadge state={state} service={service} /> {stateMeaning(state, service)}
        </Text>
        {nextStep && <Text size="sm">{nextStep}</Text>}
        {stateReason && (
          <Alert
            color={isFailed ? 'red' : 'orange'}
            variant="light"
            icon={<WarningIcon />}
            title={
              isOutdated ? 'Why it stopped, before the last change' : isFailed ? 'Why it has stopped' : 'Current error'
            }
          >
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {sentence(stateReason)}
            </Text>
            {isOutdated && (
              <Text size="sm" mt={4}>
                The pipe was changed <Time at={pipe.updatedAt} />. Start it to try again.
              </Text>
            )}
          </Alert>
        )}
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          <Text span inherit fw={600}>
            Current activity:
          </Text>{' '}
          {doing}
        </Text>
      </Stack>
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        <Metric label="rows/s" value={threeDigits(rowsPerSecond(minutes, readAtMs))} about="over the last minute" />
        <Metric label="rows written" value={shortCount(rowsWritten)} about="since it was created" />
        {(lag !== null || !pipe.source.postgres) && (
          <Metric label={waitingOf(pipe)} value={lag === null ? 'unknown' : shortCount(lag)} about="in the source" />
        )}
        <Metric
          label="rows rejected"
          value={shortCount(rowsRefused)}
          about={
            rowsRefused === 0 ? (
              'by the engine'
            ) : (
              <>
                since it was created.{' '}
                <PageLink
                  to="/o/$organizationId/services/$serviceId/pipes/$pipeId"
                  params={{ organizationId, serviceId: pipe.serviceId, pipeId: pipe.id }}
                  search={{ tab: 'errors' }}
                  size="sm"
                  underline="always"
                >
                  Show rejected rows
                </PageLink>
              </>
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
  if (objectStorage) return 'files waiting'
  return postgres ? 'changes waiting' : 'records waiting'
}

function Metric({ label, value, about }: { label: string; value: string; about: ReactNode }) {
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
  const { rowsRead, bytesRead, rowsWritten, bytesWritten, inserts, retries, lastInsertAt, freshnessSeconds } = metrics
  return [
    { label: 'Delivery', value: <Delivery metrics={metrics} /> },
    { label: 'Read', value: `${countOf(rowsRead, 'row')}, ${bytesOf(bytesRead)}` },
    {
      label: 'Written',
      value: `${countOf(rowsWritten, 'row')} in ${countOf(inserts, 'insert')}, ${bytesOf(bytesWritten)} sent`,
    },
    ...logFacts(pipe, metrics),
    { label: 'Last insert', value: lastInsertAt === null ? <NotSet>None yet</NotSet> : <Time at={lastInsertAt} /> },
    {
      label: 'Freshness',
      about: 'Time since the source was last completely delivered. It grows while nothing is delivered.',
      value: freshnessSeconds === null ? <NotSet>Unknown</NotSet> : secondsOf(freshnessSeconds),
    },
    { label: 'Retries', value: retries.toLocaleString('en') },
    { label: 'Last error', value: <LastError metrics={metrics} /> },
    { label: 'Workers', value: <Workers metrics={metrics} /> },
  ]
}

function secondsOf(seconds: number): string {
  return seconds < 120 ? countOf(seconds, 'second') : durationOf(seconds)
}

/** Retained WAL, only for pipes with change data capture (CDC). */
function logFacts({ source: { postgres } }: Pipe, { retainedBytes }: PipeMetrics): Fact[] {
  if (!postgres || postgres.settings.replicationMode === 'snapshot') return []
  return [
    {
      label: 'WAL retained by PostgreSQL',
      about: 'Until the pipe has read it; also while the pipe is paused.',
      value: retainedBytes === null ? <NotSet>Unknown</NotSet> : bytesOf(retainedBytes),
    },
  ]
}

function Delivery({ metrics: { delivery, deliveryReason } }: { metrics: PipeMetrics }) {
  if (delivery === null) return <NotSet>Known when the pipe has run</NotSet>
  return (
    <>
      {delivery === 'exactly_once'
        ? 'Exactly once: no row is lost or duplicated, also after a failure.'
        : 'At least once: no row is lost; after a failure some may be duplicated.'}
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
