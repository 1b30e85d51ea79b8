// S13: the work for malicious schemas and files is proportional to their size, and never blocks this process for long.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makeRandom, type Random } from '../../chaos/random.ts'
import { canonicalType } from '../../src/engine/type-grammar.ts'
import { decodeAvroFile } from '../../src/formats/decode/avro-rows.ts'
import { parseAvroSchema } from '../../src/formats/decode/avro-schema.ts'
import { decodeDelimited } from '../../src/formats/decode/delimited-rows.ts'
import { decodeJsonLines } from '../../src/formats/decode/json-rows.ts'
import { parseProtobufSchema } from '../../src/formats/decode/protobuf-schema.ts'
import { parseStrictJson } from '../../src/lib/strict-json.ts'
import { schemaOfAnswer } from '../../src/sources/schema-registry/schema-answer.ts'
import { drillSeed, drillSize } from '../harness/drill.ts'
import { assertLinearWork } from '../harness/work-growth.ts'

const maxRows = 10

interface Reader {
  read(text: string): unknown
  /** Repeated parts, each with the number of its repetition. */
  parts: ((round: number) => string)[]
  /** Texts around the repeated parts. */
  frames: [before: string, after: string][]
  /** For work that grows faster than its input up to a fixed limit. */
  limited?: { toSize: number; mostPauseMs: number }
}

const whole = (text: string) => ({ bytes: Buffer.from(text), isWhole: true })
const protobuf = (schema: string) => parseProtobufSchema({ type: 'PROTOBUF', schema, references: [] })([0])
const delimited = (format: 'CSV' | 'TabSeparatedWithNames') => (text: string) =>
  decodeDelimited(whole(text), { format, delimiter: ',', maxRows })

const ofJson: Pick<Reader, 'parts' | 'frames'> = {
  parts: [
    () => '[',
    () => '{"a":',
    (round) => `"a${round}":1,`,
    () => '"a":1,',
    () => '"a":{},',
    () => '\\',
    () => '"',
    () => '\\u0000',
    () => '"\\"',
    () => '1e',
    () => '9',
    () => '-',
    () => ' ',
    () => '\n',
    () => '{}\n',
    () => '\u2028',
  ],
  frames: [
    ['', ''],
    ['{"a":"', '"}'],
    ['{', '"z":1}'],
    ['{"a":[', ']}'],
    ['{"a":', '}'],
  ],
}

const readers: Record<string, Reader> = {
  'the body of a request': { read: parseStrictJson, ...ofJson },
  'the answer of a registry': { read: (text) => schemaOfAnswer(Buffer.from(text)), ...ofJson },
  'a file of JSON': { read: (text) => decodeJsonLines(whole(text), maxRows), ...ofJson },
  'a file of CSV': {
    read: delimited('CSV'),
    parts: [() => '"', () => '""', () => ',', () => '\n', () => '\r', () => '"a"', () => ' ', () => "'", () => 'a'],
    frames: [
      ['', ''],
      ['"', ''],
      ['"', '"'],
      ['a,b\n', ''],
      ['"a', '\nb'],
    ],
  },
  'a file of TSV': {
    read: delimited('TabSeparatedWithNames'),
    parts: [() => '\t', () => '\\', () => '\\N', () => '\n', () => '\r\n', () => 'a', (round) => `a${round}\t`],
    frames: [
      ['', ''],
      ['a\tb\n', ''],
      ['\\', ''],
    ],
  },
  'an Avro schema': {
    read: parseAvroSchema,
    parts: [
      (round) => `{"name":"f${round}","type":"int"},`,
      (round) => `{"name":"f${round}","type":{"type":"record","name":"r${round}","fields":[]}},`,
      (round) => `{"name":"f${round}","type":["null","r"]},`,
      () => '{"name":"f","type":{"type":"array","items":',
      () => '["null",',
      () => '"a.b.c",',
      () => '[',
    ],
    frames: [
      ['', ''],
      ['{"type":"record","name":"r","fields":[', '{"name":"z","type":"int"}]}'],
      ['{"type":"record","name":"r","fields":[{"name":"f","type":[', '"null"]}]}'],
      ['{"type":"enum","name":"e","symbols":[', '"z"]}'],
    ],
  },
  'a Protobuf schema': {
    read: protobuf,
    // The parser scans all fields for each field; protobuf-text.ts limits their number.
    limited: { toSize: 4_096, mostPauseMs: 400 },
    parts: [
      (round) => `int32 f${round} = ${round + 1};`,
      (round) => `message M${round} {`,
      (round) => `message M${round} { M${round} m = 1; }`,
      (round) => `reserved ${round + 1};`,
      (round) => `oneof o${round} { int32 g${round} = ${round + 1}; }`,
      (round) => `enum E${round} { V${round} = 0; }`,
      (round) => `map<string, int32> m${round} = ${round + 1};`,
      () => 'option (a).b = { c: [',
      () => '/*',
      () => '//',
      () => '"\\',
      () => '(',
      () => '[',
      () => '{',
      () => 'a.',
      () => ' ',
      () => '\n',
    ],
    frames: [
      ['', ''],
      ['syntax = "proto3"; message Message { ', ' }'],
      ['syntax = "proto3"; ', ' message Message { int32 f = 1; }'],
      ['syntax = "proto2"; message Message { extensions ', ' to max; }'],
      ['syntax = "proto3"; package ', '; message Message {}'],
      ['syntax = "proto3"; import "', '"; message Message {}'],
    ],
  },
  'a file of Avro': {
    read: (text) => decodeAvroFile({ bytes: Buffer.from(text, 'latin1'), isWhole: true }, maxRows),
    parts: [() => '\x00', () => '\x01', () => '\x02', () => '\x02a\x02b', () => '\xff', () => '\x80'],
    frames: [
      ['Obj\x01', ''],
      ['Obj\x01\x02\x16avro.schema\x0a"int"\x00', ''],
    ],
  },
  'the type of a column': {
    read: canonicalType,
    parts: [
      () => 'Nullable(',
      () => 'Array(',
      () => 'Tuple(a Int8, ',
      () => '(',
      () => ')',
      () => "'",
      () => '`',
      () => "\\'",
      (round) => `'a${round}' = ${round}, `,
      () => ' ',
      () => ',',
    ],
    frames: [
      ['', ''],
      ["Enum8('", "')"],
      ['Enum8(', "'z' = 1)"],
      ['Tuple(', 'a Int8)'],
    ],
  },
}

