import { Anchor, Button, Code, Divider, Stack, Text, TextInput } from '@mantine/core'
import { useSuspenseQuery } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { useAction } from '../api/action.ts'
import { fieldError } from '../api/change.ts'
import { pageAfterSignIn } from '../api/page-after-sign-in.ts'
import { account, type Session, sessionQuery, useSessionChange } from '../api/session.ts'
import { CardPage } from '../components/card-page.tsx'
import { LoadingPage } from '../components/loading.tsx'
import { OpenIdButton } from '../components/open-id-button.tsx'
import { PasswordField } from '../components/password-field.tsx'
import { ProblemNotice } from '../components/problem-notice.tsx'
import { OpenIdProblem } from './sign-in-open-id-problem.tsx'
import { SignInWithLink, useLinkToken } from './sign-in-with-link.tsx'

export function SignInPage() {
  const { to, problem } = useSearch({ from: '/sign-in' })
  const { data: session } = useSuspenseQuery(sessionQuery)
  const router = useRouter()
  const token = useLinkToken()
  const [doneToken, setDoneToken] = useState<string>()
  const link = token === doneToken ? undefined : token
  const goesOn = session.signedIn && link === undefined
  const page = pageAfterSignIn(to)
  useEffect(() => {
    if (goesOn) router.history.replace(page)
  }, [goesOn, page, router])

  if (goesOn) return <LoadingPage />
  if (link !== undefined) {
    const finish = () => setDoneToken(link)
    return <SignInWithLink token={link} session={session} onSignedIn={finish} onGoOn={finish} />
  }
  return (
    <CardPage title="Sign in">
      <SignInForm methods={session.methods} page={page} problem={problem} />
    </CardPage>
  )
}

function SignInForm({
  methods,
  page,
  problem,
}: {
  methods: Session['methods']
  page: string
  problem: string | undefined
}) {
  const sessionChanged = useSessionChange()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const { start, isBusy, error, touch } = useAction(async () => {
    await account.signIn(email.trim(), password)
    await sessionChanged()
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void start()
  }
  return (
    <>
      {problem && !isBusy && !error && <OpenIdProblem code={problem} providerName={methods.oidc?.name} />}
      {methods.password && (
        <form onSubmit={submit}>
          <Stack>
            <TextInput
              label="Email"
              type="email"
              name="email"
              autoComplete="username"
              autoFocus
              required
              withAsterisk={false}
              value={email}
              onChange={(event) => {
                setEmail(event.currentTarget.value)
                touch('email')
              }}
              error={fieldError(error, 'email')}
            />
            <PasswordField
              label="Password"
              name="password"
              autoComplete="current-password"
              required
              withAsterisk={false}
              value={password}
              onChange={(event) => {
                setPassword(event.currentTarget.value)
                touch('password')
              }}
              error={fieldError(error, 'password')}
            />
            <ProblemNotice error={error} shownFields={['email', 'password']} title="You are not signed in" />
            <Button type="submit" loading={isBusy} fullWidth>
              Sign in
            </Button>
          </Stack>
        </form>
      )}
      {methods.oidc && (
        <>
          {methods.password && (
            <Divider
              label={
                <Text size="xs" c="dimmed">
                  or
                </Text>
              }
            />
          )}
          <OpenIdButton to={page}>{`Sign in with ${methods.oidc.name}`}</OpenIdButton>
        </>
      )}
      <NoWayIn />
    </>
  )
}

function NoWayIn() {
  const [isShown, setShown] = useState(false)
  return (
    <Stack gap="xs">
      <Anchor
        component="button"
        type="button"
        size="sm"
        ta="left"
        onClick={() => setShown(!isShown)}
        aria-expanded={isShown}
      >
        I cannot sign in
      </Anchor>
      {isShown && (
        <Stack gap="xs">
          <Text size="sm">
            <b>You are new here:</b> ask an admin of your organization for an invitation. Its link lets you choose a
            password.
          </Text>
          <Text size="sm" component="div">
            <b>You have no password, or have forgotten it:</b> ask the operator of this Penstock for a sign-in link.
            They create one with <Code style={{ whiteSpace: 'nowrap' }}>penstock link --email …</Code>; it signs you in
            once, and you can set a new password in your account then.
          </Text>
        </Stack>
      )}
    </Stack>
  )
}
