// The frame around every page of an organization.
import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Text,
  Tooltip,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link, Outlet, useParams, useRouterState } from '@tanstack/react-router'
import { type ComponentType, useEffect } from 'react'
import { account, loadAnew, useSignedIn } from '../api/session.ts'
import {
  ActivityIcon,
  CheckIcon,
  ChevronIcon,
  KeyIcon,
  MembersIcon,
  MoonIcon,
  OverviewIcon,
  PersonIcon,
  PipeIcon,
  ServiceIcon,
  SettingsIcon,
  SunIcon,
} from './icons.tsx'
import { Logo } from './logo.tsx'

const lastOrganizationKey = 'penstock-last-organization'

export function lastOrganizationId(): string | null {
  return localStorage.getItem(lastOrganizationKey)
}

const pages: { path: string; label: string; Icon: ComponentType<{ size?: number }> }[] = [
  { path: '', label: 'Overview', Icon: OverviewIcon },
  { path: '/services', label: 'Services', Icon: ServiceIcon },
  { path: '/pipes', label: 'Pipes', Icon: PipeIcon },
  { path: '/members', label: 'Members', Icon: MembersIcon },
  { path: '/keys', label: 'API keys', Icon: KeyIcon },
  { path: '/activity', label: 'Activity', Icon: ActivityIcon },
  { path: '/settings', label: 'Organization', Icon: SettingsIcon },
]

/** The page of the menu that an address belongs to; a pipe is below its service, and belongs to the pipes. */
function pageOf(path: string): string | undefined {
  if (/^\/services\/[^/]+\/pipes\//.test(path)) return '/pipes'
  return pages.find((page) => page.path === `/${path.split('/')[1] ?? ''}`.replace(/^\/$/, ''))?.path
}

export function Shell() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId' })
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const activePage = pageOf(path.split(organizationId)[1] ?? '')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when another page is opened.
  useEffect(close, [path])
  useEffect(() => localStorage.setItem(lastOrganizationKey, organizationId), [organizationId])
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
            />
            <Link to="/" aria-label="Penstock, to the overview" className="logo-link">
              <Logo />
            </Link>
            <Text c="dimmed" aria-hidden visibleFrom="sm">
              /
            </Text>
            <OrganizationMenu organizationId={organizationId} />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <ColorSchemeButton />
            <AccountMenu organizationId={organizationId} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Pages">
        <AppShell.Section grow component={ScrollArea}>
          {pages.map(({ path: page, label, Icon }) => (
            <NavLink
              key={page}
              component={Link}
              to={`/o/${organizationId}${page}`}
              // The router would also mark the pages above this one.
              activeOptions={{ exact: true }}
              active={page === activePage}
              aria-current={page === activePage ? 'page' : undefined}
              label={label}
              leftSection={<Icon size={18} />}
              className="page-link"
            />
          ))}
        </AppShell.Section>
        <AppShell.Section>
          <NavLink
            component="a"
            href="/docs"
            target="_blank"
            rel="noreferrer"
            label="API reference"
            className="page-link"
          />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
    </AppShell>
  )
}

function OrganizationMenu({ organizationId }: { organizationId: string }) {
  const { organizations } = useSignedIn()
  const current = organizations.find(({ id }) => id === organizationId)
  if (organizations.length === 1) {
    return (
      <Text fw={600} truncate>
        {current?.name}
      </Text>
    )
  }
  return (
    <Menu position="bottom-start" width={280} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          rightSection={<ChevronIcon size={16} />}
          aria-label={`Organization ${current?.name}; choose another`}
          miw={0}
        >
          <Text fw={600} truncate>
            {current?.name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Your organizations</Menu.Label>
        {organizations.map(({ id, name, role }) => (
          <Menu.Item
            key={id}
            component={Link}
            to={`/o/${id}`}
            rightSection={
              <Text size="xs" c="dimmed">
                {role}
              </Text>
            }
            leftSection={id === organizationId ? <CheckIcon size={16} /> : <span className="icon-space" />}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

export function ColorSchemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <Tooltip label={`Change to ${other} colors`}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={`Change to ${other} colors`}
        onClick={() => setColorScheme(other)}
      >
        {scheme === 'dark' ? <SunIcon size={18} /> : <MoonIcon size={18} />}
      </ActionIcon>
    </Tooltip>
  )
}

function AccountMenu({ organizationId }: { organizationId: string }) {
  const { user } = useSignedIn()
  return (
    <Menu position="bottom-end" width={240} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <UnstyledButton className="account-button" aria-label={`Account of ${user.name}`}>
          <PersonIcon size={18} />
          <Text size="sm" truncate visibleFrom="sm" maw={180}>
            {user.name}
          </Text>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item component={Link} to={`/o/${organizationId}/account`}>
          Account
        </Menu.Item>
        <Menu.Item
          onClick={async () => {
            // Also when it was refused: a session that has ended needs no sign-out, and one that stands is seen to stand.
            await account.signOut().catch(() => undefined)
            await loadAnew('/console/sign-in')
          }}
        >
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
