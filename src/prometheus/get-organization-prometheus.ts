import { Type } from '../lib/schema.ts'
import { operation } from '../operation/operation.ts'
import { OrganizationPath } from '../organizations/organization.ts'
import {
  Exposition,
  exposition,
  expositionType,
  leftoversFamily,
  maxListed,
  pipeCountFamily,
  pipeProgressFamilies,
  serviceFamilies,
} from './prometheus.ts'
import { countKeys, countLeftovers, countMembers, countPipes, listPipeProgress, listServiceMetrics } from './store.ts'

export const getOrganizationPrometheus = operation({
  id: 'getOrganizationPrometheus',
  method: 'GET',
  path: '/v1/organizations/{organizationId}/prometheus',
  tag: 'Prometheus',
  summary: 'Get organization metrics',
  description:
    'Returns Prometheus metrics of the organization: services by state, pipes by state, the state and throughput of ' +
    'each pipe, objects that deleted pipes left at their sources, members by role, and API keys. Includes at most the ' +
    '1000 newest services and the 1000 newest pipes.',
  access: 'developer',
  textType: expositionType,
  params: Type.Object(OrganizationPath),
  result: Exposition,
  problems: [],
  example: {
    summary: 'One running service',
    result: exposition([
      ...serviceFamilies([
        {
          id: '9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00',
          name: 'analytics',
          provider: 'aws',
          region: 'us-east-1',
          state: 'running',
        },
      ]),
      pipeCountFamily([{ serviceId: '9c1d7e52-6b3f-4c8a-8e21-5f4b3a2d1c00', state: 'Running', pipes: 4 }]),
      ...peopleFamilies({ admins: 1, developers: 2 }, new Map([['enabled', 3]])),
    ]),
  },
  async run({ sql, now }, { params: { organizationId } }) {
    const services = await listServiceMetrics(sql, organizationId, maxListed)
    const pipes = await countPipes(sql, organizationId, maxListed)
    const progress = await listPipeProgress(sql, { organizationId, now, limit: maxListed })
    const leftovers = await countLeftovers(sql, organizationId)
    const members = await countMembers(sql, organizationId)
    const keys = await countKeys(sql, organizationId, now)
    return {
      result: exposition([
        ...serviceFamilies(services),
        pipeCountFamily(pipes),
        ...pipeProgressFamilies(organizationId, progress, now),
        leftoversFamily(organizationId, leftovers),
        ...peopleFamilies(members, keys),
      ]),
    }
  },
})

function peopleFamilies({ admins, developers }: { admins: number; developers: number }, keys: Map<string, number>) {
  return [
    {
      name: 'penstock_members',
      help: 'Members of the organization by role.',
      samples: [
        { labels: { role: 'admin' }, value: admins },
        { labels: { role: 'developer' }, value: developers },
      ],
    },
    {
      name: 'penstock_api_keys',
      help: 'API keys of the organization by state; an enabled key that has expired counts as expired.',
      samples: ['enabled', 'disabled', 'expired'].map((state) => ({ labels: { state }, value: keys.get(state) ?? 0 })),
    },
  ]
}
