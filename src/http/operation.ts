// An operation is a promise (method, path, shapes, permission) with the steps that keep it. Everything else is derived from
// the list of operations: routes, validation, the response's allow-list, OpenAPI, permission tests.

import type { Sql } from '../database/sql.ts'
import type { ProblemCode } from '../lib/problem.ts'
import type { ObjectSchema, Schema, Static } from '../lib/schema.ts'
import type { Vault } from '../lib/vault.ts'

export type Role = 'admin' | 'developer'

/** Who is asking: an API key that has been checked. */
export interface Caller {
  /** The id of the key's record, which is what activities name. */
  id: string
  organizationId: string
  address: string
  userAgent: string
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
  caller: Caller
  /** The moment of the operation, for every timestamp it writes. */
  now: string
  /** Call it with the version of what was loaded (under its lock), before changing it: keeps the promise of `If-Match`. */
  requireVersion(version: string): void
  /** Records what was changed; written in the same transaction. Not called when nothing changed. */
  record(target: Record<string, string>, changes: Change[]): void
}

export interface Answer<Result> {
  result: Result
  /** Makes the ETag. Without one, it is made of the result itself. */
  version?: string
  /** Told in a `Warning` header. */
  warning?: string
}

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
  params: Params
  query?: Query
  body?: Body
  /**
   * For a PATCH: the resource as it is read. Its fields that cannot be changed may be sent back with their present value,
   * as declarative tools do (docs/http.md).
   */
  echo?: {
    shape: ObjectSchema
    current(context: Pick<OperationContext, 'sql' | 'vault'>, params: Static<Params>): Promise<unknown>
  }
  result: Result
  /** The problems of its own, beside those that every operation has. */
  problems: ProblemCode[]
  example: Example
  run(
    context: OperationContext,
    input: { params: Static<Params>; query: Static<Query>; body: Static<Body> },
  ): Promise<Answer<Static<Result>>>
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
}

/** What HTTP makes its answer of. `result` is JSON text, cut to what the operation's result shape lists. */
export interface OperationAnswer {
  result: string
  version?: string
  warning?: string
}

export const tags = {
  'User management': 'People of an organization and their roles.',
  Service: 'Database services and the private endpoints attached to them.',
  'data pipes': 'Pipes that fill the tables of a service from Kafka, Kinesis, object storage and PostgreSQL.',
} as const

export type Tag = keyof typeof tags

/** Declares an operation. Types flow from its shapes into `run`. */
export function operation<
  Params extends ObjectSchema,
  Query extends ObjectSchema,
  Body extends Schema,
  Result extends Schema,
>(definition: Operation<Params, Query, Body, Result>): Operation<Params, Query, Body, Result> {
  return definition
}

/** An operation whose shapes do not matter, as the list holds them. */
// biome-ignore lint/suspicious/noExplicitAny: `run` is contravariant in its shapes; the server validates before it calls.
export type AnyOperation = Operation<any, any, any, any>
