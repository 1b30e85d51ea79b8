import { operation } from '../operation/operation.ts'
import { PipePath } from './pipe.ts'
import { defaultSettings, Settings } from './settings.ts'
import { loadPipe } from './store.ts'

export const getPipeSettings = operation({
  id: 'getPipeSettings',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/settings',
  tag: 'data pipes',
  summary: 'Get data pipe settings',
  description:
    'All settings of the pipe with the values that are in effect. The `ETag` is the one of the pipe: it changes with every ' +
    'change of the pipe, and can be sent as `If-Match` with any of them.',
  access: 'developer',
  stability: 'beta',
  versioned: true,
  params: PipePath,
  result: Settings,
  problems: [],
  example: { summary: 'Settings that nobody has changed', result: defaultSettings },
  async run({ sql }, { params }) {
    const pipe = await loadPipe(sql, params)
    return { result: { ...defaultSettings, ...pipe.settings }, version: String(pipe.version) }
  },
})
