import { Tooltip } from '@mantine/core'
import { useEffect, useState } from 'react'

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000_000],
  ['month', 2_592_000_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

function fromNow(at: number, now: number): string {
  const [unit, ms] = units.find(([, size]) => Math.abs(at - now) >= size) ?? ['second', 1000]
  if (unit === 'second') return at > now ? 'in a moment' : 'just now'
  return relative.format(Math.trunc((at - now) / ms), unit)
}

/** How long ago, with the exact moment for whoever points at it. */
export function Time({ at }: { at: string }) {
  const [, tellAgain] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tellAgain((times) => times + 1), 30_000)
    return () => clearInterval(timer)
  }, [])
  return (
    <Tooltip label={exactTime(at)}>
      <time dateTime={at} style={{ whiteSpace: 'nowrap' }}>
        {fromNow(Date.parse(at), Date.now())}
      </time>
    </Tooltip>
  )
}

export function exactTime(at: string): string {
  return new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
}
