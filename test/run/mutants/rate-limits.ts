// Defects of rate limits: guesses of passwords and keys are limited, and nobody locks out somebody else.
import type { Mutant } from './mutant.ts'

export const rateLimitMutants: Mutant[] = [
  {
    name: 'no-work-for-nobody',
    file: 'src/sessions/sign-in.ts',
    find: 'if (!(await verifyPassword(body.password, person?.passwordHash, asker))) throw signInFailed()',
    replace: 'if (!person || !(await verifyPassword(body.password, person.passwordHash, asker))) throw signInFailed()',
    tests: ['src/sessions/sign-in.test.ts'],
  },
  {
    name: 'guesses-without-end',
    file: 'src/http/console.ts',
    find: 'if (!failures.byPassword.take(guarded)) throw tooManyFailures()',
    replace: 'void failures.byPassword.take(guarded)',
    tests: ['src/sessions/sign-in.test.ts'],
  },
  {
    name: 'guesses-counted-afterwards',
    file: 'src/http/rate-limit.ts',
    find: '    this.#change(name, -1, nowMs)\n    return true',
    replace: '    setTimeout(() => this.#change(name, -1, nowMs), 5)\n    return true',
    tests: ['src/sessions/sign-in.test.ts'],
  },
  {
    name: 'address-throttled-before-key',
    file: 'src/http/admission.ts',
    find: '    const credentials = credentialReader.read(',
    replace:
      '    if (failures.byAddress.isEmpty(networkOf(address))) throw tooManyFailures()\n    const credentials = credentialReader.read(',
    tests: ['test/suites/strangers.test.ts', 'src/http/server-authentication.test.ts'],
  },
  {
    name: 'sign-in-throttled-by-email',
    file: 'src/sessions/sign-in.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a program.
    find: '`sign-in of ${email} from ${networkOf(address)}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a program.
    replace: '`sign-in of ${email}`',
    tests: ['test/suites/strangers.test.ts'],
  },
  {
    name: 'sign-in-throttled-by-address',
    file: 'src/sessions/sign-in.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a program.
    find: '`sign-in of ${email} from ${networkOf(address)}`',
    replace: 'networkOf(address)',
    tests: ['test/suites/strangers.test.ts'],
  },
  {
    name: 'known-browser-is-no-other',
    file: 'src/sessions/sign-in.ts',
    find: 'return deviceId === undefined ?',
    replace: 'return deviceId === undefined || address ?',
    tests: ['test/suites/strangers.test.ts'],
  },
  {
    name: 'device-of-anybody',
    file: 'src/sessions/session.ts',
    find: 'return timingSafeEqual(Buffer.from(mac), Buffer.from(deviceMac(vault, id, email))) ? id : undefined',
    replace: 'return deviceMac(vault, id, email) && timingSafeEqual ? id : undefined',
    tests: ['src/sessions/sign-in.test.ts'],
  },
  {
    name: 'failures-by-the-wall-clock',
    file: 'src/http/rate-limit.ts',
    find: 'count(name: string, nowMs = performance.now())',
    replace: 'count(name: string, nowMs = Date.now())',
    tests: ['src/http/server-authentication.test.ts'],
  },
  {
    name: 'nothing-is-a-guess',
    file: 'src/http/admission.ts',
    find: '// Not counted as a failure: a request without credentials is not a guess.',
    replace: 'if (failures.byAddress.count(networkOf(address))) throw tooManyFailures()',
    tests: ['src/http/server-authentication.test.ts'],
  },
  {
    name: 'no-session-is-a-guess',
    file: 'src/http/console.ts',
    find: 'if (!signedIn) throw signInAgain()',
    replace:
      'if (!signedIn && failures.byAddress.count(networkOf(plainAddress(request)))) throw tooManyFailures()\n      if (!signedIn) throw signInAgain()',
    tests: ['test/suites/session-access.test.ts'],
  },
  {
    name: 'key-id-locked-by-guesses',
    file: 'src/http/admission.ts',
    find: '    state.key = key\n',
    replace: '    if (failures.byKeyId.isEmpty(key.keyId)) throw tooManyFailures()\n    state.key = key\n',
    tests: ['test/heavy/timed/storms.test.ts'],
  },
]
