// Steps at the cloud provider to reach the engine over a private network.
import { Alert, Code, Group, List, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { PrivateEndpointConfig, Service } from '../../src/client/shapes.ts'
import { asPenstockError } from '../api/change.ts'
import { privateEndpointConfigQuery } from '../api/queries.ts'
import { providerNames } from '../components/cloud-provider.ts'
import { CopyIconButton } from '../components/copy.tsx'
import { useLasting } from '../components/loading.tsx'
import { ReadProblem } from '../components/problem-notice.tsx'
import { Section } from '../components/section.tsx'

export function HowToConnect({ organizationId, service }: { organizationId: string; service: Service }) {
  const { data, error, isPending } = useQuery({
    ...privateEndpointConfigQuery(organizationId, service.id),
    throwOnError: false,
  })
  const lasts = useLasting(isPending)
  return (
    <Section
      title="How to connect"
      about={
        <>
          Traffic over a private endpoint stays in the network of the provider.
          {data && (
            <>
              {' '}
              These are the steps for {providerNames[service.provider]}{' '}
              <span className="no-wrap">{service.region}</span>.
            </>
          )}
        </>
      }
    >
      {lasts && <Skeleton height={180} />}
      {data && <Steps service={service} config={data.result} />}
      {error && <NoConfig service={service} error={asPenstockError(error)} />}
    </Section>
  )
}

function NoConfig({ service, error }: { service: Service; error: ReturnType<typeof asPenstockError> }) {
  if (error.code !== 'private_endpoints_not_configured') {
    return <ReadProblem error={error} title="The steps could not be loaded" />
  }
  const setting = `PENSTOCK_PRIVATE_ENDPOINT_SERVICES=${service.provider}/${service.region}=<endpointServiceId>/<privateDnsHostname>`
  return (
    <Alert color="blue" variant="light" title="The operator of this Penstock has to set this up first" role="note">
      <Stack gap="sm" style={{ overflowWrap: 'anywhere' }}>
        <Text size="sm">{error.message}.</Text>
        <CopyBlock text={setting} label="setting" />
        <Text size="sm">
          endpointServiceId is {endpointServices[service.provider]}; privateDnsHostname is the name by which the engine
          is reached over it. Entries for several regions are separated by commas. Penstock reads the setting when it
          starts.
        </Text>
        <Text size="sm">Private endpoints can be added to the service anyway.</Text>
      </Stack>
    </Alert>
  )
}

const endpointServices: Record<Service['provider'], string> = {
  aws: 'the name of the VPC endpoint service, such as com.amazonaws.vpce.us-east-1.vpce-svc-0a1b2c3d',
  gcp: 'the service attachment, such as projects/…/regions/…/serviceAttachments/…',
  azure: 'the resource id or the alias of the Private Link service',
}

interface Step {
  title: string
  text: ReactNode
  copy?: { text: string; label: string }
}

function Steps({ service, config }: { service: Service; config: PrivateEndpointConfig }) {
  return (
    <List type="ordered" size="sm" spacing="md" className="steps" listStyleType="decimal">
      {stepsFor(service, config).map(({ title, text, copy }) => (
        <List.Item key={title}>
          <Stack gap={6}>
            <Text fw={600} size="sm">
              {title}
            </Text>
            <Text size="sm" component="div">
              {text}
            </Text>
            {copy && <CopyBlock {...copy} />}
          </Stack>
        </List.Item>
      ))}
    </List>
  )
}

function CopyBlock({ text, label }: { text: string; label: string }) {
  return (
    <Group gap={4} wrap="nowrap" align="flex-start">
      <Code block flex={1} miw={0} className="wrapping-code">
        {text}
      </Code>
      <CopyIconButton text={text} label={label} />
    </Group>
  )
}

function stepsFor(service: Service, { endpointServiceId, privateDnsHostname }: PrivateEndpointConfig): Step[] {
  const { region } = service
  const [endpoint] = service.endpoints
  const port = endpoint?.port ?? 8443
  const add = 'It then belongs to this service, and the activity says who added it.'
  const use: Step = {
    title: 'Connect',
    text: 'Use this address instead of the public one, from inside your network:',
    copy: { text: `${endpoint?.protocol ?? 'https'}://${privateDnsHostname}:${port}`, label: 'private address' },
  }
  switch (service.provider) {
    case 'aws':
      return [
        {
          title: 'Create a VPC endpoint',
          text: `In the AWS console: VPC, Endpoints, Create endpoint, "Endpoint services that use NLBs and GWLBs", with the service name below. Its security group must let in port ${port}. Or with the command line:`,
          copy: {
            text: [
              'aws ec2 create-vpc-endpoint --vpc-endpoint-type Interface',
              `--region ${region}`,
              `--service-name ${endpointServiceId}`,
              '--vpc-id <vpc> --subnet-ids <subnets> --security-group-ids <security group>',
            ].join(' \\\n  '),
            label: 'command',
          },
        },
        { title: 'Add its id here', text: `The id begins with vpce-. ${add}` },
        {
          title: 'Point the private DNS name to it',
          text: 'When the endpoint is available, turn on "Private DNS names" for it. If the endpoint service has none, create a private hosted zone in Route 53 with a CNAME from this name to the DNS name of the endpoint:',
          copy: { text: privateDnsHostname, label: 'private DNS name' },
        },
        use,
      ]
    case 'gcp':
      return [
        {
          title: 'Create a Private Service Connect endpoint',
          text: 'In the Google Cloud console: Network services, Private Service Connect, Connect endpoint, target "Published service", with the service attachment below. Or with the command line, after an internal address has been reserved:',
          copy: {
            text: [
              'gcloud compute forwarding-rules create <endpoint>',
              `--region=${region}`,
              '--network=<network> --address=<reserved address>',
              `--target-service-attachment=${endpointServiceId}`,
            ].join(' \\\n  '),
            label: 'command',
          },
        },
        {
          title: 'Add its PSC connection id here',
          text: `It is a number, which this command prints. ${add}`,
          copy: {
            text: `gcloud compute forwarding-rules describe <endpoint> --region=${region} --format='value(pscConnectionId)'`,
            label: 'command',
          },
        },
        {
          title: 'Point the private DNS name to it',
          text: 'Create a private zone in Cloud DNS with an A record from this name to the reserved address:',
          copy: { text: privateDnsHostname, label: 'private DNS name' },
        },
        use,
      ]
    case 'azure':
      return [
        {
          title: 'Create a private endpoint',
          text: 'In the Azure portal: Private Link Center, Private endpoints, Create, "Connect to an Azure resource by resource ID or alias", with the id below. Or with the command line:',
          copy: {
            text: [
              'az network private-endpoint create --name <endpoint> --connection-name <endpoint>',
              `--location ${region} --resource-group <group> --vnet-name <network> --subnet <subnet>`,
              `--private-connection-resource-id ${endpointServiceId}`,
              '--manual-request true',
            ].join(' \\\n  '),
            label: 'command',
          },
        },
        {
          title: 'Add its resource id here',
          text: `It begins with /subscriptions/, and this command prints it. ${add}`,
          copy: {
            text: 'az network private-endpoint show --name <endpoint> --resource-group <group> --query id --output tsv',
            label: 'command',
          },
        },
        {
          title: 'Point the private DNS name to it',
          text: 'Create a private DNS zone, linked to the network, with an A record from this name to the private address of the endpoint:',
          copy: { text: privateDnsHostname, label: 'private DNS name' },
        },
        use,
      ]
  }
}
