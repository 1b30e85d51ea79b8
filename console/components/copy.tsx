import { Button, type ButtonProps } from '@mantine/core'
import { useEffect, useState } from 'react'
import { copyToClipboard } from './copy-to-clipboard.ts'
import { CheckIcon, CopyIcon } from './icons.tsx'
import { answerAt } from './tip.tsx'

export const copyFailedText = 'Could not copy: select the text'

/** An id or code with a copy button. */
export function CopyText({ text, label }: { text: string; label: string }) {
  return (
    <span className="copy-text">
      <code>{text}</code>
      <CopyIconButton text={text} label={label} />
    </span>
  )
}

export function CopyIconButton({ text, label }: { text: string; label: string }) {
  const name = `Copy the ${label}`
  return (
    <button
      type="button"
      className="copy-button"
      aria-label={name}
      data-tip={name}
      onClick={async ({ currentTarget }) => {
        answerAt(currentTarget, (await copyToClipboard(text)) ? 'Copied' : copyFailedText)
      }}
    >
      <CopyIcon size={14} />
    </button>
  )
}

const shownMs = { copied: 2_000, failed: 8_000 }

export function CopyTextButton({ text, children, ...props }: { text: string; children: string } & ButtonProps) {
  const [outcome, setOutcome] = useState<'copied' | 'failed'>()
  useEffect(() => {
    if (outcome === undefined) return
    const timer = setTimeout(() => setOutcome(undefined), shownMs[outcome])
    return () => clearTimeout(timer)
  }, [outcome])
  return (
    <Button
      variant="default"
      leftSection={outcome === 'copied' ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
      onClick={async () => setOutcome((await copyToClipboard(text)) ? 'copied' : 'failed')}
      {...props}
    >
      {outcome === undefined ? children : outcome === 'copied' ? 'Copied' : copyFailedText}
    </Button>
  )
}
