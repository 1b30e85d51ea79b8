// Rotates a key: asks for the grace period of the old secret, then shows the new one once.
import { Button, Group, Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { Key, KeyWithSecret } from '../../src/client/shapes.ts'
import { fieldError, useChange } from '../api/change.ts'
import type { ApiCall } from '../api/client.ts'
import { ChangeBar } from './change-bar.tsx'
import { Dialog, useHoldOpen } from './dialog.tsx'
import { KeySecret } from './key-secret.tsx'
import { previousSecretText } from './key-status.ts'
import { ProblemNotice } from './problem-notice.tsx'

const graces = [
  {
    seconds: 0,
    label: 'It ends now',
    description: 'When the secret has been seen by somebody who should not have it.',
  },
  { seconds: 3600, label: 'For an hour', description: 'Time to change a few clients by hand.' },
  { seconds: 86_400, label: 'For a day', description: 'Time for the next deployment.' },
  { seconds: 604_800, label: 'For a week', description: 'The longest there is.' },
]

export function RotateKey({
  organizationId,
  apiKey,
  opened,
  onClose,
}: {
  organizationId: string
  apiKey: Key
  opened: boolean
  onClose: () => void
}) {
  const [made, setMade] = useState<KeyWithSecret>()
  const close = () => {
    onClose()
    setMade(undefined)
  }
  return (
    <Dialog
      opened={opened}
      onClose={close}
      title={made ? `New secret of “${made.key.name}”` : `Rotate “${apiKey.name}”`}
      centered
      size={made ? 'lg' : 'md'}
      // The secret is shown only once, so a click outside must not close the dialog.
      closeOnClickOutside={!made}
      closeOnEscape={!made}
    >
      {made ? (
        <Stack>
          <KeySecret organizationId={organizationId} made={made}>
            <Text size="sm">The previous secret {previousSecretText(made.key)}.</Text>
          </KeySecret>
          <Group justify="flex-end">
            <Button onClick={close}>I've saved the secret</Button>
          </Group>
        </Stack>
      ) : (
        <ChooseGrace organizationId={organizationId} apiKey={apiKey} onCancel={close} onMade={setMade} />
      )}
    </Dialog>
  )
}

function ChooseGrace({
  organizationId,
  apiKey,
  onCancel,
  onMade,
}: {
  organizationId: string
  apiKey: Key
  onCancel: () => void
  onMade: (made: KeyWithSecret) => void
}) {
  const [graceSeconds, setGraceSeconds] = useState(3600)
  const change = useChange<KeyWithSecret>({
    organizationId,
    doneText: undefined,
    onDone: ({ result }) => onMade(result),
  })
  useHoldOpen(change.isSending)
  const call: ApiCall<KeyWithSecret> = (api) => api.rotateKey({ organizationId, keyId: apiKey.id }, { graceSeconds })
  return (
    <Stack>
      <Text size="sm">
        The key gets another secret; its key id, role and everything else stay. A secret from an earlier rotation ends
        at once.
      </Text>
      <Radio.Group
        label={`How long the current secret, which ends in ${apiKey.keySuffix}, stays valid`}
        value={String(graceSeconds)}
        onChange={(seconds) => setGraceSeconds(Number(seconds))}
        error={fieldError(change.error, 'graceSeconds')}
      >
        <Stack gap="xs" mt="xs">
          {graces.map(({ seconds, label, description }) => (
            <Radio key={seconds} value={String(seconds)} label={label} description={description} />
          ))}
        </Stack>
      </Radio.Group>
      <ProblemNotice error={change.error} shownFields={['graceSeconds']} />
      <ChangeBar
        call={call}
        label="Rotate key"
        isSending={change.isSending}
        onSend={() => void change.send(call)}
        onCancel={onCancel}
        danger={graceSeconds === 0}
      />
    </Stack>
  )
}
