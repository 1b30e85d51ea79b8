// Prints values of both sides so that equal values have equal texts, whatever types the engine uses.

export interface Column {
  /** SQL expressions of type text. NULL is a marker, or the default of the type if the target column is not nullable. */
  source(hasNulls: boolean): string
  engine: string
}

interface PrintOptions {
  isNullable?: boolean
  /** Expression of the source before it is printed. */
  source?: string
}

const nullMark = "'NULL'"

function column(
  name: string,
  { isNullable = false }: PrintOptions,
  { source, engine, defaultText }: { source: string; engine: string; defaultText: string },
): Column {
  return {
    source: (hasNulls) => (isNullable ? `coalesce(${source}, ${hasNulls ? nullMark : `'${defaultText}'`})` : source),
    engine: isNullable ? `if(isNull(${name}), ${nullMark}, assumeNotNull(${engine}))` : engine,
  }
}

const emptyDigest = 'd41d8cd98f00b204e9800998ecf8427e'

export const integer = (name: string, options: PrintOptions = {}): Column =>
  column(name, options, { source: `${name}::text`, engine: `toString(${name})`, defaultText: '0' })

export const text = (name: string, options: PrintOptions = {}): Column =>
  column(name, options, {
    source: `md5(${options.source ?? name})`,
    engine: `lower(hex(MD5(${name})))`,
    defaultText: emptyDigest,
  })

export const raw = (name: string, options: PrintOptions = {}): Column =>
  column(name, options, { source: `upper(encode(${name}, 'hex'))`, engine: `hex(${name})`, defaultText: '' })

export const bool = (name: string): Column =>
  column(name, {}, { source: `${name}::int::text`, engine: `toString(toUInt8(${name}))`, defaultText: '0' })

export const date = (name: string): Column =>
  column(name, {}, { source: `to_char(${name}, 'YYYY-MM-DD')`, engine: `toString(${name})`, defaultText: '' })

export const uuid = (name: string): Column =>
  column(name, {}, { source: `${name}::text`, engine: `toString(${name})`, defaultText: '' })

/** For values that a binary float represents exactly. */
export const float = (name: string): Column =>
  column(name, {}, { source: `${name}::text`, engine: `toString(${name})`, defaultText: '0' })

/** Engines print trailing zeros differently: compared as a multiple of the smallest unit. */
export const number = (name: string, scale: number): Column =>
  column(
    name,
    {},
    { source: `(${name} * ${scale})::bigint::text`, engine: `toString(toInt64(${name} * ${scale}))`, defaultText: '0' },
  )

/** An engine without such a type stores the text of PostgreSQL. */
export const timestamp = (name: string): Column =>
  column(
    name,
    {},
    {
      source: `to_char(${name} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`,
      engine: `replaceOne(toString(${name}), '+00', '')`,
      defaultText: '',
    },
  )

/** Elements are not NULL; a NULL list is empty in the engine. */
export const list = (name: string): Column =>
  column(
    name,
    {},
    {
      source: `coalesce(cardinality(${name}) || ' ' || array_to_string(${name}, '|'), '0 ')`,
      engine: `concat(toString(length(${name})), ' ', arrayStringConcat(arrayMap(x -> assumeNotNull(toString(x)), ${name}), '|'))`,
      defaultText: '',
    },
  )
