import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OpenApiDocument, problemIndexPage, problemPage, referencePage } from './reference.ts'
import { markdown } from './reference-html.ts'

const evil = `<img src=x onerror="alert('1')">&`
const evilEscaped = '&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;'

const example: OpenApiDocument = {
  info: { title: 'Sample API', version: '1.0', description: 'For **tests**.' },
  servers: [{ url: 'https://api.example.test/' }],
  tags: [
    { name: 'Boats', description: evil },
    { name: 'Empty', description: 'Has no operation.' },
  ],
  paths: {
    '/v1/boats/{boatId}': {
      get: {
        operationId: 'getBoat',
        summary: 'Get boat',
        tags: ['Boats'],
        parameters: [{ $ref: '#/components/parameters/BoatId' }],
        responses: { '200': { $ref: '#/components/responses/Boat' } },
      },
      patch: {
        operationId: 'updateBoat',
        summary: `Update boat ${evil}`,
        description: `See [the rules](https://rules.example.test/), [not this](javascript:alert(1)).\n\n- ${evil}\n- two`,
        tags: ['Boats'],
        'x-stability': 'beta',
        parameters: [{ $ref: '#/components/parameters/BoatId' }],
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: { $ref: '#/components/schemas/BoatPatch' },
              examples: { rename: { summary: 'Rename it', value: { name: "Ada's </code><script>" } } },
            },
          },
        },
        responses: {
          '200': { $ref: '#/components/responses/Boat' },
          '404': { $ref: '#/components/responses/NotFound' },
          '409': {
            description: 'The name is taken.',
            content: { 'application/json': { examples: { taken: { value: { error: `CONFLICT: ${evil}` } } } } },
          },
        },
      },
    },
    '/v1': { get: { summary: 'Describe', security: [], responses: { '200': { description: 'The document.' } } } },
  },
  components: {
    parameters: {
      BoatId: { name: 'boatId', in: 'path', required: true, description: 'Which boat.', schema: { type: 'string' } },
    },
    schemas: {
      Loop: { type: 'object', properties: { again: { $ref: '#/components/schemas/Loop' } } },
      Kind: { anyOf: [{ const: 'sail' }, { const: 'motor' }], description: 'What moves it.' },
      BoatPatch: {
        type: 'object',
        required: ['name'],
        additionalProperties: false,
        properties: {
          port: { type: 'string', pattern: '^x$', patternHint: 'a port of the coast' },
          name: { type: 'string', minLength: 1, maxLength: 40, description: 'Its name.' },
          kind: { $ref: '#/components/schemas/Kind' },
          mooring: {
            anyOf: [{ type: 'string', pattern: '^[A-Z]<b>' }, { type: 'null' }],
            description: 'Where it lies.',
          },
          crew: { type: 'array', maxItems: 9, items: { type: 'string', format: 'uuid' } },
          engine: {
            type: 'object',
            properties: {
              power: { type: 'integer', minimum: 1, maximum: 900, default: 40 },
              key: { type: 'string', writeOnly: true },
            },
          },
        },
      },
      Boat: {
        type: 'object',
        required: ['id'],
        properties: {
          id: { type: 'string', format: 'uuid' },
          kind: { $ref: '#/components/schemas/Kind' },
          secretWord: { type: 'string', writeOnly: true },
          loop: { $ref: '#/components/schemas/Loop' },
        },
      },
    },
    responses: {
      Boat: {
        description: 'The boat.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Boat' } } },
      },
      NotFound: {
        description: 'No such boat.',
        content: { 'application/json': { examples: { one: { value: { error: 'NOT_FOUND: boat 7 was not found' } } } } },
      },
    },
  },
}

const page = referencePage(example)
const text = page.replace(/<[^>]*>/g, '')
const section = (id: string) =>
  page.slice(page.indexOf(`<section class="operation" id="${id}"`)).split('</section>')[0]!

const everyPage = {
  reference: page,
  problem: problemPage('boat_taken', { status: 409, title: evil }, `Meaning ${evil}.\n\nDo \`this\`.`),
  problems: problemIndexPage({ boat_taken: { status: 409, title: evil }, lost: { status: 404, title: 'Lost' } }),
}

test('every operation has its anchor, and a link to it', () => {
  for (const id of ['getBoat', 'updateBoat', 'get-v1']) {
    assert.equal(page.split(` id="${id}"`).length, 2, id)
    assert.ok(page.includes(`href="#${id}"`), id)
  }
})

test('every link within the page has a target, and ids are unique', () => {
  const ids = [...page.matchAll(/ id="([^"]*)"/g)].map((match) => match[1]!)
  assert.deepEqual([...new Set(ids)], ids)
  for (const [, target] of page.matchAll(/href="#([^"]*)"/g)) assert.ok(ids.includes(target!), target)
})

test('a tag without an operation is left out', () => {
  assert.ok(!page.includes('Has no operation'))
})

