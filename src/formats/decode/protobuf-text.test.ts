// Maximum parsing time of untrusted schemas, and the content of a schema after pruning.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MessagePlan, parseProtobufSchema } from './protobuf-schema.ts'
import { SchemaFault } from './schema-fault.ts'

/** The first message of the last text, which refers to the others. */
function parse(...texts: string[]): MessagePlan {
  const references = texts.slice(0, -1).map((schema, index) => ({ name: `${index}`, subject: '', version: 1, schema }))
  const plan = parseProtobufSchema({ type: 'PROTOBUF', schema: texts.at(-1)!, references })([0])
  assert.ok(plan)
  return plan
}

const many = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index + 1)).join('')
const proto3 = (text: string): string => `syntax = "proto3"; ${text}`
const message = (fields: string): string => proto3(`message Message { ${fields} }`)

/** Accepted schemas take a part of this; without limits, the rejected ones would take many times as long. */
const longestMs = 2_000

function inGoodTime(texts: string[], work: () => void): void {
  // CPU time, independent of other load on the machine.
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  const tookMs = (user + system) / 1_000
  assert.ok(tookMs < longestMs, `${texts.at(-1)!.slice(0, 60)}: ${tookMs} ms`)
}

function refuses(...texts: string[]): void {
  inGoodTime(texts, () => assert.throws(() => parse(...texts), SchemaFault, texts.at(-1)!.slice(0, 60)))
}

function accepts(...texts: string[]): void {
  inGoodTime(texts, () => void parse(...texts))
}

describe('the time that a Protobuf schema takes', () => {
  it('is short for a large one', () => {
    const next = (index: number): string => `message M${index} { M${(index % 5_000) + 1} next = 1; }\n`
    accepts(proto3(`package a.b.c; ${many(5_000, next)}`))
    assert.equal(parse(message(many(1_500, (n) => `int32 f${n} = ${n};`))).fields.length, 1_500)
  })

  it('is not spent on messages with too many fields', () => {
    const half = (start: number): string => many(1_000, (n) => `int32 f${start + n} = ${start + n};`)
    refuses(message(many(50_000, (n) => `int32 f${n} = ${n};`)))
    refuses(message(many(50_000, (n) => `int32 f${n} = ${n} {}`)))
    refuses(message(many(50_000, (n) => `optional int32 f${n} = ${n};`)))
    refuses(message(many(30_000, (n) => `oneof o${n} { int32 f${n} = ${n}; }`)))
    refuses(message(`oneof a { ${half(0)} } oneof b { ${half(2_000)} }`))
    refuses(many(100, (n) => `message M${n} { ${half(0)} }`))
    refuses(`syntax = "proto2"; message Message { ${many(2_000, (n) => `optional group G${n} = ${n} {}`)} }`)
    refuses(message(`reserved ${many(50_000, (n) => `${n + 1_000_000}, `)}1; int32 f = 2;`))
    const values = many(20_000, (n) => `reserved ${n + 100_000}; V${n} = ${n - 1};`)
    refuses(proto3(`enum E { ${values} } message Message {}`))
    refuses(proto3(many(100_000, (n) => `message M${n} {}`)))
  })

  it('is not spent on options, extensions and services, which are removed', () => {
    const last = 'message Message { int32 f = 1; }'
    accepts(proto3(many(60_000, (n) => `option a${n}.b = 1;`) + last))
    accepts(proto3(many(60_000, () => 'option a.b = 1;') + last))
    accepts(proto3(`option (a) = { ${many(200_000, () => 'x: 1 ')} }; ${last}`))
    accepts(proto3(`option (${'a'.repeat(300_000)}) = { ${many(20_000, (n) => `x${n}: 1 `)} }; ${last}`))
    accepts(message(`int32 f = 1 [${many(60_000, (n) => `(a${n}).b = 1, `)}(a).b = 1];`))
    const extensions = many(10_000, (n) => `extend Missing { optional int32 f${n} = ${n}; }`)
    accepts(`syntax = "proto2"; ${extensions} ${many(2_000, (n) => `message M${n} {}`)}`)
    accepts(proto3(`service S { ${many(30_000, (n) => `rpc m${n} (Missing) returns (Missing);`)} } ${last}`))
    refuses(proto3(`option (a) = { ${many(1_600_000, () => 'x ')} }; ${last}`))
  })

  it('is not spent on inherited features', () => {
    const features = many(3_000, (n) => `option features.f${n} = 1;`)
    accepts(`edition = "2023"; ${features} ${many(3_000, (n) => `message M${n} {}`)}`)
    refuses(`edition = "2023"; ${many(20_000, () => 'option features.field_presence = IMPLICIT;')} message Message {}`)
  })

  it('is not spent on names', () => {
    refuses(proto3(`package ${'a'.repeat(200_000)}; ${many(2_000, (n) => `message M${n} {}`)}`))
    refuses(proto3(`message ${'a'.repeat(200_000)} { ${many(2_000, (n) => `message M${n} {}`)} }`))
    refuses(message(`${'a. '.repeat(200_000)} f = 1;`))
    // Neither enclosing scopes have such names, nor would a search of all messages find them.
    const elsewhere = proto3(`package z; ${many(2_000, (n) => `message T${n} {}`)}`)
    const others = many(2_000, (n) => `message M${n} {}`)
    refuses(elsewhere, proto3(`package y; message Message { ${many(1_000, (n) => `T${n} f${n} = ${n};`)} } ${others}`))
    // A package and a message with the same name.
    const inner = proto3(`package a.b; ${many(8_000, (n) => `message M${n} {}`)}`)
    refuses(inner, proto3('package a; message b {}'))
  })

  it('is not spent on an enum for each of its fields', () => {
    const values = many(25_000, (n) => `V${n} = ${n - 1};`)
    accepts(proto3(`message Message { ${many(1_000, (n) => `E f${n} = ${n};`)} } enum E { ${values} }`))
  })

  it('is not spent on unterminated elements', () => {
    refuses(`syntax = "proto3${'\\"'.repeat(500_000)}`)
    refuses(`syntax = "proto3"; option a = '${'\n'.repeat(500_000)}`)
    refuses(`syntax = "proto3"; ${'/* '.repeat(300_000)}`)
  })

  it('is not hidden by text that looks like a comment or a string', () => {
    const fields = many(20_000, (n) => `int32 f${n} = ${n};`)
    refuses(message(`option a//b = 1; ${fields}`))
    refuses(message(`option a/*b = 1; ${fields} option c = "*/";`))
    refuses(message(`/*/ ${fields} /* */`))
    refuses(message(`option a = "\\\n"; ${fields} option b = "";`))
    refuses(message(many(20_000, (n) => `/* } */ // }\n int32 f${n} = ${n} [json_name = "}\\"}"];`)))
  })
})

