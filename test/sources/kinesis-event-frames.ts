// Encodes frames of application/vnd.amazon.eventstream: a prelude with lengths, headers and payload, with CRC32 checksums.
import { crc32 } from 'node:zlib'

export function eventFrame(type: string, payload: object): Buffer {
  return frame({ ':message-type': 'event', ':event-type': type }, payload)
}

export function exceptionFrame(type: string): Buffer {
  return frame({ ':message-type': 'exception', ':exception-type': type }, { message: 'as the test wants it' })
}

function frame(named: Record<string, string>, payload: object): Buffer {
  const headers = Buffer.concat(
    Object.entries({ ...named, ':content-type': 'application/json' }).map(([name, value]) => header(name, value)),
  )
  const body = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + headers.length + body.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const checked = Buffer.concat([prelude, headers, body])
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(checked), 0)
  return Buffer.concat([checked, checksum])
}

/** A header of type 7, which is a string. */
function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(value.length, 0)
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)])
}
