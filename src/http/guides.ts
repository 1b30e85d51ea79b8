// The pages of docs/ and the Markdown files beside it, as HTML at /docs/guides. No third-party assets and no inline scripts or
// styles, as for the reference. Loaded at the first request.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Marked, Renderer, type Tokens } from 'marked'
import { pageAnchors } from './heading-anchor.ts'
import { Html, html, page } from './reference-html.ts'

interface Guide {
  /** In the repository, such as `docs/how-to/kafka.md`. */
  file: string
  url: string
  title: string
  group: string
}

interface Section {
  anchor: string
  heading: string
  text: string
}

interface Rendered {
  main: Html
  sections: Section[]
}

export interface Served {
  contentType: string
  body: string | Buffer
}

interface SearchIndex {
  /** JSON. */
  gzip: Buffer
  etag: string
}

const base = '/docs/guides'
const besideDocs = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'CONTRIBUTING.md']
const groups: Record<string, string> = {
  'docs/tutorials': 'Tutorials',
  'docs/how-to': 'How-to guides',
  'docs/reference': 'Reference',
  docs: 'Reference',
  'docs/explanation': 'Explanation',
  'docs/decisions': 'Decisions',
  '.': 'Project',
}
const imageTypes: Record<string, string> = { '.png': 'image/png', '.svg': 'image/svg+xml', '.jpg': 'image/jpeg' }

/** Keeps the first result; a failure is not kept. */
function once<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | undefined
  return () => {
    made ??= make().catch((error) => {
      made = undefined
      throw error
    })
    return made
  }
}

const urlOf = (file: string): string =>
  file === 'docs/README.md' ? base : `${base}/${file.replace(/^docs\//, '').replace(/\.md$/, '')}`

