// Values of pgoutput as fields. Tests of COPY and pgoutput with ClickHouse are in test/real.
import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ByteOutput } from '../../formats/encode/byte-output.ts'
import { Undecodable } from '../../formats/undecodable.ts'
import type { ColumnValues } from './scalar-values.ts'
import { unescapeField } from './text-fields.ts'
import { columnValues, type EngineAbilities } from './values.ts'

const today: EngineAbilities = { hasBool: true, hasDate32: true, hasDateTime64: true, mostDecimalDigits: 76 }
const before: EngineAbilities = { hasBool: false, hasDate32: false, hasDateTime64: false, mostDecimalDigits: 38 }
const decimal = (precision: number, scale: number): number => ((precision << 16) | (scale & 0x7ff)) + 4

function valuesOf(name: string, abilities = today, modifier = -1): ColumnValues {
  const type = { name, isBuiltIn: true, modifier }
  return columnValues({ name: 'c', type, isNotNull: false, isKey: false }, { allowNullableColumns: true, abilities })
}

function field({ write }: ColumnValues, printed: string): string {
  const out = new ByteOutput()
  const bytes = Buffer.from(`9${printed}9`)
  write(bytes, 1, bytes.length - 1, out)
  return out.take().toString('latin1')
}

describe('values of PostgreSQL', () => {
  it('have the types that the engine has', () => {
    const types: [string, string, string, number?][] = [
      ['bool', 'Nullable(Bool)', 'Nullable(UInt8)'],
      ['date', 'Nullable(Date32)', 'Nullable(String)'],
      ['timestamp', "Nullable(DateTime64(6, 'UTC'))", 'Nullable(String)'],
      ['timestamptz', "Nullable(DateTime64(6, 'UTC'))", 'Nullable(String)'],
      ['numeric', 'Nullable(Decimal(38, 2))', 'Nullable(Decimal(38, 2))', decimal(38, 2)],
      ['numeric', 'Nullable(Decimal(39, 2))', 'Nullable(String)', decimal(39, 2)],
      ['timetz', 'Nullable(String)', 'Nullable(String)'],
    ]
    for (const [name, ofToday, ofBefore, modifier] of types) {
      assert.equal(valuesOf(name, today, modifier).type, ofToday)
      assert.equal(valuesOf(name, before, modifier).type, ofBefore)
    }
  })

  it('are written as the engine reads them', () => {
    const fields: [string, string, string][] = [
      ['bool', 't', '1'],
      ['bool', 'f', '0'],
      ['float8', '-Infinity', '-Infinity'],
      ['bytea', '\\x00610a5c27ff', "\\0a\\n\\\\\\'\xff"],
      ['bytea', '\\x', ''],
      ['text', "a\tb\nc\\d'e", "a\\tb\\nc\\\\d\\'e"],
      ['date', '2024-02-29', '2024-02-29'],
      ['date', '1899-12-31', '1900-01-01'],
      ['date', '2300-01-01', '2299-12-31'],
      ['date', '10000-01-01', '2299-12-31'],
      ['date', '2000-01-01 BC', '1900-01-01'],
      ['date', 'infinity', '2299-12-31'],
      ['date', '-infinity', '1900-01-01'],
      ['timestamp', '1900-01-01 00:00:00', '1900-01-01 00:00:00'],
      ['timestamp', '2299-12-31 23:59:59.999999', '2299-12-31 23:59:59.999999'],
      ['timestamp', '294276-12-31 23:59:59', '2299-12-31 23:59:59.999999'],
      ['timestamptz', '2024-02-29 12:34:56.5+00', '2024-02-29 12:34:56.5'],
      ['timestamptz', '0044-03-15 12:00:00+00 BC', '1900-01-01 00:00:00'],
      ['timestamptz', '-infinity', '1900-01-01 00:00:00'],
    ]
    for (const [name, printed, expected] of fields) {
      assert.equal(field(valuesOf(name), printed), expected, `${name} ${printed}`)
    }
    assert.equal(field(valuesOf('numeric', today, decimal(5, 2)), 'NaN'), '\\N')
    assert.equal(field(valuesOf('numeric', today, decimal(5, 2)), '-1.50'), '-1.50')
    assert.equal(field(valuesOf('numeric'), 'NaN'), 'NaN')
  })

  it('are text where the engine has no type for them', () => {
    for (const [name, printed] of [
      ['date', 'infinity'],
      ['timestamptz', '0044-03-15 12:00:00+00 BC'],
    ] as const) {
      assert.equal(field(valuesOf(name, before), printed), printed)
    }
  })

  it('are rejected when the session has other settings', () => {
    assert.throws(() => field(valuesOf('timestamptz'), '2024-02-29 12:34:56+02'), Undecodable)
    assert.throws(() => field(valuesOf('bytea'), 'a\\001'), Undecodable)
  })

  it('are the same when they are read again, however long they are', () => {
    const text = fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.uint8Array({ minLength: 60, maxLength: 300 }))
    const out = new ByteOutput({ expectedBytes: 1 })
    const again = new ByteOutput({ expectedBytes: 1 })
    fc.assert(
      fc.property(text, (bytes) => {
        // PostgreSQL text has no zero bytes.
        const source = Buffer.from(bytes.map((byte) => byte || 1))
        out.backTo(0)
        valuesOf('text').write(source, 0, source.length, out)
        const written = Buffer.from(out.written())
        assert.ok(!written.includes('\t') && !written.includes('\n'))
        assert.deepEqual(unescapeField(written, 0, written.length, again), source)
      }),
      { numRuns: 2_000 },
    )
  })
})
