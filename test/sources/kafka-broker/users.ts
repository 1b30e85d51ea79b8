// Who may log in to the broker, and what for: the permissions that Kafka's access control lists give, for all topics alike.
import type { Login } from '../kafka-server.ts'

export interface Permissions {
  /** See that a topic exists, its partitions and its offsets. */
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

/** Whoever comes by a listener that asks for no login. */
export const anonymous: KafkaUser = { username: 'ANONYMOUS', password: '', permissions: allPermissions }
