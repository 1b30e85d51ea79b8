// Sets the AWS identity of the operator for a test. The machine's own AWS configuration is ignored.
import type { AccessKey } from './kinesis-server.ts'

const own: Record<string, string | undefined> = {
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_PROFILE: undefined,
  AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: undefined,
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
}

/** Undefined: the operator has no AWS identity. */
export async function withOperator(operator: AccessKey | undefined, work: () => Promise<void>): Promise<void> {
  const before = Object.fromEntries(Object.keys(own).map((name) => [name, process.env[name]]))
  setEnvironment(own)
  if (operator) {
    setEnvironment({ AWS_ACCESS_KEY_ID: operator.accessKeyId, AWS_SECRET_ACCESS_KEY: operator.secretKey })
  }
  try {
    await work()
  } finally {
    setEnvironment(before)
  }
}

function setEnvironment(values: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}
