// Errors of a sign-in with the OpenID provider. The codes are from src/accounts/oidc.ts.
import { Alert, Text } from '@mantine/core'

const sentences: Record<string, (provider: string) => string> = {
  oidc_unreachable: (provider) =>
    `${provider} does not answer, or is misconfigured. Try again later; if it persists, contact the operator of this Penstock.`,
  oidc_attempt_expired: (provider) =>
    `This sign-in was not begun in this browser, or it took longer than ten minutes. Begin again with the button of ${provider}.`,
  oidc_denied: (provider) => `${provider} did not let you in, or you went back. Begin again when you are ready.`,
  oidc_failed: (provider) =>
    `The answer of ${provider} could not be accepted. Try again; if it persists, contact the operator of this Penstock.`,
  oidc_email_missing: (provider) =>
    `${provider} did not send your email address, so your account cannot be found. The operator of ${provider} can enable it.`,
  oidc_email_not_verified: (provider) =>
    `${provider} has not verified your email address, so it cannot be trusted to be yours. Verify it there, then sign in again.`,
  oidc_other_identity: (provider) =>
    `The account with your email address belongs to another identity at ${provider}. Sign in with that one, or with your password.`,
  oidc_invited: () =>
    'You have an invitation, but no account yet. Open the link of the invitation and begin from there.',
  oidc_unknown_person: () => 'Nobody here has your email address. Ask an admin of your organization for an invitation.',
  oidc_busy: () => 'Too many people of your network are signing in right now. Try again in a minute.',
}

export function OpenIdProblem({ code, providerName }: { code: string; providerName: string | undefined }) {
  const provider = providerName ?? 'the OpenID provider'
  const sentence = Object.hasOwn(sentences, code) ? sentences[code]!(provider) : undefined
  return (
    <Alert color="red" variant="light" title="You are not signed in" role="alert">
      <Text size="sm">{capitalized(sentence ?? `${provider} did not let you in. Try again.`)}</Text>
    </Alert>
  )
}

function capitalized(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}
