// Test reporter that lists the slowest files at the end of a run.
import { basename } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

const maxListed = 15

/** Name of an entry file that imports these test files. */
export function entryName([first, ...others]: string[]): string {
  const more = others.length > 0 ? ` and ${others.length} more` : ''
  return `${first!.replaceAll('/', '~')}${more}.mjs`
}

function labelOf(entry: string): string {
  return basename(entry)
    .replace(/^\d+-/, '')
    .replace(/\.mjs$/, '')
    .replaceAll('~', '/')
}

export default async function* slowestFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { file: string; tookMs: number }[] = []
  for await (const { type, data } of events) {
    if (type === 'test:summary' && data.file) files.push({ file: labelOf(data.file), tookMs: data.duration_ms })
  }
  if (files.length < 2) return
  const slowest = files.toSorted((one, other) => other.tookMs - one.tookMs).slice(0, maxListed)
  const lines = slowest.map(({ file, tookMs }) => `${(tookMs / 1_000).toFixed(1).padStart(7)} s  ${file}`)
  yield `Slowest of ${files.length}:\n${lines.join('\n')}\n`
}
