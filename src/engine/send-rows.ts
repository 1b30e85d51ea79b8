// Sends the rows of an insert with its settings.
import type { Capabilities } from './capabilities.ts'
import { addressText } from './check.ts'
import type { EngineClient, EngineSettings, SentRows } from './client.ts'
import { EngineError, type Insert } from './engine.ts'
import { bodySettings, comesInPieces } from './insert-settings.ts'

export async function sendRows(
  { client, capabilities }: { client: EngineClient; capabilities: Capabilities },
  text: string,
  { insert, more = {} }: { insert: Insert; more?: EngineSettings },
  signal: AbortSignal,
): Promise<SentRows> {
  await insert.mayBegin?.(signal)
  const settings = { ...bodySettings(capabilities, insert), ...more }
  try {
    return await client.send(text, insert.body(), { settings, signal })
  } catch (error) {
    throw isFaultOfReader(insert, error) ? unreadable(client, insert, error) : error
  }
}

/** Exceptions of the libraries that read these formats have no ClickHouse error code of their own. */
function isFaultOfReader({ format }: Insert, error: unknown): error is EngineError {
  return error instanceof EngineError && comesInPieces(format) && /^Code: 100[0-2]\b/.test(error.detail)
}

function unreadable({ access }: EngineClient, { format }: Insert, { detail }: EngineError): EngineError {
  return new EngineError('data', `the engine at ${addressText(access)} cannot read this as ${format}`, detail)
}