describe('the text of a Protobuf schema', () => {
  const names = (plan: MessagePlan): string[] => plan.fields.map(({ name }) => name)

  it('keeps its fields, with any surrounding elements', () => {
    const plan = parse(`syntax = "proto3"; option (x) = { a: [{ b: "}" }, 1] c { d: 1; } };
      import public "other.proto"; ; /* } */
      service S { option (y) = { z: "{" }; rpc m (Message) returns (stream Message) { option (http) = { get: "/" }; } }
      message Message { option (m).n = -1; extensions 100 to 199 [declaration = { number: 1 }]; reserved 5 to 7, 9; reserved "old";
        int32 a = 1 [deprecated = true, (z) = { q: [1, 2] }]; oneof o { option (x) = 1; int32 b = 2; string c = 3; }
        map<string, int32> d = 4 [json_name = "]"]; message Inner { int32 option = 1; } // }
        enum E { option allow_alias = true; service = 0 [(v) = { w: 1 }]; extend = 1; message = 1; reserved 8; }
        extend Other { optional int32 gone = 1; } Inner e = 10; E f = 11; };`)
    assert.deepEqual(names(plan), ['a', 'b', 'c', 'd', 'e', 'f'])
    const { value } = plan.fields.at(-1)!
    assert.deepEqual(value.kind === 'enum' && value.names.get(0), 'service')
  })

  it('keeps the options that affect decoding', () => {
    const [implicit, explicit, preset, group] = parse(`edition = "2023";
      option features = { field_presence: IMPLICIT enum_type: OPEN };
      message Message { int32 implicit = 1; int32 explicit = 2 [features.field_presence = EXPLICIT, deprecated = true];
        string preset = 3 [(a) = 1, default = "x" 'y', features = { field_presence: EXPLICIT }];
        Message group = 4 [features.message_encoding = DELIMITED]; }`).fields
    assert.equal(implicit!.absent, 0)
    assert.equal(explicit!.absent, undefined)
    assert.equal(preset!.absent, 'xy')
    assert.ok(group!.value.kind === 'message' && group!.value.isGroup)
  })

  it('resolves the name of a type in the innermost scope', () => {
    const other = 'syntax = "proto3"; package a.b; message T { int32 other = 1; message Deep {} }'
    const plan = parse(
      other,
      `syntax = "proto3"; package a; message Message { T t = 1; .a.T absolute = 2; b.T far = 3; a.b.T.Deep deep = 4; E E = 5;
        message T { int32 inner = 1; } } enum E { X = 0; } message T { int32 outer = 1; }`,
    )
    const kinds = plan.fields.map(({ value }) => (value.kind === 'message' ? value.name : value.kind))
    assert.deepEqual(kinds, ['a.Message.T', 'a.T', 'a.b.T', 'a.b.T.Deep', 'enum'])
    assert.throws(() => parse(other, proto3('package a; message Message { Deep deep = 1; }')), /uses a type/)
  })

  it('is rejected when it is incomplete', () => {
    for (const text of [
      'message Message { int32 a = 1; } option (a) = {',
      'message Message { int32 a = 1; } service S {',
      'message Message { int32 a = 1; } extend Other { optional int32 b = 1; ',
      'option a = 1 message Message { int32 a = 1; }',
      'message Message { int32 a = 1 }',
      'message Message { int32 a = 1; option b; }',
      'message Message { int32 a = 1 [b]; }',
      'message Message { int32 a = 1; } }',
    ]) {
      assert.throws(() => parse(proto3(text)), /is not a Protobuf schema/, text)
    }
  })
})
