// All APIs of the fake broker.
import type { Api } from './api.ts'
import { fetch } from './fetch.ts'
import { heartbeat, joinGroup, leaveGroup, syncGroup } from './group-requests.ts'
import { findCoordinator, makeApiVersions, metadata } from './metadata-requests.ts'
import { offsetCommit, offsetFetch } from './offset-requests.ts'
import { addPartitionsToTransaction, endTransaction, initProducerId } from './producer-requests.ts'
import { deleteRecords, listOffsets, produce } from './record-requests.ts'
import { saslAuthenticate, saslHandshake } from './sasl-requests.ts'
import { createPartitions, createTopics, deleteTopics } from './topic-requests.ts'

const apis: Api[] = [
  produce,
  fetch,
  listOffsets,
  metadata,
  offsetCommit,
  offsetFetch,
  findCoordinator,
  joinGroup,
  heartbeat,
  leaveGroup,
  syncGroup,
  saslHandshake,
  makeApiVersions(() => apis),
  createTopics,
  deleteTopics,
  deleteRecords,
  initProducerId,
  addPartitionsToTransaction,
  endTransaction,
  saslAuthenticate,
  createPartitions,
]

export const apiVersionsKey = 18

export const findApi = (key: number): Api | undefined => apis.find((api) => api.key === key)
