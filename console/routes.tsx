// Routes of the console. The code of a page is loaded when it is first opened.
import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { loadPage } from './api/load-page.ts'
import { sessionQuery } from './api/session.ts'
import { LoadingPage } from './components/loading.tsx'
import { ErrorPage, NotFoundPage } from './components/message-pages.tsx'
import { lastOrganizationId, Shell } from './components/shell.tsx'
import { type PipeFilter, type PipeTab, pipeTabs, type ServiceTab, serviceTabs } from './route-search.ts'

const rootRoute = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFoundPage,
})

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'sign-in',
  validateSearch: (search): { to?: string; problem?: string } => ({
    to: text(search.to),
    problem: text(search.problem),
  }),
  loader: ({ context }) => context.queries.ensureQueryData(sessionQuery),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/sign-in.tsx')), 'SignInPage'),
})

const acceptInvitationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'invitations/accept',
  loader: ({ context }) => context.queries.ensureQueryData(sessionQuery),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/accept-invitation.tsx')), 'AcceptInvitationPage'),
})

/** Parent of all routes that require a session. */
const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
  beforeLoad: async ({ context, location }) => {
    const session = await context.queries.ensureQueryData(sessionQuery)
    if (!session.signedIn) throw redirect({ to: '/sign-in', search: { to: location.href } })
    return { session }
  },
})

const homeRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/',
  beforeLoad: ({ context }) => {
    const { organizations } = context.session
    const last = organizations.find(({ id }) => id === lastOrganizationId()) ?? organizations[0]
    if (last) throw redirect({ to: '/o/$organizationId', params: { organizationId: last.id }, replace: true })
  },
  component: lazyRouteComponent(() => loadPage(() => import('./pages/no-organization.tsx')), 'NoOrganizationPage'),
})

const organizationRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'o/$organizationId',
  beforeLoad: ({ context, params }) => {
    const organization = context.session.organizations.find(({ id }) => id === params.organizationId)
    if (!organization) throw notFound()
    return { organization }
  },
  component: Shell,
})

const overviewRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/overview.tsx')), 'OverviewPage'),
})

const membersRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'members',
  validateSearch: (search): { search?: string } => ({ search: text(search.search) }),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/members.tsx')), 'MembersPage'),
})

const keysRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'keys',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/keys.tsx')), 'KeysPage'),
})

const newKeyRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'keys/new',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/new-key.tsx')), 'NewKeyPage'),
})

const keyRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'keys/$keyId',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/key.tsx')), 'KeyPage'),
})

const servicesRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'services',
  validateSearch: (search): { state?: string } => ({ state: text(search.state) }),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/services.tsx')), 'ServicesPage'),
})

const newServiceRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'services/new',
  // The newly registered service whose first check is shown; kept in the URL across reloads.
  validateSearch: (search): { service?: string } => ({ service: text(search.service) }),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/new-service.tsx')), 'NewServicePage'),
})

const serviceRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'services/$serviceId',
  validateSearch: (search): { tab?: ServiceTab } => ({ tab: serviceTabs.find((tab) => tab === search.tab) }),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/service.tsx')), 'ServicePage'),
})

const pipesRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'pipes',
  validateSearch: (search): PipeFilter => ({
    state: text(search.state),
    kind: text(search.kind),
    service: text(search.service),
    text: text(search.text),
  }),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/pipes.tsx')), 'PipesPage'),
})

const newPipeRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'pipes/new',
  validateSearch: (search): { service?: string; kind?: string } => ({
    service: text(search.service),
    kind: text(search.kind),
  }),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/new-pipe.tsx')), 'NewPipePage'),
})

const pipeRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'services/$serviceId/pipes/$pipeId',
  validateSearch: (search): { tab?: PipeTab; table?: string } => ({
    tab: pipeTabs.find((tab) => tab === search.tab),
    table: text(search.table),
  }),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/pipe.tsx')), 'PipePage'),
})

const editPipeRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'services/$serviceId/pipes/$pipeId/edit',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/edit-pipe.tsx')), 'EditPipePage'),
})

const activityRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'activity',
  validateSearch: (search): { type?: string; from?: string; to?: string } => ({
    type: text(search.type),
    from: text(search.from),
    to: text(search.to),
  }),
  component: lazyRouteComponent(() => loadPage(() => import('./pages/activity.tsx')), 'ActivityPage'),
})

const oneActivityRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'activity/$activityId',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/one-activity.tsx')), 'OneActivityPage'),
})

const settingsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'settings',
  component: lazyRouteComponent(
    () => loadPage(() => import('./pages/organization-settings.tsx')),
    'OrganizationSettingsPage',
  ),
})

const accountRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: 'account',
  component: lazyRouteComponent(() => loadPage(() => import('./pages/account.tsx')), 'AccountPage'),
})

const routeTree = rootRoute.addChildren([
  signInRoute,
  acceptInvitationRoute,
  signedInRoute.addChildren([
    homeRoute,
    organizationRoute.addChildren([
      overviewRoute,
      membersRoute,
      keysRoute,
      newKeyRoute,
      keyRoute,
      servicesRoute,
      newServiceRoute,
      serviceRoute,
      pipesRoute,
      newPipeRoute,
      pipeRoute,
      editPipeRoute,
      activityRoute,
      oneActivityRoute,
      settingsRoute,
      accountRoute,
    ]),
  ]),
])

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree,
    basepath: '/console',
    context: { queries },
    defaultPreload: 'intent',
    // The query cache decides when data is stale.
    defaultPreloadStaleTime: 0,
    defaultPendingMs: 300,
    defaultPendingComponent: LoadingPage,
    defaultErrorComponent: ErrorPage,
    defaultNotFoundComponent: NotFoundPage,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
