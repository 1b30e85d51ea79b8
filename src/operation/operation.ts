// Declaration of an API operation: method, path, shapes, permission and steps. Derived from the list of operations: routes,
// validation, the allow-list of response fields, OpenAPI, permission tests.

import type { Sql } from '../database/sql.ts'
import type { EngineReads } from '../engine/engine-reader.ts'
import { Problem, type ProblemCode } from '../lib/problem.ts'
import { type ObjectSchema, type Schema, type Static, Type } from '../lib/schema.ts'
import type { EchoRemedy } from '../lib/shape-echo.ts'
import type { Vault } from '../lib/vault.ts'
import type { Probe } from '../source-shapes/probe.ts'
import type { Caller, Role } from './caller.ts'

/** The operator's settings that operations use. Plain data: it is sent between threads. */
export interface OperationSettings {
  /** Public URL of this Penstock, without a trailing slash. */
  publicUrl: string
  /** Allows sending passwords to engines without TLS. */
  allowPlaintext: boolean
  /** Endpoint services to connect private endpoints to, by provider and region (`aws/us-east-1`). */
  privateEndpointServices: Record<string, { endpointServiceId: string; privateDnsHostname: string }>
  /** A pipe whose source retains more log than this gets a warning. Undefined or 0: never. */
  retainedLogWarningBytes?: number
  /** The OpenID provider for sign-in; `name` is the label of its button. */
  oidc?: { name: string }
}

/** One field that an operation changed. A secret is recorded as `changed`, never with a value. */
export interface Change {
  field: string
  from?: unknown
  to?: unknown
}

export interface OperationContext {
  /** The transaction of a write, or a reader. */
  sql: Sql
  vault: Vault
  settings: OperationSettings
  caller: Caller
  /** Time of the operation, for every timestamp it writes. */
  now: string
  /**
   * Checks `If-Match`. Every `versioned` write must call it with the version of the locked resource before changing it.
   */
  requireVersion(version: string): void
  /** Records the changes as an activity in the same transaction. Not called when nothing changed. */
  record(target: Record<string, string>, changes: Change[]): void
}

/** Context of the prepare step, before the transaction. */
export interface PrepareContext
  extends Pick<OperationContext, 'sql' | 'vault' | 'settings' | 'caller' | 'requireVersion'> {
  /** Connects to a source and reads a sample. Rejects with a Problem that names the failed step. */
  probe: Probe
  /** Reads from the engine of a service. */
  loadEngineReads(): Promise<EngineReads>
  /** Records the activity of the prepare step at once, even if the request fails later. */
  record(target: Record<string, string>, changes: Change[]): Promise<void>
}

export interface Answer<Result> {
  result: Result
  /** Source of the ETag; without it the ETag is a hash of the result. */
  version?: string
  /** Sent in the `Warning` header. */
  warning?: string
  /** Cursor of the next page of a list; sent in the `Link` header. */
  next?: string
}

/** Result of a DELETE: its envelope has no `result`. */
export const NoResult = Type.Null()

export interface Example {
  summary: string
  body?: unknown
  result: unknown
}

export interface Operation<
  Params extends ObjectSchema = ObjectSchema,
  Query extends ObjectSchema = ObjectSchema,
  Body extends Schema = Schema,
  Result extends Schema = Schema,
  Prepared = unknown,
> {
  /** The same name as operationId, file, export and test. */
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: `/v1/${string}`
  tag: Tag
  summary: string
  description: string
  /** `developer`: both roles; `admin`: admins only. */
  access: Role
  /** Type of the recorded activity. Every write has one. */
  activity?: string
  stability?: 'beta'
  /** Tasks that check at once after this operation, instead of at their next interval. */
  wakes?: ('checker' | 'runner')[]
  /** A POST that only reads: no activity, no transaction, and no idempotency record. */
  changesNothing?: true
  /** The resource has a version: its ETag can be sent as `If-Match` with a change. */
  versioned?: boolean
  /** Content type of a GET that returns text instead of a JSON envelope; its result is a string. */
  textType?: string
  params: Params
  query?: Query
  body?: Body
  /**
   * For a PATCH: the resource as GET returns it. Read-only fields may be sent back with their current value, as declarative
   * tools do (docs/reference/api.md#read-only-fields).
   */
  echo?: {
    shape: ObjectSchema
    current(context: Pick<OperationContext, 'sql' | 'vault' | 'caller'>, params: Static<Params>): Promise<unknown>
    remedyFor?: EchoRemedy
  }
  result: Result
  /** Problems in addition to those of every operation. */
  problems: ProblemCode[]
  example: Example
  /**
   * Network access before the transaction, outside the writer thread. Its result is plain data. The data it has read may have
   * changed when `run` begins; `run` must check and throw `changed_meanwhile`, after which both run again.
   */
  prepare?: {
    /** Type of the activity that it may record with `record`. */
    activity?: string
    /** Whether this request needs the prepare step. The body may contain echoed fields. */
    isNeeded(body: Static<Body>): boolean
    run(context: PrepareContext, input: Input<Params, Query, Body>): Promise<Prepared>
  }
  run(
    context: OperationContext,
    input: Input<Params, Query, Body> & { prepared: NoInfer<Prepared> | undefined },
  ): Promise<Answer<Static<Result>>>
}