/** The pages below `root`, a folder with docs/. Only what the first listing found is served. */
export class Guides {
  readonly #root: URL
  readonly #pages = new Map<string, () => Promise<Served>>()
  readonly #list = once(() => this.#findFiles())
  readonly searchIndex = once(() => this.#buildIndex())

  constructor(root: URL) {
    this.#root = root
  }

  /** `path` is unchecked input: that of a URL below /docs/guides. */
  async serve(path: string): Promise<Served | undefined> {
    const url = path === '' ? base : `${base}/${path}`
    const { images } = await this.#list()
    const page = this.#pages.get(url)
    if (page) return page()
    const image = images.find((each) => urlOf(each) === url)
    if (!image) return undefined
    return { contentType: imageTypes[posix.extname(image)]!, body: await readFile(new URL(image, this.#root)) }
  }

  async urls(): Promise<string[]> {
    return (await this.#list()).guides.map(({ url }) => url)
  }

  /** Every section of every page. */
  async #buildIndex(): Promise<SearchIndex> {
    const pages = []
    for (const guide of (await this.#list()).guides) {
      const { url, title, group } = guide
      pages.push({ url, title, group, sections: (await this.#render(guide)).sections })
    }
    const json = JSON.stringify(pages)
    const hash = createHash('sha256').update(json).digest('base64url')
    // Weak: the same for a client that takes no gzip.
    return { gzip: gzipSync(json), etag: `W/"${hash.slice(0, 22)}"` }
  }

  async #findFiles(): Promise<{ guides: Guide[]; images: string[] }> {
    const inDocs = await readdir(new URL('docs', this.#root), { recursive: true }).catch(() => [])
    const files = inDocs.map((file) => `docs/${file.replaceAll('\\', '/')}`)
    const beside = (await readdir(this.#root)).filter((file) => besideDocs.includes(file))
    const guides: Guide[] = []
    for (const file of [...files, ...beside].sort()) {
      const group = groups[posix.dirname(file)]
      if (group === undefined || !file.endsWith('.md')) continue
      const heading = /^# (.+)$/m.exec(await this.#read(file))?.[1] ?? file
      guides.push({ file, url: urlOf(file), title: heading.replaceAll('`', '').trim(), group })
    }
    for (const guide of guides)
      this.#pages.set(
        guide.url,
        once(() => this.#page(guide)),
      )
    return { guides, images: files.filter((file) => posix.extname(file) in imageTypes) }
  }

  #read(file: string): Promise<string> {
    return readFile(new URL(file, this.#root), 'utf8')
  }

  async #page(guide: Guide): Promise<Served> {
    const { guides } = await this.#list()
    const { main } = await this.#render(guide)
    const body = page({
      title: `${guide.title} · Penstock`,
      brand: 'Penstock',
      home: base,
      kind: 'guides',
      // Shown by the script, which does the search.
      search: html`<input class="filter search" type="search" placeholder="Search" aria-label="Search the guides" hidden>`,
      navigation: navigationOf(guides, guide),
      main: html`<section id="results" aria-live="polite" hidden></section>
<article id="page">
${main}</article>`,
    })
    return { contentType: 'text/html; charset=utf-8', body }
  }

  async #render({ file, title }: Guide): Promise<Rendered> {
    const { guides, images } = await this.#list()
    return render(await this.#read(file), title, (address) => {
      if (/^(https?:\/\/|mailto:|#)/i.test(address)) return address
      const [path = '', anchor] = address.split('#')
      const target = posix.join(posix.dirname(file), path).replace(/\/$/, '')
      // The first page of a folder stands for it.
      const guide = guides.find((each) => each.file === target || posix.dirname(each.file) === target)
      if (guide) return `${guide.url}${anchor ? `#${anchor}` : ''}`
      return images.includes(target) ? urlOf(target) : undefined
    })
  }
}

function navigationOf(guides: Guide[], current: Guide): Html {
  const link = ({ url, title }: Guide) =>
    html`<li><a href="${url}"${url === current.url && new Html(' aria-current="page"')}>${title}</a></li>`
  return html`${[...new Set(Object.values(groups))].map((group) => {
    const inGroup = guides.filter((guide) => guide.group === group && guide.url !== base)
    // Decisions have numbers.
    if (group !== 'Decisions') inGroup.sort((a, b) => a.title.localeCompare(b.title, 'en'))
    return (
      inGroup.length > 0 && html`<div class="group"><p><span>${group}</span></p><ul>${inGroup.map(link)}</ul></div>`
    )
  })}`
}

/** `resolve` returns the URL of a link or an image; undefined for one that is not served, which becomes text. */
function render(markdown: string, title: string, resolve: (address: string) => string | undefined): Rendered {
  const anchor = pageAnchors()
  const standard = new Renderer()
  const marked = new Marked({
    // HTML is text.
    tokenizer: { html: () => undefined, tag: () => undefined },
    renderer: {
      heading({ depth, text, tokens }) {
        const id = anchor(text)
        const mark = html` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`
        return html`<h${depth} id="${id}">${new Html(this.parser.parseInline(tokens))}${depth > 1 && mark}</h${depth}>\n`
          .markup
      },
      link({ href, tokens }) {
        const [url, label] = [resolve(href), new Html(this.parser.parseInline(tokens))]
        return url === undefined ? label.markup : html`<a href="${url}">${label}</a>`.markup
      },
      image({ href, text }) {
        const url = resolve(href)
        return (url?.startsWith('/') ? html`<img src="${url}" alt="${text}" loading="lazy">` : html`${text}`).markup
      },
      // What scrolls can be focused, so that it scrolls by keyboard.
      code: ({ text }) => html`<pre tabindex="0"><code>${text}</code></pre>\n`.markup,
      table(token) {
        standard.parser = this.parser
        const table = standard
          .table(token)
          .replaceAll(/<th[^>]*><\/th>/g, '<td></td>')
          .replace(/<thead>\s*<tr>\s*(<td><\/td>\s*)+<\/tr>\s*<\/thead>/, '')
        return `<div class="scroll" role="group" aria-label="Table" tabindex="0">${table}</div>\n`
      },
    },
  })
  const sections: Section[] = []
  let main = ''
  for (const token of marked.lexer(markdown)) {
    const markup = marked.parser([token])
    main += markup
    if (token.type === 'heading') {
      const id = /id="([^"]*)"/.exec(markup)?.[1] ?? ''
      sections.push({ anchor: (token as Tokens.Heading).depth === 1 ? '' : id, heading: textOf(markup), text: '' })
      continue
    }
    if (sections.length === 0) sections.push({ anchor: '', heading: title, text: '' })
    sections.at(-1)!.text += `${textOf(markup)} `
  }
  return { main: new Html(main), sections: sections.map((each) => ({ ...each, text: each.text.trim() })) }
}

const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

const textOf = (markup: string): string =>
  markup
    .replaceAll(/ <a class="anchor".*?<\/a>/g, '')
    .replaceAll(/<\/?(?:a|code|em|strong|del)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(\w+|#39);/g, (whole, name: string) => characters[name] ?? whole)
    .replaceAll(/\s+/g, ' ')
    .trim()
