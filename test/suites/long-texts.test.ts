// S2: clients choose the length of texts. A check that scans a text repeatedly would block all other requests for minutes.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { consoleActions } from '../../src/execution/console-actions.ts'
import { shapeProblems } from '../../src/lib/shape.ts'
import { echoProblems } from '../../src/lib/shape-echo.ts'
import { fieldPath, type Rules, type Shape } from '../../src/lib/shape-rules.ts'
import { operations } from '../../src/operations.ts'

const lengthOfTexts = 50_000
/** Checks that look at each character once take a few milliseconds; quadratic ones took a thousand. */
const longestMs = 250

const texts = [
  '/',
  '//',
  '@',
  ':@',
  'a',
  'a.',
  '.',
  ' ',
  '\n',
  '0',
  '-',
  '_',
  '=',
  'key',
  'key=',
  ';',
  ',',
  '*',
  '{',
  '[',
  '%',
  '\\',
  'é',
  '\u{1f600}',
]
  .map((piece) => piece.repeat(Math.ceil(lengthOfTexts / piece.length)))
  .concat('-----BEGIN CERTIFICATE-----A-----END CERTIFICATE-----\n'.repeat(lengthOfTexts / 55))

interface TextField {
  path: string
  /** A body with this value in the field, and nothing else. */
  bodyWith(value: string): unknown
}

function textFieldsOf(rules: Rules, path = '', bodyWith: TextField['bodyWith'] = (value) => value): TextField[] {
  const { properties = {}, items, anyOf = [] } = rules
  return [
    { path, bodyWith },
    ...anyOf.flatMap((branch) => textFieldsOf(branch, path, bodyWith)),
    ...Object.entries(properties).flatMap(([name, inside]) =>
      textFieldsOf(inside, fieldPath(path, name), (value) => bodyWith({ [name]: value } as never)),
    ),
    ...(items ? textFieldsOf(items, fieldPath(path, 0), (value) => bodyWith([value] as never)) : []),
  ]
}

it('S2 a long text is checked in linear time', () => {
  const shapes: [string, Shape | undefined, Shape | undefined][] = [
    ...operations.flatMap((operation): typeof shapes => [
      [`the body of ${operation.id}`, operation.body, operation.echo?.shape],
      [`the path of ${operation.id}`, operation.params, undefined],
      [`the query of ${operation.id}`, operation.query, undefined],
    ]),
    ...consoleActions.map(({ id, body }): (typeof shapes)[number] => [`the body of ${id}`, body, undefined]),
  ]
  for (const [name, shape, echo] of shapes) {
    if (!shape) continue
    for (const { path, bodyWith } of textFieldsOf(shape as Rules)) {
      for (const text of texts) {
        const body = bodyWith(text)
        const startedAt = performance.now()
        shapeProblems(shape, body, echo ? { echo } : {})
        if (echo) echoProblems(shape, echo, body, {})
        const tookMs = performance.now() - startedAt
        const what = `${path} in ${name} with "${text.slice(0, 10)}…"`
        assert.ok(tookMs < longestMs, `${what} took ${tookMs.toFixed(0)} ms`)
      }
    }
  }
})
