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
    'Returns all settings of the pipe with the values in effect. The `ETag` is that of the pipe. Send it as ' +
    '`If-Match` with any change of the pipe.',
  access: 'developer',
  stability: 'beta',
  versioned: true,
  params: PipePath,
  result: Settings,
  problems: [],
  example: { summary: 'Default settings', result: defaultSettings },
  async run({ sql }, { params }) {
    const pipe = await loadPipe(sql, params)
    return { result: { ...defaultSettings, ...pipe.settings }, version: String(pipe.version) }
  },
})
