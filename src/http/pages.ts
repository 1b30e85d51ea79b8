// What is served without authentication: health, metrics, the OpenAPI document and the pages made of it.
import { readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { problems } from '../lib/problem.ts'
import { problemIndexPage, problemPage, referencePage } from './reference.ts'

export interface PageParts {
  document: Record<string, unknown>
  /** False while shutting down; rejects when the database does not answer. */
  ready(): Promise<boolean>
  metrics(): string
}

const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function servePages(server: FastifyInstance, parts: PageParts): void {
  const send = (reply: FastifyReply, contentType: string, body: string): FastifyReply =>
    reply
      .header('content-type', contentType)
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'no-referrer')
      .header('content-security-policy', contentSecurityPolicy)
      .send(body)
  const json = 'application/json; charset=utf-8'
  const html = 'text/html; charset=utf-8'

  server.get('/health', (_, reply) => send(reply, json, '{"status":"ok"}'))
  server.get('/ready', async (_, reply) => {
    if (await parts.ready().catch(() => false)) return send(reply, json, '{"status":"ready"}')
    return send(reply.code(503).header('retry-after', '1'), json, '{"status":"not ready"}')
  })
  server.get('/metrics', (_, reply) => send(reply, 'text/plain; version=0.0.4; charset=utf-8', parts.metrics()))

  const documentText = JSON.stringify(parts.document, null, 2)
  server.get('/v1', (_, reply) => send(reply, json, documentText))

  // Rendered when first asked for: most processes never serve it.
  let reference: string | undefined
  server.get('/docs', (_, reply) => {
    reference ??= referencePage(parts.document as never)
    return send(reply, html, reference)
  })
  server.get('/', (_, reply) => reply.redirect('/docs'))
  for (const [file, contentType] of [
    ['reference.css', 'text/css; charset=utf-8'],
    ['reference.js', 'text/javascript; charset=utf-8'],
  ] as const) {
    const text = readFileSync(new URL(`assets/${file}`, import.meta.url), 'utf8')
    server.get(`/docs/${file}`, (_, reply) => send(reply, contentType, text))
  }
  server.get('/problems', (_, reply) => send(reply, html, problemIndexPage(problems)))
  for (const [code, entry] of Object.entries(problems)) {
    server.get(`/problems/${code}`, (_, reply) => send(reply, html, problemPage(code, entry, entry.help)))
  }
}
