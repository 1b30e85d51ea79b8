// Timestamped log of a run, to find the cause of a failure.
export interface History {
  note(what: string): void
  text(): string
}

export function makeHistory(): History {
  const begunMs = performance.now()
  const lines: string[] = []
  return {
    note(what) {
      const seconds = ((performance.now() - begunMs) / 1000).toFixed(3)
      lines.push(`${seconds.padStart(9)} ${what}`)
    },
    text: () => `${lines.join('\n')}\n`,
  }
}
