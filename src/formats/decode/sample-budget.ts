// Limits the decoded size of a sample. A few untrusted bytes can expand to millions of values: lists of nulls, messages with a
// thousand absent fields, blocks that decompress to a thousand times their size.

export interface SampleBudget {
  values: number
  unpackedBytes: number
}

export class BudgetSpent extends Error {
  constructor() {
    super('more than a sample may hold')
    this.name = 'BudgetSpent'
  }
}

export function newBudget(): SampleBudget {
  return { values: 500_000, unpackedBytes: 64 * 1024 * 1024 }
}

export function spendBytes(budget: SampleBudget, count: number): void {
  budget.unpackedBytes -= count
  if (budget.unpackedBytes < 0) throw new BudgetSpent()
}

export function spendValues(budget: SampleBudget, count: number): void {
  budget.values -= count
  if (budget.values < 0) throw new BudgetSpent()
}
