import { ActionIcon, Button, type ButtonProps, Code, Group, Tooltip } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { useEffect } from 'react'
import { CheckIcon, CopyIcon } from './icons.tsx'

/** What a button that copies says of itself. Browsers refuse to copy, for one, on a page that was not loaded over https. */
function useCopy(text: string, label: string) {
  const { copy, copied, error, reset } = useClipboard({ timeout: 2000 })
  useEffect(() => {
    if (!error) return
    const timer = setTimeout(reset, 8000)
    return () => clearTimeout(timer)
  }, [error, reset])
  return {
    copy: () => copy(text),
    isCopied: copied,
    isRefused: error !== null,
    label: error ? 'Could not copy: select the text' : copied ? 'Copied' : label,
  }
}

/** A text of ids and codes, with a button that copies it. */
export function CopyText({ text, label }: { text: string; label: string }) {
  return (
    <Group gap={4} wrap="nowrap" component="span" display="inline-flex" maw="100%">
      <Code style={{ overflow: 'hidden', textOverflow: 'ellipsis', whiteSpace: 'nowrap' }}>{text}</Code>
      <CopyIconButton text={text} label={label} />
    </Group>
  )
}

export function CopyIconButton({ text, label: thing }: { text: string; label: string }) {
  const { copy, isCopied, isRefused, label } = useCopy(text, `Copy the ${thing}`)
  return (
    <Tooltip label={label} opened={isRefused || undefined}>
      <ActionIcon variant="subtle" color={isRefused ? 'red' : 'gray'} size="sm" onClick={copy} aria-label={label}>
        {isCopied ? <CheckIcon size={14} /> : <CopyIcon size={14} />}
      </ActionIcon>
    </Tooltip>
  )
}

export function CopyTextButton({ text, children, ...props }: { text: string; children: string } & ButtonProps) {
  const { copy, isCopied, label } = useCopy(text, children)
  return (
    <Button
      variant="default"
      leftSection={isCopied ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
      onClick={copy}
      {...props}
    >
      {label}
    </Button>
  )
}
