// The API reference at /docs and the problem pages, generated from the OpenAPI document at /v1. No third-party assets and
// no inline scripts or styles: the pages work offline and under a strict content security policy.
import { invalidBody } from '../lib/problem.ts'
import { errorAnswer } from './errors.ts'
import { type Content, codeBlock, type Html, html, jsonBlock, markdown, page } from './reference-html.ts'
import {
  fields,
  type Header,
  type MediaType,
  type OpenApiDocument,
  type OpenApiOperation,
  type Parameter,
  type Ref,
  type Response,
  resolve,
  row,
  sample,
  table,
  textCell,
  typeCell,
} from './reference-schema.ts'

export type { OpenApiDocument } from './reference-schema.ts'

interface Entry {
  id: string
  method: string
  path: string
  title: string
  operation: OpenApiOperation
}

interface Group {
  id: string
  name: string
  description: string
  entries: Entry[]
}

const methods = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options']

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

/** Lists each operation under its first tag only, so that its anchor is unique. */
function groupsOf(document: OpenApiDocument): Group[] {
  const groups = new Map<string, Group>()
  const groupOf = (name: string, description = ''): Group => {
    const group = groups.get(name) ?? { id: `tag-${slug(name)}`, name, description, entries: [] }
    groups.set(name, group)
    return group
  }
  for (const tag of document.tags ?? []) groupOf(tag.name, tag.description)
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of methods.filter((name) => Object.hasOwn(item, name))) {
      const operation = item[method]!
      const id = operation.operationId ?? slug(`${method} ${path}`)
      const entry = { id, method, path, title: operation.summary ?? id, operation }
      groupOf(operation.tags?.[0] ?? 'Other').entries.push(entry)
    }
  }
  return [...groups.values()].filter((group) => group.entries.length > 0)
}

const badge = (method: string): Html => html`<span class="method ${method}">${method.toUpperCase()}</span>`

function navigationOf(groups: Group[]): Html {
  const link = ({ id, method, path, title }: Entry) =>
    html`<li><a href="#${id}" data-search="${`${id} ${path} ${title}`.toLowerCase()}">${badge(method)}<span>${title}</span></a></li>`
  const start = [
    ['base-url', 'Base URL'],
    ['authentication', 'Authentication'],
    ['responses', 'Responses'],
    ['errors', 'Errors'],
  ].map(
    ([id, title]) => html`<li><a href="#${id}" data-search="${title?.toLowerCase()}"><span>${title}</span></a></li>`,
  )
  // The script shows the filter, which does nothing without it.
  return html`<input class="filter" type="search" placeholder="Filter" aria-label="Filter the contents" hidden>
<div class="group"><p><a href="#getting-started">Getting started</a></p><ul>${start}</ul></div>
${groups.map(
  ({ id, name, entries }) =>
    html`<div class="group"><p><a href="#${id}">${name}</a></p><ul>${entries.map(link)}</ul></div>`,
)}<p class="nothing" hidden>Nothing matches.</p>`
}

const anchor = (id: string, title: string): Html =>
  html` <a class="anchor" href="#${id}" aria-label="Link to ${title}">#</a>`

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

