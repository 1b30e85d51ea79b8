// Rejected rows with replay, and the messages and files of a queue that were given up.
import { Alert, Code, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Pipe, PipeBadRow, PipeMetrics } from '../../src/client/shapes.ts'
import { mostErrors, pipeErrorsQuery, pipeMetricsQuery } from '../api/queries.ts'
import { useIsAdmin } from '../api/session.ts'
import { Confirm } from '../components/confirm.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ResyncIcon } from '../components/icons.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { ReadProblem } from '../components/problem-notice.tsx'
import { ReasonButton } from '../components/reason-button.tsx'
import { type RejectedKind, rejectedKindOf } from '../components/rejected-kind.ts'
import { Section } from '../components/section.tsx'
import { Time } from '../components/time.tsx'

export function PipeErrors({ organizationId, pipe }: { organizationId: string; pipe: Pipe }) {
  const read = useQuery(pipeErrorsQuery(organizationId, pipe.serviceId, pipe.id))
  const { data: metricsRead } = useQuery(pipeMetricsQuery(organizationId, pipe.serviceId, pipe.id))
  const rows = read.data?.result
  const hasQueue = pipe.source.objectStorage?.queueUrl !== undefined
  if (read.isPending) return <LoadingPage />
  if (!rows) return <ReadProblem error={read.error} title="The rejected rows could not be read" />
  if (rows.length === 0) {
    return (
      <EmptyState title="No rejected rows">
        A row that the engine rejects, such as one with text where a number must be, is kept here with the reason for
        seven days. The other rows of its batch are written.
        {hasQueue && ' Messages of the queue that lead to no file, and files that cannot be loaded, are kept here too.'}
      </EmptyState>
    )
  }
  return (
    <Section
      title={hasQueue ? 'Rejected rows, messages and files' : 'Rejected rows'}
      about={
        <>
          The engine rejected these rows; the others of their batches are in the table.
          {hasQueue && ' Messages of the queue that led to no file, and files that could not be loaded, are here too.'}{' '}
          They are kept for seven days in{' '}
          <Code>{`${pipe.destination.database}.${pipe.destination.table}_penstock_errors`}</Code>
          {rows.length === mostErrors && `; these are the newest ${mostErrors}`}.
        </>
      }
      actions={<Replay organizationId={organizationId} pipe={pipe} metrics={metricsRead?.result} hasQueue={hasQueue} />}
    >
      {read.error && <ReadProblem error={read.error} title="This may be out of date" />}
      {metricsRead && <Replaying metrics={metricsRead.result} />}
      <ul className="rejected-rows">
        {rows.map((row) => (
          <li key={row.id}>
            <RejectedRow row={row} isOfStream={!pipe.source.objectStorage} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

const notARow: Record<Exclude<RejectedKind, 'row'>, string> = {
  message: 'This is a message, not a row: write its file again.',
  file: 'This is a file, not a row: fix it and write it again.',
}

function RejectedRow({ row, isOfStream }: { row: PipeBadRow; isOfStream: boolean }) {
  const { at, partition, position, reason, raw, isCut } = row
  const kind = rejectedKindOf(row)
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
        {reason}
      </Text>
      <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {position}, {isOfStream && `partition ${partition}, `}
        <Time at={at} />
      </Text>
      {kind !== 'row' && <Text size="sm">{notARow[kind]}</Text>}
      <Code block className="rejected-raw" tabIndex={0} role="region" aria-label={`The ${kind} at ${position}`}>
        {raw}
        {isCut && '…'}
      </Code>
    </Stack>
  )
}

const inactive: Pipe['state'][] = ['Stopped', 'Paused', 'Completed', 'Failed', 'InternalError']

function Replaying({ metrics: { state, replayRequestedAt } }: { metrics: PipeMetrics }) {
  if (replayRequestedAt === null) return null
  const waits = inactive.includes(state)
  return (
    <Alert
      color="blue"
      variant="light"
      title={waits ? 'The retry waits for the pipe' : 'The rows are being retried'}
      role="status"
    >
      <Text size="sm">
        Requested <Time at={replayRequestedAt} />.{' '}
        {waits ? 'It runs when the pipe is started.' : 'Rows that the engine accepts disappear from this list.'}
      </Text>
    </Alert>
  )
}

function Replay({
  organizationId,
  pipe,
  metrics,
  hasQueue,
}: {
  organizationId: string
  pipe: Pipe
  metrics: PipeMetrics | undefined
  hasQueue: boolean
}) {
  const isAdmin = useIsAdmin(organizationId)
  const [isAsked, setAsked] = useState(false)
  const params = { organizationId, serviceId: pipe.serviceId, pipeId: pipe.id }
  const reason = !isAdmin
    ? 'Only admins can retry rejected rows.'
    : metrics?.replayRequestedAt
      ? 'A retry is already requested.'
      : undefined
  return (
    <>
      <ReasonButton
        variant="default"
        leftSection={<ResyncIcon size={16} />}
        reason={reason}
        onClick={() => setAsked(true)}
      >
        Retry rows
      </ReasonButton>
      <Confirm
        organizationId={organizationId}
        opened={isAsked}
        onClose={() => setAsked(false)}
        title={`Retry the rejected rows of ${pipe.name}?`}
        label="Retry rows"
        doneText="The rejected rows will be retried"
        danger={false}
        call={(api) => api.replayPipeErrors(params)}
      >
        All kept rejected rows, not only those shown here, are sent to the engine again. Each row that the engine
        accepts is written once. Rows that it rejects again stay here with the new reason. Fix the table, the columns or
        the mappings first.
        {hasQueue && ' Messages and files are not retried: write the file again, and the queue announces it.'}
      </Confirm>
    </>
  )
}
