// Interface of the four kinds of source: shapes to read, create and update, and validation. Each kind has its own file.

import { isObject, mergePatch } from '../lib/merge-patch.ts'
import type { FieldProblem } from '../lib/problem.ts'
import type { ObjectSchema } from '../lib/schema.ts'
import { Type } from '../lib/schema.ts'

export type SourceKindName = 'kafka' | 'kinesis' | 'objectStorage' | 'postgres'

/** A stored source, separated into what may be shown and its secrets. */
export interface PipeSource<Shown extends object = Record<string, unknown>> {
  shown: Shown
  secrets: SourceSecrets
}

/** Sealed at rest; keyed by the name of the field. */
export interface SourceSecrets {
  /**
   * Of postgres: the host and port that the password was sent for, if the source now has others. The password is then used only with
   * authentication methods that do not reveal it. Absent: the password is for the host and port of the source.
   */
  passwordFor?: { host: string; port: number }
  credentials?: Record<string, string>
  accessKey?: Record<string, string>
  connectionString?: string
  schemaRegistry?: Record<string, string>
}

/** Objects of Penstock that a deleted pipe may have left at its source, and the address of the source. */
export type LeftAtSource = LeftAtPostgres | LeftAtKinesis

export interface LeftAtPostgres {
  kind: 'postgres'
  host: string
  port: number
  database: string
  hasSlot: boolean
  hasPublication: boolean
}

/** A consumer of enhanced fan-out. */
export interface LeftAtKinesis {
  kind: 'kinesis'
  region: string
  streamName: string
  authentication: 'IAM_ROLE' | 'IAM_USER'
  iamRole?: string
}

export interface SourceKind<Shown extends object, Create extends object, Patch extends object> {
  /** Decides how a pipe runs: records of a stream, whole objects, or tables with their changes. */
  reads: 'records' | 'objects' | 'tables'
  /** To read. */
  Shown: ObjectSchema
  /** To create, with secrets. */
  Create: ObjectSchema
  /** To update: exactly the fields of docs/reference/update-pipe.md#what-may-change. */
  Patch: ObjectSchema
  /** The source of a new pipe. Reports problems of the fields that no update can change. */
  create(source: Create, pipeId: string, problems: FieldProblem[]): PipeSource<Shown>
  /** Applies a patch that matches its shape. May report what cannot be applied. */
  merge(source: PipeSource<Shown>, patch: Patch, problems: FieldProblem[]): PipeSource<Shown>
  /** Validates a new or changed source as a whole, except for fields that no update can change. */
  problems(source: PipeSource<Shown>): FieldProblem[]
  /** The source by the name that the user gave it, for errors; undefined without one. */
  describe(source: Shown): string | undefined
  /** What Penstock has created at the source of a pipe that is deleted. Absent: nothing. */
  leftBy?(source: Shown): LeftAtSource | undefined
}

export const secretText = (maxLength: number, description: string, more: object = {}) =>
  Type.String({ minLength: 1, maxLength, secret: true, writeOnly: true, description, ...more })

const neverShown =
  'Credentials of the source. They are never returned. In an update, fields that are not sent keep their values.'

export const login = {
  username: Type.Optional(secretText(1024, 'User name.')),
  password: Type.Optional(secretText(4096, 'Password.')),
}
export const userKey = {
  accessKeyId: Type.Optional(secretText(256, 'AWS access key ID, for `IAM_USER`.')),
  secretKey: Type.Optional(secretText(1024, 'AWS secret access key, for `IAM_USER`.')),
}

const connectionStringPart = '[A-Za-z]+=[^;\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*'
/** `name=value` parts. Any other format could not be masked part by part. */
export const connectionStringForm = {
  pattern: `^${connectionStringPart}(?:;${connectionStringPart})*;?$`,
  patternHint: '"name=value" parts separated by ";"',
}

/** A group of secrets. Each kind of source decides which of them are required. */
export const secretGroup = <Fields extends Parameters<typeof Type.Object>[0]>(fields: Fields) =>
  Type.Object(fields, { additionalProperties: false, writeOnly: true, description: neverShown })

export const Credentials = secretGroup(login)
export const AccessKey = secretGroup(userKey)

export const IamRole = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'IAM role that Penstock assumes, for `IAM_ROLE`.',
})

/** Merges within groups too: a new password keeps the stored user name. Removes groups that become empty. */
export function mergeSecrets(
  stored: SourceSecrets,
  patch: { [Name in keyof SourceSecrets]: object | string | null | undefined },
): SourceSecrets {
  const merged = Object.entries(mergePatch(stored, patch))
  return Object.fromEntries(merged.filter(([, value]) => !isObject(value) || Object.keys(value).length > 0))
}

/** Whether a request has a credential in a write-only field. */
export function bringsSecret(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0
}

/** Whether a request has a new credential in a field that is shown: sending back the shown value is no change. */
export function bringsValue(value: string | null | undefined, shown: string | undefined): boolean {
  return typeof value === 'string' && value !== shown
}

/**
 * The authentication after an update. If it is not sent, the credentials decide: exactly one kind of credential switches to its
 * authentication; several are stored and switch nothing. `brought` has the authentication of each kind of credential that was sent,
 * false for the others.
 */
export function authenticationAfter<Kind extends string>(
  inUse: Kind | undefined,
  sent: Kind | null | undefined,
  brought: (Kind | false)[],
): Kind | undefined {
  if (sent !== undefined) return sent ?? undefined
  const [first, ...others] = brought.filter((kind) => kind !== false)
  return first !== undefined && others.length === 0 ? first : inUse
}

export function fieldProblem(path: string, rest: string): FieldProblem {
  return { path, detail: `${path} ${rest}` }
}

/** Reports the required parts of a group of secrets that are missing. */
export function missingSecretProblems(
  path: string,
  secrets: Record<string, string> | undefined,
  needed: string[],
  because: string,
): FieldProblem[] {
  const missing = needed.filter((name) => !secrets?.[name])
  return missing.length === 0 ? [] : [fieldProblem(path, `must have ${missing.join(' and ')}, because ${because}`)]
}
