// Test certificates from a private CA: valid ones, and some with one defect each. Generated in each run, so that no key is in the
// repository.
import { webcrypto } from 'node:crypto'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'

export interface Certificate {
  /** PEM. */
  cert: string
  key: string
}

export interface Certificates {
  /** PEM of the CA. */
  ca: string
  /** For localhost and 127.0.0.1. */
  server: Certificate
  expired: Certificate
  otherHost: Certificate
  /** A client certificate of the same CA. */
  client: Certificate
  /** A client certificate of an untrusted CA. */
  strangeClient: Certificate
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const dayMs = 86_400_000

interface Authority {
  certificate: x509.X509Certificate
  keys: webcrypto.CryptoKeyPair
}

async function makeAuthority(name: string): Promise<Authority> {
  const keys = await makeKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    notBefore: new Date(Date.now() - 400 * dayMs),
    notAfter: new Date(Date.now() + dayMs),
    signingAlgorithm: algorithm,
    keys: keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  })
  return { certificate, keys }
}

function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>
}

async function issue(authority: Authority, name: string, hosts: string[], daysLeft = 1): Promise<Certificate> {
  const keys = await makeKeys()
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: authority.certificate.subject,
    notBefore: new Date(Date.now() - 300 * dayMs),
    notAfter: new Date(Date.now() + daysLeft * dayMs),
    signingAlgorithm: algorithm,
    signingKey: authority.keys.privateKey,
    publicKey: keys.publicKey,
    extensions: [
      new x509.SubjectAlternativeNameExtension(
        hosts.map((value) => ({ type: /^[\d.]+$/.test(value) ? ('ip' as const) : ('dns' as const), value })),
      ),
    ],
  })
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return { cert: certificate.toString('pem'), key: pem('PRIVATE KEY', der) }
}

function pem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64.replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`
}

export async function makeCertificates(): Promise<Certificates> {
  x509.cryptoProvider.set(webcrypto)
  const authority = await makeAuthority('Penstock test authority')
  const here = ['localhost', '127.0.0.1']
  const [server, expired, otherHost, client, strangeClient] = await Promise.all([
    issue(authority, 'localhost', here),
    issue(authority, 'localhost', here, -1),
    issue(authority, 'elsewhere.example', ['elsewhere.example']),
    issue(authority, 'penstock', ['penstock.example']),
    makeAuthority('Somebody').then((strange) => issue(strange, 'penstock', ['penstock.example'])),
  ])
  return { ca: authority.certificate.toString('pem'), server, expired, otherHost, client, strangeClient }
}
