// What stands below every form: the button that sends the change, and the command that would do the same.
import { ActionIcon, Button, Code, Group, Popover, Stack, Text } from '@mantine/core'
import { type ApiCall, curlOf, requestOf } from '../api/client.ts'
import { CopyTextButton } from './copy.tsx'
import { TerminalIcon } from './icons.tsx'

export function CurlButton({
  call,
  size = 'sm',
  iconFor,
}: {
  call: ApiCall
  size?: 'xs' | 'sm'
  /** Where there is no room for words, only a sign is shown; this says what the call does: "make Amara Okafor an admin". */
  iconFor?: string
}) {
  return (
    <Popover width={560} position="top-start" withinPortal shadow="md" trapFocus>
      <Popover.Target>
        {iconFor === undefined ? (
          <Button variant="default" size={size} leftSection={<TerminalIcon size={16} />}>
            Copy as curl
          </Button>
        ) : (
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Copy as curl: ${iconFor}`}
            title={`Copy as curl: ${iconFor}`}
          >
            <TerminalIcon size={16} />
          </ActionIcon>
        )}
      </Popover.Target>
      <Popover.Dropdown maw="calc(100vw - 32px)">
        <CurlText call={call} />
      </Popover.Dropdown>
    </Popover>
  )
}

function CurlText({ call }: { call: ApiCall }) {
  const text = curlOf(requestOf(call))
  return (
    <Stack gap="xs">
      <Text size="sm">The same with an API key. Secrets that you typed are in it: mind where you paste it.</Text>
      <Code block tabIndex={0} mah={320} style={{ overflow: 'auto' }}>
        {text}
      </Code>
      <Group>
        <CopyTextButton text={text} size="xs">
          Copy
        </CopyTextButton>
      </Group>
    </Stack>
  )
}

/** `call` is what `onSend` will send; the form decides when. */
export function ChangeBar({
  call,
  label,
  isSending,
  onSend,
  onCancel,
  disabled = false,
  disabledReason,
  danger = false,
  isSubmit = false,
}: {
  call: ApiCall
  label: string
  isSending: boolean
  onSend?: () => void
  onCancel?: () => void
  disabled?: boolean
  disabledReason?: string
  danger?: boolean
  /** The button submits the form around it; `onSend` is not used then. */
  isSubmit?: boolean
}) {
  return (
    <Group gap="sm" align="center">
      <Button
        type={isSubmit ? 'submit' : 'button'}
        onClick={isSubmit ? undefined : onSend}
        loading={isSending}
        disabled={disabled}
        color={danger ? 'red' : undefined}
      >
        {label}
      </Button>
      {onCancel && (
        <Button variant="default" onClick={onCancel} disabled={isSending}>
          Cancel
        </Button>
      )}
      <CurlButton call={call} />
      {disabled && disabledReason && (
        <Text size="sm" c="dimmed">
          {disabledReason}
        </Text>
      )}
    </Group>
  )
}
