import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseReversePrivateEndpoints, type ReversePrivateEndpoints, routeKey } from './reverse-private-endpoints.ts'

const organizationId = '1b4e28ba-2fa1-41d2-883f-0016d3cca427'

function parse(text: string): ReversePrivateEndpoints {
  return parseReversePrivateEndpoints(text, (problem) => {
    throw new Error(problem)
  })
}

const withRoutes = (routes: unknown): string => JSON.stringify({ 'rpe-1': { organizationId, routes } })

describe("the operator's reverse private endpoints", () => {
  it('have an organization, and addresses by hosts', () => {
    const routes = {
      'b-1.orders.internal:9092': '10.3.0.5:19092',
      'B-2.Orders.internal': 'proxy.example',
      '[fd12::0:1]:9092': '[fd34::2]:19092',
      'fd12::2': 'fd34::3',
      '192.0.2.7': '[fd34::4]',
    }
    const file = { 'rpe-1': { organizationId: organizationId.toUpperCase(), routes } }
    const endpoint = parse(JSON.stringify(file)).get('rpe-1')
    assert.equal(endpoint?.organizationId, organizationId)
    assert.deepEqual(
      [...endpoint.routes],
      [
        [routeKey('b-1.orders.internal', 9092), { host: '10.3.0.5', port: 19_092 }],
        [routeKey('b-2.orders.internal'), { host: 'proxy.example', port: undefined }],
        [routeKey('fd12:0:0::1', 9092), { host: 'fd34::2', port: 19_092 }],
        [routeKey('fd12:0::2'), { host: 'fd34::3', port: undefined }],
        [routeKey('192.0.2.7'), { host: 'fd34::4', port: undefined }],
      ],
    )
  })

  it('may be empty', () => {
    assert.equal(parse('{}').size, 0)
  })

  it('may have ids that are properties of JavaScript objects', () => {
    const text = `{"__proto__": {"organizationId": "${organizationId}", "routes": {"constructor": "10.3.0.5"}}}`
    const endpoints = parse(text)
    assert.ok(endpoints.get('__proto__')?.routes.has('constructor'))
    assert.equal(endpoints.get('toString'), undefined)
  })

  for (const [what, text, problem] of [
    ['no JSON', 'rpe-1: none', /^it must be a JSON object/],
    ['a list', '[]', /^it must be a JSON object/],
    ['nothing', '', /^it must be a JSON object/],
    ['an empty id', JSON.stringify({ '': {} }), /^the id "" must have 1 to 255 characters/],
    ['a long id', JSON.stringify({ ['x'.repeat(256)]: {} }), /^the id "x+… must have 1 to 255 characters$/],
    [
      'an endpoint that is not an object',
      '{"rpe-1": null}',
      /^"rpe-1" must be an object with organizationId and routes$/,
    ],
    [
      'a member that is not known',
      JSON.stringify({ 'rpe-1': { organizationId, routes: { a: 'b' }, route: {} } }),
      /^"rpe-1" must be an object with organizationId and routes, and has "route"$/,
    ],
    ['no organization', '{"rpe-1": {"routes": {"a": "b"}}}', /^organizationId of "rpe-1" must be the uuid/],
    [
      'an organization that is no uuid',
      '{"rpe-1": {"organizationId": "orders", "routes": {"a": "b"}}}',
      /^organizationId of "rpe-1" must be the uuid/,
    ],
    ['no routes', withRoutes(undefined), /^routes of "rpe-1" must be an object/],
    ['a list of routes', withRoutes(['a']), /^routes of "rpe-1" must be an object/],
    ['empty routes', withRoutes({}), /at least one host or host:port$/],
    ['two spellings of a host', withRoutes({ 'A.example:1': 'b', 'a.example:1': 'c' }), /have "a.example:1" twice$/],
    ['two spellings of an address', withRoutes({ '::1': 'b', '[0::1]': 'c' }), /have "\[0::1\]" twice$/],
    [
      'an id that comes twice',
      `{"rpe-1": {"organizationId": "${organizationId}", "routes": {"a": "b"}}, "rpe\\u002d1": {}}`,
      /^"rpe-1" stands twice in the same object$/,
    ],
    [
      'a route that comes twice',
      `{"rpe-1": {"organizationId": "${organizationId}", "routes": {"a" : "b", "a\\"}": "c", "a": "d"}}}`,
      /^"a" stands twice in the same object$/,
    ],
  ] as const) {
    it(`are rejected with ${what}`, () => {
      assert.throws(
        () => parse(text),
        ({ message }: Error) => problem.test(message) || assert.fail(message),
      )
    })
  }

  it('are rejected with invalid hosts and addresses', () => {
    for (const wrong of [
      '',
      ':9092',
      'a:',
      'a:0',
      'a:09092',
      'a:65536',
      'a:9092:1',
      'a b',
      'a/b',
      'http://a',
      'user@a',
      '*.example',
      'a.',
      '2130706433',
      '[a]:9092',
      '[]',
      '[::1',
      'fe80::1%eth0',
      '[fe80::1%eth0]:1',
    ]) {
      assert.throws(() => parse(withRoutes({ [wrong]: 'b' })), /which is not a host or host:port$/, wrong)
      assert.throws(() => parse(withRoutes({ a: wrong })), /"a" of "rpe-1" must be a host or host:port, not "/, wrong)
    }
    for (const wrong of [null, 9092, ['b'], { host: 'b' }]) {
      assert.throws(() => parse(withRoutes({ a: wrong })), /"a" of "rpe-1" must be a host or host:port, not /)
    }
  })

  it('are rejected when they lead to forbidden addresses', () => {
    for (const address of [
      '169.254.169.254',
      '169.254.169.254:80',
      '0.0.0.0:9092',
      '224.0.0.1',
      '168.63.129.16',
      '[fd00:ec2::254]:80',
      '[::ffff:169.254.169.254]:80',
      '64:ff9b::a9fe:a9fe',
      'fe80::1',
    ]) {
      assert.throws(
        () => parse(withRoutes({ 'b-1': address })),
        /the route of "b-1" of "rpe-1" leads to .*, which Penstock never connects to$/,
        address,
      )
    }
    for (const address of ['127.0.0.1:9092', '[::1]:9092', '10.3.0.5']) parse(withRoutes({ 'b-1': address }))
  })
})
