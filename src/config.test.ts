import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readConfig } from './config.ts'

const read = (settings: Record<string, string>) => readConfig(settings, { logLevel: 'info' })

describe('the address by which people reach Penstock', () => {
  it('is host and port unless it is set, and then only a guess', () => {
    for (const [settings, publicUrl] of [
      [{}, 'http://127.0.0.1:8080'],
      [{ PENSTOCK_HOST: '::1', PENSTOCK_PORT: '0' }, 'http://[::1]:0'],
      [{ PENSTOCK_HOST: 'localhost', PENSTOCK_PORT: '80' }, 'http://localhost'],
    ] as const) {
      const config = read(settings)
      assert.equal(config.operations.publicUrl, publicUrl)
      assert.equal(config.hasPublicUrl, false)
    }
  })

  it('is an origin, however it is written', () => {
    for (const given of [
      'https://penstock.example.com',
      'https://Penstock.example.com:443/',
      'HTTPS://penstock.example.com',
    ]) {
      const config = read({ PENSTOCK_PUBLIC_URL: given, PENSTOCK_TLS_IN_FRONT: 'true' })
      assert.equal(config.operations.publicUrl, 'https://penstock.example.com')
      assert.equal(config.hasPublicUrl, true)
    }
  })

  it('is nothing else', () => {
    for (const given of [
      'penstock.example.com',
      'ftp://penstock.example.com',
      'https://',
      'https://penstock.example.com/console',
      'https://penstock.example.com//',
      'https://penstock.example.com/?',
      'https://penstock.example.com#',
      'https://user@penstock.example.com',
      'https:\\\\penstock.example.com',
      'https://penstock.example.com\\console',
      'https://pen stock.example.com',
      'https://penstock.example.com:99999',
      'https://[::1',
      'https://%',
    ]) {
      assert.throws(
        () => read({ PENSTOCK_PUBLIC_URL: given }),
        /^StartError: PENSTOCK_PUBLIC_URL must be the address/,
        given,
      )
    }
  })
})