function introduction(document: OpenApiDocument): Html {
  const { info, servers = [], components = {} } = document
  const address = servers.find((server) => /^https?:/.test(server.url))?.url.replace(/\/$/, '')
  const schemes = Object.values(components.securitySchemes ?? {}) as { description?: string }[]
  const keys = schemes.find((scheme) => scheme.description)?.description ?? ''
  const requestId = '0b9a5a1e-3c52-4c7e-9a57-0c2f4b1d6e83'
  // Generated with the server's own code, so that page and server cannot differ.
  const problem = invalidBody([{ path: 'name', detail: 'name must have 1 to 255 characters, not 0' }])
  const answer = (accept?: string): unknown => JSON.parse(errorAnswer(problem, requestId, accept).body)
  return html`<section id="getting-started" class="introduction">
<h1>${info.title}</h1>
<div class="lead prose">${markdown(info.description)}</div>
<h2 class="quiet">Getting started</h2>
<div class="pair" id="base-url"><div>
<h3>Base URL</h3>
<p>Every path on this page begins at the address of your server. The examples take it, and your key, from the environment.</p>
<p>The description this page is made from is at <a href="/v1">/v1</a>: OpenAPI 3.1, for code generators and other tools.</p></div>
${codeBlock('Environment', `export BASE_URL=${quoted(address ?? 'https://penstock.example.com')}\nexport KEY_ID='<your key id>'\nexport KEY_SECRET='<your key secret>'`)}</div>
<div class="pair" id="authentication"><div>
<h3>Authentication</h3>
<p>Every request carries an API key as HTTP Basic authentication: the key id is the user name, the key secret the password.</p>
${markdown(keys)}</div>
${codeBlock('Request', `curl -u "$KEY_ID:$KEY_SECRET" "$BASE_URL/v1/…"\n\n# which sends the header\nAuthorization: Basic <base64 of key id:key secret>`)}</div>
<div class="pair" id="responses"><div>
<h3>Responses</h3>
<p>Success is always status 200. The body is an envelope: <code>result</code> is what you asked for (a list is an array), <code>status</code> repeats the status code, and <code>requestId</code> is unique to the request. It is also in the header <code>X-Request-Id</code>, on errors too: quote it when you ask for help.</p></div>
${jsonBlock('200 OK', { requestId, result: {}, status: 200 })}</div>
<div class="pair" id="errors"><div>
<h3>Errors</h3>
<p>An error has two fields. <code>error</code> begins with a fixed word, then names the error and what is allowed; all validation errors of a body are returned at once.</p>
<p>Send <code>Accept: application/problem+json</code> to get the same problem as RFC 9457, with a stable <code>code</code> and a list of the fields concerned. Its <code>type</code> is a page that explains it: see <a href="/problems">all problems</a>.</p></div>
<div>${jsonBlock('400 Bad Request', answer())}
${jsonBlock('application/problem+json', answer('application/problem+json'))}</div></div>
</section>`
}

/** Prefers JSON to other media types. */
function mediaOf(content: Readonly<Record<string, MediaType>> = {}): [string, MediaType] | undefined {
  return Object.entries(content).sort(
    ([a], [b]) => Number(b === 'application/json') - Number(a === 'application/json'),
  )[0]
}

interface Example {
  summary?: string
  value: unknown
}

function examplesOf(document: OpenApiDocument, media: MediaType): Example[] {
  if (media.example !== undefined) return [{ value: media.example }]
  return Object.entries(media.examples ?? {}).map(([name, given]) => {
    const example = resolve(document, given) as { summary?: string; value?: unknown }
    return { summary: example.summary ?? name, value: example.value }
  })
}

/** Ids in the path become shell variables, so that a copied example runs once they are set. */
function curl(document: OpenApiDocument, entry: Entry, parameters: Parameter[], body?: [string, unknown]): string {
  const variable = (_: string, name: string) => `$${name.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase()}`
  const needed = parameters.filter((parameter) => parameter.required === true)
  const text = (parameter: Parameter) =>
    String(parameter.example ?? sample(document, parameter.schema ?? {}, 'request'))
  const query = needed
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => `${parameter.name}=${encodeURIComponent(text(parameter))}`)
  const path = entry.path.replace(/\{([^{}]+)\}/g, variable) + (query.length > 0 ? `?${query.join('&')}` : '')
  const lines = [`curl "$BASE_URL${path}"`]
  if (entry.method !== 'get') lines.push(`-X ${entry.method.toUpperCase()}`)
  if (entry.operation.security?.length !== 0) lines.push('-u "$KEY_ID:$KEY_SECRET"')
  for (const header of needed.filter((parameter) => parameter.in === 'header')) {
    lines.push(`-H ${quoted(`${header.name}: ${text(header)}`)}`)
  }
  if (body) {
    lines.push(`-H ${quoted(`Content-Type: ${body[0]}`)}`)
    lines.push(`-d ${quoted(JSON.stringify(body[1], null, 2).replaceAll('\n', '\n  '))}`)
  }
  return lines.join(' \\\n  ')
}

function parameterTables(document: OpenApiDocument, parameters: Parameter[]): Content[] {
  return ['path', 'query', 'header'].map((location) => {
    const here = parameters.filter((parameter) => parameter.in === location)
    const title = `${location[0]?.toUpperCase()}${location.slice(1)} parameters`
    const rows = here.map(({ name, required, schema = {}, description }) =>
      row(name, 'request', required === true, typeCell(document, schema), textCell(document, schema, description)),
    )
    return here.length > 0 && html`<h4>${title}</h4>${table(title, rows)}`
  })
}

function responseFields(document: OpenApiDocument, status: string, response: Response): Content {
  const headers = Object.entries(response.headers ?? {}).map(([name, given]) => {
    const { schema = {}, description, required } = resolve<Header>(document, given)
    return row(
      name,
      'response',
      required !== false,
      typeCell(document, schema),
      textCell(document, schema, description),
    )
  })
  const schema = mediaOf(response.content)?.[1].schema
  if (!schema && headers.length === 0) return undefined
  return html`<details class="more"><summary>Fields of the response <span class="count">${status}</span></summary>
${headers.length > 0 && html`<h5>Headers</h5>${table('Headers', headers)}`}${
  schema && html`<h5>Body</h5>${fields(document, schema, 'response')}`
}</details>`
}

function errorList(document: OpenApiDocument, responses: [string, Response | Ref][]): Content {
  const item = ([status, given]: [string, Response | Ref]) => {
    const response = resolve<Response>(document, given)
    const media = mediaOf(response.content)?.[1]
    const bodies = media ? examplesOf(document, media).map(({ value }) => value as { error?: unknown } | null) : []
    const sentences = bodies.flatMap((body) => (typeof body?.error === 'string' ? [body.error] : []))
    return html`<li><span class="status s${status[0] ?? ''}">${status}</span><div>${markdown(response.description)}${
      sentences.length > 0 && html`<ul class="sentences">${sentences.map((it) => html`<li><q>${it}</q></li>`)}</ul>`
    }</div></li>`
  }
  const shared = responses.filter(([, response]) => '$ref' in response)
  const own = responses.filter(([, response]) => !('$ref' in response))
  if (responses.length === 0) return undefined
  // Errors common to many operations are collapsed, below those specific to this one.
  return html`<h4>Errors</h4>${own.length > 0 && html`<ul class="errors">${own.map(item)}</ul>`}
${
  shared.length > 0 &&
  html`<details class="more"${own.length === 0 && html` open`}><summary>${own.length > 0 ? 'Common to many operations' : 'By status'} <span class="count">${shared.map(([status]) => status).join(' · ')}</span></summary><ul class="errors">${shared.map(item)}</ul></details>`
}`
}

function operationSection(document: OpenApiDocument, entry: Entry): Html {
  const { id, method, path, title, operation } = entry
  const parameters = (operation.parameters ?? []).map((parameter) => resolve<Parameter>(document, parameter))
  const requestBody = operation.requestBody && resolve(document, operation.requestBody)
  const body = requestBody && 'content' in requestBody ? mediaOf(requestBody.content) : undefined
  const given = body ? examplesOf(document, body[1]) : []
  const made: Example = { value: body && sample(document, body[1].schema ?? {}, 'request') }
  const requests = (given.length > 0 ? given : [made]).map(({ summary = 'Request', value }) =>
    codeBlock(summary, curl(document, entry, parameters, body && [body[0], value])),
  )
  const responses = Object.entries(operation.responses ?? {})
  const isSuccess = ([status]: [string, unknown]) => status.startsWith('2')
  const [status = '', found] = responses.find(isSuccess) ?? []
  const success = found && resolve<Response>(document, found)
  const answer = success && mediaOf(success.content)?.[1]
  const example =
    answer && (examplesOf(document, answer)[0]?.value ?? sample(document, answer.schema ?? {}, 'response'))
  const stability = operation['x-stability']
  return html`<section class="operation" id="${id}">
<h3>${title}${stability && html` <span class="badge">${stability}</span>`}${
    operation.deprecated === true && html` <span class="badge">deprecated</span>`
  }${anchor(id, title)}</h3>
<p class="endpoint">${badge(method)}<code>${path.split('/').map((step, index) => [index > 0 && html`/<wbr>`, step])}</code></p>
<div class="prose">${markdown(operation.description)}${operation.security?.length === 0 && html`<p>Needs no authentication.</p>`}</div>
${parameterTables(document, parameters)}
${
  body &&
  html`<h4>Body${requestBody?.required !== true && html` <span class="count">optional</span>`}</h4>
<div class="prose">${markdown(requestBody?.description)}</div>${fields(document, body[1].schema ?? {}, 'request')}`
}
<h4>Example</h4>
${requests[0]}
${answer ? jsonBlock(`Response ${status}`, example) : codeBlock(`Response ${status}`, success?.description ?? '')}
${
  requests.length > 1 &&
  html`<details class="more"><summary>More examples <span class="count">${requests.length - 1}</span></summary>${requests.slice(1)}</details>`
}
${success && responseFields(document, status, success)}
${errorList(
  document,
  responses.filter((response) => !isSuccess(response)),
)}
</section>`
}

/** The reference page. Needs `reference.css` and `reference.js` at /docs/. */
export function referencePage(document: OpenApiDocument): string {
  const groups = groupsOf(document)
  const { title, version } = document.info
  return page({
    title: `${title} reference`,
    brand: title,
    version,
    navigation: navigationOf(groups),
    main: html`${introduction(document)}
${groups.map(
  ({ id, name, description, entries }) => html`<section class="tag" id="${id}">
<h2>${name}${anchor(id, name)}</h2>
<div class="prose">${markdown(description)}</div>
${entries.map((entry) => operationSection(document, entry))}
</section>`,
)}`,
  })
}

interface ProblemEntry {
  status: number
  title: string
}

export function problemPage(code: string, entry: ProblemEntry, explanation: string): string {
  return page({
    title: `${entry.title} (${code})`,
    brand: 'Penstock',
    main: html`<p class="crumbs"><a href="/docs">Reference</a> / <a href="/problems">Problems</a></p>
<h1>${entry.title}</h1>
<p class="endpoint"><span class="status s${String(entry.status)[0]}">${entry.status}</span><code>${code}</code></p>
<div class="prose"><h2>What it means, and what to do</h2>${markdown(explanation)}</div>
<p class="back"><a href="/docs">Back to the reference</a></p>`,
  })
}

/** All problems, by status. */
export function problemIndexPage(entries: Readonly<Record<string, ProblemEntry>>): string {
  const sorted = Object.entries(entries).sort(([, a], [, b]) => a.status - b.status)
  return page({
    title: 'Problems',
    brand: 'Penstock',
    main: html`<p class="crumbs"><a href="/docs">Reference</a></p>
<h1>Problems</h1>
<div class="prose"><p>All problems that a request can return. A client that sends <code>Accept: application/problem+json</code> finds the code of the problem in <code>code</code>, and the address of its page in <code>type</code>.</p></div>
<ul class="errors">${sorted.map(
      ([code, { status, title }]) =>
        html`<li><span class="status s${String(status)[0]}">${status}</span><div><a href="/problems/${code}">${title}</a> <code>${code}</code></div></li>`,
    )}</ul>`,
  })
}
