// Bar chart of a pipe's last hour by minute, and the same data as a table.
import { Group, Stack, Text } from '@mantine/core'
import { useId } from 'react'
import { countOf } from './amounts.ts'
import { type Minute, roundScale, summaryOf, sumOf } from './minutes.ts'
import { ScrollTable } from './scroll-table.tsx'

const title = 'Rows by the minute, the last hour'
const barWidth = 10
const barDistance = 12
const height = 120
/** Minimum height, so that small values are visible. */
const leastHeight = 2

export function MinutesChart({ minutes }: { minutes: Minute[] }) {
  const aboutId = useId()
  const most = Math.max(...minutes.map(({ written, rejected }) => written + rejected))
  const scale = roundScale(most)
  const rejected = sumOf(minutes, 'rejected')
  const width = minutes.length * barDistance
  return (
    <Stack gap="xs" component="figure" m={0}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={600} component="figcaption">
          {title}
        </Text>
        {rejected > 0 && (
          <Group gap="md" aria-hidden="true">
            <Key name="written" />
            <Key name="rejected" />
          </Group>
        )}
      </Group>
      <div className="minutes-chart">
        <div className="minutes-scale" aria-hidden="true">
          {[scale, scale / 2, 0].map((step) => (
            <span key={step}>{step.toLocaleString('en')}</span>
          ))}
        </div>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={title}
          aria-describedby={aboutId}
        >
          {[0, height / 2, height].map((y) => (
            <line key={y} x1={0} x2={width} y1={y} y2={y} className="minutes-line" />
          ))}
          {minutes.map((minute, index) => (
            <Bars key={minute.atMs} minute={minute} x={index * barDistance} scale={scale} />
          ))}
        </svg>
        <div className="minutes-times" aria-hidden="true">
          <span>{timeOf(minutes[0]!)}</span>
          <span>now</span>
        </div>
      </div>
      <Text size="sm" c="dimmed" id={aboutId}>
        {summaryOf(minutes)}
      </Text>
      {most > 0 && (
        <details className="minutes-table">
          <summary>Show as a table</summary>
          <ScrollTable
            caption={title}
            items={minutes.filter(({ written, rejected }) => written + rejected > 0).toReversed()}
            keyOf={({ atMs }) => String(atMs)}
            columns={[
              { label: 'Minute', cell: timeOf },
              { label: 'Written', cell: ({ written }) => written.toLocaleString('en') },
              { label: 'Rejected', cell: ({ rejected }) => rejected.toLocaleString('en') },
            ]}
          />
        </details>
      )}
    </Stack>
  )
}

/** Rejected rows are stacked on written rows. */
function Bars({ minute, x, scale }: { minute: Minute; x: number; scale: number }) {
  const heightOf = (rows: number) => (rows === 0 ? 0 : Math.max(leastHeight, (rows / scale) * height))
  const written = heightOf(minute.written)
  const rejected = heightOf(minute.rejected)
  return (
    <g>
      <title>{`${timeOf(minute)}: ${countOf(minute.written, 'row')} written, ${minute.rejected.toLocaleString('en')} rejected`}</title>
      <rect x={x} y={0} width={barDistance} height={height} className="minutes-hover-area" />
      <rect x={x + 1} y={height - written} width={barWidth} height={written} className="minutes-written" />
      <rect x={x + 1} y={height - written - rejected} width={barWidth} height={rejected} className="minutes-rejected" />
    </g>
  )
}

function Key({ name }: { name: 'written' | 'rejected' }) {
  return (
    <Group gap={6}>
      <svg width={10} height={10} aria-hidden="true">
        <rect width={10} height={10} rx={2} className={`minutes-${name}`} />
      </svg>
      <Text size="xs">{name}</Text>
    </Group>
  )
}

function timeOf({ atMs }: Pick<Minute, 'atMs'>): string {
  return new Date(atMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}
