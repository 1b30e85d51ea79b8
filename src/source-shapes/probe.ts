// Check of a source: connects, reads a sample and compares it with the destination. Request, steps and report.
import type { PipeSource, SourceKindName } from './source-kind.ts'

/** Steps of a probe, in this order. `tls` and `authenticate` are left out where a source does not have them. */
export const probeSteps = ['connect', 'tls', 'authenticate', 'describe', 'read', 'decode', 'fit'] as const
export type ProbeStep = (typeof probeSteps)[number]

/** A field of the records. */
export interface SourceField {
  name: string
  /** A ClickHouse type that can store all sampled or declared values, such as `Nullable(Int64)`. */
  type: string
  /** Absent or null in some records. `type` is then Nullable where ClickHouse allows that. */
  isOptional: boolean
}

/**
 * A record by the names of its fields. A value is null, a boolean, a number, a bigint, a string, a Date, a Uint8Array, or a
 * list or an object of such values.
 */
export type Row = Record<string, unknown>

/** A table of PostgreSQL that a sample was taken of. */
export interface SampledTable {
  sourceSchemaName: string
  sourceTable: string
  /** Columns; empty when the table has no primary key. */
  primaryKey: string[]
}

/** Sampled rows. A source without records has no rows, and fields only if its format or catalogue declares them. */
export interface Sample {
  fields: SourceField[]
  rows: Row[]
  /** Only with PostgreSQL. */
  table?: SampledTable
}

export interface ProbeResult {
  /** One sample; with PostgreSQL, one for each table mapping. */
  samples: Sample[]
  /** Only with PostgreSQL: tables that can be mapped, ordered by schema and name; the first 1,000. */
  tables?: SampledTable[]
}

export interface ProbeRequest {
  kind: SourceKindName
  source: PipeSource
  organizationId: string
  /** Without it, the probe ends with `decode`. */
  destination?: {
    columns: { name: string; type: string }[]
    fieldMappings: { sourceField: string; destinationField: string }[]
    /** Misfits are a failure; otherwise they are only reported. */
    mustFit: boolean
  }
}

export interface ProbeReport extends ProbeResult {
  steps: { step: ProbeStep; durationMs: number }[]
  /** Differences from the destination, as sentences. */
  misfits: string[]
}

/** Rejects with a Problem. */
export type Probe = (request: ProbeRequest) => Promise<ProbeReport>
