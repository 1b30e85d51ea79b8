import { callApi, type RunningPenstock } from './browser.ts'

/** Addresses of all pages for a signed-in person, with the ids of the sample. */
export async function everyPage(penstock: RunningPenstock): Promise<string[]> {
  const { sample } = penstock
  const keys = (await callApi(penstock, 'GET', '/keys')).result as { id: string }[]
  const activities = (await callApi(penstock, 'GET', '/activities?limit=1')).result as { id: string }[]
  const service = `/services/${sample.SERVICE_ID}`
  const kinds = ['KAFKA', 'KINESIS', 'OBJECT_STORAGE', 'POSTGRES']
  const pipes = kinds.map((kind) => `${service}/pipes/${sample[`${kind}_PIPE_ID`]}`)
  return [
    '',
    '/services',
    '/services/new',
    service,
    `${service}?tab=tables`,
    `${service}?tab=private-endpoints`,
    `${service}?tab=settings`,
    '/pipes',
    '/pipes/new',
    ...pipes,
    ...['data', 'errors', 'source', 'destination', 'settings', 'scaling'].map((tab) => `${pipes[0]}?tab=${tab}`),
    ...pipes.map((pipe) => `${pipe}/edit`),
    '/members',
    '/keys',
    '/keys/new',
    ...keys.slice(0, 1).map(({ id }) => `/keys/${id}`),
    '/activity',
    ...activities.map(({ id }) => `/activity/${id}`),
    '/settings',
    '/account',
  ].map((path) => `/o/${sample.ORGANIZATION_ID}${path}`)
}
