// Search parameters of routes. Pages import them from here, because the routes import the pages.

export const serviceTabs = ['overview', 'tables', 'private-endpoints', 'settings'] as const
export type ServiceTab = (typeof serviceTabs)[number]

export const pipeTabs = ['overview', 'data', 'errors', 'source', 'destination', 'settings', 'scaling'] as const
export type PipeTab = (typeof pipeTabs)[number]

export interface PipeFilter {
  state?: string
  kind?: string
  service?: string
  text?: string
}
