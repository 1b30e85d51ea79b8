// Finds broken links, anchors and cited pages: relative links of all Markdown, and `docs/…md` in code. `npm run check:links`.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pageAnchors } from '../../src/http/heading-anchor.ts'

const root = join(import.meta.dirname, '../..')

/** Anchors of all headings outside of code. */
function anchorsOf(markdown: string): Set<string> {
  const anchorOf = pageAnchors()
  const headings = withoutCode(markdown).matchAll(/^#{1,6} (.*)$/gm)
  return new Set([...headings].map(([, heading]) => anchorOf(heading!)))
}

const withoutCode = (markdown: string): string =>
  markdown.replaceAll(/^(```|~~~)[\s\S]*?^\1[^\n]*$/gm, (code) => code.replaceAll(/[^\n]/g, ''))

interface BrokenLink {
  line: number
  target: string
  problem: string
}

/** Broken links of a page; `read` returns the text of a file of the repository. */
export function findBrokenLinks(
  page: string,
  markdown: string,
  read: (file: string) => string | undefined,
): BrokenLink[] {
  const broken: BrokenLink[] = []
  withoutCode(markdown)
    .split('\n')
    .forEach((content, index) => {
      for (const [, target] of content.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^()\s]+)\)/g)) {
        if (/^(https?|mailto):/.test(target!)) continue
        const [path, anchor] = target!.split('#') as [string, string | undefined]
        const file = path === '' ? page : normalize(join(dirname(page), path)).replace(/\/$/, '')
        const text = read(file)
        if (text === undefined) broken.push({ line: index + 1, target: target!, problem: 'does not exist' })
        else if (anchor !== undefined && file.endsWith('.md') && !anchorsOf(text).has(anchor)) {
          broken.push({ line: index + 1, target: target!, problem: 'has no such heading' })
        }
      }
    })
  return broken
}

/** Pages that code cites and that do not exist. */
export function findBrokenCitations(code: string, exists: (file: string) => boolean): BrokenLink[] {
  return code
    .split('\n')
    .flatMap((content, index) =>
      [...content.matchAll(/\bdocs\/[\w/.-]+\.md\b/g)]
        .filter(([target]) => !exists(target))
        .map(([target]) => ({ line: index + 1, target, problem: 'does not exist' })),
    )
}

/** A page longer than this is split: readers look for one thing. */
const mostLines = 400
/** Dated records may grow. */
const mayBeLong = /^(CHANGELOG\.md|docs\/explanation\/defect-log.*\.md)$/

function checkRepository(): number {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  const files = listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)))
  const read = (file: string): string | undefined => {
    if (files.includes(file)) return readFileSync(join(root, file), 'utf8')
    return files.some((other) => other.startsWith(`${file}/`)) ? '' : undefined
  }
  let count = 0
  const report = (file: string, line: number, text: string): void => {
    count++
    console.log(`${file}:${line}: ${text}`)
  }
  for (const file of files) {
    if (file.endsWith('.md')) {
      const text = read(file)!
      for (const { line, target, problem } of findBrokenLinks(file, text, read))
        report(file, line, `${target} ${problem}`)
      const length = text.split('\n').length - 1
      if (length > mostLines && !mayBeLong.test(file))
        report(file, length, `more than ${mostLines} lines; split the page`)
    }
    const isCode =
      /\.(tsx?|m?js|sh|conf|env|service)$|^Dockerfile$/.test(file) &&
      !/^test\/checks\/links|guides\.test\.ts$/.test(file)
    if (isCode || (file.endsWith('.md') && !/^(CHANGELOG|docs\/decisions)/.test(file))) {
      const text = isCode ? read(file)! : withoutCode(read(file)!)
      const exists = (page: string): boolean => files.includes(page)
      for (const { line, target, problem } of findBrokenCitations(text, exists))
        report(file, line, `${target} ${problem}`)
    }
  }
  return count
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const count = checkRepository()
  console.log(count === 0 ? 'links: clean' : `links: ${count} to fix`)
  process.exitCode = count === 0 ? 0 : 1
}
