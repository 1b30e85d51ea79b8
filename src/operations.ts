// Everything that Penstock can do over HTTP. The order is the order of the documentation.
import type { AnyOperation } from './http/operation.ts'
import { getMember } from './members/get-member.ts'
import { updateMember } from './members/update-member.ts'
import { getPipe } from './pipes/get-pipe.ts'
import { updatePipe } from './pipes/update-pipe.ts'
import { createPrivateEndpoint } from './private-endpoints/create-private-endpoint.ts'
import { listPrivateEndpoints } from './private-endpoints/list-private-endpoints.ts'

export const operations: AnyOperation[] = [
  getMember,
  updateMember,
  listPrivateEndpoints,
  createPrivateEndpoint,
  getPipe,
  updatePipe,
]
