import { Alert, Anchor, List, Text } from '@mantine/core'
import type { PenstockError } from '../../src/client/error.ts'
import { type Step, stepLabels, stepOfError } from '../components/pipe-form/steps.ts'
import { ProblemNotice, RequestId } from '../components/problem-notice.tsx'
import { FailureNotice } from '../components/source-check/failure-notice.tsx'
import { sourceFailureOf } from '../components/source-check/source-failure.ts'

/** All validation errors with their steps, because the fields of other steps are not visible. */
export function Refusal({
  error,
  step,
  onStep,
}: {
  error: PenstockError | null
  step: Step
  onStep: (step: Step) => void
}) {
  const title = 'The pipe was not created'
  if (error && sourceFailureOf(error)) {
    return (
      <FailureNotice error={error} title={title}>
        <Text size="sm">
          To create it anyway, turn off the check. <StepLink to="review" from={step} onStep={onStep} />
        </Text>
      </FailureNotice>
    )
  }
  if (!error || error.errors.length === 0) return <ProblemNotice error={error} title={title} />
  return (
    <Alert color="red" variant="light" title={title} role="alert">
      <List size="sm">
        {error.errors.map((wrong) => (
          <List.Item key={`${wrong.pointer} ${wrong.detail}`} style={{ overflowWrap: 'anywhere' }}>
            {wrong.detail} <StepLink to={stepOfError(wrong)} from={step} onStep={onStep} />
          </List.Item>
        ))}
      </List>
      <RequestId id={error.requestId} />
    </Alert>
  )
}

function StepLink({ to, from, onStep }: { to: Step; from: Step; onStep: (step: Step) => void }) {
  if (to === from) return null
  return (
    <Anchor component="button" type="button" size="sm" c="inherit" underline="always" onClick={() => onStep(to)}>
      Go to {stepLabels[to].toLowerCase()}
    </Anchor>
  )
}