/** Refusing takes time too. */
function readAnyhow(read: Reader['read'], text: string): void {
  try {
    read(text)
  } catch (error) {
    assert.ok(
      error instanceof Error && !(error instanceof RangeError && /call stack/.test(error.message)),
      String(error),
    )
  }
}

function textOf(part: Reader['parts'][number], [before, after]: Reader['frames'][number], size: number): string {
  const said: string[] = []
  for (let round = 0, length = 0; length < size; round++) length += said[said.push(part(round)) - 1]!.length
  return before + said.join('') + after
}

const isChaos = process.env.PENSTOCK_DRILL_SIZE !== undefined

for (const [name, { read, parts, frames, limited }] of Object.entries(readers)) {
  it(`S13 ${name} needs work proportional to its size`, { skip: isChaos }, async () => {
    const { toSize = 16_384 } = limited ?? {}
    for (const part of parts) {
      for (const frame of frames) {
        const named = `${name} of ${JSON.stringify(textOf(part, frame, 1))}`
        await assertLinearWork(named, (size) => readAnyhow(read, textOf(part, frame, size)), { toSize })
      }
    }
  })
}

const usualPauseMs = 100
const largestText = 65_536

it('S13 no schema and no file blocks the process for long', { skip: !isChaos }, () => {
  const seed = drillSeed()
  const random = makeRandom(seed)
  const every = Object.entries(readers)
  for (let round = 0; round < drillSize(0); round++) {
    const [name, reader] = random.pick(every)
    const text = mixed(reader, random)
    const { mostPauseMs = usualPauseMs } = reader.limited ?? {}
    const pauseMs = leastPauseMs(() => readAnyhow(reader.read, text), mostPauseMs)
    const input = `seed ${seed}, round ${round}: ${name} of ${text.length}, ${JSON.stringify(text.slice(0, 200))}`
    assert.ok(pauseMs < mostPauseMs, `${pauseMs} ms for ${input}`)
  }
})

/** Long runs of a few nested parts, to find unknown cases. */
function mixed({ parts, frames }: Reader, random: Random): string {
  const [before, after] = random.pick(frames)
  const few = Array.from({ length: random.between(1, 3) }, () => random.pick(parts))
  let text = before
  const runs = random.between(1, 4)
  for (let run = 0; run < runs; run++) {
    const frame = random.happens(0.3) ? random.pick(frames) : (['', ''] as [string, string])
    const size = random.below(largestText / runs)
    text += textOf((round) => few.map((part) => part(round)).join(''), frame, size)
  }
  return text + after
}

/** CPU time, independent of other load; measured again when it is long, because of garbage collections. */
function leastPauseMs(work: () => void, mostPauseMs: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3 && least >= mostPauseMs; attempt++) {
    const before = process.threadCpuUsage()
    work()
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}
