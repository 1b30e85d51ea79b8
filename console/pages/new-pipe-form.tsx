// Form for a new pipe in steps. The input is kept across steps and sent as one request at the end.
import { Alert, Button, Group, Stack, Stepper, Text } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Pipe, Service } from '../../src/client/shapes.ts'
import { useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { type DestinationCheck, useDestinationCheck } from '../api/destination-check.ts'
import { useIsAdmin } from '../api/session.ts'
import { useSourceCheck } from '../api/source-check.ts'
import { ChangeBar } from '../components/change-bar.tsx'
import { LeaveQuestion } from '../components/leave-question.tsx'
import { kindNames } from '../components/pipe-fields.ts'
import { createBody } from '../components/pipe-form/body.ts'
import { DestinationSections } from '../components/pipe-form/destination-sections.tsx'
import type { FormProps } from '../components/pipe-form/field-input.tsx'
import { SourceSections } from '../components/pipe-form/field-section.tsx'
import { checkPointer, withValues } from '../components/pipe-form/form-fields.ts'
import { PipeCheck } from '../components/pipe-form/pipe-check.tsx'
import { emptyDraft, hasInput, isOn, type PipeDraft } from '../components/pipe-form/pipe-draft.ts'
import { SettingsSections } from '../components/pipe-form/settings-sections.tsx'
import { questionOfDraft } from '../components/pipe-form/source-question.ts'
import { missingIn, type Step, stepLabels, stepOfError, steps } from '../components/pipe-form/steps.ts'
import { sentence } from '../components/sentence.ts'
import { fieldMarks } from '../components/source-check/source-failure.ts'
import { Refusal } from './new-pipe-refusal.tsx'
import { ReviewStep } from './new-pipe-review.tsx'
import { StartStep } from './new-pipe-start.tsx'

function useFirstDraft(services: Service[]): PipeDraft {
  const { service, kind } = useSearch({ from: '/signed-in/o/$organizationId/pipes/new' })
  const known = services.find(({ id }) => id === service) ?? (services.length === 1 ? services[0] : undefined)
  return { ...emptyDraft, serviceId: known?.id ?? '', kind: kindNames.find((name) => name === kind) }
}

export function NewPipeForm({ organizationId, services }: { organizationId: string; services: Service[] }) {
  const isAdmin = useIsAdmin(organizationId)
  const navigate = useNavigate()
  const firstDraft = useFirstDraft(services)
  const [draft, setDraft] = useState(firstDraft)
  const [step, setStep] = useState<Step>(() => (missingIn('start', draft).length === 0 ? 'source' : 'start'))
  const isCreated = useRef(false)
  const body = createBody(draft)
  const call: ApiCall<Pipe> = (api) => api.createPipe({ organizationId, serviceId: draft.serviceId }, body)
  const change = useChange<Pipe>({
    organizationId,
    doneText: `Pipe ${body.name} created`,
    onDone: async ({ result }) => {
      isCreated.current = true
      await navigate({
        to: '/o/$organizationId/services/$serviceId/pipes/$pipeId',
        params: { organizationId, serviceId: result.serviceId, pipeId: result.id },
      })
    },
  })
  const check = useSourceCheck({ organizationId, serviceId: draft.serviceId }, questionOfDraft(draft), () => {
    // A new check replaces the error of an earlier one.
    if (change.error?.code === 'source_not_validated') change.reset()
  })
  const { database, table, managedTable, columns } = body.destination
  const destination = useDestinationCheck(
    { organizationId, serviceId: draft.serviceId },
    { database, table, managedTable, columns },
  )
  const content = useStepFocus(step, change.error ?? destination.outcome?.wrong)
  useEffect(() => {
    const wrongSteps = (change.error?.errors ?? []).map(stepOfError)
    const firstWrong = steps.find((name) => wrongSteps.includes(name))
    if (firstWrong) setStep(firstWrong)
  }, [change.error])

  const form: FormProps = {
    draft,
    edit: (values) => setDraft((latest) => withValues(latest, values)),
    error: fieldMarks(change.errorOf(call), check.error, destination.outcome?.wrong),
    found: check.found,
  }
  const index = steps.indexOf(step)
  const missing = missingIn(step, draft)
  const firstIncomplete = steps.findIndex((name) => missingIn(name, draft).length > 0)
  const checkReason = !isAdmin
    ? 'Only admins can check a connection.'
    : missing.length > 0
      ? neededText(missing)
      : undefined
  const isReachable = (at: number): boolean => firstIncomplete < 0 || at <= firstIncomplete
  const isComplete = firstIncomplete < 0
  const goTo = async (at: number): Promise<void> => {
    if (destination.isRunning) return
    // Checks once, also when the step is skipped. After the errors have been shown, the person may continue.
    const passes = at > index && at > steps.indexOf('destination')
    const isToCheck = passes && isAdmin && !destination.outcome
    setStep(!isToCheck || (await destination.run()) ? steps[at]! : 'destination')
  }
  const goOn = async (): Promise<void> => {
    if (step !== 'review') {
      if (missing.length === 0) await goTo(index + 1)
    } else if (isAdmin && isComplete && !change.isSending) void change.send(call)
  }
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void goOn()
      }}
    >
      <Stack gap="lg" maw={860}>
        {!isAdmin && (
          <Alert color="gray" variant="light">
            Only admins can create pipes. You can fill in the form to see the request.
          </Alert>
        )}
        <Stepper active={index} onStepClick={(at) => void goTo(at)} size="sm" wrap={false} className="pipe-steps">
          {steps.map((name, at) => (
            <Stepper.Step
              key={name}
              label={stepLabels[name]}
              allowStepSelect={isReachable(at)}
              disabled={!isReachable(at)}
              aria-current={name === step ? 'step' : undefined}
            />
          ))}
        </Stepper>
        <Text size="sm" fw={600} hiddenFrom="sm" aria-hidden>
          {stepTitle(step)}
        </Text>
        <Refusal error={change.errorOf(call)} step={step} onStep={(name) => void goTo(steps.indexOf(name))} />
        <Stack gap="lg" ref={content} tabIndex={-1} className="step-content" role="group" aria-label={stepTitle(step)}>
          {step === 'start' && (
            <StartStep
              draft={draft}
              services={services}
              error={form.error}
              onChange={(changed) => {
                // Errors of another source kind no longer apply.
                if (changed.kind) change.reset()
                setDraft((latest) => ({ ...latest, ...changed }))
              }}
            />
          )}
          {step === 'source' && (
            <>
              <SourceSections {...form} />
              <PipeCheck {...form} check={check} reason={checkReason} />
            </>
          )}
          {step === 'destination' && <DestinationSections {...form} />}
          {step === 'settings' && <SettingsSections {...form} />}
          {step === 'review' && <ReviewStep {...form} body={body} services={services} />}
        </Stack>
        {step === 'destination' && <DestinationNotice check={destination} />}
        <Group gap="sm">
          {index > 0 && (
            <Button variant="default" onClick={() => void goTo(index - 1)} disabled={change.isSending}>
              Back
            </Button>
          )}
          {step === 'review' ? (
            <ChangeBar
              call={call}
              label="Create the pipe"
              isSubmit
              isSending={change.isSending}
              sendingText={isOn(draft, checkPointer) ? 'The source is checked first.' : undefined}
              disabled={!isAdmin || !isComplete}
              disabledReason={isAdmin ? neededText(missing) : 'Only admins can create pipes.'}
            />
          ) : (
            <>
              <Button type="submit" disabled={missing.length > 0} loading={destination.isRunning}>
                {step === 'destination' && hasDoubt(destination)
                  ? 'Continue anyway'
                  : `Next: ${stepLabels[steps[index + 1]!].toLowerCase()}`}
              </Button>
              {missing.length > 0 && (
                <Text size="sm" c="dimmed">
                  {neededText(missing)}
                </Text>
              )}
            </>
          )}
        </Group>
      </Stack>
      <LeaveQuestion
        isAsked={() => !isCreated.current && hasInput(draft)}
        title="Leave without creating the pipe?"
        label="Leave"
      >
        What you entered here, with its secrets, is kept nowhere else and will be lost.
      </LeaveQuestion>
    </form>
  )
}

