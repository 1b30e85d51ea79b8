// Tutorials as text: the commands that a reader runs, and what each of them prints.
import { readFileSync } from 'node:fs'

export interface TutorialBlock {
  commands: string
  /** Undefined: the commands print nothing. */
  output?: { kind: 'text' | 'json'; text: string }
}

export interface Tutorial {
  blocks: TutorialBlock[]
  /** Environment variables that the reader sets, with the values of the page. */
  variables: Record<string, string>
  /** Privileges of the ClickHouse user, as one grant. */
  grant: string
}

export function readTutorial(file: URL): Tutorial {
  const fences = [...readFileSync(file, 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind, text]) => ({
    kind: kind!,
    text: text!,
  }))
  const blocks: TutorialBlock[] = []
  for (const [index, { kind, text }] of fences.entries()) {
    if (kind !== 'sh') continue
    const next = fences[index + 1]
    const isOutput = next?.kind === 'text' || next?.kind === 'json'
    blocks.push({ commands: text, ...(isOutput ? { output: next as TutorialBlock['output'] & object } : {}) })
  }
  const textOf = (kind: string): string => fences.flatMap((fence) => (fence.kind === kind ? fence.text : [])).join('')
  const exported = [...textOf('console').matchAll(/^export (\w+)=(\S+)$/gm)]
  const grants = [...textOf('sql').matchAll(/^GRANT (.+) TO penstock;$/gm)].map(([, privileges]) => privileges)
  return {
    blocks,
    variables: Object.fromEntries(exported.map(([, name, value]) => [name!, value!])),
    grant: `GRANT ${grants.join(', ')}`,
  }
}

const separator = (index: number): string => `--- end of block ${index} ---`

/** One script for a shell; a line in its output ends each block. */
export function scriptOf({ blocks }: Tutorial): string {
  return blocks.map(({ commands }, index) => `${commands}echo '${separator(index)}'\n`).join('\n')
}

/** What each block printed; shorter than the blocks when the script ended early. */
export function splitOutput(printed: string): string[] {
  const outputs: string[] = []
  let rest = printed
  for (let index = 0; ; index++) {
    const end = rest.indexOf(`${separator(index)}\n`)
    if (end < 0) return outputs
    outputs.push(rest.slice(0, end))
    rest = rest.slice(end + separator(index).length + 1)
  }
}

/** Both outputs in a form in which they are equal. Values of the page stand for those of the reader; JSON may be wrapped. */
export function compareOutput(
  expected: TutorialBlock['output'],
  printed: string,
  values: [ofPage: string, actual: string][],
): { expected: string; actual: string } {
  let text = expected?.text ?? ''
  for (const [ofPage, actual] of values) text = text.replaceAll(ofPage, actual)
  const normalize = expected?.kind === 'json' ? wrapJson : (output: string) => output.trimEnd()
  return { expected: normalize(text), actual: normalize(printed) }
}

/** Unchanged if it is not JSON. */
function wrapJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
