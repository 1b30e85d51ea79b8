// What stands below every form: the button that sends the change, and the command that would do the same.
import { ActionIcon, Button, Code, Group, Popover, Stack, Text } from '@mantine/core'
import { type ApiCall, curlOf, requestOf } from '../api/client.ts'
import { CopyTextButton } from './copy.tsx'
import { TerminalIcon } from './icons.tsx'

/**
 * A dialog around it also listens to Escape, on the window and before everybody else, but leaves alone what is pressed on an
 * element with this: everything in the popover that can have the focus needs it.
 */
const escapeStaysHere = { 'data-mantine-stop-propagation': 'true' }

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
    <Popover width={560} position="top-start" withinPortal shadow="md" trapFocus returnFocus>
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
      <Popover.Dropdown maw="calc(100vw - 32px)" {...escapeStaysHere}>
        <CurlText call={call} />
      </Popover.Dropdown>
    </Popover>
  )
}

function CurlText({ call }: { call: ApiCall }) {
  const request = requestOf(call)
  const text = curlOf(request)
  return (
    <Stack gap="xs">
      <Text size="sm">
        The same with an API key.
        {hasSecret(request.body) && ' Secrets that you typed are in it: mind where you paste it.'}
      </Text>
      <Code block tabIndex={0} {...escapeStaysHere} mah={320} style={{ overflow: 'auto' }}>
        {text}
      </Code>
      <Group>
        <CopyTextButton text={text} size="xs" {...escapeStaysHere}>
          Copy
        </CopyTextButton>
      </Group>
    </Stack>
  )
}

const secretFields = ['password', 'secretKey', 'privateKey', 'connectionString', 'keySecret', 'accessKey']

function hasSecret(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  return Object.entries(body).some(
    ([name, value]) => (secretFields.includes(name) && typeof value === 'string') || hasSecret(value),
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
  isNothingChanged = false,
  sendingText,
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
  /** Then there is no call to show. */
  isNothingChanged?: boolean
  /** Why it takes so long. */
  sendingText?: string | undefined
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
      {!isNothingChanged && <CurlButton call={call} />}
      {sendingText && (
        <Text size="sm" c="dimmed" role="status">
          {isSending && sendingText}
        </Text>
      )}
      {disabled && disabledReason && (
        <Text size="sm" c="dimmed">
          {disabledReason}
        </Text>
      )}
    </Group>
  )
}
