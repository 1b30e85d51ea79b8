// Sources of new pipes: what a file of cases needs. Every secret in these files has the word "hush" in it.
import type { SourceKindName } from '../../src/source-shapes/source-kind.ts'
import type { Json } from '../harness/pipes.ts'

export const text = (length: number) => 'x'.repeat(length)
export const login = { username: 'hush-user', password: 'hush-password' }
export const userKey = { accessKeyId: 'hush-key-id', secretKey: 'hush-secret-key' }
export const iamRole = 'arn:aws:iam::000000000000:role/penstock'

/** Fields that replace those of the minimal source; undefined removes one. */
export type Change = Json

export interface Accepted {
  title: string
  kind: SourceKindName
  change: Change
  /** Shown although not sent. */
  added?: Json
  /** Sent, but shown differently or not at all. */
  shown?: Json
  secrets?: Json
}

export interface Refused {
  title: string
  kind: SourceKindName
  change: Change
  /** Relative to the source. */
  fields: string[]
  says?: RegExp
}

export const each = <Value>(values: Value[], make: (value: Value) => Accepted): Accepted[] => values.map(make)

export const wrong = (kind: SourceKindName, field: string, values: unknown[], says?: RegExp): Refused[] =>
  values.map((value) => ({
    title: `${field} ${JSON.stringify(value)?.slice(0, 70) ?? 'left out'}`,
    kind,
    change: { [field.split('.')[0]!]: value },
    fields: [field],
    ...(says ? { says } : {}),
  }))
export const combination = (
  kind: SourceKindName,
  title: string,
  change: Change,
  fields: string | string[],
  says?: RegExp,
): Refused => ({ kind, title, change, fields: [fields].flat(), ...(says ? { says } : {}) })
