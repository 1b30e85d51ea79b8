import { Alert, Anchor, List } from '@mantine/core'
import type { PenstockError } from '../../src/client/error.ts'
import { type Step, stepLabels, stepOfPointer } from '../components/pipe-form/steps.ts'
import { ProblemNotice, RequestId } from '../components/problem-notice.tsx'

/** All that the API found wrong, with the step that each belongs to: the fields of other steps are out of sight. */
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
  if (!error || error.errors.length === 0) return <ProblemNotice error={error} title={title} />
  return (
    <Alert color="red" variant="light" title={title} role="alert">
      <List size="sm">
        {error.errors.map(({ pointer, detail }) => {
          const place = stepOfPointer(pointer)
          return (
            <List.Item key={`${pointer} ${detail}`} style={{ overflowWrap: 'anywhere' }}>
              {detail}
              {place !== step && (
                <>
                  {' '}
                  <Anchor
                    component="button"
                    type="button"
                    size="sm"
                    c="inherit"
                    underline="always"
                    onClick={() => onStep(place)}
                  >
                    Go to {stepLabels[place].toLowerCase()}
                  </Anchor>
                </>
              )}
            </List.Item>
          )
        })}
      </List>
      <RequestId id={error.requestId} />
    </Alert>
  )
}