interface Input<Params extends ObjectSchema, Query extends ObjectSchema, Body extends Schema> {
  params: Static<Params>
  query: Static<Query>
  body: Static<Body>
}

/** An authenticated, authorized and validated request. Plain data: it is sent between threads. */
export interface OperationRequest {
  operationId: string
  requestId: string
  caller: Caller
  params: Record<string, string>
  query: Record<string, unknown>
  body: unknown
  /** The body has echoed fields, which must have their current values. */
  echoes: boolean
  /** Entity tags of `If-Match` with their quotes, or `*`. */
  ifMatch?: string[]
  idempotency?: { key: string; fingerprint: string }
  /** Result of `prepare`. */
  prepared?: unknown
}

/** Data of the HTTP response. `result` is JSON text, reduced to the fields of the result shape. */
export interface OperationAnswer {
  result: string
  version?: string
  warning?: string
  next?: string
}

export const tags = {
  Organization: 'The organization and its activities (audit log).',
  'User management': 'Members of an organization, their roles, and invitations.',
  Service: 'ClickHouse services and the private endpoints attached to them.',
  OpenAPI: 'API keys: roles, IP access lists, expiry and rotation.',
  'data pipes': 'Pipes that load data from Kafka, Kinesis, object storage and PostgreSQL into the tables of a service.',
  Prometheus: 'Prometheus metrics of an organization and of a service.',
} as const

export type Tag = keyof typeof tags

/** Declares an operation. Types flow from its shapes into `run`. */
export function operation<
  Params extends ObjectSchema,
  Query extends ObjectSchema,
  Body extends Schema,
  Result extends Schema,
  Prepared = undefined,
>(definition: Operation<Params, Query, Body, Result, Prepared>): Operation<Params, Query, Body, Result, Prepared> {
  return definition
}

/** Throws unless the role may call the operation. */
export function requireRole({ access, summary }: AnyOperation, role: Role, callerType: Caller['type']): void {
  if (access === 'developer' || role === 'admin') return
  const [needed, present] = callerType === 'key' ? ['a key with the role', 'this key has'] : ['the role', 'you have']
  throw new Problem('role_not_allowed', `${summary} needs ${needed} admin; ${present} the role ${role}`)
}

/** Also for an organization that exists but is not the caller's. */
export function organizationNotFound(organizationId: string): Problem {
  return new Problem('not_found', `organization ${organizationId} was not found`)
}

/** Whether the operation changes data: it has a transaction and an activity, and accepts `Idempotency-Key`. */
export function isWrite({ method, changesNothing }: Pick<AnyOperation, 'method' | 'changesNothing'>): boolean {
  return method !== 'GET' && !changesNothing
}

/** Whether responses have an ETag. */
export function hasEtag({ method, textType }: AnyOperation): boolean {
  return textType === undefined && (method === 'GET' || method === 'PATCH' || method === 'PUT')
}

/** Whether the operation accepts `If-Match`. */
export function takesIfMatch({ method, versioned }: AnyOperation): boolean {
  return versioned === true && method !== 'GET'
}

/** Whether the result is paginated. */
export function isPaged({ query }: AnyOperation): boolean {
  return query?.properties.cursor !== undefined
}

/** An operation without the types of its shapes, for lists. */
// biome-ignore lint/suspicious/noExplicitAny: `run` is contravariant in its shapes; the server validates before it calls.
export type AnyOperation = Operation<any, any, any, any, any>
