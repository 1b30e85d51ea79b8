// Finds discouraged words in comments, in sentences in code, and in the documentation. `npm run check:words`, or with path
// prefixes: `node bin/node24.js test/checks/words.ts src/members docs/reference/http.md`.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface WordRule {
  pattern: RegExp
  instead: string
}

/** Words that a reader of the PostgreSQL, Kafka, AWS or ClickHouse documentation would not search for. */
const wordRules: WordRule[] = [
  { pattern: /\bunless told( otherwise)?\b/i, instead: 'by default; default: 100' },
  { pattern: /\b(tell(s|ing)?|told|untold)\b/i, instead: 'reports, returns, notifies, detects, identifies' },
  { pattern: /\bmend(s|ed|ing)?\b/i, instead: 'fix, fixed' },
  { pattern: /\banew\b|\bmade again\b/i, instead: 'again; recreate; reload' },
  { pattern: /\b(does|do|did) not fit\b/i, instead: 'is invalid; does not match the schema; exceeds' },
  { pattern: /\b(is|are|was|were) none\b|\bof nothing\b/i, instead: 'is not a valid URL; does not exist; there is no' },
  { pattern: /\bwhat (is|was|goes|went) wrong\b/i, instead: 'error; validation errors' },
  { pattern: /\bmoments?\b/i, instead: 'time; timestamp' },
  { pattern: /\bfigures?\b/i, instead: 'metrics; counters; numbers' },
  {
    pattern: /(?<!\b(?:in|take|takes|taking|took|taken)( (the|its|their|an?))? )\bplaces?\b(?! of\b)/i,
    instead: 'lease, LSN, offset, table, address, context, prefix: say which',
  },
  { pattern: /\blanes?\b/i, instead: 'connection; concurrent insert' },
  {
    pattern: /\btakes? turns\b|\b(its|their|a|the|next) turns?\b(?! of the event loop)/i,
    instead: 'batch; order; permit',
  },
  { pattern: /\bjudges?\b|\bjudged\b/i, instead: 'retry policy; classify; decide' },
  { pattern: /\bpatience\b|\bpatient\b/i, instead: 'back-off; retry policy' },
  { pattern: /\bchores?\b/i, instead: 'periodic task' },
  { pattern: /\bwish(es|ed)?\b/i, instead: 'desired configuration; request' },
  { pattern: /\b(refused rows?|rows? (were|was|is|are) refused)\b/i, instead: 'rejected rows' },
  { pattern: /\bin all[.,;:)]/i, instead: 'total' },
  { pattern: /\bby (itself|themselves)\b/i, instead: 'automatically; cut it' },
  { pattern: /\b(all the same|meanwhile|at hand|heed(s|ed)?)\b/i, instead: 'cut it, or say what happens' },
  {
    pattern: /\bengines? (of today|of before|from before)\b/i,
    instead: 'current ClickHouse; ClickHouse older than 23.3',
  },
  { pattern: /\bloaded and followed\b/i, instead: 'initial load and change data capture (CDC)' },
  { pattern: /\bsealed record of every\b/i, instead: 'tamper-evident audit log' },
]

/** A header says what a file is: "Metrics of a pipe.", not "What is counted of a pipe.". */
const headerRule: WordRule = { pattern: /^What\b/, instead: 'a noun phrase or an imperative in the header of a file' }

export interface Finding {
  line: number
  words: string
  instead: string
}

/** Findings in a code file: comments, and strings of three or more words. */
export function findInCode(text: string): Finding[] {
  const findings = proseOfCode(text).flatMap(({ line, prose }) => findInLine(prose, line))
  const header = /^(?:#![^\n]*\n)?\/\/ ?([^\n]*)/.exec(text)?.[1]
  if (header !== undefined && headerRule.pattern.test(header)) {
    findings.unshift({ line: 1, words: header.slice(0, 40), instead: headerRule.instead })
  }
  return findings
}

/** Findings in Markdown, without code blocks and spans. */
export function findInMarkdown(text: string): Finding[] {
  let isCode = false
  return text.split('\n').flatMap((content, index) => {
    if (/^\s*(```|~~~)/.test(content)) isCode = !isCode
    else if (!isCode) return findInLine(content.replaceAll(/`[^`]*`/g, '``'), index + 1)
    return []
  })
}

function findInLine(prose: string, line: number): Finding[] {
  return wordRules.flatMap(({ pattern, instead }) => {
    const words = pattern.exec(prose)?.[0]
    return words === undefined ? [] : [{ line, words, instead }]
  })
}

const token = /\/\/([^\n]*)|\/\*([\s\S]*?)\*\/|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g

function proseOfCode(text: string): { line: number; prose: string }[] {
  const found: { line: number; prose: string }[] = []
  for (const match of text.matchAll(token)) {
    const [, line, block, single, double, template] = match
    const comment = line ?? block
    const sentence = single ?? double ?? template ?? ''
    if (comment === undefined && !/\p{L}+ \p{L}+ \p{L}+/u.test(sentence)) continue
    // Field names and quoted code are excluded.
    const prose = (comment ?? sentence).replaceAll(/`[^`]*`|\$\{[^}]*\}|https?:\S+/g, '``')
    const first = text.slice(0, match.index).split('\n').length
    prose.split('\n').forEach((content, index) => {
      found.push({ line: first + index, prose: content })
    })
  }
  return found
}

/** Excluded: dated records (decisions, change log, defect log) and generated files. */
const leftOut =
  /^(CHANGELOG\.md|docs\/explanation\/defect-log[^/]*\.md|docs\/decisions\/|openapi\.json|bench\/(RESULTS|PIPES)\.md|src\/client\/(shapes|operations)\.ts|docs\/reference\/errors\.md|test\/checks\/words(\.test)?\.ts)/

function listFiles(root: string): string[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  return listed.split('\n').filter((file) => /\.(tsx?|m?js|md)$/.test(file) && !leftOut.test(file))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = join(import.meta.dirname, '../..')
  const wanted = process.argv.slice(2)
  let count = 0
  for (const file of listFiles(root)) {
    if (wanted.length > 0 && !wanted.some((prefix) => file.startsWith(prefix))) continue
    const text = readFileSync(join(root, file), 'utf8')
    for (const { line, words, instead } of file.endsWith('.md') ? findInMarkdown(text) : findInCode(text)) {
      count++
      console.log(`${file}:${line}: "${words}" → ${instead}`)
    }
  }
  console.log(count === 0 ? 'words: clean' : `words: ${count} to replace (docs/glossary.md)`)
  process.exitCode = count === 0 ? 0 : 1
}
