// Runs penstock call as a process.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mainFile, environment as ownEnvironment } from '../../bin/launch.js'

export interface Ended {
  code: number
  printed: string
  error: string
}

/** `key` are the settings of a call by default; credentials are stored in the folder. */
export function calls(key: () => Record<string, string>, folder: () => string) {
  function run(args: string[], settings: Record<string, string> = key(), input = ''): Promise<Ended> {
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [mainFile, ...args],
        {
          env: { PATH: process.env.PATH, ...ownEnvironment, XDG_CONFIG_HOME: folder(), ...settings },
          timeout: 60_000,
        },
        (error, stdout, stderr) =>
          resolve({ code: error ? Number(error.code ?? -1) : 0, printed: stdout, error: stderr }),
      )
      child.stdin!.end(input)
    })
  }

  async function works(args: string[], settings?: Record<string, string>, input?: string): Promise<Ended> {
    const ended = await run(args, settings, input)
    assert.equal(ended.code, 0, ended.error)
    return ended
  }

  async function fails(
    code: number,
    sentence: RegExp,
    args: string[],
    settings?: Record<string, string>,
    input?: string,
  ): Promise<Ended> {
    const ended = await run(args, settings, input)
    assert.equal(ended.code, code, `${ended.printed}${ended.error}`)
    assert.match(ended.error, sentence)
    assert.doesNotMatch(ended.error, /\bat .*:\d+:\d+/, 'a stack trace')
    return ended
  }

  return { run, works, fails }
}
