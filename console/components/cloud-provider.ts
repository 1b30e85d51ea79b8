// Names of cloud providers and regions, and the URL of an engine.
import type { Service } from '../../src/client/shapes.ts'

export type Provider = Service['provider']

export const providerNames: Record<Provider, string> = { aws: 'AWS', gcp: 'Google Cloud', azure: 'Azure' }

export const providers = Object.keys(providerNames) as Provider[]

/** Suggestions: the API accepts any name. */
export const usualRegions: Record<Provider, string[]> = {
  aws: [
    'us-east-1',
    'us-east-2',
    'us-west-2',
    'ca-central-1',
    'sa-east-1',
    'eu-central-1',
    'eu-west-1',
    'eu-west-2',
    'eu-west-3',
    'eu-north-1',
    'me-central-1',
    'ap-south-1',
    'ap-southeast-1',
    'ap-southeast-2',
    'ap-northeast-1',
    'ap-northeast-2',
  ],
  gcp: [
    'us-central1',
    'us-east1',
    'us-east4',
    'us-west1',
    'northamerica-northeast1',
    'southamerica-east1',
    'europe-west1',
    'europe-west2',
    'europe-west3',
    'europe-west4',
    'europe-north1',
    'asia-south1',
    'asia-southeast1',
    'asia-northeast1',
    'australia-southeast1',
  ],
  azure: [
    'eastus',
    'eastus2',
    'centralus',
    'westus2',
    'westus3',
    'canadacentral',
    'brazilsouth',
    'northeurope',
    'westeurope',
    'germanywestcentral',
    'uksouth',
    'swedencentral',
    'centralindia',
    'southeastasia',
    'japaneast',
    'australiaeast',
  ],
}

type Endpoint = Service['endpoints'][number]

export function endpointUrl({ protocol, host, port }: Endpoint): string {
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
