// Pages without authentication: health, metrics, the OpenAPI document, the reference generated from it, and the guides.
import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { problems } from '../lib/problem.ts'
import type { Guides } from './guides.ts'
import { refuseOtherMethods } from './methods.ts'

export interface PageParts {
  /** The OpenAPI document; generated on first use, because most processes never serve it. */
  document(): Promise<Record<string, unknown>>
}

export interface HealthParts {
  /** False while shutting down; rejects when the database does not answer. */
  ready(): Promise<boolean>
  metrics(): string
}

const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The search loads its index. */
const guidePolicy = `${contentSecurityPolicy}; connect-src 'self'`

const json = 'application/json; charset=utf-8'
const html = 'text/html; charset=utf-8'

function send(
  reply: FastifyReply,
  contentType: string,
  body: string | Buffer,
  policy = contentSecurityPolicy,
): FastifyReply {
  return reply
    .header('content-type', contentType)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
    .header('content-security-policy', policy)
    .send(body)
}

type Answer = (reply: FastifyReply, request: FastifyRequest) => FastifyReply | Promise<FastifyReply>
type Page = (url: string, answer: Answer) => void

/** Pages offer GET and HEAD (for load balancers) only. */
function pagesOf(server: FastifyInstance): Page {
  return (url, answer) => {
    server.route({ method: ['GET', 'HEAD'], url, handler: (request, reply) => answer(reply, request) })
    refuseOtherMethods(server, url, ['GET', 'HEAD'])
  }
}

/** Endpoints of every process, whatever its role. */
export function serveHealth(server: FastifyInstance, parts: HealthParts): void {
  const page = pagesOf(server)
  page('/health', (reply) => send(reply, json, '{"status":"ok"}'))
  page('/ready', async (reply) => {
    if (await parts.ready().catch(() => false)) return send(reply, json, '{"status":"ready"}')
    return send(reply.code(503).header('retry-after', '1'), json, '{"status":"not ready"}')
  })
  page('/metrics', (reply) => send(reply, 'text/plain; version=0.0.4; charset=utf-8', parts.metrics()))
}

export function servePages(server: FastifyInstance, parts: PageParts): void {
  const page = pagesOf(server)
  let documentText: string | undefined
  page('/v1', async (reply) => {
    documentText ??= JSON.stringify(await parts.document(), null, 2)
    return send(reply, json, documentText)
  })

  // Loaded and rendered on first use, too.
  const pages = () => import('./reference.ts')
  let reference: string | undefined
  page('/docs', async (reply) => {
    reference ??= (await pages()).referencePage((await parts.document()) as never)
    return send(reply, html, reference)
  })
  page('/', (reply) => reply.redirect('/console'))
  for (const file of ['reference.css', 'reference.js', 'guides.css', 'guides.js']) {
    const contentType = `text/${file.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`
    const address = new URL(`assets/${file}`, import.meta.url)
    page(`/docs/${file}`, async (reply) => send(reply, contentType, await readFile(address, 'utf8')))
  }
  page('/problems', async (reply) => send(reply, html, (await pages()).problemIndexPage(problems)))
  page('/problems/:code', async (reply, { params }) => {
    const { code } = params as { code: string }
    const entry = Object.entries(problems).find(([name]) => name === code)?.[1]
    if (entry) return send(reply, html, (await pages()).problemPage(code, entry, entry.help))
    reply.callNotFound()
    return reply
  })
  serveGuides(page)
}

function serveGuides(page: Page): void {
  let loaded: Promise<Guides> | undefined
  // The same from src/http and from dist/http.
  const guides = () => {
    loaded ??= import('./guides.ts').then(({ Guides }) => new Guides(new URL('../../', import.meta.url)))
    return loaded
  }
  const sendGuide = async (reply: FastifyReply, path: string): Promise<FastifyReply> => {
    const found = await (await guides()).serve(path)
    if (found) return send(reply, found.contentType, found.body, guidePolicy)
    reply.callNotFound()
    return reply
  }
  page('/docs/guides', (reply) => sendGuide(reply, ''))
  page('/docs/guides/*', (reply, { params }) => sendGuide(reply, (params as { '*': string })['*']))
  page('/docs/guides/search.json', async (reply, { headers }) => {
    const { gzip, etag } = await (await guides()).searchIndex()
    reply.header('etag', etag).header('cache-control', 'no-cache').header('vary', 'accept-encoding')
    if (headers['if-none-match'] === etag) return reply.code(304).send()
    if (!/\bgzip\b/.test(String(headers['accept-encoding']))) return send(reply, json, gunzipSync(gzip))
    return send(reply.header('content-encoding', 'gzip'), json, gzip)
  })
}
