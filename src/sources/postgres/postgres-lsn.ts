// LSNs as text: two hexadecimal halves, 16/B374D848.

export function lsnText(lsn: bigint): string {
  return `${(lsn >> 32n).toString(16)}/${(lsn & 0xffff_ffffn).toString(16)}`.toUpperCase()
}

export function parseLsn(text: string): bigint {
  const [, high, low] = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text) ?? []
  if (high === undefined || low === undefined) throw new Error('not an LSN')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}
