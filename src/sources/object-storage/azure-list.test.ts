import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { slimList } from './azure-list.ts'

const listOf = (blobs: string, mark = '<NextMarker />') =>
  `<?xml version="1.0"?><EnumerationResults ContainerName="data"><Blobs>${blobs}</Blobs>${mark}</EnumerationResults>`
const blobOf = (name: string, more = '') =>
  `<Blob><Name>${name}</Name><Properties><Etag>0x1</Etag><Content-Length>7</Content-Length>${more}</Properties><OrMetadata /></Blob>`

describe('a list of Azure', () => {
  it('keeps the used fields', () => {
    const date = 'Mon, 01 Jan 2024 00:00:00 GMT'
    const encoded = '<Blob><Name Encoded="true">a%EF%BF%BE</Name></Blob>'
    const blobs = `${blobOf('a&amp;b', `<Last-Modified>${date}</Last-Modified><BlobType>BlockBlob</BlobType>`)}${encoded}`
    const properties = `<Last-Modified>${date}</Last-Modified><Etag>0x1</Etag><Content-Length>7</Content-Length>`
    assert.equal(
      slimList(listOf(blobs, '<NextMarker>2!8</NextMarker>')),
      `<EnumerationResults><Blobs><Blob><Name Encoded="false">a&amp;b</Name><Properties>${properties}</Properties></Blob>` +
        '<Blob><Name Encoded="true">a%EF%BF%BE</Name><Properties></Properties></Blob></Blobs><NextMarker>2!8</NextMarker></EnumerationResults>',
    )
  })

  it('loses unused fields', () => {
    const slim = slimList(listOf(blobOf('a', '<OrMetadata>xxx</OrMetadata><?pi?>'.repeat(10_000))))
    assert.ok(slim.length < 300, slim)
  })

  it('is limited to the page size of Azure', () => {
    assert.equal(slimList(listOf('<Blob>'.repeat(5_001))), '')
    assert.notEqual(slimList(listOf(blobOf('a').repeat(5_000))), '')
  })

  it('is empty for other XML', () => {
    assert.equal(slimList('<html><Blobs></Blobs></html>'), '')
    assert.equal(slimList(''), '')
  })
})
