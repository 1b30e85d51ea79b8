// Result of the last check of an engine, with advice.
import { Alert, List, Loader, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Service } from '../../src/client/shapes.ts'
import { endpointUrl } from './cloud-provider.ts'

export function EngineCheck({ service, children }: { service: Service; children?: ReactNode }) {
  const [endpoint] = service.endpoints
  if (!endpoint) {
    return (
      <Result color="orange" title="No connection is registered yet">
        <Text size="sm">Enter the URL of the engine and how to sign in.</Text>
        {children}
      </Result>
    )
  }
  switch (service.state) {
    case 'provisioning':
      return (
        <Result color="blue" title="The engine is being checked" icon={<Loader size={18} />}>
          <Text size="sm">
            Penstock signs in at {endpointUrl(endpoint)} as {endpoint.username} and reads the version. This takes up to
            5 seconds.
          </Text>
          {children}
        </Result>
      )
    case 'running':
      return (
        <Result color="green" title="The engine answers">
          <Text size="sm">
            Penstock signed in at {endpointUrl(endpoint)} as {endpoint.username}. The engine is ClickHouse{' '}
            {service.engineVersion}.
          </Text>
          {children}
        </Result>
      )
    default:
      return (
        <Result
          color={service.state === 'degraded' ? 'orange' : 'red'}
          title={service.state === 'degraded' ? 'The last check of the engine failed' : 'The engine cannot be used'}
        >
          <Text size="sm" fw={600}>
            {service.stateReason}
          </Text>
          <List size="sm" spacing={4}>
            {adviceFor(service.stateReason ?? '', endpoint).map((advice) => (
              <List.Item key={advice}>{advice}</List.Item>
            ))}
          </List>
          <Text size="sm">It is checked again every 30 seconds, and at once when the connection is changed.</Text>
          {children}
        </Result>
      )
  }
}

function Result({
  color,
  title,
  icon,
  children,
}: {
  color: string
  title: string
  icon?: ReactNode
  children: ReactNode
}) {
  return (
    <Alert color={color} variant="light" title={title} icon={icon} role="status">
      <Stack gap="xs" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Stack>
    </Alert>
  )
}

type Endpoint = Service['endpoints'][number]

/** Advice by the text of the reason; general advice for an unknown reason. */
function adviceFor(reason: string, { protocol, port, host, username }: Endpoint): string[] {
  const tls = `With TLS the URL begins with https, and the port is usually 8443; without it, http and 8123. Now it is ${protocol} and ${port}.`
  const advice: [RegExp, string[]][] = [
    [
      /refused the user name or the password/,
      [
        `Check that the user ${username} exists in the engine and may sign in from the address of Penstock.`,
        'Type the password again: it cannot be shown once it is stored.',
      ],
    ],
    [/password cannot be opened/, ['Set the password again.']],
    [
      /nothing accepts connections/,
      ['Check that the engine runs and listens on that port, and not only on loopback (listen_host).', tls],
    ],
    [/does not resolve/, [`Check that ${host} is spelled correctly and that the DNS server of Penstock knows it.`]],
    [
      /did not answer in time|cannot be reached/,
      [`Check that firewalls and security groups let Penstock reach ${host} on port ${port}.`],
    ],
    [/no TLS connection/, [tls, `The certificate must be valid for ${host}, from an authority that Penstock trusts.`]],
    [
      /is not ClickHouse over HTTP/,
      [`The port of the HTTP interface is needed, not the one of the native protocol (9000, with TLS 9440).`, tls],
    ],
    [/its error \d/, ['The engine is up but returned an error: its log has the details.']],
    [
      /can allow that with|never connects to|own database/,
      ['Use an address of the engine that Penstock may connect to.'],
    ],
  ]
  return (
    advice.find(([words]) => words.test(reason))?.[1] ?? [
      'Check that the engine is up and reachable from Penstock, and that the user exists.',
      tls,
    ]
  )
}
