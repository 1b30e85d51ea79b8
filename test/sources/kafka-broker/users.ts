// Users of the broker and their permissions: like Kafka's access control lists, but for all topics alike.
import type { Login } from '../kafka-server.ts'

export interface Permissions {
  /** Describe topics: their existence, partitions and offsets. */
  describeTopics: boolean
  readTopics: boolean
  writeTopics: boolean
  useGroups: boolean
}

export interface KafkaUser extends Login {
  permissions: Permissions
}

export const allPermissions: Permissions = {
  describeTopics: true,
  readTopics: true,
  writeTopics: true,
  useGroups: true,
}

export const noPermissions: Permissions = {
  describeTopics: false,
  readTopics: false,
  writeTopics: false,
  useGroups: false,
}

/** The user of listeners without login. */
export const anonymous: KafkaUser = { username: 'ANONYMOUS', password: '', permissions: allPermissions }
