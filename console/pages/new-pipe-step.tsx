import type { PipeCreate, Service } from '../../src/client/shapes.ts'
import type { SourceCheck } from '../api/source-check.ts'
import type { PipeDraft } from '../components/pipe-form/create-draft.ts'
import { DestinationCreate, PostgresDestinationCreate } from '../components/pipe-form/destination-create.tsx'
import type { PartProps } from '../components/pipe-form/fields.tsx'
import type { FormError } from '../components/pipe-form/form-error.ts'
import { KafkaSourceCreate } from '../components/pipe-form/kafka-source-create.tsx'
import { KinesisSourceCreate } from '../components/pipe-form/kinesis-source-create.tsx'
import { ObjectStorageSourceCreate } from '../components/pipe-form/object-storage-source-create.tsx'
import { PostgresSourceCreate } from '../components/pipe-form/postgres-source-create.tsx'
import type { Step } from '../components/pipe-form/steps.ts'
import { NewPipeCheck, TablesToAdd } from './new-pipe-check.tsx'
import { ReviewStep } from './new-pipe-review.tsx'
import { SettingsStep } from './new-pipe-settings.tsx'
import { StartStep } from './new-pipe-start.tsx'

export interface StepProps {
  check: SourceCheck
  draft: PipeDraft
  onChange: (changed: Partial<PipeDraft>) => void
  error: FormError
}

export function StepContent({
  step,
  body,
  services,
  isAdmin,
  ...props
}: StepProps & { step: Step; body: PipeCreate; services: Service[]; isAdmin: boolean }) {
  switch (step) {
    case 'start':
      return <StartStep {...props} services={services} />
    case 'source':
      return (
        <>
          <SourceStep {...props} />
          <NewPipeCheck {...props} isAdmin={isAdmin} />
        </>
      )
    case 'destination':
      return <DestinationStep {...props} />
    case 'settings':
      return <SettingsStep {...props} />
    case 'review':
      return <ReviewStep {...props} body={body} services={services} />
  }
}

function SourceStep({ draft, onChange, error }: StepProps) {
  const part = <Kind extends 'kafka' | 'kinesis' | 'objectStorage' | 'postgres'>(
    kind: Kind,
  ): PartProps<PipeDraft[Kind]> => ({
    value: draft[kind],
    onChange: (changed) => onChange({ [kind]: { ...draft[kind], ...changed } }),
    error,
  })
  switch (draft.kind) {
    case 'kafka':
      return <KafkaSourceCreate {...part('kafka')} />
    case 'kinesis':
      return <KinesisSourceCreate {...part('kinesis')} />
    case 'objectStorage':
      return <ObjectStorageSourceCreate {...part('objectStorage')} />
    case 'postgres':
      return <PostgresSourceCreate {...part('postgres')} />
    default:
      return null
  }
}

function DestinationStep({ draft, onChange, error, check }: StepProps) {
  const part: PartProps<PipeDraft['destination']> = {
    value: draft.destination,
    onChange: (changed) => onChange({ destination: { ...draft.destination, ...changed } }),
    error,
  }
  if (draft.kind === 'postgres') {
    return (
      <PostgresDestinationCreate
        {...part}
        tableMappings={draft.postgres.tableMappings}
        onTableMappings={(tableMappings) => onChange({ postgres: { ...draft.postgres, tableMappings } })}
        found={check.found && <TablesToAdd check={check} draft={draft} onChange={onChange} />}
      />
    )
  }
  return (
    <DestinationCreate
      {...part}
      fieldMappings={draft.fieldMappings}
      onFieldMappings={(fieldMappings) => onChange({ fieldMappings })}
      foundFields={check.found?.fields}
    />
  )
}
