// What the four kinds of source have in common: the fields that are read, the fields that a pipe is created with, the fields
// that may be changed, and the rules that a whole source keeps. One file per kind fills this in.

import { isObject, mergePatch } from '../lib/merge-patch.ts'
import type { FieldProblem } from '../lib/problem.ts'
import type { ObjectSchema } from '../lib/schema.ts'
import { Type } from '../lib/schema.ts'

/** A source as it is stored: what may be shown, and what may not. */
export interface PipeSource<Shown extends object = Record<string, unknown>> {
  shown: Shown
  secrets: SourceSecrets
}

/** Sealed at rest; by the name of the field they came in. */
export interface SourceSecrets {
  /**
   * Of postgres: what the password in `credentials` was sent for, when the source now has another host or port. There it is used
   * only by methods that do not reveal it. Absent: the password is for the host and port of the source.
   */
  passwordFor?: { host: string; port: number }
  credentials?: Record<string, string>
  accessKey?: Record<string, string>
  connectionString?: string
  schemaRegistry?: Record<string, string>
}

export interface SourceKind<Shown extends object, Create extends object, Patch extends object> {
  /** As it is read. */
  Shown: ObjectSchema
  /** As it is created, with its secrets. */
  Create: ObjectSchema
  /** As it is changed: exactly the fields of docs/contract.md, section 5. */
  Patch: ObjectSchema
  /** The source of a new pipe. Reports what is wrong with the fields that no update can change. */
  create(source: Create, pipeId: string, problems: FieldProblem[]): PipeSource<Shown>
  /** Applies a patch that fits its shape. May report what cannot be applied. */
  merge(source: PipeSource<Shown>, patch: Patch, problems: FieldProblem[]): PipeSource<Shown>
  /** What is wrong with the source as a whole, new or changed, as far as an update can put it right or wrong. */
  problems(source: PipeSource<Shown>): FieldProblem[]
}

export const secretText = (maxLength: number, description: string, more: object = {}) =>
  Type.String({ minLength: 1, maxLength, secret: true, writeOnly: true, description, ...more })

const neverShown = 'Never shown again. In an update, a part that is not sent stays as it is.'

export const login = {
  username: Type.Optional(secretText(1024, 'User name.')),
  password: Type.Optional(secretText(4096, 'Password.')),
}
export const userKey = {
  accessKeyId: Type.Optional(secretText(256, 'Id of an access key of a cloud user.')),
  secretKey: Type.Optional(secretText(1024, 'Secret of the access key.')),
}

const connectionStringPart = '[A-Za-z]+=[^;\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*'
/** `name=value` parts; one that is not read as such could not be masked part by part. */
export const connectionStringForm = {
  pattern: `^${connectionStringPart}(?:;${connectionStringPart})*;?$`,
  patternHint: '"name=value" parts separated by ";"',
}

/** A group of secrets; which of them are needed is a rule of the kind. */
export const secretGroup = <Fields extends Parameters<typeof Type.Object>[0]>(fields: Fields) =>
  Type.Object(fields, { additionalProperties: false, writeOnly: true, description: neverShown })

export const Credentials = secretGroup(login)
export const AccessKey = secretGroup(userKey)

export const IamRole = Type.String({ minLength: 1, maxLength: 2048, description: 'Identifier of a cloud role.' })

/** Groups of secrets merge too: a new password keeps the stored user name. What is left without a part is left out. */
export function mergeSecrets(
  stored: SourceSecrets,
  patch: { [Name in keyof SourceSecrets]: object | string | null | undefined },
): SourceSecrets {
  const merged = Object.entries(mergePatch(stored, patch))
  return Object.fromEntries(merged.filter(([, value]) => !isObject(value) || Object.keys(value).length > 0))
}

/** Whether a request brings a credential: a non-empty write-only object, which no client can have read before. */
export function bringsSecret(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0
}

/** The same for a credential that is shown: sending back what was read brings nothing. */
export function bringsValue(value: string | null | undefined, shown: string | undefined): boolean {
  return typeof value === 'string' && value !== shown
}

/**
 * The specification's update has no word for "switch the authentication", so credentials speak for themselves: a request
 * that brings exactly one kind which is not in use switches to it; one that brings several stores them all and switches
 * nothing. `brought` has, per kind of credential, the authentication that goes with it, or false when it is not brought.
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

/** Reports the parts of a group of secrets that are needed and that are not there. */
export function missingSecretProblems(
  path: string,
  secrets: Record<string, string> | undefined,
  needed: string[],
  because: string,
): FieldProblem[] {
  const missing = needed.filter((name) => !secrets?.[name])
  return missing.length === 0 ? [] : [fieldProblem(path, `must have ${missing.join(' and ')}, because ${because}`)]
}
