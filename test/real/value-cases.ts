// Values of every PostgreSQL type, and their expected values in the engine.

export interface ValueCase {
  type: string
  /** Select expression for the column, which is `#`. */
  selected?: string
  /** SQL literal and expected value in the engine; default: the text of PostgreSQL. */
  values: { literal: string; expected?: string; expectedBefore?: string }[]
}

type Given = string | [literal: string, expected: string, expectedBefore?: string]

/** `expectedBefore`: value in ClickHouse older than 23.3, if it differs. */
function valuesOf(type: string, ...given: Given[]): ValueCase {
  return {
    type,
    values: given.map((one) => {
      const [literal, expected, expectedBefore] = typeof one === 'string' ? [one] : one
      return {
        literal,
        ...(expected === undefined ? {} : { expected }),
        ...(expectedBefore === undefined ? {} : { expectedBefore }),
      }
    }),
  }
}

/** Texts, which are stored unchanged. */
function textsOf(type: string, ...texts: string[]): ValueCase {
  return valuesOf(type, ...texts.map((text): Given => [`'${text.replaceAll("'", "''")}'`, escaped(text)]))
}

function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replaceAll('\t', '\\t')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\b', '\\b')
    .replaceAll('\f', '\\f')
}

const zero = '00000000-0000-0000-0000-000000000000'
const uuid = '0b7c1f0e-5d5d-4c6a-8f0b-2f1c9f6f1a11'
const [earliest, latest] = ['1900-01-01 00:00:00.000000', '2299-12-31 23:59:59.999999']
const nines = '9'.repeat(38)

