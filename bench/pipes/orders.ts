// Rows of the benchmark: shop orders as JSON of about 200 bytes. A number always yields the same row, so that every contender
// moves the same bytes and the result can be checked.

export const columns = [
  { name: 'order_id', type: 'UInt64' },
  { name: 'created_at', type: 'DateTime' },
  { name: 'customer_id', type: 'UInt32' },
  { name: 'country', type: 'String' },
  { name: 'status', type: 'String' },
  { name: 'channel', type: 'String' },
  { name: 'product', type: 'String' },
  { name: 'quantity', type: 'UInt16' },
  { name: 'unit_price', type: 'Float64' },
  { name: 'discount', type: 'Float64' },
]

/** Average of a few million rows, including the newline. */
export const usualRowBytes = 196

export const sortingKey = ['created_at', 'order_id']

export const countries = ['DE', 'FR', 'PL', 'ES', 'IT', 'NL', 'SE', 'US', 'CA', 'BR', 'JP', 'IN']
export const statuses = ['placed', 'paid', 'packed', 'shipped', 'delivered', 'returned']
export const channels = ['web', 'app', 'store', 'phone']
export const products = [
  'kettle',
  'lamp',
  'desk',
  'chair',
  'shelf',
  'rug',
  'vase',
  'clock',
  'mirror',
  'stool',
  'bench',
  'crate',
]
export const firstSecond = Date.UTC(2026, 0, 1) / 1_000
export const ordersPerSecond = 20

/** Without a newline. */
export function orderOf(number: number): string {
  const mixed = Math.imul(number, 0x9e3779b1) >>> 0
  const pick = (list: string[], shift: number): string => list[(mixed >>> shift) % list.length]!
  const second = firstSecond + Math.floor(number / ordersPerSecond)
  return (
    `{"order_id":${number},"created_at":"${momentOf(second)}","customer_id":${mixed % 900_000},` +
    `"country":"${pick(countries, 3)}","status":"${pick(statuses, 7)}","channel":"${pick(channels, 11)}",` +
    `"product":"${pick(products, 13)}-${mixed % 4_000}","quantity":${1 + ((mixed >>> 17) % 9)},` +
    `"unit_price":${((mixed % 20_000) / 100).toFixed(2)},"discount":${((mixed >>> 21) % 30) / 100}}`
  )
}

/** Orders from `begin` to `end`, exclusive, one per line. */
export function linesOf(begin: number, end: number): Buffer {
  const lines: string[] = []
  for (let number = begin; number < end; number++) lines.push(orderOf(number))
  lines.push('')
  return Buffer.from(lines.join('\n'))
}

/** Sum of the ids of the first `count` orders. */
export function sumOfIds(count: number): number {
  return (count * (count - 1)) / 2
}

let lastSecond = Number.NaN
let latestTimestamp = ''

function momentOf(second: number): string {
  if (second !== lastSecond) {
    lastSecond = second
    latestTimestamp = new Date(second * 1_000).toISOString().slice(0, 19).replace('T', ' ')
  }
  return latestTimestamp
}
