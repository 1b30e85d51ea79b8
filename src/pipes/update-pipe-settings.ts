import { mergePatch, requireSomething } from '../lib/merge-patch.ts'
import { operation } from '../operation/operation.ts'
import { changePipe } from './change-pipe.ts'
import { PipePath } from './pipe.ts'
import { defaultSettings, Settings, SettingsPatch } from './settings.ts'

export const updatePipeSettings = operation({
  id: 'updatePipeSettings',
  method: 'PUT',
  path: '/v1/organizations/{organizationId}/services/{serviceId}/pipes/{pipeId}/settings',
  tag: 'data pipes',
  summary: 'Update data pipe settings',
  description:
    'Changes the settings that are sent and keeps the others; `null` resets a setting to its default. `updatePipe` ' +
    'changes `settings` in the same way.',
  access: 'admin',
  activity: 'pipe_settings_updated',
  wakes: ['runner'],
  stability: 'beta',
  versioned: true,
  params: PipePath,
  body: SettingsPatch,
  result: Settings,
  problems: ['nothing_to_update'],
  example: {
    summary: 'Insert more often',
    body: { streaming_max_insert_wait_ms: 1000, engine_max_threads: null },
    result: { ...defaultSettings, streaming_max_insert_wait_ms: 1000 },
  },
  async run(context, { params, body }) {
    const pipe = await changePipe(context, params, (pipe) => {
      requireSomething(body)
      return { pipe: { ...pipe, settings: mergePatch(pipe.settings, body) } }
    })
    return { result: { ...defaultSettings, ...pipe.settings }, version: String(pipe.version) }
  },
})
