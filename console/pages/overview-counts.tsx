// Number of services and pipes by state, with links to the filtered lists.
import { Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import { type ComponentPropsWithRef, type ReactNode, useId } from 'react'
import { countByState, type Metrics, shownPipeCounts } from '../api/metrics.ts'
import { StateBadge } from '../components/state-badge.tsx'

export function StateCounts({ organizationId, metrics }: { organizationId: string; metrics: Metrics }) {
  const params = { organizationId }
  const pipeCount = metrics.pipes.reduce((sum, { count }) => sum + count, 0)
  return (
    <>
      <CountSection title="Services">
        <CountCard to="/o/$organizationId/services" params={params}>
          <Count count={metrics.services.length} label="total" />
        </CountCard>
        {countByState(metrics.services).map(([state, count]) => (
          <CountCard key={state} to="/o/$organizationId/services" params={params} search={{ state }}>
            <Count count={count} label={<StateBadge state={state} />} />
          </CountCard>
        ))}
      </CountSection>
      <CountSection title="Pipes">
        <CountCard to="/o/$organizationId/pipes" params={params}>
          <Count count={pipeCount} label={pipeCount === 0 ? 'none yet' : 'total'} />
        </CountCard>
        {countByState(shownPipeCounts(metrics)).map(([state, count]) => (
          <CountCard key={state} to="/o/$organizationId/pipes" params={params} search={{ state }}>
            <Count count={count} label={<StateBadge state={state} />} />
          </CountCard>
        ))}
      </CountSection>
    </>
  )
}

function CountSection({ title, children }: { title: string; children: ReactNode }) {
  const titleId = useId()
  return (
    <Stack gap="xs" component="section" aria-labelledby={titleId}>
      <Title order={2} id={titleId}>
        {title}
      </Title>
      <SimpleGrid cols={{ base: 2, xs: 3, md: 5, lg: 6 }} spacing="sm">
        {children}
      </SimpleGrid>
    </Stack>
  )
}

const CountCard = createLink((props: Omit<ComponentPropsWithRef<'a'>, 'style'>) => (
  <Card withBorder padding="md" component="a" {...props} className="count-card" />
))

function Count({ count, label }: { count: number; label: ReactNode }) {
  return (
    <Stack gap={4}>
      <Text fz={28} fw={600} lh={1.1}>
        {count}
      </Text>
      <Group mih={22} align="center">
        {typeof label === 'string' ? (
          <Text size="sm" c="dimmed">
            {label}
          </Text>
        ) : (
          label
        )}
      </Group>
    </Stack>
  )
}
