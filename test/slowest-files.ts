// A reporter beside the usual one: says at the end of a run which files took longest, for whoever wants it to be shorter.
import { basename } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

const mostTold = 15

/** Of a file that imports these test files. */
export function entryName([first, ...others]: string[]): string {
  const more = others.length > 0 ? ` and ${others.length} more` : ''
  return `${first!.replaceAll('/', '~')}${more}.mjs`
}

function toldOf(entry: string): string {
  return basename(entry)
    .replace(/^\d+-/, '')
    .replace(/\.mjs$/, '')
    .replaceAll('~', '/')
}

export default async function* slowestFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { file: string; tookMs: number }[] = []
  for await (const { type, data } of events) {
    if (type === 'test:summary' && data.file) files.push({ file: toldOf(data.file), tookMs: data.duration_ms })
  }
  if (files.length < 2) return
  const slowest = files.toSorted((one, other) => other.tookMs - one.tookMs).slice(0, mostTold)
  const lines = slowest.map(({ file, tookMs }) => `${(tookMs / 1_000).toFixed(1).padStart(7)} s  ${file}`)
  yield `Slowest of ${files.length}:\n${lines.join('\n')}\n`
}
