// Maps PostgreSQL types to ClickHouse types, and parses their text format.
//
//   boolean                          Bool
//   smallint, integer, bigint        Int16, Int32, Int64
//   oid                              UInt32
//   real, double precision           Float32, Float64
//   numeric(p, s)                    Decimal(p, s) up to 76 digits, else String; Decimal cannot hold NaN
//   numeric                          String: unlimited digits
//   date                             Date32
//   timestamp                        DateTime64(6, 'UTC'): in another time zone some hours would not exist
//   timestamptz                      DateTime64(6, 'UTC')
//   uuid                             UUID
//   bytea                            String of the bytes
//   arrays                           Array(T): ClickHouse has no Nullable(Array)
//   domains                          as their base type
//   everything else                  String, as PostgreSQL prints it: text, json, time, interval, money, bit strings, network
//                                    addresses, geometry, ranges, text search, enums, composites, types of extensions
//
// Older ClickHouse has no Bool, Date32 or DateTime64, and Decimals of at most 38 digits: there a boolean is UInt8, and the others are
// String. The writer handles dates outside of the range of the ClickHouse types (1900 to 2299) and `infinity`. The type of an array
// does not have its number of dimensions: PostgreSQL does not distinguish `integer[]` and `integer[][]`.

export interface PostgresType {
  /** `typname` of pg_type; of a domain, that of its base type. */
  name: string
  /** False for types of extensions and users, which are always mapped to String. */
  isBuiltIn: boolean
  /** `atttypmod`: the packed type parameters; -1 without. */
  modifier: number
  /** Of array elements: the separator in the text format. Default: comma; semicolon for box. */
  delimiter?: string
  /** Only of arrays. Elements that are arrays themselves, through a domain, are text. */
  elements?: Omit<PostgresType, 'elements'>
}

export interface PostgresColumn {
  name: string
  type: PostgresType
  isNotNull: boolean
  /** In the primary key or the sorting key, which cannot be Nullable in ClickHouse. */
  isKey: boolean
}

export interface NullOptions {
  /** When false, NULL becomes the default value of the type. */
  allowNullableColumns: boolean
}

/** Types that the ClickHouse version has. */
export interface EngineAbilities {
  hasBool: boolean
  hasDate32: boolean
  hasDateTime64: boolean
  mostDecimalDigits: number
}

const currentAbilities: EngineAbilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }

type Parse = (text: string) => unknown

const asText: Parse = (text) => text
const scalars = new Map<string, { type: string; parse: Parse }>([
  ['bool', { type: 'Bool', parse: (text) => text.startsWith('t') }],
  ['int2', { type: 'Int16', parse: Number }],
  ['int4', { type: 'Int32', parse: Number }],
  ['int8', { type: 'Int64', parse: BigInt }],
  ['oid', { type: 'UInt32', parse: Number }],
  ['float4', { type: 'Float32', parse: Number }],
  ['float8', { type: 'Float64', parse: Number }],
  ['date', { type: 'Date32', parse: asText }],
  ['timestamp', { type: "DateTime64(6, 'UTC')", parse: asText }],
  // Sessions use UTC, and ClickHouse does not read an offset.
  ['timestamptz', { type: "DateTime64(6, 'UTC')", parse: (text) => text.replace(/\+00(?= BC$|$)/, '') }],
  ['uuid', { type: 'UUID', parse: asText }],
  ['bytea', { type: 'String', parse: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')) }],
])

/** ClickHouse type of a column. Default abilities: current ClickHouse. */
export function destinationType(
  column: PostgresColumn,
  options: NullOptions & { abilities?: EngineAbilities },
): string {
  const { type, isNotNull, isKey } = column
  const { abilities = currentAbilities } = options
  const nullable = (plain: string): string => (options.allowNullableColumns ? `Nullable(${plain})` : plain)
  // Array elements may always be NULL: PostgreSQL has no constraint against it.
  if (type.elements) return `Array(${nullable(scalarType(type.elements, abilities))})`
  const plain = scalarType(type, abilities)
  return isNotNull || isKey ? plain : nullable(plain)
}

/** ClickHouse type without Array and Nullable. */
export function scalarType({ name, isBuiltIn, modifier }: PostgresType, abilities: EngineAbilities): string {
  if (!isBuiltIn) return 'String'
  if (name === 'numeric') return decimalType(modifier, abilities)
  if (name === 'bool' && !abilities.hasBool) return 'UInt8'
  if (name === 'date' && !abilities.hasDate32) return 'String'
  if (name.startsWith('timestamp') && !abilities.hasDateTime64) return 'String'
  return scalars.get(name)?.type ?? 'String'
}

function decimalType(modifier: number, { mostDecimalDigits }: EngineAbilities): string {
  if (modifier < 4) return 'String'
  const digits = ((modifier - 4) >> 16) & 0xffff
  // A signed number of eleven bits.
  const scale = (((modifier - 4) & 0x7ff) ^ 0x400) - 0x400
  // numeric(3, -2) has five digits before the point, numeric(3, 5) has five after it.
  const precision = Math.max(scale < 0 ? digits - scale : digits, scale)
  return precision > mostDecimalDigits ? 'String' : `Decimal(${precision}, ${Math.max(scale, 0)})`
}

/** Parses a value in PostgreSQL's text format; an array is a list of the texts of its elements. */
export function parseValue(type: PostgresType, printed: unknown): unknown {
  if (Array.isArray(printed)) return printed.map((element: unknown) => parseValue(type.elements ?? type, element))
  if (typeof printed !== 'string' || !type.isBuiltIn) return printed
  return (scalars.get(type.name)?.parse ?? asText)(printed)
}

/** Whether the value is an array with several dimensions, which its type does not show. */
export function hasDimensions(value: unknown): boolean {
  return Array.isArray(value) && value.some(Array.isArray)
}
