// Frame around the pages of an organization.
import {
  ActionIcon,
  AppShell,
  Burger,
  Button,
  Group,
  Menu,
  Modal,
  NavLink,
  ScrollArea,
  Stack,
  Text,
  Tooltip,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link, Outlet, useParams, useRouterState } from '@tanstack/react-router'
import { type ComponentType, useEffect, useRef } from 'react'
import { useAction } from '../api/action.ts'
import { asPenstockError } from '../api/change.ts'
import { account, loadPageAgain, useSignedIn } from '../api/session.ts'
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
import { IsFramed } from './message-pages.tsx'
import { OutOfDateNotice } from './out-of-date-notice.tsx'
import { ProblemNotice } from './problem-notice.tsx'
import { SignedOutDialog } from './signed-out-dialog.tsx'

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

/** The menu page of a path; a pipe, whose path is below its service, belongs to the pipes. */
function pageOf(path: string): string | undefined {
  if (/^\/services\/[^/]+\/pipes\//.test(path)) return '/pipes'
  return pages.find((page) => page.path === `/${path.split('/')[1] ?? ''}`.replace(/^\/$/, ''))?.path
}

/** Moves the focus to the start of a newly opened page, for keyboard and screen readers. */
function useFocusOnNewPage(): void {
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  const before = useRef(path)
  useEffect(() => {
    const isFirst = before.current === undefined
    if (isFirst || before.current === path) {
      before.current = path
      return
    }
    before.current = path
    const main = document.getElementById('main')
    // A page may have focused one of its fields.
    if (main && !main.contains(document.activeElement)) main.focus({ preventScroll: true })
  }, [path])
}

export function Shell() {
  const { organizationId } = useParams({ from: '/signed-in/o/$organizationId' })
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const activePage = pageOf(path.split(organizationId)[1] ?? '')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when another page is opened.
  useEffect(close, [path])
  useFocusOnNewPage()
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
              // Otherwise the router also marks parent pages.
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
            href="/docs/guides"
            target="_blank"
            rel="noreferrer"
            label="Guides"
            className="page-link"
          />
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
        <OutOfDateNotice />
        <IsFramed value={true}>
          <Outlet />
        </IsFramed>
        <SignedOutDialog />
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
  const [isOpen, { open, close }] = useDisclosure(false)
  const signOut = useAction(async () => {
    try {
      await account.signOut()
    } catch (error) {
      // An ended session needs no sign-out.
      if (asPenstockError(error).status !== 401) {
        open()
        throw error
      }
    }
    await loadPageAgain('/console/sign-in')
  })
  return (
    <>
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
          <Menu.Item onClick={() => void signOut.start()}>Sign out</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={isOpen} onClose={close} title="Signing out" centered>
        <Stack>
          <ProblemNotice error={signOut.error} title="You were not signed out" />
          <Group gap="sm">
            <Button onClick={() => void signOut.start()} loading={signOut.isBusy} data-autofocus>
              Try again
            </Button>
            <Button variant="default" onClick={close}>
              Stay signed in
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}