export const valueCases: ValueCase[] = [
  valuesOf('boolean', ['true', 'true', '1'], ['false', 'false', '0']),
  valuesOf('smallint', ['-32768', '-32768'], ['32767', '32767']),
  valuesOf('integer', ['-2147483648', '-2147483648'], ['2147483647', '2147483647']),
  valuesOf('bigint', ['-9223372036854775808', '-9223372036854775808'], ['9223372036854775807', '9223372036854775807']),
  valuesOf('oid', ['4294967295', '4294967295']),
  valuesOf(
    'real',
    ['1.5', '1.5'],
    [`'1e-45'`, '1e-45'],
    [`'-Infinity'`, '-inf'],
    [`'NaN'`, 'nan'],
    ['3.4028235e38', '3.4028235e38'],
  ),
  valuesOf(
    'double precision',
    ['0.1', '0.1'],
    [`'Infinity'`, 'inf'],
    [`'NaN'`, 'nan'],
    ['1.7976931348623157e308', '1.7976931348623157e308'],
    ['-1e-300', '-1e-300'],
  ),
  valuesOf('numeric(10,2)', ['12345678.9', '12345678.9', '12345678.90'], ['-0.05', '-0.05'], [`'NaN'`, '\\N']),
  valuesOf('numeric(20)', ['-12', '-12']),
  valuesOf('numeric(38,38)', [`'-0.${nines}'`, `-0.${nines}`]),
  valuesOf('numeric(76,38)', [`'-${nines}.${nines}'`, `-${nines}.${nines}`], ['1.5', '1.5', `1.5${'0'.repeat(37)}`]),
  valuesOf('numeric(3,-2)', ['12345', '12300']),
  valuesOf('numeric(3,5)', ['0.00123', '0.00123']),
  valuesOf('numeric(77,0)', ['1', '1']),
  valuesOf('numeric', ['1e30', `1${'0'.repeat(30)}`], [`'NaN'`, 'NaN'], [`'-Infinity'`, '-Infinity']),
  textsOf(
    'text',
    'Grüße, 世界 🙂',
    '',
    '\\N',
    'NULL',
    '\\',
    ' a ',
    "it's",
    'tab\there',
    'line\nend\r\n',
    '\b\f\v\x01\x7f',
    '\\.',
    '\\x41\\t',
    'x'.repeat(100_000),
  ),
  textsOf('varchar(20)', 'abc', '', '\t'),
  valuesOf('char(5)', [`'ab'`, 'ab   ']),
  textsOf('"char"', 'x'),
  textsOf('name', 'somebody'),
  {
    ...valuesOf(
      'bytea',
      [`'\\x00ff7f0a5c27090d'`, '00FF7F0A5C27090D'],
      [`'\\x'`, ''],
      [`'\\x5c4e'`, '5C4E'],
      [`decode(repeat('00ff0a5c', 5000), 'hex')`, '00FF0A5C'.repeat(5_000)],
    ),
    selected: 'hex(#)',
  },
  valuesOf(
    'date',
    [`'2024-02-29'`, '2024-02-29'],
    [`'1900-01-01'`, '1900-01-01'],
    [`'1899-12-31'`, '1900-01-01', '1899-12-31'],
    [`'2299-12-31'`, '2299-12-31'],
    [`'2300-01-01'`, '2299-12-31', '2300-01-01'],
    [`'5874897-12-31'`, '2299-12-31', '5874897-12-31'],
    [`'2000-01-01 BC'`, '1900-01-01', '2000-01-01 BC'],
    [`'infinity'`, '2299-12-31', 'infinity'],
    [`'-infinity'`, '1900-01-01', '-infinity'],
  ),
  valuesOf(
    'timestamp',
    [`'2024-02-29 12:34:56.123456'`, '2024-02-29 12:34:56.123456'],
    [`'2024-02-29 12:34:56.1'`, '2024-02-29 12:34:56.100000', '2024-02-29 12:34:56.1'],
    [`'1969-12-31 23:59:59.5'`, '1969-12-31 23:59:59.500000', '1969-12-31 23:59:59.5'],
    [`'1900-01-01 00:00:00'`, earliest, '1900-01-01 00:00:00'],
    [`'1899-12-31 23:59:59.999999'`, earliest, '1899-12-31 23:59:59.999999'],
    [`'2299-12-31 23:59:59.999999'`, latest],
    [`'2300-01-01 00:00:00'`, latest, '2300-01-01 00:00:00'],
    [`'294276-12-31 23:59:59'`, latest, '294276-12-31 23:59:59'],
    [`'4713-01-01 00:00:00 BC'`, earliest, '4713-01-01 00:00:00 BC'],
    [`'infinity'`, latest, 'infinity'],
    [`'-infinity'`, earliest, '-infinity'],
  ),
  valuesOf(
    'timestamptz',
    [`'2024-02-29 12:34:56.5+02'`, '2024-02-29 10:34:56.500000', '2024-02-29 10:34:56.5+00'],
    [`'1900-01-01 01:00:00+02'`, earliest, '1899-12-31 23:00:00+00'],
    [`'2299-12-31 23:59:59-12'`, latest, '2300-01-01 11:59:59+00'],
    [`'0044-03-15 12:00:00+00 BC'`, earliest, '0044-03-15 12:00:00+00 BC'],
    [`'infinity'`, latest, 'infinity'],
    [`'-infinity'`, earliest, '-infinity'],
  ),
  valuesOf('timestamptz(0)', [`'2024-02-29 12:34:56.5+00'`, '2024-02-29 12:34:57.000000', '2024-02-29 12:34:57+00']),
  textsOf('time', '12:34:56.789', '24:00:00'),
  textsOf('timetz', '12:34:56+02'),
  textsOf('interval', '1 year 2 days 03:04:05', '-1 days +02:03:00'),
  valuesOf('uuid', [`'${uuid.toUpperCase()}'`, uuid], [`'${zero}'`, zero]),
  textsOf('json', '{"a":  1}', '"\\u0041\\n"'),
  textsOf('jsonb', '{"a": "tab\\t"}'),
  textsOf('jsonpath', '$."a"'),
  textsOf('xml', '<a b="c">d</a>'),
  textsOf('inet', '10.1.2.3/8', '::1'),
  textsOf('cidr', '10.0.0.0/8'),
  textsOf('macaddr', '08:00:2b:01:02:03'),
  textsOf('macaddr8', '08:00:2b:01:02:03:04:05'),
  valuesOf('bit(3)', [`'101'`, '101']),
  valuesOf('varbit', [`'10101'`, '10101']),
  valuesOf('money', [`'-12.34'`, '-$12.34']),
  textsOf('point', '(1,2)'),
  textsOf('line', '{1,2,3}'),
  textsOf('lseg', '[(1,2),(3,4)]'),
  textsOf('box', '(3,4),(1,2)'),
  textsOf('path', '((1,2),(3,4))'),
  textsOf('polygon', '((1,2),(3,4))'),
  textsOf('circle', '<(1,2),3>'),
  textsOf('int4range', '[1,5)', 'empty'),
  textsOf('int8range', '[1,5)'),
  textsOf('numrange', '[1.5,2)', '(,)'),
  textsOf('daterange', '[2024-01-01,infinity)'),
  textsOf('tsrange', '["2024-01-01 00:00:00","2024-02-01 00:00:00")'),
  textsOf('tstzrange', '["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")'),
  textsOf('int4multirange', '{[1,5),[7,9)}'),
  textsOf('tsvector', "'cat' 'dog'"),
  textsOf('tsquery', "'cat' & 'dog'"),
  textsOf('pg_lsn', '16/B374D848'),
  textsOf('xid', '42'),
  textsOf('xid8', '42'),
  textsOf('tid', '(1,2)'),
  textsOf('regclass', 'pg_class', 'public."odd name"'),
  textsOf('int2vector', '1 2 3'),
  textsOf('oidvector', '1 2 3'),
  textsOf('public.mood', 'happy', "it's"),
  textsOf('public.pair', '(1,)', '(1,"a ""b\\\\")'),
  textsOf('public.hstore', '"a"=>"1"'),
  textsOf('public.citext', 'Case'),
  valuesOf('public.percent', ['12.5', '12.5', '12.50'], [`'NaN'`, '\\N']),
  valuesOf('public.day', [`'infinity'`, '2299-12-31', 'infinity']),
  valuesOf('public.flag', ['true', 'true', '1']),
  valuesOf('integer[]', [`'{1,NULL,-3}'`, '[1,NULL,-3]'], [`'{}'`, '[]']),
  valuesOf('bigint[]', [`'{9223372036854775807}'`, '[9223372036854775807]']),
  valuesOf('boolean[]', [`'{t,f,NULL}'`, '[true,false,NULL]', '[1,0,NULL]']),
  valuesOf('double precision[]', [`'{0.1,Infinity,NaN}'`, '[0.1,inf,nan]']),
  valuesOf('text[]', [
    `ARRAY['a,"b', '', '\\', 'NULL', NULL, 'it''s', E'tab\\t\\n', '{x}']`,
    `['a,"b','','\\\\','NULL',NULL,'it\\'s','tab\\t\\n','{x}']`,
  ]),
  valuesOf('numeric(6,3)[]', [`'{1.5,NaN}'`, '[1.5,NULL]', '[1.500,NULL]']),
  valuesOf('numeric[]', [`'{1.5,NaN}'`, `['1.5','NaN']`]),
  {
    ...valuesOf('bytea[]', [`ARRAY['\\x00ff27'::bytea, '\\x', NULL]`, `['00FF27','',NULL]`]),
    selected: 'arrayMap(x -> hex(x), #)',
  },
  valuesOf('date[]', [
    `'{2024-02-29,infinity,NULL}'`,
    `['2024-02-29','2299-12-31',NULL]`,
    `['2024-02-29','infinity',NULL]`,
  ]),
  valuesOf('timestamp[]', [
    `'{2024-01-01 00:00:00.5,-infinity}'`,
    `['2024-01-01 00:00:00.500000','${earliest}']`,
    `['2024-01-01 00:00:00.5','-infinity']`,
  ]),
  valuesOf('timestamptz[]', [
    `'{2024-01-01 00:00:00+01}'`,
    `['2023-12-31 23:00:00.000000']`,
    `['2023-12-31 23:00:00+00']`,
  ]),
  valuesOf('uuid[]', [`'{${uuid},NULL}'`, `['${uuid}',NULL]`]),
  valuesOf('json[]', [`ARRAY['{"a": 1}'::json]`, `['{"a": 1}']`]),
  valuesOf('box[]', [`'{(3,4),(1,2);(1,1),(0,0)}'`, `['(3,4),(1,2)','(1,1),(0,0)']`]),
  valuesOf('public.mood[]', [`'{happy,"it''s"}'`, `['happy','it\\'s']`]),
  valuesOf('public.pair[]', [`'{"(1,2)"}'`, `['(1,2)']`]),
  valuesOf('public.percent[]', [`'{1}'`, '[1]', '[1.00]']),
  valuesOf('public.scores', [`'{1,2}'`, '[1,2]']),
  valuesOf('public.scores[]', [`'{"{1,2}"}'`, `['{1,2}']`]),
]

export const valueTypes = `
  CREATE EXTENSION hstore SCHEMA public; CREATE EXTENSION citext SCHEMA public;
  CREATE TYPE public.mood AS ENUM ('happy', 'it''s');
  CREATE TYPE public.pair AS (first int, second text);
  CREATE DOMAIN public.percent AS numeric(5,2);
  CREATE DOMAIN public.day AS date;
  CREATE DOMAIN public.flag AS boolean;
  CREATE DOMAIN public.scores AS int[];
  CREATE TABLE public."odd name" ();`
