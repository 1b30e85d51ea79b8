import { Anchor, Breadcrumbs, Group, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'

export interface Crumb {
  label: string
  to: string
}

/** Page header: title (also of the browser tab), description and actions. */
export function Page({
  title,
  documentTitle,
  about,
  crumbs = [],
  actions,
  children,
}: {
  title: ReactNode
  /** Needed when the title is not plain text. */
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
          <Breadcrumbs separatorMargin={6} component="nav" aria-label="Breadcrumbs">
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