const hasDoubt = ({ outcome }: DestinationCheck): boolean => Boolean(outcome?.wrong ?? outcome?.failure)

const mostNamed = 10

function DestinationNotice({ check: { outcome } }: { check: DestinationCheck }) {
  if (outcome?.failure) {
    return (
      <Alert color="yellow" variant="light" title="The destination could not be checked" role="alert">
        <Text size="sm">{sentence(outcome.failure.message)} The pipe fails if its database does not exist.</Text>
      </Alert>
    )
  }
  if (!outcome?.wrong) return null
  const { databases = [] } = outcome
  const named = databases.slice(0, mostNamed).join(', ')
  return (
    <Alert color="red" variant="light" title="The engine does not have what the destination names" role="alert">
      {outcome.wrong.errors.map(({ pointer, detail }) => (
        <Text size="sm" key={pointer}>
          {sentence(detail)}
        </Text>
      ))}
      {databases.length > 0 && (
        <Text size="sm">
          Its databases: {named}
          {databases.length > mostNamed && ` and ${databases.length - mostNamed} more`}.
        </Text>
      )}
    </Alert>
  )
}

const stepTitle = (step: Step): string => `Step ${steps.indexOf(step) + 1} of ${steps.length}: ${stepLabels[step]}`

const neededText = (missing: string[]): string => `Still needed: ${missing.join(', ')}.`

/** Moves the focus to the step, or to its error. */
function useStepFocus(step: Step, error: unknown) {
  const content = useRef<HTMLDivElement>(null)
  const shown = useRef({ step, error })
  useEffect(() => {
    if (shown.current.step === step && shown.current.error === error) return
    shown.current = { step, error }
    const wrong = error ? content.current?.querySelector<HTMLElement>('[aria-invalid="true"]') : undefined
    if (wrong) wrong.focus()
    else {
      content.current?.focus({ preventScroll: true })
      window.scrollTo({ top: 0 })
    }
  }, [step, error])
  return content
}
