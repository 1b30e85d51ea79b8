// Footer of a form: the button that sends the change, and the equivalent curl command.
import { Button, Code, Group, Popover, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { type ApiCall, curlOf, requestOf } from '../api/client.ts'
import { copyFailedText } from './copy.tsx'
import { copyToClipboard } from './copy-to-clipboard.ts'
import { TerminalIcon } from './icons.tsx'

/**
 * A surrounding dialog listens to Escape on the window, except for elements with this attribute. All focusable elements in the
 * popover need it.
 */
const escapeStaysHere = { 'data-mantine-stop-propagation': 'true' }

/** Copies the curl command and shows it. */
export function CurlButton({ call, size = 'sm' }: { call: ApiCall; size?: 'xs' | 'sm' }) {
  const [isOpen, setOpen] = useState(false)
  const [isCopied, setCopied] = useState(false)
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      width={560}
      position="top-start"
      withinPortal
      shadow="md"
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <Button
          variant="default"
          size={size}
          leftSection={<TerminalIcon size={16} />}
          onClick={async () => {
            if (isOpen) return setOpen(false)
            setCopied(await copyToClipboard(curlOf(requestOf(call))))
            setOpen(true)
          }}
        >
          Copy as curl
        </Button>
      </Popover.Target>
      <Popover.Dropdown maw="calc(100vw - 32px)" {...escapeStaysHere}>
        <CurlText call={call} isCopied={isCopied} />
      </Popover.Dropdown>
    </Popover>
  )
}

function CurlText({ call, isCopied }: { call: ApiCall; isCopied: boolean }) {
  const request = requestOf(call)
  const text = curlOf(request)
  return (
    <Stack gap="xs">
      <Text size="sm" role="status">
        {isCopied ? 'Copied: the same with an API key.' : `${copyFailedText}. It does the same with an API key.`}
        {hasSecret(request.body) && ' Secrets that you typed are in it: be careful where you paste it.'}
      </Text>
      <Code block tabIndex={0} {...escapeStaysHere} mah={320} style={{ overflow: 'auto' }}>
        {text}
      </Code>
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

/** `call` is the request that `onSend` sends. */
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
  /** The button submits the surrounding form instead of calling `onSend`. */
  isSubmit?: boolean
  /** There is no call to show. */
  isNothingChanged?: boolean
  /** Text while sending takes long. */
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
