// Actions of a pipe: commands, edit, delete.
import { Alert, Group } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Pipe } from '../../src/client/shapes.ts'
import { useIsAdmin } from '../api/session.ts'
import { Confirm } from '../components/confirm.tsx'
import { EditIcon, PlayIcon, ResyncIcon, StopIcon, TrashIcon } from '../components/icons.tsx'
import { deletionAtSource, keepsLog, retainedLogAdvice } from '../components/left-at-source.ts'
import { PageButton } from '../components/page-link.tsx'
import { type PipeCommand, whyNot } from '../components/pipe-commands.ts'
import { kindOf } from '../components/pipe-fields.ts'
import { ReasonButton } from '../components/reason-button.tsx'

const commands: Record<
  PipeCommand,
  { label: string; doneText: string; icon: ReactNode; danger: boolean; about: ReactNode }
> = {
  start: {
    label: 'Start',
    doneText: 'Pipe started',
    icon: <PlayIcon size={16} />,
    danger: false,
    about: 'The pipe is Provisioning until a runner takes it, then continues from its last position.',
  },
  stop: {
    label: 'Stop',
    doneText: 'Pipe is stopping',
    icon: <StopIcon size={16} />,
    danger: false,
    about:
      'The pipe finishes its current work and then does nothing until it is started again. The tables keep their rows.',
  },
  resync: {
    label: 'Resync',
    doneText: 'Resync started',
    icon: <ResyncIcon size={16} />,
    danger: true,
    about:
      'The pipe loads all its tables again from the beginning. This can take long and puts load on the PostgreSQL database and the service. It cannot be undone, only stopped.',
  },
}

export function PipeActions({ organizationId, pipe }: { organizationId: string; pipe: Pipe }) {
  const isAdmin = useIsAdmin(organizationId)
  const navigate = useNavigate()
  const [asked, setAsked] = useState<PipeCommand | 'delete'>()
  const params = { organizationId, serviceId: pipe.serviceId, pipeId: pipe.id }
  const close = () => setAsked(undefined)
  return (
    <Group gap="sm">
      {(Object.keys(commands) as PipeCommand[]).map((command) => (
        <ReasonButton
          key={command}
          variant="default"
          leftSection={commands[command].icon}
          reason={isAdmin ? whyNot(command, kindOf(pipe), pipe.state) : 'Only admins can start, stop and resync pipes.'}
          onClick={() => setAsked(command)}
        >
          {commands[command].label}
        </ReasonButton>
      ))}
      {isAdmin ? (
        <PageButton
          to="/o/$organizationId/services/$serviceId/pipes/$pipeId/edit"
          params={params}
          variant="default"
          leftSection={<EditIcon size={16} />}
        >
          Edit
        </PageButton>
      ) : (
        <ReasonButton variant="default" leftSection={<EditIcon size={16} />} reason="Only admins can change pipes.">
          Edit
        </ReasonButton>
      )}
      <ReasonButton
        variant="default"
        c={isAdmin ? 'red' : undefined}
        leftSection={<TrashIcon size={16} />}
        reason={isAdmin ? undefined : 'Only admins can delete pipes.'}
        onClick={() => setAsked('delete')}
      >
        Delete
      </ReasonButton>
      {(Object.keys(commands) as PipeCommand[]).map((command) => (
        <Confirm
          key={command}
          organizationId={organizationId}
          opened={asked === command}
          onClose={close}
          title={`${commands[command].label} ${pipe.name}?`}
          label={`${commands[command].label} pipe`}
          danger={commands[command].danger}
          doneText={`${commands[command].doneText}: ${pipe.name}`}
          call={(api) => api.updatePipeState(params, { command })}
        >
          {commands[command].about}
          {command === 'stop' && <RetainedLogWarning pipe={pipe} />}
        </Confirm>
      ))}
      <Confirm
        organizationId={organizationId}
        opened={asked === 'delete'}
        onClose={close}
        title={`Delete ${pipe.name}?`}
        label="Delete pipe"
        doneText={`Pipe ${pipe.name} deleted`}
        typeToConfirm={pipe.name}
        call={(api) => api.deletePipe(params)}
        onDone={() => navigate({ to: '/o/$organizationId/pipes', params: { organizationId }, ignoreBlocker: true })}
      >
        The pipe and its secrets are deleted, whatever it is doing. The tables that it filled keep their rows.{' '}
        {deletionAtSource(pipe)} This cannot be undone.
      </Confirm>
    </Group>
  )
}

function RetainedLogWarning({ pipe: { source } }: { pipe: Pipe }) {
  if (!source.postgres || !keepsLog({ source })) return null
  return (
    <Alert color="orange" variant="light" mt="sm" title="PostgreSQL keeps its WAL while the pipe is stopped">
      {retainedLogAdvice(source.postgres)}
    </Alert>
  )
}
