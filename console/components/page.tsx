import { Anchor, Breadcrumbs, Group, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'

export interface Crumb {
  label: string
  to: string
}

/** What every page begins with: its name (also of the browser's tab), what it is for, and what can be done. */
export function Page({
  title,
  documentTitle,
  about,
  crumbs = [],
  actions,
  children,
}: {
  title: ReactNode
  /** When the title is more than text. */
  documentTitle?: string
  about?: ReactNode
  crumbs?: Crumb[]
  actions?: ReactNode
  children: ReactNode
}) {
  const name = documentTitle ?? (typeof title === 'string' ? title : 'Penstock')
  useEffect(() => {
    document.title = `${name} · Penstock`
  }, [name])
  return (
    <Stack gap="lg" maw={1180}>
      <Stack gap={6}>
        {crumbs.length > 0 && (
          <Breadcrumbs separatorMargin={6} component="nav" aria-label="Where this page belongs">
            {crumbs.map(({ label, to }) => (
              <Anchor key={to} component={Link} to={to} size="sm">
                {label}
              </Anchor>
            ))}
          </Breadcrumbs>
        )}
        <Group justify="space-between" align="center" gap="sm">
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {actions && <Group gap="sm">{actions}</Group>}
        </Group>
        {about && (
          <Text c="dimmed" maw={760} component="div">
            {about}
          </Text>
        )}
      </Stack>
      {children}
    </Stack>
  )
}
