// An operation is a promise (method, path, shapes, permission) with the steps that keep it. Everything else is derived from
// the list of operations: routes, validation, the response's allow-list, OpenAPI, permission tests.

import type { Sql } from '../database/sql.ts'
import type { EngineReads } from '../engine/engine-reader.ts'
import { Problem, type ProblemCode } from '../lib/problem.ts'
import { type ObjectSchema, type Schema, type Static, Type } from '../lib/schema.ts'
import type { EchoRemedy } from '../lib/shape-echo.ts'
import type { Vault } from '../lib/vault.ts'
import type { Probe } from '../sources/probe.ts'
import type { Caller, Role } from './caller.ts'

/** What the operator has set and operations need to know. Plain data: it crosses threads. */
export interface OperationSettings {
  /** Where people reach this Penstock, without a slash at the end. */
  publicUrl: string
  /** Passwords may be sent to engines without TLS. */
  allowPlaintext: boolean
  /** What to connect a private endpoint to, by provider and region (`aws/us-east-1`). */
  privateEndpointServices: Record<string, { endpointServiceId: string; privateDnsHostname: string }>
  /** Of log that a source keeps for a pipe: more is told as something that is not well. Never, unless told or when 0. */
  retainedLogWarningBytes?: number
  /** People may also sign in with an OpenID provider, whose button says this. */
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
  /** The moment of the operation, for every timestamp it writes. */
  now: string
  /**
   * Call it with the version of what was loaded (under its lock), before changing it: keeps the promise of `If-Match`.
   * Every operation that is `versioned` and writes must.
   */
  requireVersion(version: string): void
  /** Records what was changed; written in the same transaction. Not called when nothing changed. */
  record(target: Record<string, string>, changes: Change[]): void
}

/** What an operation may use before its transaction. */
export interface PrepareContext
  extends Pick<OperationContext, 'sql' | 'vault' | 'settings' | 'caller' | 'requireVersion'> {
  /** Connects to a source and reads a sample. Rejects with a Problem that says which step failed. */
  probe: Probe
  /** Reads from the engine of a service. */
  loadEngineReads(): Promise<EngineReads>
  /** Records the activity of the preparation at once, whatever comes of the request. */
  record(target: Record<string, string>, changes: Change[]): Promise<void>
}

export interface Answer<Result> {
  result: Result
  /** Makes the ETag. Without one, it is made of the result itself. */
  version?: string
  /** Told in a `Warning` header. */
  warning?: string
  /** Where the next page of a list begins; told in a `Link` header. */
  next?: string
}

/** The result of a DELETE: there is none, and the envelope has no `result`. */
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
  /** One name everywhere: operationId, file, export, test. */
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: `/v1/${string}`
  tag: Tag
  summary: string
  description: string
  /** `developer`: both roles may; `admin`: only admins. */
  access: Role
  /** What a change is recorded as. Every operation that writes has one. */
  activity?: string
  stability?: 'beta'
  /** What looks at its change at once, instead of at its next regular check. */
  wakes?: ('checker' | 'runner')[]
  /** A POST that only looks: it has no activity and no transaction, and every request looks anew. */
  changesNothing?: true
  /** What it reads or changes has a version: its ETag can be sent as `If-Match` with a change. */
  versioned?: boolean
  /** A GET that answers with this type of text instead of JSON in an envelope; its result is a string. */
  textType?: string
  params: Params
  query?: Query
  body?: Body
  /**
   * For a PATCH: the resource as it is read. Its fields that cannot be changed may be sent back with their present value,
   * as declarative tools do (docs/http.md).
   */
  echo?: {
    shape: ObjectSchema
    current(context: Pick<OperationContext, 'sql' | 'vault' | 'caller'>, params: Static<Params>): Promise<unknown>
    remedyFor?: EchoRemedy
  }
  result: Result
  /** The problems of its own, beside those that every operation has. */
  problems: ProblemCode[]
  example: Example
  /**
   * Before the transaction and outside of the writer thread: what waits for a network. Its outcome is plain data. What it has
   * read may have changed when `run` begins; that must look, and throw `changed_meanwhile`, after which both are done again.
   */
  prepare?: {
    /** The type of activity that it records with `record`, if it does. */
    activity?: string
    /** Whether this request needs it; most do not, and lose no time. The body may also have fields that only repeat the resource. */
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

/** A request that has been authenticated, authorized and validated. Plain data: it crosses threads. */
export interface OperationRequest {
  operationId: string
  requestId: string
  caller: Caller
  params: Record<string, string>
  query: Record<string, unknown>
  body: unknown
  /** The body has fields that only repeat the resource; they must have their present values. */
  echoes: boolean
  /** The entity tags of `If-Match`, with their quotes; `*` stands for any. */
  ifMatch?: string[]
  idempotency?: { key: string; fingerprint: string }
  /** What `prepare` of the operation has given. */
  prepared?: unknown
}

/** What HTTP makes its answer of. `result` is JSON text, cut to what the operation's result shape lists. */
export interface OperationAnswer {
  result: string
  version?: string
  warning?: string
  next?: string
}

export const tags = {
  Organization: 'The organization and what has been done in it.',
  'User management': 'People of an organization and their roles.',
  Service: 'Database services and the private endpoints attached to them.',
  OpenAPI: 'API keys: who may call these operations, from where and until when.',
  'data pipes': 'Pipes that fill the tables of a service from Kafka, Kinesis, object storage and PostgreSQL.',
  Prometheus: 'Figures for a Prometheus server, read with the same keys.',
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

/** Throws unless the role may do this. */
export function requireRole({ access, summary }: AnyOperation, role: Role, callerType: Caller['type']): void {
  if (access === 'developer' || role === 'admin') return
  const [needed, present] = callerType === 'key' ? ['a key with the role', 'this key has'] : ['the role', 'you have']
  throw new Problem('role_not_allowed', `${summary} needs ${needed} admin; ${present} the role ${role}`)
}

/** What belongs to somebody else is answered like what does not exist. */
export function organizationNotFound(organizationId: string): Problem {
  return new Problem('not_found', `organization ${organizationId} was not found`)
}

/** Whether it changes something: a transaction with an activity, and `Idempotency-Key` keeps it from being done twice. */
export function isWrite({ method, changesNothing }: Pick<AnyOperation, 'method' | 'changesNothing'>): boolean {
  return method !== 'GET' && !changesNothing
}

/** Whether its answers carry an ETag. */
export function hasEtag({ method, textType }: AnyOperation): boolean {
  return textType === undefined && (method === 'GET' || method === 'PATCH' || method === 'PUT')
}

/** Whether it can be told to change something only if nobody else has. */
export function takesIfMatch({ method, versioned }: AnyOperation): boolean {
  return versioned === true && method !== 'GET'
}

/** Whether it answers in pages. */
export function isPaged({ query }: AnyOperation): boolean {
  return query?.properties.cursor !== undefined
}

/** An operation whose shapes do not matter, as the list holds them. */
// biome-ignore lint/suspicious/noExplicitAny: `run` is contravariant in its shapes; the server validates before it calls.
export type AnyOperation = Operation<any, any, any, any, any>
