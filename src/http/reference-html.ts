// Building blocks of the reference pages: escaped HTML templates, a Markdown subset, code blocks, the page frame.
// Text reaches a page only through `html`, which escapes every string; only an `Html` value is inserted as it is.

export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

export type Content = Html | string | number | undefined | false | readonly Content[]

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!)
}

function markupOf(content: Content): string {
  if (content === undefined || content === false) return ''
  if (content instanceof Html) return content.markup
  if (typeof content === 'object') return content.map(markupOf).join('')
  return escapeHtml(String(content))
}

export function html(parts: TemplateStringsArray, ...values: Content[]): Html {
  return new Html(parts.reduce((markup, part, index) => markup + markupOf(values[index - 1]) + part))
}

/** Only schemes that cannot run scripts. Relative URLs are excluded: they would differ by page. */
const safeAddress = /^(https?:\/\/|mailto:|\/|#)/i

function inline(text: string): Content[] {
  const contents: Content[] = []
  let end = 0
  for (const match of text.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|\[([^[\]]+)\]\(([^()[\s]+)\)/g)) {
    const [whole, code, bold, label = '', address = ''] = match
    contents.push(text.slice(end, match.index))
    if (code !== undefined) contents.push(html`<code>${code}</code>`)
    else if (bold !== undefined) contents.push(html`<strong>${inline(bold)}</strong>`)
    else if (safeAddress.test(address)) contents.push(html`<a href="${address}">${inline(label)}</a>`)
    else contents.push(inline(label))
    end = match.index + whole.length
  }
  return [...contents, text.slice(end)]
}

const listItem = /^\s*([-*]|\d+\.)\s+/

/** Paragraphs, lists, fenced code, `code`, **bold** and links. Headings become bold lines, because the page has its own outline. */
export function markdown(text = ''): Html {
  const blocks: Content[] = []
  let lines: string[] = []
  let kind: 'paragraph' | 'bullets' | 'numbers' | 'code' = 'paragraph'
  const finish = () => {
    const items = lines.map((line) => html`<li>${inline(line.replace(listItem, ''))}</li>`)
    if (kind === 'code') blocks.push(codeBlock('Example', lines.join('\n')))
    else if (lines.length === 0) return
    else if (kind === 'bullets') blocks.push(html`<ul>${items}</ul>`)
    else if (kind === 'numbers') blocks.push(html`<ol>${items}</ol>`)
    else blocks.push(html`<p>${inline(lines.join(' '))}</p>`)
    lines = []
    kind = 'paragraph'
  }
  for (const line of text.split(/\r?\n/)) {
    const marker = listItem.exec(line)?.[1]
    const heading = /^#{1,6}\s+(.+)/.exec(line)?.[1]
    if (line.startsWith('```')) {
      const opens = kind !== 'code'
      finish()
      if (opens) kind = 'code'
    } else if (kind === 'code') lines.push(line)
    else if (line.trim() === '') finish()
    else if (heading !== undefined) {
      finish()
      blocks.push(html`<p><strong>${inline(heading)}</strong></p>`)
    } else if (marker !== undefined) {
      const list = /\d/.test(marker) ? 'numbers' : 'bullets'
      if (kind !== list) finish()
      kind = list
      lines.push(line)
    } else if (kind !== 'paragraph' && lines.length > 0) lines.push(`${lines.pop()} ${line.trim()}`)
    else lines.push(line.trim())
  }
  finish()
  return html`${blocks}`
}

function colouredJson(text: string): Content[] {
  const contents: Content[] = []
  let end = 0
  for (const match of text.matchAll(/("(?:[^"\\]|\\.)*"?)(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g)) {
    const [whole, string, colon] = match
    contents.push(text.slice(end, match.index))
    if (string === undefined) contents.push(html`<span class="literal">${whole}</span>`)
    else if (colon === undefined) contents.push(html`<span class="string">${string}</span>`)
    else contents.push(html`<span class="key">${string}</span>`, colon)
    end = match.index + whole.length
  }
  return [...contents, text.slice(end)]
}

/** Focusable by keyboard, because it may need scrolling. */
export function codeBlock(title: Content, text: Content): Html {
  return html`<figure class="code"><figcaption>${title}</figcaption><pre tabindex="0"><code>${text}</code></pre></figure>`
}

export function jsonBlock(title: Content, value: unknown): Html {
  return codeBlock(title, colouredJson(JSON.stringify(value, null, 2) ?? 'null'))
}

const icon =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E' +
  '%3Crect width=%2216%22 height=%2216%22 rx=%224%22 fill=%22%230b6380%22/%3E' +
  '%3Cpath d=%22M5 3v10M5 4h4a2.5 2.5 0 0 1 0 5H5%22 fill=%22none%22 stroke=%22white%22 stroke-width=%222%22/%3E%3C/svg%3E'

interface Frame {
  title: string
  brand: string
  /** Of the brand. */
  home?: string
  /** Assets at /docs/: `guides` adds a stylesheet to that of the reference, and replaces its script. */
  kind?: 'reference' | 'guides'
  /** A control in the bar. */
  search?: Html
  version?: string
  /** Without navigation the page has a single column. */
  navigation?: Html
  main: Html
}

export function page(frame: Frame): string {
  const { title, brand, home = '/docs', kind = 'reference', search, version, navigation, main } = frame
  // The navigation is rendered twice, and the stylesheet hides one copy: a <details> for narrow screens cannot be forced
  // open on wide ones in every browser, and the page has to work without its script.
  const markup = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${new Html(icon)}">
<link rel="stylesheet" href="/docs/reference.css">${
    kind === 'guides' &&
    html`
<link rel="stylesheet" href="/docs/guides.css">`
  }
<script src="/docs/${kind}.js" defer></script>
</head>
<body class="${navigation ? 'with-navigation' : 'single'}">
<a class="skip" href="#content">Skip to content</a>
<header class="bar"><a class="brand" href="${home}">${brand}</a>${version && html` <span class="version">${version}</span>`}
${search}<span class="bar-links"><a href="/docs/guides">Guides</a> <a href="/docs">API</a> <a href="/problems">Problems</a> <a href="/v1">OpenAPI</a></span></header>
${
  navigation &&
  html`<details class="menu"><summary>Contents</summary><nav aria-label="Contents">${navigation}</nav></details>
<nav class="sidebar" aria-label="Contents">${navigation}</nav>`
}
<main id="content">
${main}
</main>
</body>
</html>
`
  return markup.markup
}
