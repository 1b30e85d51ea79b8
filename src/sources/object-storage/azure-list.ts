// Removes unused parts of Azure lists before the SDK parses them: it takes a microsecond per character of some fields, and
// quadratic time for others. Lists are untrusted, and this process serves all organizations.

import { elementText } from './azure-xml.ts'

/** Page limit of Azure. */
const maxBlobs = 5_000
const maxNameCharacters = 8_192
/** Of a property. */
const maxCharacters = 200
const properties = ['Last-Modified', 'Etag', 'Content-Length']

/** Empty when it is not a list. */
export function slimList(xml: string): string {
  const [head = '', ...rest] = xml.split('<Blob>', maxBlobs + 2)
  if (!head.includes('<EnumerationResults') || rest.length > maxBlobs) return ''
  const blobs = rest.map((piece) => slimBlob(piece.split('</Blob>', 1)[0]!))
  const tail = rest.at(-1) ?? head
  const mark = elementText(tail, 'NextMarker', maxNameCharacters) ?? ''
  const list = `<Blobs>${blobs.join('')}</Blobs><NextMarker>${mark}</NextMarker>`
  return `<EnumerationResults>${list}</EnumerationResults>`
}

function slimBlob(blob: string): string {
  // With the attribute (default: false), the client does not check each character of the name.
  const [, isEncoded = 'false', name = ''] = /<Name(?: Encoded="(true|false)")?>([^<]+)<\/Name>/.exec(blob) ?? []
  const values = properties.map((property) => {
    const value = elementText(blob, property, maxCharacters)
    return value === undefined ? '' : `<${property}>${value}</${property}>`
  })
  const shortName = name.length > maxNameCharacters ? '' : name
  return `<Blob><Name Encoded="${isEncoded}">${shortName}</Name><Properties>${values.join('')}</Properties></Blob>`
}
