// What the four kinds of source have in common: the fields that are read, the fields that may be changed, and the rules
// that the merged source must keep. One file per kind fills this in.

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
  credentials?: Record<string, string>
  accessKey?: Record<string, string>
  connectionString?: string
}

export interface SourceKind<Shown extends object, Patch extends object> {
  /** As it is read. */
  Shown: ObjectSchema
  /** As it is changed: exactly the fields of docs/contract.md, section 5. */
  Patch: ObjectSchema
  /** Applies a patch that fits its shape. May report what cannot be applied. */
  merge(source: PipeSource<Shown>, patch: Patch, problems: FieldProblem[]): PipeSource<Shown>
  /** What is wrong with the source as a whole. */
  problems(source: PipeSource<Shown>): FieldProblem[]
}

const secretText = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, secret: true, writeOnly: true, description })

export const Credentials = Type.Object(
  {
    username: Type.Optional(secretText(1024, 'Stays as it is when it is not sent.')),
    password: Type.Optional(secretText(4096, 'Stays as it is when it is not sent.')),
  },
  { additionalProperties: false, writeOnly: true, description: 'Never shown again.' },
)

export const AccessKey = Type.Object(
  {
    accessKeyId: Type.Optional(secretText(256, 'Stays as it is when it is not sent.')),
    secretKey: Type.Optional(secretText(1024, 'Stays as it is when it is not sent.')),
  },
  { additionalProperties: false, writeOnly: true, description: 'Never shown again.' },
)

export const IamRole = Type.String({ minLength: 1, maxLength: 2048, description: 'Identifier of a cloud role.' })

/** Credential objects merge too: a new password keeps the stored user name. */
export function mergeSecrets(
  stored: Record<string, string> | undefined,
  patch: object | null | undefined,
): Record<string, string> | undefined {
  if (patch === undefined) return stored
  if (patch === null) return undefined
  const merged = mergePatch(stored ?? {}, patch)
  return Object.keys(merged).length > 0 ? merged : undefined
}

/** Leaves undefined values out, so that two equal sets of secrets look the same. */
export function secretsOf(secrets: { [Name in keyof SourceSecrets]: SourceSecrets[Name] | undefined }): SourceSecrets {
  return Object.fromEntries(Object.entries(secrets).filter(([, value]) => value !== undefined))
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
 * The update has no word for "switch the authentication", so credentials speak for themselves: a request that brings exactly
 * one kind which is not in use switches to it; one that brings several stores them all and switches nothing.
 */
export function authenticationAfter<Kind extends string>(inUse: Kind | undefined, brought: Kind[]): Kind | undefined {
  return brought.length === 1 ? brought[0] : inUse
}

/** Reports the parts of a secret that the authentication needs and that are not there. */
export function missingSecretProblems(
  path: string,
  secrets: Record<string, string> | undefined,
  needed: string[],
  because: string,
): FieldProblem[] {
  const missing = needed.filter((name) => !secrets?.[name])
  if (missing.length === 0) return []
  return [{ path, detail: `${path} must have ${missing.join(' and ')}, because ${because}` }]
}