test('strings of the document are escaped', () => {
  for (const [name, markup] of Object.entries(everyPage)) {
    assert.ok(markup.includes(evilEscaped), name)
    assert.ok(!/<img|<b>/.test(markup), name)
  }
  assert.ok(page.includes('&lt;/code&gt;&lt;script&gt;'))
})

test('no inline scripts or styles that the content security policy refuses, nothing loaded from elsewhere', () => {
  for (const [name, markup] of Object.entries(everyPage)) {
    const tags = [...markup.matchAll(/<[a-z][^>]*>/g)].map((match) => match[0])
    const loading = tags.filter((tag) => /^<(script|link|img|iframe|style|base|object|embed)/.test(tag))
    assert.ok(!tags.some((tag) => /\s(on\w+|style)="/.test(tag)), name)
    assert.ok(!/<style|<script(?! src="\/docs\/reference\.js")/.test(markup), name)
    for (const tag of loading) assert.match(tag, / (src|href)="(\/docs\/|data:image\/)/, name)
    const addresses = tags.flatMap((tag) => / (?:src|href)="([^"]*)"/.exec(tag)?.[1] ?? [])
    const elsewhere = addresses.filter((address) => !/^([#/](?!\/)|data:image\/)/.test(address))
    assert.deepEqual(elsewhere, name === 'reference' ? ['https://rules.example.test/'] : [], name)
  }
})

test('one first heading, and no level is skipped', () => {
  for (const [name, markup] of Object.entries(everyPage)) {
    const levels = [...markup.matchAll(/<h([1-6])/g)].map((match) => Number(match[1]))
    assert.equal(levels.filter((level) => level === 1).length, 1, name)
    levels.forEach((level, index) => {
      assert.ok(level <= (levels[index - 1] ?? 0) + 1, `${name}: heading ${index}`)
    })
  }
})

test('references are resolved, in parameters, bodies and responses', () => {
  assert.ok(!text.includes('$ref'))
  const update = section('updateBoat')
  for (const words of [
    'Which boat.',
    'Its name.',
    'What moves it.',
    'No such boat.',
    'NOT_FOUND: boat 7 was not found',
  ]) {
    assert.ok(update.includes(words), words)
  }
})

test('types list the allowed values', () => {
  const update = section('updateBoat').replace(/<[^>]*>/g, '')
  for (const words of [
    'string, 1 to 40 characters',
    'string or null, matches ^[A-Z]&lt;b&gt;',
    'string, a port of the coast',
    'array of string, at most 9 items, each uuid',
    'sail motor',
    'integer, 1 to 900',
    'Default 40',
    'Write only',
  ]) {
    assert.ok(update.includes(words), words)
  }
  assert.match(update, /name required/)
})

test('a response shows no write-only fields and marks optional ones', () => {
  const get = section('getBoat')
  assert.ok(!get.includes('secretWord'))
  assert.match(get.replace(/<[^>]*>/g, ''), /kind may be absent/)
})

test('a recursive schema is cut off', () => {
  assert.ok(section('getBoat').includes('loop.again'))
})

test('the example request can be run', () => {
  const code = section('updateBoat').split('<pre tabindex="0"><code>')[1]!.split('</code>')[0]!
  assert.ok(code.startsWith('curl &quot;$BASE_URL/v1/boats/$BOAT_ID&quot; \\\n  -X PATCH \\\n'))
  assert.ok(code.includes('-u &quot;$KEY_ID:$KEY_SECRET&quot;'))
  assert.ok(code.includes('Ada&#39;\\&#39;&#39;s'), 'a quote in the body does not end the argument')
  assert.ok(!section('get-v1').includes('-u '), 'no key where none is needed')
  assert.ok(page.includes('export BASE_URL=&#39;https://api.example.test&#39;'))
})

test('beta is shown', () => {
  assert.ok(section('updateBoat').includes('<span class="badge">beta</span>'))
  assert.ok(!section('getBoat').includes('class="badge"'))
})

test('markdown: paragraphs, lists, code, bold and links that cannot run anything', () => {
  const { markup } = markdown(
    'One\ntwo `a<b`.\n\n1. first\n2. second\n   line\n\n**Bold `x`** [a](/b) [c](javascript:d)\n- e',
  )
  assert.equal(
    markup,
    '<p>One two <code>a&lt;b</code>.</p><ol><li>first</li><li>second line</li></ol>' +
      '<p><strong>Bold <code>x</code></strong> <a href="/b">a</a> c</p><ul><li>e</li></ul>',
  )
  assert.match(markdown('```sh\na <b>\n```').markup, /<code>a &lt;b&gt;<\/code>/)
})

test('the page of a problem has its meaning and its remedy', () => {
  assert.match(everyPage.problem, /409.*boat_taken.*What it means, and what to do.*Meaning.*Do <code>this<\/code>/s)
  assert.ok(everyPage.problem.includes('href="/docs"'))
  assert.match(everyPage.problems, /problems\/lost.*problems\/boat_taken/s)
})
