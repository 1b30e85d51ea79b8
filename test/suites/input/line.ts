// A line of the input table, and how a file of the table adds lines.
import type { TestApp } from '../../harness/test-app.ts'

export type Target = 'member' | 'endpoint' | 'kafka' | 'kinesis' | 'objectStorage' | 'postgres'

export interface Line {
  name: string
  to: Target
  method?: string
  /** Sent as JSON. */
  body?: unknown
  /** Sent unchanged. */
  text?: string | Buffer
  headers?: Record<string, string | string[]>
  /** Changes the path of the target. */
  path?(path: string, app: TestApp): string
  status: number
  /** Text that the error or the result must contain. */
  says?: string | string[]
  /** Text that must not be returned. */
  hides?: string
  /** Header that the answer must have. */
  header?: [name: string, value: string]
}

export type More = Partial<Omit<Line, 'name' | 'to' | 'status'>>

export const emoji = '😀'
export const password = 'hunter2-hunter2'
export const pem = '-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n'

/** Functions that add lines to a list. */
export function openTable(lines: Line[]) {
  function good(to: Target, name: string, body: unknown, says?: string | string[], more: More = {}): void {
    lines.push({ name, to, body, status: 200, ...(says === undefined ? {} : { says }), ...more })
  }

  function bad(to: Target, name: string, body: unknown, says: string | string[], more: More = {}): void {
    lines.push({ name, to, body, status: 400, says, ...more })
  }

  /** A body as text, for input that JSON.stringify cannot produce. */
  function badText(name: string, text: string | Buffer, says: string, to: Target = 'member'): void {
    lines.push({ name, to, text, status: 400, says })
  }

  function goodText(name: string, text: string | Buffer, says: string, to: Target = 'member'): void {
    lines.push({ name, to, text, status: 200, says })
  }

  function request(name: string, status: number, says: string | string[], more: Partial<Line>): void {
    lines.push({ name, to: 'member', body: { role: 'developer' }, status, says, ...more })
  }

  return { bad, badText, good, goodText, request }
}
